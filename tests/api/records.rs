//! Records: what each one holds, and what none may hold.

use std::collections::BTreeMap;

use invoicing_core::{ProofParts, proof_fingerprint, sha256_hex};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use serde_json::{Value, json};

use crate::support::api::{
    CLIENTS, INVOICES, LISTS, QUOTES, draft_invoice, each_member, everything, gallery, is_date, is_instant,
    items, keys, payment, read, sign, text, world,
};

/// A member of a record: its name, and what it holds. `?` at the end of the name: or null.
type Member = (&'static str, fn(&Value) -> bool);

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty() && text.trim() == text)
}

fn is_number(value: &Value) -> bool {
    value.is_number()
}

fn instant(value: &Value) -> bool {
    value.as_str().is_some_and(is_instant)
}

fn date(value: &Value) -> bool {
    value.as_str().is_some_and(is_date)
}

fn quote_status(value: &Value) -> bool {
    value.as_str().is_some_and(|s| ["DRAFT", "SENT", "ACCEPTED", "REJECTED", "EXPIRED"].contains(&s))
}

fn invoice_status(value: &Value) -> bool {
    value.as_str().is_some_and(|s| ["DRAFT", "SENT", "PAID", "OVERDUE", "CANCELED"].contains(&s))
}

fn invoice_type(value: &Value) -> bool {
    value == "STANDARD"
}

fn document_format(value: &Value) -> bool {
    value == "PDF" || value == "FACTUR_X"
}

fn credit_notes(value: &Value) -> bool {
    let note: &[Member] =
        &[("id", is_text), ("number", is_text), ("issueDate", date), ("totalTTC", is_number)];
    value.as_array().is_some_and(|notes| notes.iter().all(|value| holds(value, note) == Ok(())))
}

fn currency(value: &Value) -> bool {
    value == "EUR"
}

fn client_type(value: &Value) -> bool {
    value == "PARTICULIER" || value == "PROFESSIONNEL"
}

fn lines(value: &Value) -> bool {
    let lines = value.as_array().is_some_and(|lines| !lines.is_empty());
    lines && value.as_array().into_iter().flatten().all(|line| holds(line, LINE) == Ok(()))
}

fn shares(value: &Value) -> bool {
    let share: &[Member] = &[("tvaRate", is_number), ("baseHT", is_number), ("amountTVA", is_number)];
    value.as_array().is_some_and(|shares| shares.iter().all(|value| holds(value, share) == Ok(())))
}

fn signature(value: &Value) -> bool {
    let block: &[Member] = &[
        ("signedAt", instant),
        ("signedByName", is_text),
        ("signedByEmail", is_text),
        ("acceptedText", is_text),
        ("proofFingerprint", fingerprint),
    ];
    holds(value, block) == Ok(())
}

fn fingerprint(value: &Value) -> bool {
    let hex = value.as_str().and_then(|text| text.strip_prefix("sha256:")).unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

const QUOTE: &[Member] = &[
    ("id", is_text),
    ("number", is_text),
    ("status", quote_status),
    ("externalId?", is_text),
    ("clientId", is_text),
    ("clientName", is_text),
    ("clientEmail?", is_text),
    ("totalHT", is_number),
    ("totalTTC", is_number),
    ("tvaRate", is_number),
    ("currency", currency),
    ("validUntil?", date),
    ("createdAt", instant),
    ("updatedAt", instant),
    ("sentAt?", instant),
    ("signedAt?", instant),
    ("acceptedAt?", instant),
    ("signedByName?", is_text),
    ("signedByEmail?", is_text),
];
const QUOTE_DETAIL: &[Member] = &[
    ("lines", lines),
    ("retentionRate", is_number),
    ("retentionAmount", is_number),
    ("vatBreakdown", shares),
    ("signature?", signature),
    ("orderNumber?", is_text),
];
const LINE: &[Member] = &[
    ("description", is_text),
    ("quantity", is_number),
    ("unit?", is_text),
    ("unitPrice", is_number),
    ("totalHT", is_number),
    ("tvaRate", is_number),
    ("lot?", is_text),
    ("section?", is_text),
];
const INVOICE: &[Member] = &[
    ("id", is_text),
    ("number?", is_text),
    ("status", invoice_status),
    ("type", invoice_type),
    ("quoteId", is_text),
    ("clientId", is_text),
    ("clientName", is_text),
    ("clientEmail?", is_text),
    ("issueDate?", date),
    ("dueDate?", date),
    ("suppliedOn?", date),
    ("periodStart?", date),
    ("periodEnd?", date),
    ("documentFormat?", document_format),
    ("position?", is_number),
    ("progressRate?", is_number),
    ("totalHT", is_number),
    ("totalTTC", is_number),
    ("tvaRate", is_number),
    ("currency", currency),
    ("amountCredited", is_number),
    ("amountWrittenOff", is_number),
    ("retentionRate", is_number),
    ("retentionAmount", is_number),
    ("retentionReleaseDate?", date),
    ("retentionDue", is_number),
    ("amountPaid", is_number),
    ("amountDue", is_number),
    ("amountOverpaid", is_number),
    ("paidAt?", instant),
    ("canceledAt?", instant),
    ("createdAt", instant),
    ("updatedAt", instant),
];
const INVOICE_DETAIL: &[Member] = &[
    ("lines", lines),
    ("vatBreakdown", shares),
    ("deductions", Value::is_array),
    ("creditNotes", credit_notes),
    ("orderNumber?", is_text),
];
const CLIENT: &[Member] = &[
    ("id", is_text),
    ("name", is_text),
    ("email?", is_text),
    ("phone?", is_text),
    ("address?", is_text),
    ("city?", is_text),
    ("zipCode?", is_text),
    ("type?", client_type),
    ("notes?", is_text),
    ("externalId?", is_text),
    ("siren?", is_text),
    ("vatNumber?", is_text),
    ("electronicAddress?", is_text),
    ("country?", is_text),
    ("billingAddress?", billing_address),
    ("createdAt", instant),
    ("updatedAt", instant),
];

fn billing_address(value: &Value) -> bool {
    let members: &[Member] =
        &[("address?", is_text), ("zipCode?", is_text), ("city?", is_text), ("country?", is_text)];
    holds(value, members).is_ok()
}

/// Whether an object has exactly these members, each of its kind; otherwise the first that is wrong.
fn holds(value: &Value, members: &[Member]) -> Result<(), String> {
    let mut rest: BTreeMap<&str, &Value> =
        value.as_object().ok_or("no object")?.iter().map(|(name, value)| (name.as_str(), value)).collect();
    for (name, kind) in members {
        let bare = name.trim_end_matches('?');
        let value = rest.remove(bare).ok_or_else(|| format!("{bare} is missing"))?;
        if !(kind(value) || bare != *name && value.is_null()) {
            return Err(format!("{bare} is {value}"));
        }
    }
    rest.keys().next().map_or(Ok(()), |name| Err(format!("{name} is too much")))
}

#[track_caller]
fn assert_holds(value: &Value, parts: &[&[Member]]) {
    assert_eq!(holds(value, &parts.concat()), Ok(()), "{value:#}");
}

/// Rules: RECORD-1, RECORD-10
#[on_each_database]
async fn a_quote_in_a_list_has_the_fields_of_the_contract_in_every_state(db: Database) {
    let world = world(db).await;
    gallery(&world).await;
    for item in items(&read(&world, QUOTES).await) {
        assert_holds(item, &[QUOTE]);
    }
    for item in items(&read(&world, &format!("{QUOTES}?include=lines")).await) {
        assert_holds(item, &[QUOTE, &[("lines", lines)]]);
    }
}

/// Rules: RECORD-2, RECORD-3, RECORD-4
#[on_each_database]
async fn the_detail_of_a_quote_adds_lines_retention_vat_and_signature(db: Database) {
    let world = world(db).await;
    for quote in gallery(&world).await.quotes {
        assert_holds(&read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await, &[QUOTE, QUOTE_DETAIL]);
    }
}

/// Rules: RECORD-7, RECORD-10
#[on_each_database]
async fn an_invoice_in_a_list_has_the_fields_of_the_contract_in_every_state(db: Database) {
    let world = world(db).await;
    gallery(&world).await;
    for item in items(&read(&world, INVOICES).await) {
        assert_holds(item, &[INVOICE]);
    }
    for item in items(&read(&world, &format!("{INVOICES}?include=lines")).await) {
        assert_holds(item, &[INVOICE, &[("lines", lines)]]);
    }
}

/// Rules: RECORD-8, RECORD-3
#[on_each_database]
async fn the_detail_of_an_invoice_adds_lines_and_vat(db: Database) {
    let world = world(db).await;
    for invoice in gallery(&world).await.invoices {
        assert_holds(
            &read(&world, &format!("{INVOICES}/{}", invoice.summary.id)).await,
            &[INVOICE, INVOICE_DETAIL],
        );
    }
}

/// Rules: RECORD-9
#[on_each_database]
async fn a_client_has_the_fields_of_the_contract_wherever_it_is_shown(db: Database) {
    let world = world(db).await;
    let bare = world.send("POST", CLIENTS, &json!({"name": "Nu"})).await;
    let full = json!({
        "name": "Léa", "email": "lea@exemple.fr", "phone": "+33 1 23 45 67 89", "address": "1 rue Haute",
        "city": "Lyon", "zipCode": "69001", "type": "PARTICULIER", "notes": "Code 12", "externalId": "crm-1",
    });
    let created = world.send("POST", CLIENTS, &full).await;
    let replayed = world.send("POST", CLIENTS, &full).await;
    assert_eq!([bare.status, created.status, replayed.status].map(|s| s.as_u16()), [201, 201, 200]);
    for answer in [&bare, &created, &replayed] {
        assert_holds(&answer.json, &[CLIENT]);
    }
    for (name, value) in full.as_object().unwrap() {
        assert_eq!(created.json[name], *value, "{name}");
    }
    // One record, three places.
    let page = read(&world, CLIENTS).await;
    assert_eq!(items(&page), [created.json.clone(), bare.json]);
    assert_eq!(replayed.json, created.json);
}

/// Rules: RECORD-5, DOCUMENT-19
#[on_each_database]
async fn a_line_has_exactly_its_eight_fields(db: Database) {
    let world = world(db).await;
    let quote = world.draft().await;
    let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    let expected = json!([
        {"description": "Ravalement de façade", "quantity": 12.5, "unit": "m2", "unitPrice": 48.2, "totalHT": 602.5,
         "tvaRate": 10, "lot": "Peinture", "section": "Extérieur"},
        {"description": "Évacuation", "quantity": 1, "unit": null, "unitPrice": 180, "totalHT": 180, "tvaRate": 20,
         "lot": "Divers", "section": null},
        {"description": "Remise", "quantity": -1, "unit": null, "unitPrice": 50, "totalHT": -50, "tvaRate": 10,
         "lot": null, "section": null},
    ]);
    assert_eq!(detail["lines"], expected);
    world.company.quotes().accept(quote.summary.id).await.unwrap();
    let invoice = world.company.invoices().convert(quote.summary.id).await.unwrap();
    assert_eq!(read(&world, &format!("{INVOICES}/{}", invoice.summary.id)).await["lines"], expected);
}

/// Rules: LIST-18
#[on_each_database]
async fn include_lines_shows_the_lines_of_the_detail(db: Database) {
    let world = world(db).await;
    gallery(&world).await;
    for list in [QUOTES, INVOICES] {
        let plain = read(&world, list).await;
        let with_lines = read(&world, &format!("{list}?include=lines")).await;
        for (plain, with_lines) in items(&plain).iter().zip(items(&with_lines)) {
            let detail = read(&world, &format!("{list}/{}", text(plain, "id"))).await;
            assert!(plain.get("lines").is_none());
            assert_eq!(with_lines["lines"], detail["lines"]);
            for (name, value) in plain.as_object().unwrap() {
                assert_eq!((&with_lines[name], &detail[name]), (value, value), "{name}");
            }
        }
    }
}

/// Rules: RECORD-2
#[on_each_database]
async fn a_draft_without_lines_has_an_empty_array(db: Database) {
    let world = world(db).await;
    let client = world.client("A").await;
    let new = invoicing_core::NewQuote { lines: vec![], ..invoicing_tests::new_quote(client) };
    let quote = world.company.quotes().create(&new).await.unwrap();
    let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    assert_eq!([&detail["lines"], &detail["vatBreakdown"]], [&json!([]), &json!([])]);
    for name in ["totalHT", "totalTTC", "tvaRate", "retentionAmount"] {
        assert_eq!(detail[name], 0, "{name}");
    }
    let page = read(&world, &format!("{QUOTES}?include=lines")).await;
    assert_eq!(items(&page)[0]["lines"], json!([]));
}

/// Rules: RECORD-3, MONEY-3, MONEY-10
#[on_each_database]
async fn totals_vat_and_retention_are_those_of_the_lines(db: Database) {
    let world = world(db).await;
    let quote = world.draft().await;
    let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    let expected = json!({"totalHT": 732.5, "totalTTC": 823.75, "tvaRate": 12.46, "retentionRate": 5, "retentionAmount": 41.19});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(detail[name], *value, "{name}");
    }
    let mut shares = detail["vatBreakdown"].as_array().unwrap().clone();
    shares.sort_by_key(|share| share["tvaRate"].as_i64());
    assert_eq!(
        shares,
        [
            json!({"tvaRate": 10, "baseHT": 552.5, "amountTVA": 55.25}),
            json!({"tvaRate": 20, "baseHT": 180, "amountTVA": 36}),
        ]
    );
    world.company.quotes().accept(quote.summary.id).await.unwrap();
    let invoice = world.company.invoices().convert(quote.summary.id).await.unwrap();
    let invoice = read(&world, &format!("{INVOICES}/{}", invoice.summary.id)).await;
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(invoice[name], *value, "{name}");
    }
    assert_eq!(invoice["vatBreakdown"], detail["vatBreakdown"]);
}

/// Rules: RECORD-4
#[on_each_database]
async fn the_signature_is_null_until_the_client_signs(db: Database) {
    let world = world(db).await;
    for quote in gallery(&world).await.quotes {
        let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
        let is_signed = quote.summary.signed_at.is_some();
        assert_eq!(detail["signature"].is_null(), !is_signed, "{}", quote.summary.status);
        let block = &detail["signature"];
        for (head, in_block) in
            [("signedAt", "signedAt"), ("signedByName", "signedByName"), ("signedByEmail", "signedByEmail")]
        {
            assert_eq!(detail[head], block[in_block], "{head}");
        }
        assert_eq!(detail["acceptedAt"].is_string(), detail["status"] == "ACCEPTED");
        assert_eq!(
            detail["sentAt"].is_null(),
            ["DRAFT"].contains(&text(&detail, "status")) || quote.summary.sent_at.is_none()
        );
    }
}

/// Rules: RECORD-4, EVIDENCE-1, EVIDENCE-3
#[on_each_database]
async fn a_signature_names_signer_and_content_and_its_fingerprint_is_recomputed(db: Database) {
    let world = world(db).await;
    let sent = world.sent().await;
    let document = format!("{QUOTES}/{}/document", sent.summary.id);
    let sent_pdf = download(&world, &document).await;
    world.advance(std::time::Duration::from_hours(1));
    sign(&world, sent.summary.id).await;
    let detail = read(&world, &format!("{QUOTES}/{}", sent.summary.id)).await;
    assert_eq!(
        (text(&detail, "status"), text(&detail, "acceptedAt")),
        ("ACCEPTED", text(&detail, "signedAt"))
    );
    let block = &detail["signature"];
    assert_eq!(text(block, "signedByName"), "Léa Lefèvre");
    assert_eq!(text(block, "signedByEmail"), "lea@exemple.fr");
    assert_eq!(text(block, "acceptedText"), "Bon pour accord");
    assert_eq!(text(block, "signedAt"), world.now().to_string());
    let parts = ProofParts {
        accepted_text: text(block, "acceptedText"),
        document_sha256: &sha256_hex(&sent_pdf),
        number: text(&detail, "number"),
        quote_id: sent.summary.id,
        signed_at: world.now(),
        signed_by_email: text(block, "signedByEmail"),
        signed_by_name: text(block, "signedByName"),
    };
    assert_eq!(text(block, "proofFingerprint"), proof_fingerprint(&parts));
}

async fn download(world: &World, document: &str) -> bytes::Bytes {
    let url = text(&read(world, document).await, "url").to_owned();
    let path = url.strip_prefix("http://127.0.0.1:8080").expect("the base URL");
    world.call("GET", path, None, &[], bytes::Bytes::new()).await.bytes
}

/// Rules: RECORD-4
#[on_each_database]
async fn a_quote_accepted_by_hand_has_no_signature(db: Database) {
    let world = world(db).await;
    let quote = world.accepted().await;
    let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    for name in ["signature", "signedAt", "signedByName", "signedByEmail"] {
        assert_eq!(detail.get(name), Some(&Value::Null), "{name}");
    }
    assert!(detail["acceptedAt"].is_string());
}

/// Rules: INVOICE-1, INVOICE-7
#[on_each_database]
async fn an_invoice_has_no_number_and_no_dates_while_it_is_a_draft(db: Database) {
    let world = world(db).await;
    let id = draft_invoice(&world).await;
    let path = format!("{INVOICES}/{id}");
    let draft = read(&world, &path).await;
    assert_eq!([&draft["number"], &draft["issueDate"], &draft["dueDate"]], [&Value::Null; 3]);
    world.company.invoices().issue(id, None).await.unwrap();
    let issued = read(&world, &path).await;
    assert_eq!((text(&issued, "number"), text(&issued, "status")), ("FAC-2026-0001", "SENT"));
    let second = draft_invoice(&world).await;
    let canceled = world.company.invoices().cancel(second).await.unwrap();
    assert_eq!(read(&world, &format!("{INVOICES}/{}", canceled.summary.id)).await["number"], Value::Null);
    world.company.invoices().cancel(id).await.unwrap();
    let canceled = read(&world, &path).await;
    assert_eq!((text(&canceled, "number"), text(&canceled, "status")), ("FAC-2026-0001", "CANCELED"));
    assert!(canceled["canceledAt"].is_string());
}

/// The description of each of these fields has the condition of `null`, and the debt of a cancelled invoice.
///
/// Rules: RECORD-1, RECORD-7, INVOICE-17
#[on_each_database]
async fn what_is_null_and_what_is_owed_is_so_in_each_state(db: Database) {
    let world = World::new(db).await;
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let day = "2026-12-24".parse().unwrap();
    let client = world.client("Durand").await;
    let draft = quotes.create(&new_quote(client).valid_until(day)).await.unwrap().summary.id;
    let accepted = world.draft().await.summary.id;
    quotes.accept(accepted).await.unwrap();
    let sent = world.sent().await.summary.id;
    for (id, valid, is_sent) in [(draft, true, false), (accepted, false, false), (sent, true, true)] {
        let quote = world.get(&format!("/api/v1/quotes/{id}")).await.json;
        assert_eq!((!quote["validUntil"].is_null(), !quote["sentAt"].is_null()), (valid, is_sent), "{quote}");
        assert_eq!(quote["acceptedAt"].is_null(), quote["status"] != "ACCEPTED", "{quote}");
    }
    for (is_issued, is_canceled) in [(false, false), (false, true), (true, false), (true, true)] {
        let id = invoices.convert(world.accepted().await.summary.id).await.unwrap().summary.id;
        if is_issued {
            invoices.issue(id, None).await.unwrap();
        }
        if is_canceled {
            invoices.cancel(id).await.unwrap();
        }
        let invoice = world.get(&format!("/api/v1/invoices/{id}")).await.json;
        for name in ["number", "issueDate", "dueDate"] {
            assert_eq!(invoice[name].is_null(), !is_issued, "{name}: {invoice}");
        }
        assert_eq!(invoice["canceledAt"].is_null(), !is_canceled, "{invoice}");
        assert!(invoice["paidAt"].is_null(), "{invoice}");
        for name in ["amountDue", "retentionDue"] {
            assert_eq!(invoice[name] == json!(0), is_canceled, "{name}: {invoice}");
        }
    }
}

/// Rules: MONEY-11, INVOICE-10, INVOICE-11
#[on_each_database]
async fn the_amounts_of_an_invoice_follow_its_payments(db: Database) {
    let world = world(db).await;
    let invoices = world.company.invoices();
    let id = draft_invoice(&world).await;
    invoices.issue(id, None).await.unwrap();
    let amounts = async || {
        let invoice = read(&world, &format!("{INVOICES}/{id}")).await;
        let page = read(&world, INVOICES).await;
        for name in ["status", "retentionDue", "amountPaid", "amountDue", "amountOverpaid", "paidAt"] {
            assert_eq!(items(&page)[0][name], invoice[name], "{name}");
        }
        let numbers = ["amountPaid", "amountDue", "retentionDue", "amountOverpaid"]
            .map(|name| invoice[name].to_string());
        (numbers, text(&invoice, "status").to_owned(), invoice["paidAt"].is_string())
    };
    let expected =
        |numbers: [&str; 4], status: &str, paid| (numbers.map(str::to_owned), status.to_owned(), paid);
    // 823.75 less the 5 % that are held back: 782.56.
    assert_eq!(amounts().await, expected(["0", "782.56", "41.19", "0"], "SENT", false));
    invoices.pay(id, &payment("782.55")).await.unwrap();
    assert_eq!(amounts().await, expected(["782.55", "0.01", "41.19", "0"], "SENT", false));
    let last = invoices.pay(id, &payment("10")).await.unwrap();
    assert_eq!(amounts().await, expected(["792.55", "0", "31.2", "0"], "PAID", true));
    invoices.reverse_payment(id, last.payment.id).await.unwrap();
    assert_eq!(amounts().await, expected(["782.55", "0.01", "41.19", "0"], "SENT", false));
}

#[on_each_database]
async fn a_record_names_its_quote_and_its_client(db: Database) {
    let world = world(db).await;
    let quote = world.accepted().await;
    let invoice = world.company.invoices().convert(quote.summary.id).await.unwrap();
    let client = read(&world, &format!("{CLIENTS}?q=lefevre")).await;
    let client = &items(&client)[0];
    let quote = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    let invoice = read(&world, &format!("{INVOICES}/{}", invoice.summary.id)).await;
    assert_eq!(invoice["quoteId"], quote["id"]);
    for record in [&quote, &invoice] {
        assert_eq!(record["clientId"], client["id"]);
        assert_eq!(record["clientName"], client["name"]);
        assert_eq!(record["clientEmail"], client["email"]);
    }
}

/// Rules: RECORD-6
#[on_each_database]
async fn the_private_side_of_a_line_is_in_no_answer_even_when_asked_for(db: Database) {
    let world = world(db).await;
    // `World::call` looks for the canaries and for the names of private fields in every answer.
    let known = [
        "id",
        "number",
        "status",
        "data",
        "pagination",
        "asOf",
        "limit",
        "offset",
        "hasMore",
        "url",
        "expiresAt",
    ];
    let known: Vec<&str> = [QUOTE, QUOTE_DETAIL, LINE, INVOICE, CLIENT]
        .concat()
        .iter()
        .map(|(name, _)| name.trim_end_matches('?'))
        .chain(known)
        .chain([
            "acceptedText",
            "proofFingerprint",
            "baseHT",
            "amountTVA",
            "fileName",
            "contentType",
            "sizeBytes",
            "sha256",
            "deductions",
            "creditNotes",
        ])
        .collect();
    for answer in Box::pin(everything(&world)).await {
        each_member(&answer, &mut |name, _| {
            assert!(known.contains(&name), "{name} is no field of the contract");
        });
    }
    let quote = world.draft().await;
    for query in ["include=costing", "include=lines,costing", "fields=privateNote", "expand=lines.costing"] {
        for path in [QUOTES.to_owned(), format!("{QUOTES}/{}", quote.summary.id), INVOICES.to_owned()] {
            assert_eq!(world.get(&format!("{path}?{query}")).await.status, 400, "{path}?{query}");
        }
    }
    // The host has them.
    let costings = world.company.quotes().costings(quote.summary.id).await.unwrap();
    assert!(format!("{costings:?}").contains(invoicing_tests::CANARY));
}

/// Rules: NUMBER-1
#[on_each_database]
async fn numbers_of_documents_follow_each_other(db: Database) {
    let world = world(db).await;
    for n in 1..=3 {
        let quote = world.draft().await;
        let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
        assert_eq!(text(&detail, "number"), format!("DEV-2026-{n:04}"));
    }
    for list in LISTS {
        assert_eq!(keys(&read(&world, list).await), ["asOf", "data", "pagination"]);
    }
}
