//! How values are written and read in every record, and the headers of every answer.

use bytes::Bytes;
use chrono::NaiveDate;
use invoicing_core::{Money, NewClient, NewCompany, NewLine, NewQuote, Percent, Plan, Quantity, UnitPrice};
use invoicing_server::Error;
use invoicing_tests::{Answer, Database, World, new_company, new_quote, on_each_database};
use proptest::prelude::*;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::api::{
    CLIENTS, INVOICES, LISTS, QUOTES, Tenant, at, each_member, everything, for_all_on_service, is_date,
    is_instant, items, read, refused, text, world,
};

const SHORT: [&str; 6] = ["name", "email", "phone", "city", "zipCode", "externalId"];
const LONG: [&str; 2] = ["address", "notes"];

/// Rules: WIRE-2
#[on_each_database]
async fn instants_have_three_decimals_and_z(db: Database) {
    let mut seen = 0;
    for start in ["2026-09-15T00:00:00.000Z", "2026-09-15T10:00:00.100Z", "2026-09-30T21:59:59.999Z"] {
        let world = world(db).await;
        world.clock.set(at(start));
        for answer in Box::pin(everything(&world)).await {
            each_member(&answer, &mut |name, value| {
                let Some(text) = value.as_str() else { return };
                let is_named_so = name.ends_with("At") || name == "asOf";
                assert_eq!(is_instant(text), is_named_so, "{name}: {text}");
                seen += usize::from(is_named_so);
            });
        }
    }
    assert!(seen > 300, "{seen}");
}

/// Rules: WIRE-3
#[on_each_database]
fn an_instant_that_was_read_can_be_sent_back_as_since_without_loss(db: Database) {
    for_all_on_service(db, 24, &(0_u64..3_000), async |world, millis| {
        world.advance(std::time::Duration::from_millis(millis));
        let tenant = Tenant::open(world).await;
        let client = tenant.client(&NewClient::named("A")).await;
        let page = tenant.read(CLIENTS).await;
        let updated_at = text(&items(&page)[0], "updatedAt");
        assert_eq!(text(&page, "asOf"), updated_at);
        let found = tenant.read(&format!("{CLIENTS}?since={updated_at}")).await;
        assert_eq!(items(&found).len(), 1, "{updated_at}");
        let later = client.updated_at.plus_millis(1);
        let found = tenant.read(&format!("{CLIENTS}?since={later}")).await;
        assert!(items(&found).is_empty(), "{later}");
    });
}

/// Rules: WIRE-5, QUOTE-12, INVOICE-2
#[on_each_database]
async fn calendar_dates_are_days_in_the_companys_time_zone(db: Database) {
    let world = world(db).await;
    // Already the 15th in Paris, still the 14th in New York, the 15th at noon in Auckland.
    world.clock.set(at("2026-09-14T23:30:00.000Z"));
    let zones = [
        ("Europe/Paris", "2026-09-15"),
        ("America/New_York", "2026-09-14"),
        ("Pacific/Auckland", "2026-09-15"),
    ];
    for (time_zone, today) in zones {
        let new = NewCompany { time_zone: time_zone.into(), ..new_company("A", Plan::Team) };
        let company = world.invoicing.companies().create(&new).await.unwrap();
        let company = world.invoicing.company(company.id);
        let key = company.keys().issue("tests").await.unwrap().key.reveal().to_owned();
        let tenant = Tenant { world: &world, company, key };
        let quote = tenant.draft().await;
        tenant.company.quotes().send(quote.summary.id, None).await.unwrap();
        tenant.company.quotes().accept(quote.summary.id).await.unwrap();
        let invoice = tenant.company.invoices().convert(quote.summary.id).await.unwrap();
        tenant.company.invoices().issue(invoice.summary.id, None).await.unwrap();
        let quote = tenant.read(&format!("{QUOTES}/{}", quote.summary.id)).await;
        let invoice = tenant.read(&format!("{INVOICES}/{}", invoice.summary.id)).await;
        let today: NaiveDate = today.parse().unwrap();
        let end = (today + chrono::Days::new(30)).to_string();
        assert_eq!(text(&invoice, "issueDate"), today.to_string(), "{time_zone}");
        assert_eq!(text(&invoice, "dueDate"), end, "{time_zone}");
        assert_eq!(text(&quote, "validUntil"), end, "{time_zone}");
    }
}

/// Rules: WIRE-4
#[on_each_database]
async fn calendar_dates_are_written_as_days(db: Database) {
    let world = world(db).await;
    for answer in Box::pin(everything(&world)).await {
        each_member(&answer, &mut |name, value| {
            if let Some(text) = value.as_str() {
                let is_named_so = ["issueDate", "dueDate", "validUntil"].contains(&name);
                assert_eq!(is_date(text), is_named_so, "{name}: {text}");
            }
        });
    }
}

/// The tokens that follow a member's name, as they stand in the text.
fn tokens<'t>(json: &'t str, name: &str) -> Vec<&'t str> {
    let mark = format!("\"{name}\":");
    json.split(&mark).skip(1).map(|rest| &rest[..rest.find([',', '}', ']']).unwrap()]).collect()
}

fn cents(value: Decimal) -> Decimal {
    value.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

fn written(values: impl IntoIterator<Item = Decimal>) -> Vec<String> {
    values.into_iter().map(|value| value.normalize().to_string()).collect()
}

fn line(quantity: Decimal, price: Decimal, rate: Decimal) -> NewLine {
    let (quantity, price) = (Quantity::new(quantity).unwrap(), UnitPrice::new(price).unwrap());
    NewLine::new("x", quantity, price, Percent::new(rate).unwrap())
}

/// Rules: WIRE-6, MONEY-1, MONEY-3, MONEY-4, MONEY-8, MONEY-10
#[on_each_database]
fn numbers_are_exact_and_in_their_shortest_form(db: Database) {
    let quantity = prop_oneof![1_i64..100_000, 1_i64..9_999_999_999];
    let price = prop_oneof![Just(0_i64), 0_i64..100_000, 0_i64..99_999_999];
    let rate = prop::sample::select(vec![0_i64, 210, 550, 850, 1_000, 2_000]);
    let lines = prop::collection::vec((quantity, price, rate), 1..6);
    for_all_on_service(db, 32, &(lines, 0_i64..=500), async |world, (lines, retention)| {
        let lines: Vec<[Decimal; 3]> = lines
            .into_iter()
            .map(|(q, p, r)| [Decimal::new(q, 4), Decimal::new(p, 4), Decimal::new(r, 2)])
            .collect();
        let retention = Decimal::new(retention, 2);
        let tenant = Tenant::open(world).await;
        let client = tenant.client(&NewClient::named("A")).await;
        let new = NewQuote {
            lines: lines.iter().map(|[q, p, r]| line(*q, *p, *r)).collect(),
            retention_rate: Percent::new(retention).unwrap(),
            ..new_quote(client.id)
        };
        let quote = tenant.company.quotes().create(&new).await.unwrap();
        let answer = tenant.get(&format!("{QUOTES}/{}", quote.summary.id)).await;
        let body = std::str::from_utf8(&answer.bytes).unwrap();

        let totals: Vec<Decimal> = lines.iter().map(|[q, p, _]| cents(q * p)).collect();
        let mut shares = std::collections::BTreeMap::<Decimal, Decimal>::new();
        for ([_, _, rate], total) in lines.iter().zip(&totals) {
            *shares.entry(*rate).or_default() += *total;
        }
        let hundred = Decimal::ONE_HUNDRED;
        let vat: Vec<Decimal> = shares.iter().map(|(rate, base)| cents(base * rate / hundred)).collect();
        let ht: Decimal = totals.iter().sum();
        let ttc = ht + vat.iter().sum::<Decimal>();
        let blended = match shares.len() {
            1 => lines[0][2],
            _ if ht.is_zero() => Decimal::ZERO,
            _ => cents((ttc - ht) / ht * hundred),
        };
        assert_eq!(tokens(body, "quantity"), written(lines.iter().map(|line| line[0])));
        assert_eq!(tokens(body, "unitPrice"), written(lines.iter().map(|line| line[1])));
        assert_eq!(tokens(body, "totalHT"), written(std::iter::once(ht).chain(totals)));
        assert_eq!(tokens(body, "totalTTC"), written([ttc]));
        assert_eq!(tokens(body, "retentionRate"), written([retention]));
        assert_eq!(tokens(body, "retentionAmount"), written([cents(ttc * retention / hundred)]));
        assert_eq!(
            tokens(body, "tvaRate")[..=lines.len()],
            written(std::iter::once(blended).chain(lines.iter().map(|line| line[2])))
        );
        let mut found: Vec<_> = tokens(body, "tvaRate")[lines.len() + 1..]
            .iter()
            .zip(tokens(body, "baseHT"))
            .zip(tokens(body, "amountTVA"))
            .map(|((rate, base), vat)| [*rate, base, vat].map(str::to_owned))
            .collect();
        let mut expected: Vec<_> = shares
            .into_iter()
            .zip(vat)
            .map(|((rate, base), vat)| [rate, base, vat].map(|value| value.normalize().to_string()))
            .collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    });
}

/// Rules: WIRE-6
#[on_each_database]
async fn whole_amounts_have_no_point_and_zero_has_no_sign(db: Database) {
    let world = world(db).await;
    let client = world.client("A").await;
    let tiny = Decimal::new(-4, 3);
    let lines = vec![
        line(tiny, Decimal::ONE, Decimal::ZERO),
        line(Decimal::ONE, Decimal::new(120_000, 2), Decimal::ZERO),
    ];
    let new = NewQuote { lines, retention_rate: Percent::ZERO, ..new_quote(client) };
    let quote = world.company.quotes().create(&new).await.unwrap();
    let answer = world.get(&format!("{QUOTES}/{}", quote.summary.id)).await;
    let body = std::str::from_utf8(&answer.bytes).unwrap();
    assert_eq!(tokens(body, "totalHT"), ["1200", "0", "1200"]);
    assert_eq!(tokens(body, "quantity"), ["-0.004", "1"]);
    assert_eq!(tokens(body, "retentionAmount"), ["0"]);
}

/// Rules: WIRE-7, WIRE-8
#[test]
fn more_decimals_than_a_value_keeps_are_refused() {
    for (text, good) in [("1.25", true), ("1.250", true), ("1.255", false), ("0.001", false), ("1e-3", false)]
    {
        assert_eq!(serde_json::from_str::<Money>(text).is_ok(), good, "money {text}");
        assert_eq!(serde_json::from_str::<Percent>(text).is_ok(), good, "percent {text}");
    }
    for (text, good) in [("1.2345", true), ("1.23450", true), ("1.23456", false), ("1e-5", false)] {
        assert_eq!(serde_json::from_str::<Quantity>(text).is_ok(), good, "quantity {text}");
        assert_eq!(serde_json::from_str::<UnitPrice>(text).is_ok(), good, "unit price {text}");
    }
}

/// Rules: WIRE-9
#[on_each_database]
async fn ids_are_uuids_of_version_7(db: Database) {
    let world = world(db).await;
    let mut seen = 0;
    for answer in Box::pin(everything(&world)).await {
        each_member(&answer, &mut |name, value| {
            let is_id = name == "id" || name.ends_with("Id") && name != "externalId";
            if is_id {
                let id = value.as_str().unwrap();
                let uuid: Uuid = id.parse().unwrap();
                assert_eq!((uuid.get_version_num(), uuid.to_string().as_str()), (7, id), "{name}");
                seen += 1;
            }
        });
    }
    assert!(seen > 100, "{seen}");
}

/// Rules: WIRE-10
#[on_each_database]
async fn names_are_camel_case_with_the_documents_french_acronyms(db: Database) {
    let world = world(db).await;
    for answer in Box::pin(everything(&world)).await {
        each_member(&answer, &mut |name, _| {
            let bare =
                ["HT", "TTC", "TVA"].iter().find_map(|acronym| name.strip_suffix(acronym)).unwrap_or(name);
            let mut characters = bare.chars().peekable();
            assert!(characters.peek().is_some_and(char::is_ascii_lowercase), "{name}");
            while let Some(c) = characters.next() {
                assert!(c.is_ascii_alphanumeric(), "{name}");
                let two = c.is_ascii_uppercase() && characters.peek().is_none_or(char::is_ascii_uppercase);
                assert!(!two, "{name}");
            }
        });
    }
}

/// Rules: WIRE-11
#[on_each_database]
async fn every_optional_field_is_present_as_null(db: Database) {
    let world = world(db).await;
    let client = world.send("POST", CLIENTS, &json!({"name": "Nu"})).await.json;
    for name in ["email", "phone", "address", "city", "zipCode", "type", "notes", "externalId"] {
        assert_eq!(client.get(name), Some(&Value::Null), "{name}");
    }
    let new = NewQuote {
        lines: vec![line(1.into(), 1.into(), 20.into())],
        ..new_quote(text(&client, "id").parse().unwrap())
    };
    let quote = world.company.quotes().create(&new).await.unwrap();
    let item = items(&read(&world, QUOTES).await)[0].clone();
    let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    let unset = [
        "externalId",
        "clientEmail",
        "validUntil",
        "sentAt",
        "signedAt",
        "acceptedAt",
        "signedByName",
        "signedByEmail",
    ];
    for name in unset {
        assert_eq!((item.get(name), detail.get(name)), (Some(&Value::Null), Some(&Value::Null)), "{name}");
    }
    assert_eq!(detail.get("signature"), Some(&Value::Null));
    for name in ["unit", "lot", "section"] {
        assert_eq!(detail["lines"][0].get(name), Some(&Value::Null), "{name}");
    }
    world.company.quotes().accept(quote.summary.id).await.unwrap();
    let invoice = world.company.invoices().convert(quote.summary.id).await.unwrap();
    let item = items(&read(&world, INVOICES).await)[0].clone();
    let detail = read(&world, &format!("{INVOICES}/{}", invoice.summary.id)).await;
    for name in ["number", "clientEmail", "issueDate", "dueDate", "paidAt", "canceledAt"] {
        assert_eq!((item.get(name), detail.get(name)), (Some(&Value::Null), Some(&Value::Null)), "{name}");
    }
    let unlinked =
        world.send("PATCH", &format!("{QUOTES}/{}", quote.summary.id), &json!({"externalId": null})).await;
    assert_eq!(unlinked.json.get("externalId"), Some(&Value::Null));
}

/// A client with one field set.
async fn post(world: &World, field: &str, value: impl Into<Value>) -> Answer {
    let mut body = json!({"name": "A"});
    body[field] = value.into();
    world.send("POST", CLIENTS, &body).await
}

async fn stored(world: &World, field: &str, value: &str) -> Value {
    let answer = post(world, field, value).await;
    assert_eq!(answer.status, 201, "{field}: {}", answer.json);
    answer.json[field].clone()
}

/// A text of so many characters that the field accepts.
fn of_length(field: &str, count: usize) -> String {
    match field {
        "email" => format!("{}@exemple.fr", "x".repeat(count - 11)),
        _ => format!("{}é", "€".repeat(count - 1)),
    }
}

/// Rules: WIRE-13
#[on_each_database]
async fn strings_are_trimmed(db: Database) {
    let world = world(db).await;
    for field in SHORT.into_iter().chain(LONG) {
        let inner = of_length(field, 20);
        for around in [" ", "\t", "\n", "\u{a0}", "\u{3000}", " \u{2003} "] {
            assert_eq!(
                stored(&world, field, &format!("{around}{inner}{around}")).await,
                inner,
                "{field} {around:?}"
            );
            // Known by now, and would not be stored again.
            if field == "externalId" {
                break;
            }
        }
    }
}

/// Rules: WIRE-13
#[on_each_database]
async fn strings_are_normalised_to_nfc(db: Database) {
    let world = world(db).await;
    for field in ["name", "phone", "city", "zipCode", "externalId", "address", "notes"] {
        // A letter and its accent, two accents in the wrong order, a compatibility sign, and Hangul in pieces.
        let decomposed = "Lefe\u{300}vre a\u{323}\u{302} \u{212b} \u{1112}\u{1161}\u{11ab}";
        assert_eq!(
            stored(&world, field, decomposed).await,
            "Lef\u{e8}vre \u{1ead} \u{c5} \u{d55c}",
            "{field}"
        );
    }
}

/// Rules: WIRE-14
#[on_each_database]
async fn short_strings_have_at_most_255_characters(db: Database) {
    let world = world(db).await;
    for field in SHORT {
        let longest = of_length(field, 255);
        assert_eq!(stored(&world, field, &format!("  {longest}  ")).await, longest, "{field}");
        refused(&post(&world, field, of_length(field, 256)).await, field, "256 characters");
    }
}

/// Rules: WIRE-14, WIRE-17
#[on_each_database]
async fn long_strings_have_at_most_2000_characters(db: Database) {
    let world = world(db).await;
    for field in LONG {
        let longest = of_length(field, 2_000);
        assert_eq!(stored(&world, field, &longest).await, longest, "{field}");
        refused(&post(&world, field, of_length(field, 2_001)).await, field, "2,001 characters");
        assert_eq!(stored(&world, field, "1 rue Haute\nBâtiment B").await, "1 rue Haute\nBâtiment B");
    }
}

/// Rules: WIRE-14
#[on_each_database]
async fn characters_are_counted_after_normalising_and_not_in_bytes(db: Database) {
    let world = world(db).await;
    for text in ["😀", "e\u{301}", "\u{1112}\u{1161}\u{11ab}"] {
        let stored = stored(&world, "name", &text.repeat(255)).await;
        assert_eq!(stored.as_str().unwrap().chars().count(), 255);
        refused(&post(&world, "name", text.repeat(256)).await, "name", text);
    }
    assert_eq!(stored(&world, "notes", &"😀".repeat(2_000)).await, "😀".repeat(2_000));
}

/// Rules: WIRE-14, CLIENT-4
#[on_each_database]
async fn a_name_has_at_least_one_character(db: Database) {
    let world = world(db).await;
    for name in ["", " ", "\u{a0}\t\n"] {
        refused(&post(&world, "name", name).await, "name", name);
    }
    assert_eq!(stored(&world, "name", "x").await, "x");
}

/// Rules: WIRE-15
#[on_each_database]
async fn an_empty_optional_string_is_read_as_null(db: Database) {
    let world = world(db).await;
    for field in ["email", "phone", "address", "city", "zipCode", "type", "notes"] {
        for empty in ["", "  ", "\u{a0}\n"] {
            assert_eq!(stored(&world, field, empty).await, Value::Null, "{field} {empty:?}");
        }
        let answer = post(&world, field, Value::Null).await;
        assert_eq!((answer.status.as_u16(), &answer.json[field]), (201, &Value::Null), "{field}");
    }
}

/// Rules: WIRE-16
#[on_each_database]
async fn an_empty_external_id_is_refused(db: Database) {
    let world = world(db).await;
    let quote = format!("{QUOTES}/{}", world.draft().await.summary.id);
    for empty in ["", "  ", "\u{a0}\n"] {
        refused(&post(&world, "externalId", empty).await, "externalId", empty);
        let body = json!({"externalId": empty});
        refused(&world.send("PATCH", &quote, &body).await, "externalId", empty);
    }
    assert_eq!(read(&world, &quote).await["externalId"], Value::Null);
}

/// Rules: WIRE-13, WIRE-14, WIRE-15
#[on_each_database]
async fn the_texts_of_lines_keep_the_same_rules(db: Database) {
    let world = world(db).await;
    let client = world.client("A").await;
    let with = |field: &str, value: String| {
        let mut line = json!({"description": "x", "quantity": 1, "unitPrice": 1, "tvaRate": 0});
        line[field] = value.into();
        NewQuote { lines: vec![serde_json::from_value(line).unwrap()], ..new_quote(client) }
    };
    for (field, longest) in [("description", 2_000), ("unit", 255), ("lot", 255), ("section", 255)] {
        let good = with(field, format!(" {}e\u{301} ", "€".repeat(longest - 1)));
        let quote = world.company.quotes().create(&good).await.unwrap();
        let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
        assert_eq!(detail["lines"][0][field], format!("{}é", "€".repeat(longest - 1)), "{field}");
        let refused = world.company.quotes().create(&with(field, "€".repeat(longest + 1))).await;
        let Err(Error::Invalid(invalid)) = refused else { panic!("{field}: {refused:?}") };
        assert_eq!(invalid.field, format!("lines[0].{field}"));
        let empty = world.company.quotes().create(&with(field, " ".into())).await;
        assert_eq!(empty.is_ok(), field != "description", "{field}");
    }
}

/// Rules: WIRE-29, WIRE-31
#[on_each_database]
fn a_character_without_a_shared_meaning_is_refused_wherever_it_stands(db: Database) {
    let characters = prop_oneof![
        prop::char::range('\u{e000}', '\u{f8ff}'),
        prop::char::range('\u{fdd0}', '\u{fdef}'),
        prop::char::range('\u{f0000}', '\u{10ffff}'),
        (0..17_u32, 0xfffe..=0xffff_u32).prop_map(|(plane, c)| char::from_u32(plane << 16 | c).unwrap()),
    ];
    let texts = ("[a-zé€😀 ]{0,20}", characters, "[a-zé€😀 ]{0,20}");
    for_all_on_service(db, 32, &texts, async |world, (before, c, after)| {
        let tenant = Tenant::open(world).await;
        let entered = format!("{before}{c}{after}");
        let position = before.chars().count() + 1;
        let rule = format!("must not contain U+{:04X} (character {position})", u32::from(c));
        for field in ["name", "email", "phone", "address", "city", "zipCode", "notes", "externalId"] {
            let mut body = json!({"name": "A"});
            body[field] = json!(entered);
            let answer = tenant.send("POST", CLIENTS, &body).await;
            assert_eq!(answer.message(), format!("{field}: {rule}"), "{}", answer.json);
        }
        let link = format!("{QUOTES}/{}", tenant.draft().await.summary.id);
        let answer = tenant.send("PATCH", &link, &json!({"externalId": entered})).await;
        assert_eq!(answer.message(), format!("externalId: {rule}"));
    });
}

/// Rules: WIRE-13, WIRE-14
#[on_each_database]
fn any_text_is_stored_in_its_one_form_or_refused_by_name(db: Database) {
    let texts = prop_oneof!["\\PC{1,40}", "[ -~é€😀\u{300}-\u{340}]{200,300}", any::<String>()];
    for_all_on_service(db, 64, &texts, async |world, name| {
        let tenant = Tenant::open(world).await;
        let answer = tenant.send("POST", CLIENTS, &json!({"name": name})).await;
        if answer.status == 400 {
            return refused(&answer, "name", &name);
        }
        assert_eq!(answer.status, 201, "{}", answer.json);
        let kept = text(&answer.json, "name");
        assert!((1..=255).contains(&kept.chars().count()) && kept.trim() == kept, "{kept:?}");
        // A stored value is stored again as it is, and read as it was written.
        let again = tenant.send("POST", CLIENTS, &json!({"name": kept})).await;
        assert_eq!((again.status.as_u16(), text(&again.json, "name")), (201, kept));
        let page = tenant.read(CLIENTS).await;
        assert!(items(&page).iter().all(|client| client["name"] == kept), "{page}");
    });
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(|value| value.to_str().unwrap())
}

/// Rules: WIRE-19, WIRE-20, WIRE-21
#[on_each_database]
async fn every_answer_has_its_content_type_and_request_id_and_is_not_stored(db: Database) {
    let world = world(db).await;
    let draft = format!("{QUOTES}/{}/document", world.draft().await.summary.id);
    for (method, path, key, status) in [
        ("GET", QUOTES, Some(&*world.key), 200),
        ("GET", QUOTES, None, 401),
        ("GET", "/api/v1/nothing", Some(&world.key), 404),
        ("DELETE", QUOTES, Some(&world.key), 405),
        ("GET", "/api/v1/quotes?limit=0", Some(&world.key), 400),
        ("GET", &draft, Some(&world.key), 409),
    ] {
        let answer = world.call(method, path, key, &[], Bytes::new()).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(header(&answer, "content-type"), Some("application/json; charset=utf-8"), "{path}");
        assert_eq!(header(&answer, "cache-control"), Some("no-store"), "{path}");
        assert!(header(&answer, "x-request-id").is_some(), "{path}");
    }
}

/// Rules: WIRE-20
#[on_each_database]
async fn a_valid_request_id_is_echoed(db: Database) {
    let world = world(db).await;
    for id in ["a", "01J7-abc_DEF.9", "4f2c8a1e-0d3b-4b1a-9f00-000000000001"] {
        for path in [QUOTES, "/api/v1/nothing"] {
            let answer =
                world.call("GET", path, Some(&world.key), &[("x-request-id", id)], Bytes::new()).await;
            assert_eq!(header(&answer, "x-request-id"), Some(id));
        }
    }
}

/// Rules: WIRE-20
#[on_each_database]
async fn a_missing_or_invalid_request_id_is_replaced_by_a_new_uuid_of_version_7(db: Database) {
    let world = world(db).await;
    let long = "x".repeat(10_000);
    let mut seen = std::collections::BTreeSet::new();
    let holds_key = format!("a{}", world.key);
    let ids = [None, Some(""), Some("a b"), Some("a\tb"), Some("<script>"), Some(&*holds_key), Some(&*long)];
    for id in ids {
        let headers: Vec<_> = id.map(|id| ("x-request-id", id)).into_iter().collect();
        let answer = world.call("GET", QUOTES, Some(&world.key), &headers, Bytes::new()).await;
        let made: Uuid = header(&answer, "x-request-id").unwrap().parse().unwrap();
        assert_eq!(made.get_version_num(), 7);
        assert!(seen.insert(made), "{made} twice");
    }
}

/// Rules: WIRE-22
#[on_each_database]
async fn authenticated_answers_show_the_quota(db: Database) {
    let world = World::new(db).await;
    for (n, path) in LISTS.into_iter().chain(["/api/v1/nothing", "/api/v1/quotes?limit=0"]).enumerate() {
        let answer = world.get(path).await;
        assert_eq!(header(&answer, "ratelimit-limit"), Some("30"), "{path}");
        assert_eq!(header(&answer, "ratelimit-remaining"), Some(&*(29 - n).to_string()), "{path}");
        let reset: u64 = header(&answer, "ratelimit-reset").unwrap().parse().unwrap();
        assert!((1..=61).contains(&reset), "{path}: {reset}");
    }
}

/// Rules: WIRE-23
#[on_each_database]
async fn a_401_asks_for_a_bearer_and_shows_no_quota(db: Database) {
    let world = World::new(db).await;
    for key in [None, Some("isk_unknown")] {
        let answer = world.call("GET", QUOTES, key, &[], Bytes::new()).await;
        assert_eq!(answer.status, 401);
        assert_eq!(header(&answer, "www-authenticate"), Some("Bearer"));
        assert!(
            answer.headers.keys().all(|name| !name.as_str().starts_with("ratelimit")),
            "{:?}",
            answer.headers
        );
    }
}

/// Rules: WIRE-25
#[on_each_database]
async fn a_body_has_at_most_256_kib(db: Database) {
    let world = world(db).await;
    let of_size = |size: usize| Bytes::from(format!("{{\"name\": \"A\"{}}}", " ".repeat(size - 13)));
    for (size, expected) in [(256 * 1_024, 201), (256 * 1_024 + 1, 413)] {
        let headers = [("content-type", "application/json")];
        let answer = world.call("POST", CLIENTS, Some(&world.key), &headers, of_size(size)).await;
        assert_eq!(answer.status, expected, "{size} bytes: {}", answer.json);
    }
}
