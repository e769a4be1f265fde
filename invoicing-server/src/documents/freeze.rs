//! Freezing a document and reading it back.
//!
//! `content` is everything that a document is rendered from, owned for the thread that renders it.

mod content;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::{CompanyId, DocumentFormat};
use scopeguard::guard;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

pub(crate) use self::content::{Document, DocumentContent};
use super::{
    ContentHash, DOCUMENT_URL_VALID_MS, DocumentFacts, DocumentFile, DocumentKey, DocumentKind,
    DocumentRenderer, DocumentStore, DocumentStoreError, RenderDeadline, RenderError, StoredFile,
};
use crate::company_slots::{CompanySlots, Slot};
use crate::error::Error;
use crate::keyed_semaphore::{KeyedSemaphore, Permit};
use crate::records::ReadinessGap;

/// Time limit of an operation for all its calls of the store, whichever store it is, so that an
/// HTTP request has its response within 5 s. Each attempt of an operation has the whole limit.
const STORE_TIME_LIMIT: Duration = Duration::from_millis(4_500);

/// Time limit for rendering one document, and for waiting until it begins.
const RENDER_TIME: Duration = Duration::from_secs(30);

/// Largest document whose hash is computed by the thread that serves requests. It takes a
/// millisecond.
const HASHED_AT_ONCE: usize = 256 * 1024;

/// Maximum number of renderings of one company at once, with those that wait. Each holds a record
/// in memory.
const RENDER_QUEUE: u32 = 64;

/// Renders, keeps and hands out documents.
pub(crate) struct DocumentService {
    renderer: Arc<dyn DocumentRenderer>,
    store: Arc<dyn DocumentStore>,
    slots: CompanySlots,
    /// Slots to compute the hashes of large documents.
    hashes: CompanySlots,
    /// Renderings of a company that have a slot or wait for one.
    queue: KeyedSemaphore,
    render_time: Duration,
}

/// A rendered document. The transaction that refers to it has to finish its upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frozen {
    /// The quote, the invoice or the credit note.
    pub(crate) record: Uuid,
    pub(crate) document: StoredFile,
    pub(crate) size_bytes: u64,
    /// The data of the document besides the record.
    pub(crate) facts: DocumentFacts,
    pub(crate) format: DocumentFormat,
}

/// The frozen copy that a signature is about.
#[derive(Debug, Clone)]
pub(crate) struct StoredCopy {
    pub(crate) document: StoredFile,
    pub(crate) bytes: Bytes,
}

impl DocumentService {
    /// The documents of a service, with this renderer and this store.
    pub(crate) fn new(renderer: Arc<dyn DocumentRenderer>, store: Arc<dyn DocumentStore>) -> Self {
        Self {
            renderer,
            store,
            slots: CompanySlots::for_processors(),
            hashes: CompanySlots::for_processors(),
            queue: KeyedSemaphore::new(RENDER_QUEUE),
            render_time: RENDER_TIME,
        }
    }

    /// True if records of this kind have documents.
    pub(crate) fn renders(&self, kind: DocumentKind) -> bool {
        self.renderer.kinds().contains(&kind)
    }

    /// Renders a document, for an upload with this id. Waits for a slot before.
    ///
    /// # Errors
    /// [`Error::Overloaded`] if too many renderings of the company wait, or this one waits for
    /// longer than [`RENDER_TIME`]; the errors of [`RenderError`].
    pub(crate) async fn render(
        &self,
        upload: Uuid,
        content: DocumentContent,
    ) -> Result<(Frozen, Bytes), Error> {
        let (company, renderer) = (content.company(), Arc::clone(&self.renderer));
        self.in_slot(company, move |deadline| {
            let bytes = Bytes::from(content.render(&*renderer, deadline)?);
            let document = StoredFile {
                key: DocumentKey { company, upload },
                sha256: ContentHash::of(&bytes),
                file_name: content.file_name(),
            };
            let record = content.record();
            let DocumentContent { facts, format, .. } = content;
            Ok((Frozen { record, document, size_bytes: bytes.len() as u64, facts, format }, bytes))
        })
        .await
    }

    /// All that the law and the platforms ask of the document and that it lacks, and the texts that
    /// it could not show; no texts if the record has no document.
    pub(crate) async fn gaps(&self, content: DocumentContent) -> Result<Vec<ReadinessGap>, Error> {
        let mut gaps = content.gaps();
        if self.renders(content.kind()) {
            let (company, renderer) = (content.company(), Arc::clone(&self.renderer));
            let check = move |deadline: RenderDeadline<'_>| renderer.check(&content.input(None, deadline));
            gaps.extend(self.in_slot(company, check).await?.into_iter().map(ReadinessGap::from));
        }
        Ok(gaps)
    }

    /// Runs the work of a renderer in a slot of the company, with a deadline.
    async fn in_slot<T: Send + 'static>(
        &self,
        company: CompanyId,
        work: impl FnOnce(RenderDeadline<'_>) -> Result<T, RenderError> + Send + 'static,
    ) -> Result<T, Error> {
        let slot = self.acquire_slot(company).await?;
        let deadline = RenderDeadline::after(self.render_time);
        let is_abandoned = Arc::new(AtomicBool::new(false));
        // Dropped with this future, so that a rendering without a caller ends at its next page.
        let _abandon = guard(Arc::clone(&is_abandoned), |abandoned| abandoned.store(true, Ordering::Relaxed));
        let rendering = tokio::task::spawn_blocking(move || {
            // Held to the end of the work, even if the caller has stopped waiting.
            let _slot = slot;
            work(deadline.unless(&is_abandoned))
        });
        let result = timeout(self.render_time, rendering).await.map_err(|_| RenderError::TimedOut)?;
        // A renderer that panics fails this document, not the process.
        Ok(result.unwrap_or_else(|error| Err(RenderError::new(error)))?)
    }

    async fn acquire_slot(&self, company: CompanyId) -> Result<(Permit, Slot), Error> {
        let queued = self.queue.try_acquire(company).ok_or(Error::Overloaded)?;
        let slot = timeout(self.render_time, self.slots.acquire(company)).await;
        Ok((queued, slot.map_err(|_| Error::Overloaded)??))
    }

    /// Checks that the store can be used, as far as [`DocumentStore::check`] finds out.
    pub(crate) async fn check_store(&self) -> Result<(), DocumentStoreError> {
        self.store.check().await
    }

    /// The store for one operation, with the whole time limit.
    pub(crate) fn bounded_store(&self) -> BoundedStore<'_> {
        BoundedStore { store: &*self.store, hashes: &self.hashes, left: STORE_TIME_LIMIT }
    }
}

/// The document store for one operation, with the rest of the operation's time limit.
pub(crate) struct BoundedStore<'d> {
    store: &'d dyn DocumentStore,
    hashes: &'d CompanySlots,
    left: Duration,
}

impl BoundedStore<'_> {
    /// Stores a document whose upload has begun.
    ///
    /// `Ok` means that it is safe on disk; a transaction may now finish the upload and refer to the
    /// document.
    pub(crate) async fn put(
        &mut self,
        document: &StoredFile,
        bytes: Bytes,
    ) -> Result<(), DocumentStoreError> {
        let file = DocumentFile { bytes, file_name: document.file_name.clone() };
        self.wait_for(self.store.put(document.key, file)).await
    }

    /// The size of a document in bytes, so that they can be counted before they are read.
    pub(crate) async fn size(&mut self, key: DocumentKey) -> Result<u64, DocumentStoreError> {
        self.wait_for(self.store.size(key)).await?.ok_or(DocumentStoreError::NotFound)
    }

    /// The frozen bytes, checked against their hash.
    pub(crate) async fn fetch(&mut self, document: &StoredFile) -> Result<Bytes, DocumentStoreError> {
        let bytes = self.wait_for(self.store.get(document.key)).await?;
        let hash = if bytes.len() <= HASHED_AT_ONCE {
            ContentHash::of(&bytes)
        } else {
            let slot = self.hashes.acquire(document.key.company).await;
            let slot = slot.map_err(|error| DocumentStoreError::Unavailable(error.into()))?;
            let bytes = bytes.clone();
            // Moves the slot here: it is held to the end of the work, even if the caller has gone.
            let hash = spawn_blocking(move || {
                let _slot = slot;
                ContentHash::of(&bytes)
            });
            hash.await.map_err(|panic| DocumentStoreError::Unavailable(panic.into()))?
        };
        if hash == document.sha256 { Ok(bytes) } else { Err(DocumentStoreError::Corrupt) }
    }

    /// Checks that the document is in the store and has the size that it was frozen with.
    pub(crate) async fn check_available(
        &mut self,
        key: DocumentKey,
        size_bytes: u64,
    ) -> Result<(), DocumentStoreError> {
        if self.size(key).await? == size_bytes { Ok(()) } else { Err(DocumentStoreError::Corrupt) }
    }

    /// Deletes a document that no record refers to, nor can refer to any more.
    pub(crate) async fn delete(&mut self, key: DocumentKey) -> Result<(), DocumentStoreError> {
        self.wait_for(self.store.delete(key)).await
    }

    /// A URL of the store itself, valid for [`DOCUMENT_URL_VALID_MS`]; `None` if the store makes
    /// none.
    pub(crate) async fn presign(
        &mut self,
        document: &StoredFile,
    ) -> Result<Option<String>, DocumentStoreError> {
        let valid = Duration::from_millis(DOCUMENT_URL_VALID_MS.unsigned_abs());
        match self.wait_for(self.store.presign(document.key, document.file_name.clone(), valid)).await {
            Err(DocumentStoreError::Refused(_)) => Ok(None),
            signed => signed,
        }
    }

    async fn wait_for<T>(
        &mut self,
        call: impl Future<Output = Result<T, DocumentStoreError>>,
    ) -> Result<T, DocumentStoreError> {
        let begun = Instant::now();
        let answer = timeout(self.left, call).await.unwrap_or(Err(DocumentStoreError::TimedOut));
        self.left = self.left.saturating_sub(begun.elapsed());
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread::available_parallelism;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use invoicing_core::Company;

    use super::super::pdf::tests::{company, offer_facts, quote};
    use super::super::{DocumentInput, MemoryStore, PdfRenderer};
    use super::*;

    fn documents() -> (DocumentService, Arc<MemoryStore>) {
        let store = Arc::new(MemoryStore::new());
        (DocumentService::new(Arc::new(PdfRenderer::new()), store.clone()), store)
    }

    fn key(upload: u128) -> DocumentKey {
        DocumentKey { company: company().id, upload: Uuid::from_u128(upload) }
    }

    async fn freeze(documents: &DocumentService, upload: u128) -> Result<Frozen, Error> {
        freeze_for(company(), documents, upload).await
    }

    async fn freeze_for(
        company: Company,
        documents: &DocumentService,
        upload: u128,
    ) -> Result<Frozen, Error> {
        let content = DocumentContent::of_quote(quote(), None, offer_facts(company), None);
        let (frozen, bytes) = documents.render(Uuid::from_u128(upload), content).await?;
        documents.bounded_store().put(&frozen.document, bytes).await?;
        Ok(frozen)
    }

    async fn fetch(documents: &DocumentService, frozen: &Frozen) -> Result<Bytes, DocumentStoreError> {
        documents.bounded_store().fetch(&frozen.document).await
    }

    async fn check(documents: &DocumentService, frozen: &Frozen) -> Result<(), DocumentStoreError> {
        documents.bounded_store().check_available(frozen.document.key, frozen.size_bytes).await
    }

    #[tokio::test]
    async fn a_frozen_document_is_fetched_unchanged_and_each_upload_has_its_own() {
        let (documents, store) = documents();
        let frozen = freeze(&documents, 1).await.unwrap();
        let document = &frozen.document;
        assert_eq!((document.file_name.as_str(), document.key), ("DEV-2026-0042.pdf", key(1)));
        let bytes = fetch(&documents, &frozen).await.unwrap();
        assert_eq!(ContentHash::of(&bytes), document.sha256);
        assert_eq!(bytes.len() as u64, frozen.size_bytes);
        check(&documents, &frozen).await.unwrap();
        let again = freeze(&documents, 2).await.unwrap();
        assert_eq!(again.document, StoredFile { key: key(2), ..document.clone() });
        assert_eq!(store.keys(), [key(1), key(2)]);
    }

    #[tokio::test]
    async fn a_failing_store_is_an_error_and_recovers() {
        let (documents, store) = documents();
        store.fail(true);
        assert!(matches!(freeze(&documents, 1).await, Err(Error::StorageUnavailable(_))));
        store.fail(false);
        let frozen = freeze(&documents, 2).await.unwrap();
        store.fail(true);
        assert!(matches!(fetch(&documents, &frozen).await, Err(DocumentStoreError::Unavailable(_))));
        assert!(matches!(check(&documents, &frozen).await, Err(DocumentStoreError::Unavailable(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_store_is_an_error_within_five_seconds_each_time() {
        let (documents, memory) = documents();
        memory.hang(true);
        let begun = tokio::time::Instant::now();
        let (key, sha256, mut store) = (key(1), ContentHash::of(b"x"), documents.bounded_store());
        let document = StoredFile { key, sha256, file_name: "a.pdf".into() };
        let slow = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(())
        };
        store.wait_for(slow).await.unwrap();
        assert!(matches!(store.fetch(&document).await, Err(DocumentStoreError::TimedOut)));
        assert!(matches!(store.check_available(key, 1).await, Err(DocumentStoreError::TimedOut)));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        let begun = tokio::time::Instant::now();
        assert!(matches!(freeze(&documents, 1).await, Err(Error::StorageUnavailable(_))));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_missing_or_damaged_document_is_not_available() {
        let (documents, store) = documents();
        let frozen = freeze(&documents, 1).await.unwrap();
        let elsewhere = StoredFile { key: key(2), ..frozen.document.clone() };
        let missing = Frozen { document: elsewhere, ..frozen.clone() };
        assert!(matches!(check(&documents, &missing).await, Err(DocumentStoreError::NotFound)));
        assert!(matches!(fetch(&documents, &missing).await, Err(DocumentStoreError::NotFound)));
        store.damage(frozen.document.sha256);
        assert!(matches!(check(&documents, &frozen).await, Err(DocumentStoreError::Corrupt)));
        assert!(matches!(fetch(&documents, &frozen).await, Err(DocumentStoreError::Corrupt)));
        assert!(matches!(freeze(&documents, 1).await, Err(Error::StorageUnavailable(_))));
    }

    #[tokio::test]
    async fn a_renderer_that_panics_fails_only_its_document() {
        struct Panics;
        impl DocumentRenderer for Panics {
            fn render(&self, _: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
                panic!("as the test wants it")
            }
        }
        let store = Arc::new(MemoryStore::new());
        let documents = DocumentService::new(Arc::new(Panics), store.clone());
        assert!(matches!(freeze(&documents, 1).await, Err(Error::Internal(_))));
        assert_eq!(store.count(), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_is_rendered_at_once_than_there_are_processors() {
        #[derive(Default)]
        struct Counts {
            now: AtomicUsize,
            max: AtomicUsize,
        }
        impl DocumentRenderer for Counts {
            fn render(&self, _: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
                let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
                self.max.fetch_max(now, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                self.now.fetch_sub(1, Ordering::SeqCst);
                Ok(b"%PDF-1.7".to_vec())
            }
        }
        let (renderer, store) = (Arc::new(Counts::default()), Arc::new(MemoryStore::new()));
        let documents = DocumentService::new(renderer.clone(), store.clone());
        // An abandoned rendering keeps its slot until it is done.
        for _ in 0..8 {
            let impatient = tokio::time::timeout(Duration::from_millis(5), freeze(&documents, 1)).await;
            assert!(impatient.is_err());
        }
        // Quotes of many companies, as one company has only half of the slots.
        let companies = |upload: u128| Company { id: CompanyId(Uuid::from_u128(upload)), ..company() };
        let all = join_all((0..32).map(|upload| freeze_for(companies(upload), &documents, upload))).await;
        assert!(all.iter().all(Result::is_ok), "{all:?}");
        assert_eq!(renderer.max.load(Ordering::SeqCst), available_parallelism().unwrap().get().max(2));
    }

    /// A renderer that hangs until it is let go, past any deadline, for one company; it renders at
    /// once for others.
    struct Stuck {
        company: CompanyId,
        open: std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
    }

    impl DocumentRenderer for Stuck {
        fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
            if input.facts.parties.seller.id == self.company {
                // Ends when the sender is dropped.
                let _ = self.open.lock().map(|open| open.recv());
            }
            Ok(b"%PDF-1.7".to_vec())
        }
    }

    /// Rules: FAIR-6
    #[tokio::test(flavor = "multi_thread")]
    async fn a_renderer_that_ignores_its_deadline_keeps_its_companys_slots_only() {
        let (let_go, open) = std::sync::mpsc::channel();
        let stuck = Stuck { company: company().id, open: std::sync::Mutex::new(open) };
        let mut documents = DocumentService::new(Arc::new(stuck), Arc::new(MemoryStore::new()));
        documents.render_time = Duration::from_millis(50);
        let count = 2 * available_parallelism().unwrap().get() as u128;
        let late = join_all((0..count).map(|upload| freeze(&documents, upload))).await;
        let is_refused = |late: &_| matches!(late, Err(Error::Overloaded | Error::Invalid(_)));
        assert!(late.iter().all(is_refused), "{late:?}");
        let other = Company { id: CompanyId(Uuid::from_u128(7)), ..company() };
        documents.render_time = RENDER_TIME;
        freeze_for(other, &documents, 1).await.unwrap();
        drop(let_go);
        freeze(&documents, 1).await.unwrap();
    }

    /// Rules: FAIR-6
    #[tokio::test(flavor = "multi_thread")]
    async fn a_slow_document_names_its_lines_and_the_queue_is_bounded() {
        let (let_go, open) = std::sync::mpsc::channel();
        let stuck = Stuck { company: company().id, open: std::sync::Mutex::new(open) };
        let mut documents = DocumentService::new(Arc::new(stuck), Arc::new(MemoryStore::new()));
        documents.render_time = Duration::from_millis(50);
        let late = freeze(&documents, 1).await.unwrap_err();
        assert_eq!(late.to_string(), "lines: take too long to print");
        documents.render_time = RENDER_TIME;
        // One slot is taken by the late document, which also counts among the waiting renderings.
        let queue = 1..u128::from(RENDER_QUEUE);
        let mut waiting: Vec<_> = queue.map(|upload| Box::pin(freeze(&documents, upload))).collect();
        assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        assert!(matches!(freeze(&documents, 99).await, Err(Error::Overloaded)));
        drop(let_go);
        assert!(join_all(waiting).await.iter().all(Result::is_ok));
    }

    /// Rules: FAIR-6
    #[tokio::test(flavor = "multi_thread")]
    async fn a_rendering_without_a_caller_ends_at_its_next_page() {
        /// A renderer that checks the deadline until it is over.
        struct Endless(std::sync::mpsc::Sender<()>);
        impl DocumentRenderer for Endless {
            fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
                loop {
                    if let Err(late) = input.deadline.check() {
                        let _ = self.0.send(());
                        return Err(late);
                    }
                    std::thread::yield_now();
                }
            }
        }
        let (ended, heard) = std::sync::mpsc::channel();
        let documents = DocumentService::new(Arc::new(Endless(ended)), Arc::new(MemoryStore::new()));
        let left = tokio::time::timeout(Duration::from_millis(20), freeze(&documents, 1)).await;
        assert!(left.is_err());
        heard.recv_timeout(RENDER_TIME / 3).expect("it goes on");
    }
}
