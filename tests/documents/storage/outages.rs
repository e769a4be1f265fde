//! A store behind a network that fails in the ways in which such stores fail. A change whose document cannot be stored is not done, within
//! 5 s, and leaves no trace; a change that is done has its document.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_core::{Quote, QuoteImport, QuoteStatus};
use invoicing_server::{Error, Secret};
use invoicing_tests::{Database, World, new_quote, on_each_database};

use super::fake_s3::{FakeS3, Mode};
use crate::support::{refused, signature};

async fn world(db: Database) -> (World, FakeS3) {
    let server = FakeS3::start().await;
    let storage = Arc::new(server.storage());
    (World::on(db).settings(|settings| settings.quota = 0).store(|_| storage).open().await, server)
}

fn import() -> QuoteImport {
    QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None }
}

/// Two drafts, and a sent quote with a link to sign it.
async fn cast(world: &World) -> (Quote, Quote, Quote, Secret) {
    let (draft, other, sent) = (world.draft().await, world.draft().await, world.sent().await);
    let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
    (draft, other, sent, token)
}

async fn everything_works(world: &World, (draft, other, sent, token): &(Quote, Quote, Quote, Secret)) {
    let quotes = world.company.quotes();
    quotes.send(draft.summary.id, None).await.unwrap();
    quotes.accept(other.summary.id).await.unwrap();
    world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    let imported = quotes.import(&new_quote(draft.summary.client_id), &import()).await.unwrap();
    assert_eq!(imported.summary.number, "DEV-2026-0004", "no number was used up");
    for id in [draft.summary.id, other.summary.id, sent.summary.id, imported.summary.id] {
        quotes.document(id).await.unwrap();
        let opened = quotes.open_document(id).await.unwrap();
        assert!(opened.bytes.starts_with(b"%PDF-"));
    }
}

/// Rules: DOCUMENT-11
#[on_each_database]
async fn s3_that_fails_forbids_or_hangs_refuses_to_freeze_without_a_trace(db: Database) {
    for mode in [Mode::Fails, Mode::Forbids, Mode::Hangs] {
        let (world, server) = world(db).await;
        let cast = cast(&world).await;
        let (draft, other, sent, token) = &cast;
        let (quotes, links) = (world.company.quotes(), world.invoicing.signing_links());
        let (new, import, signature) = (new_quote(draft.summary.client_id), import(), signature());
        server.set(mode);
        let begun = Instant::now();
        let before = world.dump().await;
        let (send, accept, sign, import, document, open) = tokio::join!(
            quotes.send(draft.summary.id, None),
            quotes.accept(other.summary.id),
            links.sign(token.reveal(), &signature),
            quotes.import(&new, &import),
            quotes.document(sent.summary.id),
            quotes.open_document(sent.summary.id),
        );
        for result in [send.map(drop), accept.map(drop), sign.map(drop), import.map(drop)] {
            assert!(matches!(result, Err(Error::StorageUnavailable(_))), "{mode:?}: {result:?}");
        }
        for result in [document.map(drop), open.map(drop)] {
            assert!(matches!(result, Err(Error::StorageUnavailable(_))), "{mode:?}: {result:?}");
        }
        assert!(begun.elapsed() < Duration::from_millis(6_500), "{mode:?}: {:?}", begun.elapsed());
        assert_eq!(world.dump().await, before);
        server.set(Mode::Works);
        everything_works(&world, &cast).await;
    }
}

#[on_each_database]
async fn s3_that_stores_and_cuts_the_connection_leaves_an_orphan_to_the_sweep(db: Database) {
    let (world, server) = world(db).await;
    let cast = cast(&world).await;
    let quotes = world.company.quotes();
    server.set(Mode::CutsAfter);
    let error = refused(&world, "send", quotes.send(cast.0.summary.id, None)).await;
    assert!(matches!(error, Error::StorageUnavailable(_)), "{error:?}");
    server.set(Mode::Works);
    let stored = server.names().len();
    everything_works(&world, &cast).await;
    // The upload without an answer is an orphan: the next attempt has an upload of its own.
    assert_eq!((stored, server.names().len()), (2, 6));
    world.advance(Duration::from_millis(3_600_001));
    assert_eq!(world.invoicing.sweep().await.unwrap().swept_documents, 1);
    assert_eq!(server.names().len(), 5);
}

#[on_each_database]
async fn a_store_that_forbids_deleting_keeps_its_orphans_and_blocks_nothing(db: Database) {
    let (world, server) = world(db).await;
    let (draft, ..) = cast(&world).await;
    let quotes = world.company.quotes();
    server.set(Mode::CutsAfter);
    quotes.send(draft.summary.id, None).await.unwrap_err();
    world.advance(Duration::from_millis(3_600_001));
    server.set(Mode::Forbids);
    for _ in 0..2 {
        assert_eq!(world.invoicing.sweep().await.unwrap().swept_documents, 0);
        assert_eq!(server.names().len(), 2);
    }
    // The document can be frozen at once, and the orphan is deleted when the store permits it.
    server.set(Mode::Works);
    let sent = quotes.send(draft.summary.id, None).await.unwrap();
    assert_eq!(world.invoicing.sweep().await.unwrap().swept_documents, 1);
    assert_eq!(server.names().len(), 2);
    quotes.open_document(sent.summary.id).await.unwrap();
}

/// Rules: DOCUMENT-8
#[on_each_database]
async fn other_bytes_than_were_put_are_never_handed_out(db: Database) {
    let (world, server) = world(db).await;
    let (_, _, sent, token) = cast(&world).await;
    let (quotes, links) = (world.company.quotes(), world.invoicing.signing_links());
    let link = quotes.document(sent.summary.id).await.unwrap();
    let path = link.url.strip_prefix("http://127.0.0.1:8080").unwrap().to_owned();
    server.set(Mode::Lies);
    let open = refused(&world, "open", quotes.open_document(sent.summary.id)).await;
    assert!(matches!(open, Error::StorageUnavailable(_)), "{open:?}");
    // A signature is about the bytes that were sent: without them there is none.
    let sign = refused(&world, "sign", links.sign(token.reveal(), &signature())).await;
    assert!(matches!(sign, Error::StorageUnavailable(_)), "{sign:?}");
    let file = world.call("GET", &path, None, &[("range", "bytes=0-3")], bytes::Bytes::new()).await;
    assert_eq!((file.status.as_u16(), file.code()), (503, "storage_unavailable"));
    assert!(file.headers.contains_key("retry-after"));
    server.set(Mode::Works);
    let file = world.call("GET", &path, None, &[], bytes::Bytes::new()).await;
    assert_eq!(file.status, 200);
}

#[on_each_database]
async fn a_link_leads_to_the_store_if_the_host_wants_that_and_the_store_can(db: Database) {
    let server = FakeS3::start().await;
    let storage = Arc::new(server.storage());
    let presigning = |settings: &mut invoicing_server::Settings| settings.documents.presigned_urls = true;
    let world = World::on(db).settings(presigning).store(|_| storage).open().await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let link = quotes.document(sent.summary.id).await.unwrap();
    // In whole seconds, as the store counts.
    assert_eq!(link.expires_at, "2026-09-14T09:46:07.000Z".parse().unwrap());
    let opened = quotes.open_document(sent.summary.id).await.unwrap();
    assert_eq!((&link.sha256, link.size_bytes), (&opened.sha256, opened.bytes.len() as u64));
    assert_eq!((&*link.document_type, &*link.content_type), ("pdf", "application/pdf"));
    assert_eq!(link.file_name, format!("{}.pdf", sent.summary.number));
    let served = server.follow(&link.url).await;
    assert_eq!((served.status, served.body), (200, opened.bytes));
    assert!(served.disposition.contains(&link.file_name), "{}", served.disposition);
    server.advance(Duration::from_secs(270));
    assert_eq!(server.follow(&link.url).await.status, 200);
    server.advance(Duration::from_secs(31));
    assert_eq!(server.follow(&link.url).await.status, 403, "expired");
    // A link is still only to what is there.
    server.damage(&server.names()[0]);
    let damaged = refused(&world, "damaged", quotes.document(sent.summary.id)).await;
    assert!(matches!(damaged, Error::StorageUnavailable(_)), "{damaged:?}");
    // And if the store has no such URLs, it leads to the service.
    let world = World::on(db).settings(presigning).open().await;
    let sent = world.sent().await;
    let link = world.company.quotes().document(sent.summary.id).await.unwrap();
    assert!(link.url.starts_with("http://127.0.0.1:8080/api/v1/documents/"), "{}", link.url);
    assert_eq!(link.expires_at, world.now().plus_millis(300_000));
}
