//! The fake server: conforming by default, with injected faults on request.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use http::{HeaderValue, Method};
use serde_json::Value;

use crate::testing::{FakeServer, Fault};
use crate::{
    ClientCreation, Error, ErrorCode, ErrorKind, InvoiceStatus, InvoicingClient, NewClient, OpenEnum,
    QuoteStatus, Timestamp,
};

fn client(server: &FakeServer) -> InvoicingClient {
    server.client().max_attempts(1).max_response_bytes(1 << 20).build().unwrap()
}

async fn list(server: &FakeServer) -> Result<usize, Error> {
    client(server).quotes().list().send().await.map(|page| page.data.len())
}

#[tokio::test]
async fn lists_filter_order_and_page() {
    let server = FakeServer::start();
    let stamps: Vec<Timestamp> = server.store(|store| {
        for n in 0..5 {
            store.add_quote(if n % 2 == 0 { QuoteStatus::Sent } else { QuoteStatus::Accepted });
        }
        let first = store.quotes[0].summary.id;
        store.change_quote(first, |quote| quote.summary.status = OpenEnum::Other("ON_HOLD".into()));
        store.quotes.iter().map(|quote| quote.summary.updated_at).collect()
    });
    let client = client(&server);
    let numbers = async |list: crate::List<crate::Quotes>| -> Vec<String> {
        list.stream().map_ok(|quote| quote.summary.number[9..].to_owned()).try_collect().await.unwrap()
    };
    assert_eq!(numbers(client.quotes().list().limit(2)).await, ["0005", "0004", "0003", "0002", "0001"]);
    // With `since`, last modified first, the instant included.
    assert_eq!(numbers(client.quotes().list().since(stamps[3])).await, ["0001", "0005", "0004"]);
    assert_eq!(numbers(client.quotes().list().status(QuoteStatus::Accepted)).await, ["0004", "0002"]);
    let page = client.quotes().list().include_lines().offset(4).await.unwrap();
    assert_eq!((page.data[0].lines.as_ref().unwrap().len(), page.pagination.has_more), (2, false));
    assert_eq!(page.data[0].summary.status, OpenEnum::Other("ON_HOLD".into()));
    assert_eq!(page.as_of, server.store(|store| store.last_stamp()));

    server.order_by(|a, b| a.updated_at.cmp(&b.updated_at));
    assert_eq!(numbers(client.quotes().list()).await, ["0002", "0003", "0004", "0005", "0001"]);
}

#[tokio::test]
async fn every_endpoint_is_implemented() {
    let server = FakeServer::start();
    let (quote, draft, invoice) = server.store(|store| {
        let quote = store.add_quote(QuoteStatus::Accepted);
        (quote, store.add_quote(QuoteStatus::Draft), store.add_invoice(quote).unwrap())
    });
    let client = client(&server);
    assert_eq!(client.quotes().get(quote).await.unwrap().lines.len(), 2);
    assert_eq!(client.quotes().link(quote, "deal").await.unwrap().external_id.as_deref(), Some("deal"));
    let linked = client.quotes().get(quote).await.unwrap();
    client.quotes().link(quote, "deal").await.unwrap();
    // A link to the same identifier leaves the stamp unchanged.
    assert_eq!(client.quotes().get(quote).await.unwrap().summary.updated_at, linked.summary.updated_at);
    assert_eq!(client.quotes().unlink(quote).await.unwrap().external_id, None);
    let document = client.quotes().download_document(quote).await.unwrap();
    assert!(document.bytes.starts_with(b"%PDF-"));
    let error = client.quotes().document(draft).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::DocumentUnavailable));
    assert_eq!(client.invoices().get(invoice).await.unwrap().summary.status, InvoiceStatus::Sent);
    assert_eq!(client.invoices().list().status(InvoiceStatus::Paid).await.unwrap().data, []);
    let new = NewClient { external_id: Some("c-1".into()), ..NewClient::named("Lefèvre") };
    let created = client.clients().create(&new).await.unwrap();
    assert!(created.is_created());
    let other = NewClient { name: "Other".into(), ..new };
    assert_eq!(
        client.clients().create(&other).await.unwrap(),
        ClientCreation::Existing(created.client().clone())
    );
    assert_eq!(client.clients().find("c-1").await.unwrap().as_ref(), Some(created.client()));
    assert_eq!(client.clients().find("c-2").await.unwrap(), None);
    assert_eq!(client.clients().list().q("LEFEVRE").await.unwrap().data.len(), 1);
    let sent = server.requests();
    assert_eq!((&sent[0].method, sent[0].uri.path()), (&Method::GET, &*format!("/api/v1/quotes/{quote}")));
    assert_eq!(sent[sent.len() - 1].parameter("q").as_deref(), Some("LEFEVRE"));
}

#[tokio::test]
async fn the_fake_serves_credit_notes_and_the_documents_of_invoices() {
    let server = FakeServer::start();
    let (invoice, other, note) = server.store(|store| {
        let quote = store.add_quote(QuoteStatus::Accepted);
        let invoice = store.add_invoice(quote).unwrap();
        (invoice, store.add_invoice(quote).unwrap(), store.add_credit_note(invoice).unwrap())
    });
    let client = client(&server);
    let read = client.credit_notes().get(note).await.unwrap();
    assert_eq!((read.lines.len(), read.summary.invoice_id), (2, invoice));
    let page = client.credit_notes().list().include_lines().await.unwrap();
    assert_eq!((page.data[0].summary.id, page.data[0].lines().len()), (note, 2));
    let canceled = client.invoices().get(invoice).await.unwrap();
    assert_eq!(canceled.summary.status, InvoiceStatus::Canceled);
    assert_eq!(canceled.detail.credit_notes[0].number, "AVO-2026-0001");
    let document = client.credit_notes().download_document(note).await.unwrap();
    assert_eq!(document.link.file_name, "AVO-2026-0001.pdf");
    assert!(client.invoices().download_document(invoice).await.unwrap().bytes.starts_with(b"%PDF-"));
    server.store(|store| store.change_invoice(other, |invoice| invoice.summary.document_format = None));
    let error = client.invoices().document(other).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::DocumentUnavailable));
    assert!(client.invoices().document(note.to_string().parse().unwrap()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn errors_conform_to_the_contract() {
    let server = FakeServer::start();
    let http = reqwest::Client::new();
    let ask = async |method: Method, path: &str, key: &str, body: &'static str| {
        let request = http.request(method, format!("{}/api/v1{path}", server.url())).bearer_auth(key);
        let answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        let status = answer.status().as_u16();
        let rate = answer.headers().contains_key("ratelimit-limit");
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(rate, status != 401);
        (status, body["error"]["code"].as_str().unwrap().to_owned(), body["error"]["message"].to_string())
    };
    let key = FakeServer::KEY;
    let id = "019235a0-0000-7000-8000-000000000999";
    for (method, path, key, body, status, code, names) in [
        (Method::GET, "/quotes", "isk_other", "", 401, "unauthorized", ""),
        (Method::GET, "/quotes?limit=101", key, "", 400, "validation_error", "limit"),
        (Method::GET, "/quotes?offset=-1", key, "", 400, "validation_error", "offset"),
        (Method::GET, "/quotes?since=2026-09-14", key, "", 400, "validation_error", "since"),
        (Method::GET, "/quotes?include=line", key, "", 400, "validation_error", "include"),
        (Method::GET, "/quotes?status=PAID", key, "", 400, "validation_error", "status"),
        (Method::GET, "/quotes?q=x", key, "", 400, "validation_error", "q"),
        (Method::GET, "/quotes?limit=1&limit=2", key, "", 400, "validation_error", "limit"),
        (Method::GET, "/credit-notes?status=SENT", key, "", 400, "validation_error", "status"),
        (Method::GET, "/projects", key, "", 404, "not_found", ""),
        (Method::GET, "/quotes/7", key, "", 404, "not_found", ""),
        (Method::DELETE, "/clients", key, "", 405, "method_not_allowed", ""),
        (Method::POST, "/clients", key, "{", 400, "bad_request", ""),
        (Method::POST, "/clients", key, "{}", 400, "validation_error", "name"),
        (
            Method::POST,
            "/clients",
            key,
            r#"{"name":"n","externalID":"x"}"#,
            400,
            "validation_error",
            "externalID",
        ),
        (Method::PATCH, &*format!("/quotes/{id}"), key, "{}", 404, "not_found", ""),
    ] {
        let (actual, actual_code, message) = ask(method, path, key, body).await;
        assert_eq!((actual, &*actual_code), (status, code), "{path}");
        assert!(message.contains(names), "{path}: {message}");
    }
}

#[tokio::test]
async fn a_created_client_is_stored_normalised() {
    let server = FakeServer::start();
    let client = client(&server);
    // The last letter of the name is decomposed: an e and a combining accent.
    let new = NewClient {
        external_id: Some(" c-1 ".into()),
        city: Some("  ".into()),
        ..NewClient::named(" Cle\u{301} ")
    };
    let created = client.clients().create(&new).await.unwrap();
    let record = created.client();
    assert_eq!((&*record.name, record.external_id.as_deref()), ("Clé", Some("c-1")));
    assert_eq!(record.city, None);
    assert!(!client.clients().create(&new).await.unwrap().is_created());
    assert_eq!(server.store(|store| store.clients.len()), 1);
}

#[tokio::test]
async fn all_responses_have_the_headers_of_the_service() {
    let server = FakeServer::start();
    let http = reqwest::Client::new();
    let ask = async |method: Method, path: &str, key: &str, id: &str| {
        let url = format!("{}/api/v1{path}", server.url());
        let request = http.request(method, url).bearer_auth(key).header("x-request-id", id);
        request.send().await.unwrap().headers().clone()
    };
    assert_eq!(ask(Method::GET, "/quotes", "isk_other", "r").await["www-authenticate"], "Bearer");
    for (path, methods) in [
        ("/quotes", "GET, HEAD, OPTIONS"),
        ("/quotes/7", "GET, HEAD, PATCH, OPTIONS"),
        ("/quotes/7/document", "GET, HEAD, OPTIONS"),
        ("/invoices", "GET, HEAD, OPTIONS"),
        ("/invoices/7", "GET, HEAD, OPTIONS"),
        ("/invoices/7/document", "GET, HEAD, OPTIONS"),
        ("/credit-notes", "GET, HEAD, OPTIONS"),
        ("/credit-notes/7", "GET, HEAD, OPTIONS"),
        ("/credit-notes/7/document", "GET, HEAD, OPTIONS"),
        ("/clients", "GET, HEAD, POST, OPTIONS"),
    ] {
        for method in [Method::DELETE, Method::OPTIONS] {
            assert_eq!(ask(method, path, FakeServer::KEY, "r").await["allow"], methods, "{path}");
        }
    }
    let id = async |id| ask(Method::GET, "/quotes", FakeServer::KEY, id).await["x-request-id"].clone();
    assert_eq!(id("req_1.2-A").await, "req_1.2-A");
    let (first, second) = (id("a b").await, id("a b").await);
    assert!(first != second && first.to_str().unwrap().parse::<uuid::Uuid>().is_ok(), "{first:?}");
}

#[tokio::test]
async fn every_fault_has_the_documented_effect() {
    let server = FakeServer::start();
    server.store(|store| store.add_quote(QuoteStatus::Sent));
    let status = |status| (ErrorKind::Status, Some(status));
    let huge = Fault::Huge { bytes: (1 << 20) + 1 };
    for (fault, expected) in [
        (Fault::status(500), status(500)),
        (Fault::too_many_requests(7), status(429)),
        (Fault::TooManyRequests { retry_after: None }, status(429)),
        (Fault::Redirect { to: "http://127.0.0.1:1/".into() }, status(307)),
        (Fault::CutBeforeRequest, (ErrorKind::Interrupted, None)),
        (Fault::CutBeforeHeaders, (ErrorKind::Interrupted, None)),
        (Fault::CutAfterHeaders, (ErrorKind::Interrupted, None)),
        (Fault::CutInBody, (ErrorKind::Interrupted, None)),
        (Fault::WrongJson, (ErrorKind::InvalidResponse, Some(200))),
        (Fault::TruncatedJson, (ErrorKind::InvalidResponse, Some(200))),
        (Fault::WrongContentType, (ErrorKind::InvalidResponse, Some(200))),
        (huge, (ErrorKind::TooLarge, None)),
    ] {
        server.script([fault.clone()]);
        let error = list(&server).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), expected, "{fault:?}");
        assert_eq!(list(&server).await.unwrap(), 1, "after {fault:?}");
    }
    server.script([Fault::None, Fault::Hang]);
    assert_eq!(list(&server).await.unwrap(), 1);
    let error = client(&server).quotes().list().deadline(Duration::from_millis(500)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    server.script([Fault::Slow { pieces: 4, pause: Duration::from_millis(10) }]);
    let started = Instant::now();
    assert_eq!(list(&server).await.unwrap(), 1);
    assert!(started.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn each_fault_determines_whether_the_request_is_carried_out() {
    for (fault, created) in [
        (Fault::CutBeforeRequest, 0),
        (Fault::status(503), 0),
        (Fault::overloaded(), 0),
        (Fault::CutBeforeHeaders, 1),
        (Fault::CutInBody, 1),
        (Fault::TruncatedJson, 1),
    ] {
        let server = FakeServer::start();
        server.script([fault.clone()]);
        client(&server).clients().create(&NewClient::named("Dupont")).await.unwrap_err();
        assert_eq!(server.store(|store| store.clients.len()), created, "{fault:?}");
    }
}

#[tokio::test]
async fn retry_after_is_sent_verbatim() {
    let server = FakeServer::start();
    for (value, seconds) in [("91", Some(91)), ("soon", None), ("Mon, 14 Sep 1998 09:41:30 GMT", Some(0))] {
        server.script([Fault::TooManyRequests { retry_after: Some(value.into()) }]);
        let error = list(&server).await.unwrap_err();
        assert_eq!(error.retry_after().map(|wait| wait.as_secs()), seconds, "{value}");
        assert_eq!(error.code(), Some(&ErrorCode::TooManyRequests));
    }
}

#[tokio::test]
async fn chaos_is_reproducible_and_can_be_ended() {
    let outcomes = async |seed| {
        let server = FakeServer::start();
        server.chaos(seed, [(0.3, Fault::status(500)), (0.2, Fault::CutBeforeHeaders)]);
        let mut outcomes = Vec::new();
        for _ in 0..40 {
            outcomes.push(list(&server).await.err().map(|error| error.kind()));
        }
        server.chaos(seed, []);
        assert!(list(&server).await.is_ok());
        outcomes
    };
    let first = outcomes(1).await;
    assert_eq!(first, outcomes(1).await);
    assert_ne!(first, outcomes(2).await);
    for kind in [None, Some(ErrorKind::Status), Some(ErrorKind::Interrupted)] {
        assert!(first.contains(&kind), "{kind:?}");
    }
}

#[tokio::test]
async fn hooks_change_records_and_responses() {
    let server = FakeServer::start();
    server.before_each(|request, store| {
        if request.method == Method::GET {
            store.add_quote(QuoteStatus::Draft);
        }
    });
    assert_eq!(list(&server).await.unwrap(), 1);
    assert_eq!(list(&server).await.unwrap(), 2);
    server.rewrite(|_, answer| {
        let mut body: Value = serde_json::from_slice(answer.body()).unwrap();
        body["data"] = Value::Array(vec![]);
        *answer.body_mut() = body.to_string().into();
        answer.headers_mut().insert("x-hook", HeaderValue::from_static("1"));
    });
    assert_eq!(list(&server).await.unwrap(), 0);
}

#[tokio::test]
async fn a_quota_is_enforced_on_request() {
    let server = FakeServer::start();
    server.quota(2);
    let client = server.client().rate_limiting(false).max_attempts(1).build().unwrap();
    for _ in 0..2 {
        client.quotes().list().await.unwrap();
    }
    let error = client.quotes().list().await.unwrap_err();
    assert!(error.is_rate_limited());
    let wait = error.retry_after().unwrap().as_secs();
    assert!((59..=61).contains(&wait), "{wait}");
}

#[tokio::test]
async fn ten_thousand_quotes_take_a_hundred_requests() {
    let server = FakeServer::start();
    server.store(|store| {
        for _ in 0..10_000 {
            store.add_quote(QuoteStatus::Sent);
        }
    });
    let client = client(&server);
    let count = client.quotes().list().include_lines().stream().try_fold(0, async |n, _| Ok(n + 1)).await;
    assert_eq!((count.unwrap(), server.requests().len()), (10_000, 100));
}

#[test]
fn dropping_the_server_closes_its_port() {
    let server = FakeServer::start();
    let address = server.url().trim_start_matches("http://").to_owned();
    server.script([Fault::Hang]);
    let connection = std::net::TcpStream::connect(&address).unwrap();
    drop(server);
    drop(connection);
    assert!(std::net::TcpStream::connect(&address).is_err());
}
