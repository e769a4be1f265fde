//! Every endpoint: the request, and the result of the response.

use http::Method;
use invoicing_core::{ClientType, NewClient, QuoteStatus};
use serde_json::{Value, json};

use super::stub_server::{Reply, StubServer, json as reply, text};
use super::{ID, KEY, client, client_json, error_json, page_json};
use crate::{ConfigError, ErrorCode, ErrorKind, InvoicingClient, OpenEnum};

fn quote_json(status: &str) -> Value {
    json!({
        "id": ID, "number": "DEV-2026-0042", "status": status, "externalId": null, "clientId": ID,
        "clientName": "Dupont", "clientEmail": null, "totalHT": 1200.5, "totalTTC": 1440.6, "tvaRate": 20,
        "currency": "EUR", "validUntil": "2026-10-14", "createdAt": "2026-09-14T09:41:07.123Z",
        "updatedAt": "2026-09-14T09:41:07.124Z", "sentAt": null, "signedAt": null, "acceptedAt": null,
        "signedByName": null, "signedByEmail": null, "aNewField": {"a": [1]},
    })
}

fn with(mut record: Value, more: Value) -> Value {
    let (Value::Object(record_fields), Value::Object(more)) = (&mut record, more) else { panic!("objects") };
    record_fields.extend(more);
    record
}

fn invoice_json(status: &str) -> Value {
    json!({
        "id": ID, "number": null, "status": status, "type": "STANDARD", "quoteId": ID, "clientId": ID,
        "clientName": "Dupont", "clientEmail": null, "issueDate": null, "dueDate": null, "totalHT": 100, "totalTTC": 120,
        "tvaRate": 20, "currency": "EUR", "amountCredited": 0, "amountWrittenOff": 0, "retentionRate": 5, "retentionAmount": 6, "retentionDue": 6, "amountPaid": 0, "amountDue": 114,
        "amountOverpaid": 0, "paidAt": null, "canceledAt": null, "createdAt": "2026-09-14T09:41:07.123Z",
        "updatedAt": "2026-09-14T09:41:07.124Z", "aNewField": null,
    })
}

fn line_json() -> Value {
    json!({
        "description": "Paint", "quantity": 12.5, "unit": "m2", "unitPrice": 24, "totalHT": 300, "tvaRate": 10,
        "lot": null, "section": null, "colour": "white",
    })
}

/// Rules: WIRE-26
#[tokio::test]
async fn a_quote_with_unknown_fields_and_status_is_read() {
    let more = json!({
        "lines": [line_json()], "retentionRate": 5, "retentionAmount": 72.03, "signature": null,
        "vatBreakdown": [{"tvaRate": 20, "baseHT": 1200.5, "amountTVA": 240.1}],
    });
    let server = StubServer::script([reply(200, &with(quote_json("ON_HOLD"), more))]).await;
    let (client, _) = client(&server);
    let quote = client.quotes().get(ID.parse().unwrap()).await.unwrap();
    assert_eq!(quote.summary.status, OpenEnum::Other("ON_HOLD".into()));
    assert_eq!(quote.lines[0].description, "Paint");
    assert_eq!(quote.summary.total_ht.to_string(), "1200.50");

    let seen = &server.requests()[0];
    assert_eq!((&seen.method, seen.uri.path()), (&Method::GET, &*format!("/api/v1/quotes/{ID}")));
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(seen.headers["accept"], "application/json");
    assert!(seen.headers["user-agent"].to_str().unwrap().starts_with("invoicing-client/"));
}

#[tokio::test]
async fn lists_send_their_filters() {
    let page = reply(200, &page_json(&[with(quote_json("SENT"), json!({"lines": [line_json()]}))], 3, false));
    let server = StubServer::script([page]).await;
    let (client, _) = client(&server);
    let since = "2026-09-14T09:41:07.123Z".parse().unwrap();
    let list = client.quotes().list().status(QuoteStatus::Draft).status(QuoteStatus::Sent).since(since);
    let page = list.include_lines().limit(2).offset(3).send().await.unwrap();
    assert_eq!(page.data[0].lines.as_ref().unwrap().len(), 1);
    assert_eq!(
        server.requests()[0].uri.query(),
        Some("status=SENT&since=2026-09-14T09%3A41%3A07.123Z&include=lines&limit=2&offset=3")
    );
}

#[tokio::test]
async fn invoices_are_read() {
    let detail = with(
        invoice_json("PAID"),
        json!({"lines": [line_json()], "vatBreakdown": [], "deductions": [], "creditNotes": []}),
    );
    let list = page_json(&[invoice_json("DISPUTED")], 0, false);
    let server = StubServer::script([reply(200, &detail), reply(200, &list)]).await;
    let (client, _) = client(&server);
    let invoice = client.invoices().get(ID.parse().unwrap()).await.unwrap();
    assert_eq!((invoice.summary.amount_due.to_string().as_str(), invoice.lines.len()), ("114.00", 1));
    let page = client.invoices().list().send().await.unwrap();
    assert_eq!(page.data[0].summary.status, OpenEnum::Other("DISPUTED".into()));
    assert_eq!(page.data[0].lines, None);
}

fn credit_note_json() -> Value {
    json!({
        "id": ID, "number": "AVO-2026-0001", "invoiceId": ID, "invoiceNumber": "FAC-2026-0007", "quoteId": null,
        "clientId": ID, "clientName": "Dupont", "clientEmail": null, "issueDate": "2026-09-14", "reason": "Erreur",
        "documentFormat": "UBL", "totalHT": 100, "totalTTC": 120, "tvaRate": 20, "currency": "EUR",
        "createdAt": "2026-09-14T09:41:07.123Z", "updatedAt": "2026-09-14T09:41:07.124Z", "aNewField": null,
    })
}

/// Rules: WIRE-26
#[tokio::test]
async fn credit_notes_are_read() {
    let detail = with(credit_note_json(), json!({"lines": [line_json()], "vatBreakdown": []}));
    let list = page_json(&[credit_note_json()], 0, false);
    let server = StubServer::script([reply(200, &detail), reply(200, &list)]).await;
    let (client, _) = client(&server);
    let note = client.credit_notes().get(ID.parse().unwrap()).await.unwrap();
    assert_eq!((note.summary.invoice_number.as_str(), note.lines.len()), ("FAC-2026-0007", 1));
    assert_eq!(note.summary.document_format, Some(OpenEnum::Other("UBL".into())));
    let page = client.credit_notes().list().include_lines().limit(2).send().await.unwrap();
    assert_eq!((page.data[0].summary.total_ttc.to_string().as_str(), &page.data[0].lines), ("120.00", &None));
    let seen = server.requests();
    assert_eq!(seen[0].uri.path(), format!("/api/v1/credit-notes/{ID}"));
    assert_eq!(seen[1].uri.to_string(), "/api/v1/credit-notes?include=lines&limit=2");
}

#[tokio::test]
async fn quotes_are_linked_and_unlinked() {
    let linked = reply(200, &json!({"id": ID, "externalId": "crm-1"}));
    let unlinked = reply(200, &json!({"id": ID, "externalId": null}));
    let server = StubServer::script([linked, unlinked]).await;
    let (client, _) = client(&server);
    let id = ID.parse().unwrap();
    let link = client.quotes().link(id, format!("crm-{}", 1)).await.unwrap();
    assert_eq!(link.external_id.as_deref(), Some("crm-1"));
    assert_eq!(client.quotes().unlink(id).await.unwrap().external_id, None);

    let seen = server.requests();
    assert!(seen.iter().all(|seen| seen.method == Method::PATCH));
    assert_eq!(seen[0].body, r#"{"externalId":"crm-1"}"#);
    assert_eq!(seen[1].body, r#"{"externalId":null}"#);
    assert_eq!(seen[1].headers["content-type"], "application/json");
}

#[tokio::test]
async fn clients_are_created_or_found() {
    let replies = [reply(201, &client_json("Dupont")), reply(200, &client_json("Durand"))];
    let server = StubServer::script(replies).await;
    let (client, _) = client(&server);
    let new = NewClient::named("Dupont").r#type(ClientType::Professionnel).external_id("crm-1");
    let created = client.clients().create(&new).await.unwrap();
    assert!(created.is_created());
    let existing = client.clients().create(&new).await.unwrap();
    assert!(!existing.is_created());
    assert_eq!(existing.into_client().name, "Durand");
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(body, json!({"name": "Dupont", "type": "PROFESSIONNEL", "externalId": "crm-1"}));
}

#[tokio::test]
async fn clients_are_looked_up() {
    let found = reply(200, &page_json(&[client_json("Dupont")], 0, false));
    let none = reply(200, &page_json(&[], 0, false));
    let server = StubServer::script([found.clone(), none, found]).await;
    let (client, _) = client(&server);
    assert_eq!(client.clients().find("a&b").await.unwrap().unwrap().name, "Dupont");
    assert_eq!(client.clients().find("x").await.unwrap(), None);
    client.clients().list().q("Lefèvre 100%").send().await.unwrap();
    assert_eq!(server.requests()[0].uri.query(), Some("externalId=a%26b"));
    assert_eq!(server.requests()[2].uri.query(), Some("q=Lef%C3%A8vre+100%25"));
}

/// Rules: RETRY-6
#[tokio::test]
async fn errors_contain_code_message_and_request_id() {
    let refusal = reply(409, &error_json("brand_new_code", "not now")).with("x-request-id", "r-42");
    let server = StubServer::script([refusal]).await;
    let (client, _) = client(&server);
    let error = client.quotes().get(ID.parse().unwrap()).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::Other("brand_new_code".into())));
    assert_eq!((error.message(), error.request_id()), (Some("not now"), Some("r-42")));
    assert_eq!(
        error.to_string(),
        "quotes.get: refused with status 409 brand_new_code: not now (1 attempt, request r-42)"
    );
}

#[tokio::test]
async fn responses_of_intermediaries_are_not_taken_for_the_service() {
    let html = text(404, "text/html", &format!("<h1>no route for Bearer {KEY}</h1>"));
    let portal = text(200, "text/html", "<h1>Please log in</h1>");
    let trailing = text(200, "application/json", "{} {}");
    let server = StubServer::script([html, portal, trailing]).await;
    let (client, _) = client(&server);
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.code(), error.is_not_found()), (None, true));
    assert!(error.message().unwrap().contains("text/html"));
    for _ in 0..2 {
        let error = client.quotes().list().send().await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidResponse, Some(200)));
    }
}

#[tokio::test]
async fn an_unreadable_field_is_named() {
    let mut record = client_json("Dupont");
    record["createdAt"] = json!("yesterday");
    let server = StubServer::script([reply(200, &page_json(&[record], 0, false))]).await;
    let (client, _) = client(&server);
    let error = client.clients().list().send().await.unwrap_err();
    assert!(error.message().unwrap().contains("data[0].createdAt"), "{error}");
}

#[tokio::test]
async fn bodies_are_bounded() {
    let long = text(200, "application/json", &" ".repeat(2_000));
    let server = StubServer::script([long]).await;
    let client = super::builder(&server).max_response_bytes(1_999).build().unwrap();
    let error = client.quotes().list().send().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::TooLarge, 1));
}

/// Rules: RETRY-7
#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let echo =
        reply(400, &error_json(&format!("bad {KEY}"), &format!("you sent {KEY}"))).with("x-request-id", KEY);
    let server = StubServer::script([echo, Reply::Cut]).await;
    let builder = super::builder(&server).max_attempts(1);
    assert!(!format!("{builder:?}").contains(KEY));
    let client = builder.build().unwrap();
    assert!(!format!("{client:?} {:?} {:?}", client.quotes(), client.clients().list()).contains(KEY));
    for _ in 0..2 {
        let error = client.quotes().list().send().await.unwrap_err();
        let cause = error.cause().map(|cause| format!("{cause} {cause:?}"));
        assert!(!format!("{error} {error:?} {cause:?}").contains(KEY));
    }
}

#[test]
fn settings_are_checked() {
    let build = |base: &str, key: &str| InvoicingClient::builder(base, key).build();
    assert!(matches!(build("example.com", KEY), Err(ConfigError::BaseUrl { .. })));
    assert!(matches!(build("https://example.com", " "), Err(ConfigError::ApiKey)));
    let builder = || InvoicingClient::builder("https://example.com", KEY);
    for bad in [0, 5] {
        assert!(matches!(builder().max_attempts(bad).build(), Err(ConfigError::OutOfRange { .. })));
    }
    assert!(matches!(builder().user_agent("a\nb").build(), Err(ConfigError::UserAgent)));
    assert!(matches!(
        builder().deadline(std::time::Duration::ZERO).build(),
        Err(ConfigError::OutOfRange { .. })
    ));
}
