//! Surfaces that take bytes from strangers, one entry each, and the laws for any bytes.
//!
//! An entry panics if a law is broken. The same entries are driven by a fuzzer (`tests/fuzz`) and, on a
//! stable toolchain, by random changes of the same seeds (`tests/security/fuzz_seeds.rs`).

use std::net::IpAddr;
use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::Full;
use invoicing_core::{ErrorCode, NewLine, NewQuote, Timestamp};
use invoicing_server::{Error, TargetPolicy, is_public};
use serde_json::Value;
use tokio::runtime::Runtime;
use webhook_verify::{Signer, VerifyError, explain, verify};

use crate::{Database, World, ask};

/// An entry.
pub type Entry = fn(Database, &[u8]);

/// Every surface by its name, which is also the name of the fuzz target and of the folder of its seeds.
pub const ENTRIES: [(&str, Entry); 7] = [
    ("signature_header", |_, bytes| signature_header(bytes)),
    ("since", |_, bytes| since(bytes)),
    ("target_url", |_, bytes| target_url(bytes)),
    ("router", router),
    ("query", query),
    ("body", body),
    ("document", document),
];

const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A signature header in the first line, a body behind it: never genuine, and what is signed from them is.
pub fn signature_header(bytes: &[u8]) {
    let (header, body) = halves(bytes);
    let now = 1_789_378_870;
    let refused = verify(SECRET, header, body, now).expect_err("an HMAC cannot be guessed");
    assert!(!refused.to_string().is_empty() && !format!("{refused:?}").contains(SECRET));
    let diagnosis = explain([SECRET], [header], body, now);
    assert!(!format!("{diagnosis:?}").contains(SECRET));
    let signature = Signer::new(SECRET).expect("not empty").sign(now - 300, body);
    assert!(verify(SECRET, signature.as_str(), body, now).is_ok());
    let late = verify(SECRET, signature.as_str(), body, now + 1);
    assert!(matches!(late, Err(VerifyError::TooOld { .. })), "{late:?}");
}

/// A value of `since`: read or refused, and what is read is written so that it reads back.
pub fn since(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(instant) = text.parse::<Timestamp>() {
        let written = instant.to_string();
        assert_eq!(written.parse(), Ok(instant), "{text:?} was written as {written}");
        assert!(text.contains(['T', 't', ' ']), "{text:?} has no time of day");
    }
}

/// The URL of a webhook: what is accepted reads back as itself, is https, and names no address that is not public.
pub fn target_url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let policy = TargetPolicy::default();
    let Ok(url) = policy.parse(text) else { return };
    let again = policy.parse(url.as_str()).expect("what was accepted is accepted again");
    assert_eq!(again.as_str(), url.as_str());
    let uri: Uri = url.as_str().parse().expect("a URI");
    assert_eq!(uri.scheme_str(), Some("https"), "{text:?}");
    let host = uri.host().expect("a host").trim_start_matches('[').trim_end_matches(']');
    assert!(!uri.authority().expect("an authority").as_str().contains('@'), "{text:?}");
    if let Ok(address) = host.parse::<IpAddr>() {
        assert!(is_public(address), "{text:?} leads to {address}");
    }
}

/// A method in the first line, a request target behind it.
pub fn router(db: Database, bytes: &[u8]) {
    let (method, target) = halves(bytes);
    let Ok(target) = Uri::try_from(target) else { return };
    let Ok(method) = http::Method::from_bytes(method) else { return };
    answer(db, Request::builder().method(method).uri(target), Bytes::new());
}

/// A query: the first byte chooses the list.
pub fn query(db: Database, bytes: &[u8]) {
    let Some((list, query)) = bytes.split_first() else { return };
    let list = ["quotes", "invoices", "clients"][usize::from(*list) % 3];
    let uri = [format!("/api/v1/{list}?").as_bytes(), query].concat();
    let Ok(uri) = Uri::try_from(uri) else { return };
    answer(db, Request::get(uri), Bytes::new());
}

/// A body: the first byte chooses a new client or a link.
pub fn body(db: Database, bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else { return };
    let request = if first.is_multiple_of(2) {
        Request::post("/api/v1/clients")
    } else {
        Request::patch("/api/v1/quotes/0192abcd-0000-7000-8000-000000000001")
    };
    answer(db, request.header("content-type", "application/json"), Bytes::copy_from_slice(body));
}

/// A service without a quota, on a database that lives as long as the process: one on each kind.
struct Surface {
    runtime: Runtime,
    world: World,
}

fn surface(db: Database) -> &'static Surface {
    static SURFACES: [OnceLock<Surface>; 2] = [const { OnceLock::new() }; 2];
    SURFACES[db.either(0, 1)].get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let world = runtime.block_on(World::on(db).settings(|settings| settings.quota = 0).open());
        Surface { runtime, world }
    })
}

/// Asks the API with a good key, and checks what holds of every answer.
fn answer(db: Database, request: http::request::Builder, body: Bytes) {
    let Surface { runtime, world } = surface(db);
    let request = request.header("authorization", format!("Bearer {}", world.key));
    let Ok(request) = request.body(Full::new(body)) else { return };
    let head = request.method() == http::Method::HEAD;
    let what = format!("{} {}", request.method(), request.uri());
    let answer = runtime.block_on(ask(&world.invoicing, request));
    check(&what, answer.status, &answer.headers, (!head).then_some(&answer.bytes));
}

fn check(what: &str, status: StatusCode, headers: &HeaderMap, body: Option<&Bytes>) {
    assert!(status.as_u16() < 500, "{what}: {status}");
    assert!(headers.contains_key("x-request-id"), "{what}");
    assert_eq!(headers.contains_key("allow"), status == 405, "{what}");
    let Some(body) = body else { return };
    let json: Value = serde_json::from_slice(body).expect(what);
    assert!(json.is_object(), "{what}: {json}");
    if !status.is_success() {
        let code = ErrorCode::from(json["error"]["code"].as_str().unwrap_or_default());
        assert_eq!(code.status(), Some(status.as_u16()), "{what}: {json}");
        assert!(json["error"]["message"].is_string(), "{what}: {json}");
    }
}

fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    (&bytes[..at], bytes.get(at + 1..).unwrap_or_default())
}

/// The lines of a quote, as JSON or as texts: it is sent, with a document, or refused with a reason and unchanged.
pub fn document(db: Database, bytes: &[u8]) {
    let Surface { runtime, world } = surface(db);
    let Some(lines) = lines(bytes) else { return };
    runtime.block_on(async {
        let quotes = world.company.quotes();
        let client = world.client("Lefèvre").await;
        let new = NewQuote { lines, ..NewQuote::empty(client) };
        let draft = match quotes.create(&new).await {
            Ok(draft) => draft,
            Err(Error::Invalid(_)) => return,
            Err(error) => panic!("{error:?}"),
        };
        match quotes.send(draft.summary.id, None).await {
            Ok(sent) => {
                let document = quotes.open_document(sent.summary.id).await.expect("a frozen document");
                assert!(document.bytes.starts_with(b"%PDF-"));
            }
            Err(Error::Invalid(_) | Error::Conflict(_)) => {
                assert_eq!(quotes.get(draft.summary.id).await.expect("a draft"), draft);
            }
            Err(error) => panic!("{error:?}"),
        }
    });
}

/// JSON, or one description per line with figures made of its first bytes.
fn lines(bytes: &[u8]) -> Option<Vec<NewLine>> {
    if bytes.first() == Some(&b'[') {
        return serde_json::from_slice(bytes).ok();
    }
    let line = |text: &str| {
        let byte = |at: usize| text.as_bytes().get(at).copied().map_or(0, i64::from);
        let json = serde_json::json!({
            "description": text, "quantity": byte(0) - 32, "unitPrice": byte(1) * 1_000, "tvaRate": byte(2) % 101,
            "unit": text.get(..1), "lot": text.split(' ').next(), "section": text.split(' ').nth(1),
        });
        serde_json::from_value(json).expect("a line")
    };
    Some(std::str::from_utf8(bytes).ok()?.lines().take(50).map(line).collect())
}
