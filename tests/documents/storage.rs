//! Document stores: all of them keep the same promises, and orphans are swept.

mod fake_s3;
mod orphans;
mod outages;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use invoicing_core::CompanyId;
use invoicing_server::object_store::memory::InMemory;
use invoicing_server::object_store::path::Path;
use invoicing_server::object_store::{ObjectStore, ObjectStoreExt};
use invoicing_server::{
    ContentHash, DocumentFile, DocumentKey, DocumentStore, DocumentStoreError, MemoryStore, ObjectStorage,
};
use tempfile::TempDir;
use uuid::Uuid;

use fake_s3::FakeS3;

type Damage = Box<dyn Fn(DocumentKey) -> BoxFuture<'static, ()>>;

/// A store, and a way to damage a document in it.
struct Subject {
    store: Arc<dyn DocumentStore>,
    damage: Damage,
}

const COMPANY: CompanyId = CompanyId(Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0001));
/// The document that is damaged.
const DAMAGED: &[u8] = b"to be damaged";
const OTHER: CompanyId = CompanyId(Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0002));

/// A key of its own for each document.
fn key(company: CompanyId, bytes: &[u8]) -> DocumentKey {
    let hash = ContentHash::of(bytes);
    DocumentKey { company, upload: Uuid::from_slice(&hash.as_bytes()[..16]).unwrap() }
}

fn file(bytes: &[u8]) -> DocumentFile {
    DocumentFile { bytes: Bytes::copy_from_slice(bytes), file_name: "DEV-2026-0042.pdf".to_owned() }
}

/// Where a document lies in an [`ObjectStorage`].
fn place(key: DocumentKey) -> String {
    let upload = key.upload.to_string();
    format!("{}/{}/{upload}.pdf", key.company, &upload[34..])
}

fn memory() -> Subject {
    let store = Arc::new(MemoryStore::new());
    let damaged = Arc::clone(&store);
    let damage = move |_| {
        damaged.damage(ContentHash::of(DAMAGED));
        futures_util::future::ready(()).boxed()
    };
    Subject { store, damage: Box::new(damage) }
}

fn folder() -> (Subject, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let root: PathBuf = folder.path().join("documents");
    let store = Arc::new(ObjectStorage::folder(&root).unwrap());
    let damage = move |key: DocumentKey| {
        std::fs::write(root.join(place(key)), b"other").unwrap();
        futures_util::future::ready(()).boxed()
    };
    (Subject { store, damage: Box::new(damage) }, folder)
}

fn objects_in_memory() -> Subject {
    let objects = Arc::new(InMemory::new());
    let store = ObjectStorage::new(Arc::clone(&objects) as Arc<dyn ObjectStore>).below("some/where").unwrap();
    let damage = move |key: DocumentKey| {
        let objects = Arc::clone(&objects);
        async move {
            let location = Path::from(format!("some/where/{}", place(key)));
            objects.put(&location, Bytes::from_static(b"other").into()).await.unwrap();
        }
        .boxed()
    };
    Subject { store: Arc::new(store), damage: Box::new(damage) }
}

async fn s3() -> (Subject, FakeS3) {
    let server = FakeS3::start().await;
    let damaged = server.clone();
    let damage = move |key: DocumentKey| {
        damaged.damage(&place(key));
        futures_util::future::ready(()).boxed()
    };
    (Subject { store: Arc::new(server.storage()), damage: Box::new(damage) }, server)
}

/// The promises of every store.
async fn keeps_its_promises(subject: &Subject) {
    nothing_is_there_at_first(&*subject.store).await;
    what_is_put_is_there_until_it_is_deleted(&*subject.store).await;
    each_company_has_its_own(&*subject.store).await;
    stored_bytes_are_never_replaced(&*subject.store).await;
    any_size_and_any_file_name_will_do(&*subject.store).await;
    simultaneous_puts_agree(&*subject.store).await;
    a_damaged_document_is_left_as_it_is(subject).await;
}

async fn nothing_is_there_at_first(store: &dyn DocumentStore) {
    let key = key(COMPANY, b"nothing");
    assert_eq!(store.size(key).await.unwrap(), None);
    assert!(matches!(store.get(key).await, Err(DocumentStoreError::NotFound)));
    store.delete(key).await.unwrap();
}

async fn what_is_put_is_there_until_it_is_deleted(store: &dyn DocumentStore) {
    let key = key(COMPANY, b"%PDF-1.7 a document");
    for _ in 0..2 {
        for _ in 0..2 {
            store.put(key, file(b"%PDF-1.7 a document")).await.unwrap();
            assert_eq!(store.get(key).await.unwrap(), &b"%PDF-1.7 a document"[..]);
            assert_eq!(store.size(key).await.unwrap(), Some(19));
        }
        for _ in 0..2 {
            store.delete(key).await.unwrap();
            assert!(matches!(store.get(key).await, Err(DocumentStoreError::NotFound)));
            assert_eq!(store.size(key).await.unwrap(), None);
        }
    }
}

async fn each_company_has_its_own(store: &dyn DocumentStore) {
    let [one, other] = [COMPANY, OTHER].map(|company| key(company, b"the same"));
    store.put(one, file(b"the same")).await.unwrap();
    assert_eq!(store.size(other).await.unwrap(), None);
    store.put(other, file(b"the same")).await.unwrap();
    store.delete(one).await.unwrap();
    assert_eq!(store.size(one).await.unwrap(), None);
    assert_eq!(store.get(other).await.unwrap(), &b"the same"[..]);
}

async fn stored_bytes_are_never_replaced(store: &dyn DocumentStore) {
    let key = key(COMPANY, b"these");
    store.put(key, file(b"these")).await.unwrap();
    assert!(matches!(store.put(key, file(b"those")).await, Err(DocumentStoreError::Corrupt)));
    assert_eq!(store.get(key).await.unwrap(), &b"these"[..]);
}

async fn any_size_and_any_file_name_will_do(store: &dyn DocumentStore) {
    let large = vec![7; 3_000_000];
    store.put(key(COMPANY, &large), file(&large)).await.unwrap();
    assert_eq!(store.get(key(COMPANY, &large)).await.unwrap(), large);
    let long = "é".repeat(200);
    for (n, name) in
        ["", "..", "../../etc/passwd", "a\r\nb\"c\0", "😀 \\ é.pdf", &long].into_iter().enumerate()
    {
        let bytes = [u8::try_from(n).unwrap(); 5];
        let file = DocumentFile { file_name: name.to_owned(), ..file(&bytes) };
        store.put(key(COMPANY, &bytes), file).await.unwrap();
        assert_eq!(store.get(key(COMPANY, &bytes)).await.unwrap(), &bytes[..], "{name:?}");
    }
}

async fn simultaneous_puts_agree(store: &dyn DocumentStore) {
    let bytes = vec![8; 300_000];
    let key = key(COMPANY, &bytes);
    let puts = join_all((0..24).map(|_| store.put(key, file(&bytes)))).await;
    assert!(puts.iter().all(Result::is_ok), "{puts:?}");
    assert_eq!(store.get(key).await.unwrap(), bytes);
}

async fn a_damaged_document_is_left_as_it_is(Subject { store, damage }: &Subject) {
    let key = key(COMPANY, DAMAGED);
    store.put(key, file(DAMAGED)).await.unwrap();
    damage(key).await;
    let damaged = store.size(key).await.unwrap();
    assert_ne!(damaged, Some(13));
    for _ in 0..2 {
        assert_ne!(store.get(key).await.unwrap(), DAMAGED);
        assert!(matches!(store.put(key, file(DAMAGED)).await, Err(DocumentStoreError::Corrupt)));
        assert_eq!(store.size(key).await.unwrap(), damaged);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_its_promises() {
    keeps_its_promises(&memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_keeps_its_promises() {
    let (subject, _folder) = folder();
    keeps_its_promises(&subject).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_in_memory_keep_their_promises() {
    keeps_its_promises(&objects_in_memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_keeps_its_promises() {
    let (subject, server) = s3().await;
    keeps_its_promises(&subject).await;
    assert!(
        server.names().iter().all(|name| name.strip_suffix(".pdf").is_some_and(|name| !name.contains('.')))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_has_one_file_per_document_and_crash_leftovers_do_no_harm() {
    let (Subject { store, .. }, folder) = folder();
    let key = key(COMPANY, b"a document");
    let path = folder.path().join("documents").join(place(key));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for n in 0..50 {
        std::fs::write(path.with_extension(format!("pdf#{n}")), b"a do").unwrap();
    }
    assert!(matches!(store.get(key).await, Err(DocumentStoreError::NotFound)));
    store.put(key, file(b"a document")).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"a document");
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 51);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_gone_is_unavailable_or_empty_and_never_somewhere_else() {
    let (Subject { store, .. }, folder) = folder();
    let root = folder.path().join("documents");
    let key = key(COMPANY, b"a document");
    store.put(key, file(b"a document")).await.unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::write(&root, b"in the way").unwrap();
    let put = store.put(key, file(b"a document")).await;
    assert!(matches!(put, Err(DocumentStoreError::Unavailable(_))), "{put:?}");
    assert!(store.get(key).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_is_told_what_the_object_is_and_serves_it_under_a_presigned_url() {
    let (Subject { store, .. }, server) = s3().await;
    let key = key(COMPANY, b"a document");
    store.put(key, file(b"a document")).await.unwrap();
    let disposition = "attachment; filename=\"DEV-2026-0042.pdf\"; filename*=UTF-8''DEV-2026-0042.pdf";
    let stored = server.object(&place(key));
    assert_eq!(stored.content_type, "application/pdf");
    assert_eq!(stored.disposition, disposition);
    let url = store.presign(key, "autre é.pdf".to_owned(), Duration::from_mins(5)).await.unwrap().unwrap();
    let served = server.follow(&url).await;
    assert_eq!((served.status, &served.body[..]), (200, &b"a document"[..]));
    assert_eq!(
        served.disposition,
        "attachment; filename=\"autre _.pdf\"; filename*=UTF-8''autre%20%C3%A9.pdf"
    );
    assert_eq!(server.follow(&url.replace("X-Amz-Expires=300", "X-Amz-Expires=900")).await.status, 403);
    assert_eq!(server.follow(url.split('?').next().unwrap()).await.status, 403);
    // Some seconds are left for the test to run in.
    server.advance(Duration::from_secs(270));
    assert_eq!(server.follow(&url).await.status, 200);
    server.advance(Duration::from_secs(31));
    assert_eq!(server.follow(&url).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_urls_of_its_own_says_so() {
    let (folder, _folder) = folder();
    for subject in [memory(), folder, objects_in_memory()] {
        let key = key(COMPANY, b"a document");
        let url = subject.store.presign(key, "a.pdf".to_owned(), Duration::from_mins(5)).await;
        assert_eq!(url.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_refuses_what_it_does_not_allow_and_that_is_not_an_outage() {
    let (Subject { store, .. }, server) = s3().await;
    server.set(fake_s3::Mode::Forbids);
    let deleted = store.delete(key(COMPANY, b"a document")).await;
    assert!(matches!(deleted, Err(DocumentStoreError::Refused(_))), "{deleted:?}");
}
