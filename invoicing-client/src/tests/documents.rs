//! Documents: links, the check of the bytes, and expired links.

use serde_json::{Value, json};

use super::stub_server::{RecordedRequest, Reply, StubServer, json as reply, text};
use super::{ID, KEY, client, error_json};
use crate::{DocumentLink, ErrorCode, ErrorKind};

/// `printf %s '%PDF-1.7 frozen' | sha256sum`
const PDF: &str = "%PDF-1.7 frozen";
const SHA256: &str = "f41a0684d60eb50bee6fe21ae3ef74a4c0ca357025a5b4e2241d7e81ceb51426";

fn link_json(url: &str) -> Value {
    json!({
        "url": url, "expiresAt": "2026-09-14T09:46:07.123Z", "type": "pdf", "fileName": "DEV-2026-0042.pdf",
        "contentType": "application/pdf", "sizeBytes": PDF.len(), "sha256": SHA256, "aNewField": 1,
    })
}

fn is_link(seen: &RecordedRequest) -> bool {
    seen.uri.path().starts_with("/api/v1")
}

/// A server with links to documents. The documents are served in this order.
async fn serving(documents: Vec<Reply>) -> StubServer {
    let links = std::sync::atomic::AtomicUsize::new(0);
    StubServer::start(move |number, seen| {
        if is_link(seen) {
            let link = links.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // Relative to the service, so that the server need not know its own address.
            return reply(200, &link_json(&format!("/documents/{link}?proof=1")));
        }
        documents[number - links.load(std::sync::atomic::Ordering::Relaxed)].clone()
    })
    .await
}

fn pdf(bytes: &str) -> Reply {
    text(200, "application/pdf", bytes)
}

fn gone() -> Reply {
    reply(404, &error_json("not_found", "no such document"))
}

/// Rules: RETRY-7
#[tokio::test]
async fn a_document_is_downloaded_without_the_key() {
    let server = serving(vec![pdf(PDF)]).await;
    let (client, _) = client(&server);
    let document = client.quotes().download_document(ID.parse().unwrap()).await.unwrap();
    assert_eq!(document.bytes, PDF);
    assert_eq!(document.link.file_name, "DEV-2026-0042.pdf");
    let seen = server.requests();
    assert_eq!(seen[0].uri.to_string(), format!("/api/v1/quotes/{ID}/document?type=pdf"));
    assert_eq!(seen[1].uri, "/documents/0?proof=1");
    assert!(!seen[1].headers.values().any(|value| value.to_str().unwrap().contains(KEY)));
}

/// Rules: RETRY-8
#[tokio::test]
async fn invoices_and_credit_notes_have_documents_too() {
    let server = serving(vec![pdf(PDF), pdf("forged"), pdf(PDF)]).await;
    let (client, _) = client(&server);
    let (invoices, notes) = (client.invoices(), client.credit_notes());
    assert_eq!(invoices.download_document(ID.parse().unwrap()).await.unwrap().bytes, PDF);
    let link = notes.document(ID.parse().unwrap()).await.unwrap();
    let error = notes.download(&link).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DocumentMismatch);
    assert!(error.to_string().starts_with("credit_notes.download: "), "{error}");
    assert_eq!(invoices.download(&link).await.unwrap(), PDF);
    let links: Vec<_> =
        server.requests().iter().filter(|seen| is_link(seen)).map(|seen| seen.uri.to_string()).collect();
    let expected = ["invoices", "credit-notes"].map(|name| format!("/api/v1/{name}/{ID}/document?type=pdf"));
    assert_eq!(links, expected);
}

/// Rules: RETRY-8
#[tokio::test]
async fn bytes_that_do_not_match_the_link_are_refused() {
    for wrong in ["%PDF-1.7 frozeN", "%PDF-1.7 frozen ", "%PDF", ""] {
        let server = serving(vec![pdf(wrong)]).await;
        let (client, _) = client(&server);
        let error = client.quotes().download_document(ID.parse().unwrap()).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::DocumentMismatch, 1), "{wrong}");
    }
}

/// Rules: RETRY-8
#[test]
fn size_and_hash_must_match() {
    let link: DocumentLink = serde_json::from_value(link_json("/d")).unwrap();
    assert!(link.matches(PDF.as_bytes()));
    assert!(DocumentLink { sha256: SHA256.to_uppercase(), ..link.clone() }.matches(PDF.as_bytes()));
    assert!(!DocumentLink { size_bytes: link.size_bytes + 1, ..link.clone() }.matches(PDF.as_bytes()));
    assert!(!DocumentLink { sha256: SHA256[1..].to_owned(), ..link }.matches(PDF.as_bytes()));
}

#[tokio::test]
async fn an_expired_link_is_renewed_once() {
    let server = serving(vec![gone(), pdf(PDF)]).await;
    let (client, _) = client(&server);
    let document = client.quotes().download_document(ID.parse().unwrap()).await.unwrap();
    assert_eq!(document.link.url, "/documents/1?proof=1");

    let server = serving(vec![gone(), gone()]).await;
    let (client, _) = super::client(&server);
    let error = client.quotes().download_document(ID.parse().unwrap()).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_draft_has_no_document() {
    let server = StubServer::script([reply(409, &error_json("document_unavailable", "still a draft"))]).await;
    let (client, _) = client(&server);
    let error = client.quotes().download_document(ID.parse().unwrap()).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::DocumentUnavailable));
}

#[tokio::test]
async fn a_failing_download_is_retried_and_its_url_is_not_shown() {
    let failed = reply(503, &error_json("storage_unavailable", "later"));
    let server = serving(vec![failed, Reply::CutBody, Reply::Cut, Reply::Cut]).await;
    let (client, env) = client(&server);
    let error = client.quotes().download_document(ID.parse().unwrap()).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts(), env.slept().len()), (ErrorKind::Interrupted, 4, 3));
    assert!(!format!("{error} {error:?}").contains("proof"));
}

#[tokio::test]
async fn a_link_is_checked_before_it_is_followed() {
    let server = StubServer::script([]).await;
    let (client, _) = client(&server);
    let link: DocumentLink = serde_json::from_value(link_json("file:///etc/passwd")).unwrap();
    let error = client.quotes().download(&link).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidRequest, 0));

    let huge = DocumentLink { size_bytes: u64::MAX, ..serde_json::from_value(link_json("/d")).unwrap() };
    assert_eq!(client.quotes().download(&huge).await.unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(server.requests().is_empty());
}
