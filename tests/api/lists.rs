//! Lists: envelope, paging, order, parameters, search and filters. Stamps and catching up have their
//! own files.

use invoicing_core::{ClientChange, NewClient};
use invoicing_tests::{Database, on_each_database};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::api::workload::{Workload, acts};
use crate::support::api::{
    CLIENTS, DAY, INVOICES, LISTS, QUOTES, Tenant, at, encode, for_all_on_service, gallery, ids, is_instant,
    items, keys, read, refused, text, world,
};

const LONG_AGO: &str = "2000-01-01T00:00:00Z";

/// Rules: LIST-1, LIST-2, WIRE-1
#[on_each_database]
async fn the_envelope_is_the_same_for_the_three_resources(db: Database) {
    let world = world(db).await;
    for filled in [false, true] {
        for list in LISTS {
            let page = read(&world, list).await;
            assert_eq!(keys(&page), ["asOf", "data", "pagination"], "{list}");
            let pagination = json!({"limit": 50, "offset": 0, "hasMore": false});
            assert_eq!(page["pagination"], pagination, "{list}");
            assert!(is_instant(text(&page, "asOf")), "{list}");
            assert_eq!(items(&page).is_empty(), !filled, "{list}");
        }
        if !filled {
            crate::support::api::draft_invoice(&world).await;
        }
    }
}

/// Rules: LIST-2, LIST-4
#[on_each_database]
async fn a_page_has_50_items_unless_limit_says_otherwise_and_100_at_most(db: Database) {
    let world = world(db).await;
    for n in 0..101 {
        world.client(&format!("Client {n}")).await;
    }
    for (query, count, has_more) in [
        ("", 50, true),
        ("?limit=100", 100, true),
        ("?limit=100&offset=1", 100, false),
        ("?limit=1", 1, true),
        ("?offset=51", 50, false),
        ("?offset=100", 1, false),
        ("?offset=101", 0, false),
        ("?limit=100&since=2000-01-01T00:00:00Z", 100, true),
    ] {
        let page = read(&world, &format!("{CLIENTS}{query}")).await;
        assert_eq!(
            (items(&page).len(), &page["pagination"]["hasMore"]),
            (count, &json!(has_more)),
            "{query}"
        );
    }
}

/// Rules: LIST-3
#[on_each_database]
async fn an_offset_behind_the_end_is_an_empty_page(db: Database) {
    let world = world(db).await;
    world.draft().await;
    for list in LISTS {
        let page = read(&world, &format!("{list}?offset={}", i64::MAX)).await;
        assert!(items(&page).is_empty(), "{list}");
        assert_eq!(page["pagination"], json!({"limit": 50, "offset": i64::MAX, "hasMore": false}), "{list}");
    }
}

/// Whether a list shows its items in the order of the contract.
fn assert_order(items: &[Value], moment: &str) {
    for pair in items.windows(2) {
        let [first, second] = [0, 1].map(|n| (text(&pair[n], moment), text(&pair[n], "id")));
        assert!(first > second, "{first:?} before {second:?} by {moment}");
    }
}

/// Rules: LIST-4, LIST-5, LIST-6, LIST-7
#[on_each_database]
fn pages_show_every_record_exactly_once_on_a_quiet_set(db: Database) {
    let limits = prop::collection::vec(1_usize..5, 1..8);
    let touched = prop::collection::vec(any::<Index>(), 0..5);
    let strategy = (0..3_usize, 0..9_usize, limits, touched, any::<bool>());
    for_all_on_service(db, 32, &strategy, async |world, (list, count, limits, touched, with_since)| {
        let tenant = Tenant::open(world).await;
        let list = LISTS[list];
        tenant.fill(list, count).await;
        touch(&tenant, list, &touched).await;
        let since = if with_since { format!("&since={LONG_AGO}") } else { String::new() };
        let (mut seen, mut limits) = (Vec::new(), limits.into_iter().cycle());
        loop {
            let (limit, offset) = (limits.next().unwrap(), seen.len());
            let page = tenant.read(&format!("{list}?limit={limit}&offset={offset}{since}")).await;
            let has_more = offset + limit < count;
            assert_eq!(page["pagination"], json!({"limit": limit, "offset": offset, "hasMore": has_more}));
            assert_eq!(items(&page).len(), limit.min(count - offset));
            seen.extend_from_slice(items(&page));
            if !has_more {
                break;
            }
        }
        assert_eq!(seen.len(), count);
        // Strictly descending, so no record is there twice.
        assert_order(&seen, if with_since { "updatedAt" } else { "createdAt" });
    });
}

/// Changes records of a list, so that the order of modification is not the order of creation.
async fn touch(tenant: &Tenant<'_>, list: &str, picks: &[Index]) {
    let page = tenant.read(&format!("{list}?limit=100")).await;
    let known = ids(&page);
    for (n, pick) in picks.iter().enumerate().filter(|_| !known.is_empty()) {
        let id = pick.get(&known);
        match list {
            QUOTES => {
                tenant.company.quotes().link(id.parse().unwrap(), Some(&format!("crm-{n}"))).await.unwrap();
            }
            CLIENTS => {
                let change = ClientChange::named(format!("Changed {n}"));
                tenant.company.clients().change(id.parse().unwrap(), &change).await.unwrap();
            }
            _ => {
                let payment = crate::support::api::payment("1");
                // Only the first time is it a draft.
                let _ = tenant.company.invoices().issue(id.parse().unwrap(), None).await;
                tenant.company.invoices().pay(id.parse().unwrap(), &payment).await.unwrap();
            }
        }
    }
}

/// Rules: LIST-6, STAMP-3
#[on_each_database]
async fn records_of_one_stamp_are_ordered_by_id_descending(db: Database) {
    let world = world(db).await;
    for _ in 0..5 {
        world.sent().await;
    }
    world.advance(31 * DAY);
    assert_eq!(world.invoicing.sweep().await.unwrap().expired_quotes, 5);
    let page = read(&world, &format!("{QUOTES}?since={LONG_AGO}")).await;
    let stamps: Vec<_> = items(&page).iter().map(|quote| text(quote, "updatedAt")).collect();
    assert_eq!(stamps, [stamps[0]; 5], "one sweep, one stamp");
    let mut sorted = ids(&page);
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(ids(&page), sorted);
    for (offset, id) in sorted.into_iter().enumerate() {
        let one = read(&world, &format!("{QUOTES}?since={LONG_AGO}&limit=1&offset={offset}")).await;
        assert_eq!(ids(&one), [id]);
    }
}

/// Rules: LIST-8, STAMP-4
#[on_each_database]
async fn as_of_is_the_companys_last_stamp(db: Database) {
    let world = world(db).await;
    let other = Tenant::open(&world).await;
    let other_as_of = other.read(CLIENTS).await["asOf"].clone();
    let quote = world.draft().await;
    for list in LISTS {
        let as_of = text(&read(&world, list).await, "asOf").to_owned();
        assert_eq!(as_of, quote.summary.updated_at.to_string(), "{list}");
        let beyond = read(&world, &format!("{list}?offset=100&since={as_of}")).await;
        assert_eq!(text(&beyond, "asOf"), as_of, "{list}");
    }
    assert_eq!(other.read(CLIENTS).await["asOf"], other_as_of, "another company's stamp moved");
}

/// Rules: LIST-8
#[on_each_database]
async fn the_as_of_of_a_new_company_can_be_its_first_since(db: Database) {
    let world = world(db).await;
    for list in LISTS {
        let as_of = text(&read(&world, list).await, "asOf").to_owned();
        assert!(items(&read(&world, &format!("{list}?since={as_of}")).await).is_empty());
    }
    let as_of = text(&read(&world, QUOTES).await, "asOf").to_owned();
    let quote = world.draft().await;
    let found = read(&world, &format!("{QUOTES}?since={as_of}")).await;
    assert_eq!(ids(&found), [quote.summary.id.to_string()]);
}

/// Rules: LIST-10
#[on_each_database]
async fn since_is_inclusive(db: Database) {
    let world = world(db).await;
    crate::support::api::draft_invoice(&world).await;
    for list in LISTS {
        let last = text(&items(&read(&world, list).await)[0], "updatedAt").to_owned();
        let count = async |since: String| items(&read(&world, &format!("{list}?since={since}")).await).len();
        assert_eq!(count(at(&last).plus_millis(-1).to_string()).await, 1, "{list}");
        assert_eq!(count(last.clone()).await, 1, "{list}");
        assert_eq!(count(at(&last).plus_millis(1).to_string()).await, 0, "{list}");
    }
}

/// Rules: LIST-10
#[on_each_database]
async fn since_looks_at_the_modification_and_not_at_the_creation(db: Database) {
    let world = world(db).await;
    let (old, _other) = (world.draft().await, world.draft().await);
    world.advance(DAY);
    let since = world.now();
    assert!(items(&read(&world, &format!("{QUOTES}?since={since}")).await).is_empty());
    world.company.quotes().link(old.summary.id, Some("crm-1")).await.unwrap();
    let found = read(&world, &format!("{QUOTES}?since={since}")).await;
    assert_eq!(ids(&found), [old.summary.id.to_string()]);
    assert_eq!(items(&found)[0]["createdAt"], old.summary.created_at.to_string());
}

/// Rules: LIST-11, LIST-13
#[on_each_database]
fn since_is_read_in_any_zone_and_with_its_plus_encoded_or_not(db: Database) {
    let gaps = prop::collection::vec(0_u64..4, 1..8);
    let strategy = (gaps, -3_i64..30, -14 * 60..=14 * 60, 0..3_usize);
    for_all_on_service(db, 32, &strategy, async |world, (gaps, probe, minutes, spelling)| {
        let tenant = Tenant::open(world).await;
        let start = world.now();
        let mut stamps = Vec::new();
        for gap in gaps {
            world.advance(std::time::Duration::from_millis(gap));
            stamps.push(tenant.client(&NewClient::named("A")).await.updated_at);
        }
        let since = start.plus_millis(probe);
        let zone = chrono::FixedOffset::east_opt(minutes * 60).unwrap();
        let since_text =
            since.to_chrono().with_timezone(&zone).to_rfc3339_opts(chrono::SecondsFormat::Millis, false);
        let spelled = match spelling {
            0 => since_text.clone(),
            1 => since_text.replace('+', "%2B"),
            _ => encode(&since_text),
        };
        let found = tenant.read(&format!("{CLIENTS}?since={spelled}")).await;
        let expected = stamps.iter().filter(|stamp| **stamp >= since).count();
        assert_eq!(items(&found).len(), expected, "{spelled} of {stamps:?}");
    });
}

/// Rules: LIST-11
#[on_each_database]
async fn a_since_between_two_milliseconds_does_not_show_the_earlier_one(db: Database) {
    let world = world(db).await;
    world.client("A").await;
    let last = text(&read(&world, CLIENTS).await, "asOf").trim_end_matches('Z').to_owned();
    for (digits, count) in [("", 1), ("0", 1), ("000000", 1), ("0001", 0), ("999999", 0)] {
        let found = read(&world, &format!("{CLIENTS}?since={last}{digits}Z")).await;
        assert_eq!(items(&found).len(), count, "{last}{digits}Z");
    }
}

/// Rules: LIST-12
#[on_each_database]
async fn a_since_without_time_zone_or_sense_is_refused_with_an_example(db: Database) {
    let world = world(db).await;
    for list in LISTS {
        for since in [
            "2026-09-14",
            "2026-09-14Z",
            "2026-09-14T09:41:07",
            "2026-09-14T09:41:07.123",
            "2026-09-14 09:41:07",
            "2026-09-14T09:41:07 Europe/Paris",
            "2026-09-14T09:41:07++02:00",
            "2026-09-14T09:41:07+25:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-09-14T24:01:00Z",
            "1789378867",
            "yesterday",
            "null",
            "",
            " ",
            "2026-09-14T09:41:07Z; DROP TABLE quote",
            "2026-09-14T09:41:07Z\0",
            "-2026-09-14T09:41:07Z",
            "99999-09-14T09:41:07Z",
        ] {
            for spelled in [encode(since), since.replace(' ', "+").replace('\0', "%00")] {
                let answer = world.get(&format!("{list}?since={spelled}")).await;
                refused(&answer, "since", &spelled);
                let message = answer.message().to_owned();
                let example = message.split_whitespace().find(|word| is_instant(word));
                let example = example.unwrap_or_else(|| panic!("no example in {message}"));
                read(&world, &format!("{list}?since={example}")).await;
            }
        }
    }
}

/// Rules: LIST-2, LIST-3, LIST-14, DOCUMENT-2
#[on_each_database]
async fn a_bad_value_is_refused_by_the_name_of_its_parameter(db: Database) {
    let world = world(db).await;
    let integers = ["-1", "x", "1.5", "1e1", "0x10", "", "+", "%205", "%D9%A3", "99999999999999999999", "5;"];
    for list in LISTS {
        for value in integers.into_iter().chain(["0", "101", "1000"]) {
            refused(&world.get(&format!("{list}?limit={value}")).await, "limit", value);
        }
        for value in integers {
            refused(&world.get(&format!("{list}?offset={value}")).await, "offset", value);
        }
    }
    for list in [QUOTES, INVOICES] {
        for value in ["", "line", "LINES", "lines,lines", "lines,costing", "costing", "true"] {
            refused(&world.get(&format!("{list}?include={value}")).await, "include", value);
        }
        for value in ["", "sent", "Sent", "SENT,DRAFT", "SENT%20", "ALL", "OPEN"] {
            refused(&world.get(&format!("{list}?status={value}")).await, "status", value);
        }
    }
    for value in ["PAID", "OVERDUE", "CANCELED"] {
        refused(&world.get(&format!("{QUOTES}?status={value}")).await, "status", value);
    }
    for value in ["ACCEPTED", "REJECTED", "EXPIRED"] {
        refused(&world.get(&format!("{INVOICES}?status={value}")).await, "status", value);
    }
    let document = format!("{QUOTES}/{}/document", world.sent().await.summary.id);
    for value in ["", "PDF", "xml", "pdf,xml", "application/pdf"] {
        refused(&world.get(&format!("{document}?type={value}")).await, "type", value);
    }
}

/// Rules: LIST-15
#[on_each_database]
async fn an_unknown_parameter_is_refused_by_name(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await.summary.id;
    let invoice = crate::support::api::draft_invoice(&world).await;
    let mut paths = LISTS.map(str::to_owned).to_vec();
    paths.extend([
        format!("{QUOTES}/{quote}"),
        format!("{QUOTES}/{quote}/document"),
        format!("{INVOICES}/{invoice}"),
    ]);
    for path in paths {
        for name in
            ["page", "Limit", "limits", "LIMIT", "sort", "external_id", "externalID", "Since", "updatedSince"]
        {
            for query in [format!("{name}=5"), name.to_owned(), format!("{name}=")] {
                refused(&world.get(&format!("{path}?{query}")).await, name, &query);
            }
        }
        let spelled = world.get(&format!("{path}?limit%20=5&limit%5B%5D=5")).await;
        refused(&spelled, "limit ", "a space in the name");
    }
    for (path, name) in [
        (CLIENTS, "status"),
        (CLIENTS, "include"),
        (QUOTES, "q"),
        (QUOTES, "externalId"),
        (QUOTES, "type"),
        (INVOICES, "q"),
        (INVOICES, "quoteId"),
    ] {
        refused(&world.get(&format!("{path}?limit=5&{name}=lines")).await, name, path);
    }
    let body = json!({"name": "A"});
    refused(&world.send("POST", &format!("{CLIENTS}?dryRun=1"), &body).await, "dryRun", "POST");
    assert!(!items(&read(&world, CLIENTS).await).iter().any(|client| client["name"] == "A"));
    let link = json!({"externalId": "x"});
    refused(&world.send("PATCH", &format!("{QUOTES}/{quote}?force=1"), &link).await, "force", "PATCH");
}

/// Rules: LIST-16
#[on_each_database]
async fn a_parameter_given_twice_is_refused_by_name(db: Database) {
    let world = world(db).await;
    let document = format!("{QUOTES}/{}/document", world.sent().await.summary.id);
    for (path, name, values) in [
        (QUOTES, "limit", ["5", "5"]),
        (QUOTES, "offset", ["0", "5"]),
        (QUOTES, "since", [LONG_AGO, LONG_AGO]),
        (QUOTES, "status", ["SENT", "DRAFT"]),
        (QUOTES, "include", ["lines", "lines"]),
        (INVOICES, "status", ["SENT", "SENT"]),
        (INVOICES, "include", ["lines", "lines"]),
        (CLIENTS, "q", ["a", "b"]),
        (CLIENTS, "externalId", ["a", "a"]),
        (CLIENTS, "limit", ["5", "6"]),
        (&*document, "type", ["pdf", "pdf"]),
    ] {
        let [first, second] = values;
        let spelled = format!("%{:02x}{}", name.as_bytes()[0], &name[1..]);
        for query in [format!("{name}={first}&{name}={second}"), format!("{spelled}={first}&{name}={second}")]
        {
            refused(&world.get(&format!("{path}?{query}")).await, name, &query);
        }
    }
}

/// Rules: LIST-17
#[on_each_database]
async fn status_shows_exactly_the_records_in_it(db: Database) {
    let world = world(db).await;
    let gallery = gallery(&world).await;
    for status in ["DRAFT", "SENT", "ACCEPTED", "REJECTED", "EXPIRED"] {
        let page = read(&world, &format!("{QUOTES}?status={status}")).await;
        assert!(items(&page).iter().all(|quote| quote["status"] == status), "{status}");
        let all = read(&world, QUOTES).await;
        let expected = items(&all).iter().filter(|quote| quote["status"] == status).count();
        assert!(expected > 0 && items(&page).len() == expected, "{status}");
        let since = read(&world, &format!("{QUOTES}?status={status}&since={LONG_AGO}")).await;
        assert!(items(&since).iter().all(|quote| quote["status"] == status), "{status}");
        assert_eq!(items(&since).len(), expected, "{status}");
    }
    for invoice in gallery.invoices {
        let status = invoice.summary.status.as_str();
        for since in ["", &format!("&since={LONG_AGO}")] {
            let page = read(&world, &format!("{INVOICES}?status={status}{since}")).await;
            assert_eq!(ids(&page), [invoice.summary.id.to_string()], "{status}{since}");
        }
    }
}

async fn found(tenant: &Tenant<'_>, q: &str) -> Vec<String> {
    let page = tenant.read(&format!("{CLIENTS}?q={}", encode(q))).await;
    let mut names: Vec<_> = items(&page).iter().map(|client| text(client, "name").to_owned()).collect();
    names.sort();
    names
}

/// Rules: LIST-20
#[on_each_database]
async fn q_is_blind_to_case_and_accents(db: Database) {
    let world = world(db).await;
    let tenant = Tenant::open(&world).await;
    for name in ["Lefèvre", "LEFÈVRE Peinture", "Muñoz", "Œuvre & Cie", "Straße"] {
        tenant.client(&NewClient::named(name)).await;
    }
    for q in ["lefevre", "Lefèvre", "LEFÈVRE", "lefe\u{300}vre", "éFÉv", "  lefèvre "] {
        assert_eq!(found(&tenant, q).await, ["LEFÈVRE Peinture", "Lefèvre"], "{q}");
    }
    assert_eq!(found(&tenant, "munoz").await, ["Muñoz"]);
    assert_eq!(found(&tenant, "MUÑOZ").await, ["Muñoz"]);
    assert_eq!(found(&tenant, "œuvre").await, ["Œuvre & Cie"]);
    assert_eq!(found(&tenant, "strasse").await, ["Straße"]);
    assert_eq!(found(&tenant, "lefevres").await, [""; 0]);
}

/// Rules: LIST-19
#[on_each_database]
async fn q_looks_in_name_e_mail_and_city_and_nowhere_else(db: Database) {
    let world = world(db).await;
    let tenant = Tenant::open(&world).await;
    let all = NewClient {
        email: Some("mail@exemple.fr".into()),
        phone: Some("telephone".into()),
        address: Some("rue".into()),
        city: Some("Évreux".into()),
        zip_code: Some("zip".into()),
        notes: Some("remarque".into()),
        external_id: Some("crm".into()),
        ..NewClient::named("Nom")
    };
    tenant.client(&all).await;
    for q in ["nom", "MAIL@EXEMPLE", "evreux", "nom mail", "evreux\nnom"] {
        assert_eq!(found(&tenant, q).await, ["Nom"], "{q}");
    }
    // The last ones would have to run over from one field into the next.
    for q in ["telephone", "rue", "zip", "remarque", "crm", "nom rue", "nommail", "frevreux"] {
        assert_eq!(found(&tenant, q).await, [""; 0], "{q}");
    }
}

/// Rules: LIST-21
#[on_each_database]
async fn percent_underscore_quotes_and_emoji_are_literal_in_q(db: Database) {
    let world = world(db).await;
    let tenant = Tenant::open(&world).await;
    let names = [
        "100 % Peinture",
        "sous_sol",
        "L'Atelier",
        "dit \"le Grand\"",
        "Soleil 😀",
        "a\\b",
        "x*y?[z]",
        "(1+1)=2",
    ];
    for name in names.into_iter().chain(["Ordinaire"]) {
        tenant.client(&NewClient::named(name)).await;
    }
    for (q, name) in [
        ("%", names[0]),
        ("0 % p", names[0]),
        ("_", names[1]),
        ("s_s", names[1]),
        ("'", names[2]),
        ("l'a", names[2]),
        ("\"", names[3]),
        ("😀", names[4]),
        ("\\", names[5]),
        ("*", names[6]),
        ("?", names[6]),
        ("[z]", names[6]),
        ("1+1", names[7]),
        (")=", names[7]),
    ] {
        assert_eq!(found(&tenant, q).await, [name], "{q}");
    }
    for q in ["' OR 1=1 --", "%%", "__", "😁", "'; DROP TABLE client; --", "1 3"] {
        assert_eq!(found(&tenant, q).await, [""; 0], "{q}");
    }
    // A lone percent sign, and a plus that stands for a space, as browsers and careless callers send them.
    let page = tenant.read(&format!("{CLIENTS}?q=100+%")).await;
    assert_eq!(items(&page).len(), 1);
}

/// The Greek iota below a letter is an accent that the search passes over, but written in capitals it is a letter of
/// its own: that is another spelling, and no matter of case.
fn has_iota_below(text: &str) -> bool {
    let grows = |c: char| {
        c == '\u{345}' || c.to_uppercase().count() > 1 && c.to_uppercase().last() == Some('\u{399}')
    };
    text.chars().any(grows)
}

/// Rules: LIST-19, LIST-20
#[on_each_database]
fn any_part_of_a_name_finds_its_client(db: Database) {
    let strategy = ("\\PC{1,30}", any::<Index>(), any::<Index>(), 0..3_u8);
    for_all_on_service(db, 64, &strategy, async |world, (name, from, to, case)| {
        let tenant = Tenant::open(world).await;
        tenant.client(&NewClient::named("Ordinaire")).await;
        let answer = tenant.send("POST", CLIENTS, &json!({"name": name})).await;
        if answer.status != 201 {
            return refused(&answer, "name", &name);
        }
        let name: Vec<char> = text(&answer.json, "name").chars().collect();
        let (from, to) = (from.index(name.len()), to.index(name.len()));
        let part: String = name[from.min(to)..=from.max(to)].iter().collect();
        let part = match case {
            0 => part,
            1 if !has_iota_below(&part) => part.to_uppercase(),
            _ => part.to_lowercase(),
        };
        let answer = tenant.get(&format!("{CLIENTS}?q={}", encode(&part))).await;
        // Nothing but spaces or accents: there is nothing to look for.
        if answer.status == 400 {
            return refused(&answer, "q", &part);
        }
        let names: Vec<_> = items(&answer.json).iter().map(|client| text(client, "name")).collect();
        let whole: String = name.iter().collect();
        assert!(names.contains(&whole.as_str()), "{part:?} of {whole:?} finds {names:?}");
    });
}

/// Rules: LIST-23
#[on_each_database]
async fn external_id_finds_exactly_that_client_or_none(db: Database) {
    let world = world(db).await;
    let tenant = Tenant::open(&world).await;
    let known = ["crm-1", "CRM-1", "crm-10", "crm%", "é", "a b", "a+b", "'"];
    for external_id in known {
        let new = NewClient { external_id: Some(external_id.into()), ..NewClient::named(external_id) };
        tenant.client(&new).await;
    }
    tenant.client(&NewClient::named("Sans")).await;
    for external_id in known {
        let page = tenant.read(&format!("{CLIENTS}?externalId={}", encode(external_id))).await;
        assert_eq!(keys(&page), ["asOf", "data", "pagination"]);
        assert_eq!(page["pagination"], json!({"limit": 50, "offset": 0, "hasMore": false}));
        assert_eq!(items(&page).len(), 1, "{external_id}");
        assert_eq!(text(&items(&page)[0], "externalId"), external_id);
        let behind = tenant.read(&format!("{CLIENTS}?externalId={}&offset=1", encode(external_id))).await;
        assert!(items(&behind).is_empty());
    }
    for external_id in ["crm", "crm-", "rm-1", "crm-2", "%", "e", "null", "ab"] {
        let page = tenant.read(&format!("{CLIENTS}?externalId={}", encode(external_id))).await;
        assert!(items(&page).is_empty(), "{external_id}");
    }
    // Ids are kept trimmed and in NFC, so they are looked up like that.
    for (asked, kept) in [(" crm-1 ", "crm-1"), ("e\u{301}", "é")] {
        let page = tenant.read(&format!("{CLIENTS}?externalId={}", encode(asked))).await;
        assert_eq!(text(&items(&page)[0], "externalId"), kept);
    }
    refused(&tenant.get(&format!("{CLIENTS}?externalId=")).await, "externalId", "empty");
}

/// Rules: LIST-24
#[on_each_database]
fn filters_of_clients_combine_with_and(db: Database) {
    let client = (0..3_usize, 0..3_usize, any::<bool>());
    let strategy = (
        prop::collection::vec(client, 1..10),
        prop::option::of(0..4_usize),
        prop::option::of(0..10_usize),
        prop::option::of(any::<Index>()),
    );
    for_all_on_service(db, 32, &strategy, async |world, (clients, q, external_id, since)| {
        let tenant = Tenant::open(world).await;
        let mut made = Vec::new();
        for (n, (name, city, has_id)) in clients.into_iter().enumerate() {
            let new = NewClient {
                city: Some(["Évry", "Nîmes", "Lyon"][city].into()),
                external_id: has_id.then(|| format!("crm-{n}")),
                ..NewClient::named(["Léa", "Nora", "Yves"][name])
            };
            made.push(tenant.client(&new).await);
        }
        // Each is found in some names and some cities.
        let q = q.map(|n| ["vr", "n", "y", "zz"][n]);
        let external_id = external_id.map(|n| format!("crm-{n}"));
        let since = since.map(|pick| pick.get(&made).updated_at);
        let parameters = [
            Some("limit=100".to_owned()),
            q.map(|q| format!("q={q}")),
            external_id.as_ref().map(|id| format!("externalId={id}")),
            since.map(|since| format!("since={since}")),
        ];
        let query = parameters.into_iter().flatten().collect::<Vec<_>>().join("&");
        let plain = |text: &str| text.to_lowercase().replace(['é', 'É'], "e").replace('î', "i");
        made.reverse();
        let expected: Vec<String> = made
            .iter()
            .filter(|client| {
                q.is_none_or(|q| {
                    plain(&client.name).contains(q)
                        || client.city.as_deref().is_some_and(|city| plain(city).contains(q))
                }) && external_id.as_ref().is_none_or(|id| client.external_id.as_ref() == Some(id))
                    && since.is_none_or(|since| client.updated_at >= since)
            })
            .map(|client| client.id.to_string())
            .collect();
        assert_eq!(ids(&tenant.read(&format!("{CLIENTS}?{query}")).await), expected, "{query}");
    });
}

/// Rules: LIST-18, LIST-24
#[on_each_database]
fn status_since_and_lines_combine_with_and(db: Database) {
    for_all_on_service(db, 12, &acts(10..25), async |world, acts| {
        let tenant = Tenant::open(world).await;
        let mut workload = Workload::open(world, &tenant.company).await;
        workload.run(&acts).await;
        let lists = [
            (QUOTES, ["DRAFT", "SENT", "ACCEPTED", "REJECTED", "EXPIRED"]),
            (INVOICES, ["DRAFT", "SENT", "PAID", "OVERDUE", "CANCELED"]),
        ];
        for (list, statuses) in lists {
            let all = tenant.read(&format!("{list}?limit=100&include=lines&since={LONG_AGO}")).await;
            for since in workload.stamps.iter().step_by(3) {
                for status in statuses {
                    let query = format!("status={status}&include=lines&since={since}&limit=100");
                    let page = tenant.read(&format!("{list}?{query}")).await;
                    let expected: Vec<&Value> = items(&all)
                        .iter()
                        .filter(|item| item["status"] == status && text(item, "updatedAt") >= since.as_str())
                        .collect();
                    assert_eq!(items(&page).iter().collect::<Vec<_>>(), expected, "{list}?{query}");
                }
            }
        }
    });
}
