//! Freezing a document and getting it back.

use std::future::Future;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::Quote;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    ContentHash, DOCUMENT_URL_VALID_MS, DocumentFile, DocumentInput, DocumentKey, DocumentRenderer,
    DocumentStore, Particulars, RenderError, SignedCopy, StoreError, UrlSigner,
};

/// How long an operation waits for the store in all, whichever store it is: so that its caller, who may have an HTTP
/// request open, has his answer within 5 s.
const STORE_TIME_LIMIT: Duration = Duration::from_millis(4_500);

/// Longest file name that is derived from a number, in characters before `.pdf`.
const FILE_NAME_LIMIT: usize = 100;

/// What an operation has left of its time to wait for the store.
#[derive(Debug)]
pub(crate) struct Patience(Duration);

impl Patience {
    /// All of it.
    pub(crate) fn new() -> Self {
        Self(STORE_TIME_LIMIT)
    }

    async fn wait_for<T>(
        &mut self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let answer = tokio::time::timeout(self.0, call).await.unwrap_or(Err(StoreError::TimedOut));
        self.0 = self.0.saturating_sub(begun.elapsed());
        answer
    }
}

/// Renders, keeps and hands out documents.
pub(crate) struct Documents {
    renderer: Arc<dyn DocumentRenderer>,
    store: Arc<dyn DocumentStore>,
    signer: UrlSigner,
    /// Places for renderings: what asks for more would take the memory and the threads of everything else.
    rendering: Arc<Semaphore>,
}

/// A document that was rendered and lies nowhere yet.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// Where it is to lie.
    pub(crate) key: DocumentKey,
    file: DocumentFile,
    particulars: Particulars,
}

/// A document that was rendered and lies in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frozen {
    /// Where it lies.
    pub(crate) sha256: ContentHash,
    /// Its size.
    pub(crate) size_bytes: u64,
    /// What it is called when it is downloaded: `DEV-2026-0042.pdf`.
    pub(crate) file_name: String,
    /// What it says besides the quote.
    pub(crate) particulars: Particulars,
    /// The upload that the transaction which refers to it has to settle.
    pub(crate) upload: Uuid,
}

/// The frozen copy that a signature is about.
#[derive(Debug, Clone)]
pub(crate) struct SentCopy {
    pub(crate) file_name: String,
    pub(crate) sha256: ContentHash,
    pub(crate) bytes: Bytes,
}

impl SentCopy {
    fn as_signed(&self) -> SignedCopy<'_> {
        SignedCopy { file_name: &self.file_name, sha256: self.sha256, bytes: &self.bytes }
    }
}

impl Documents {
    /// Puts the three parts together.
    pub(crate) fn new(
        renderer: Arc<dyn DocumentRenderer>,
        store: Arc<dyn DocumentStore>,
        signer: UrlSigner,
    ) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { renderer, store, signer, rendering: Arc::new(Semaphore::new(cores)) }
    }

    /// Signs and verifies the URLs under which documents are served.
    pub(crate) fn signer(&self) -> &UrlSigner {
        &self.signer
    }

    /// Renders the quote as it stands. As many at once as there are processors; the others wait.
    pub(crate) async fn render(
        &self,
        particulars: Particulars,
        quote: Quote,
        signed: Option<SentCopy>,
    ) -> Result<Rendered, RenderError> {
        let place = Arc::clone(&self.rendering).acquire_owned().await.map_err(RenderError::new)?;
        let renderer = Arc::clone(&self.renderer);
        let rendering = tokio::task::spawn_blocking(move || {
            // Kept to the end of the work, also where nobody waits for it any more.
            let _place = place;
            let input = DocumentInput::new(&particulars, &quote, signed.as_ref().map(SentCopy::as_signed));
            let bytes = Bytes::from(renderer.render(&input)?);
            let key = DocumentKey { company: particulars.company.id, sha256: ContentHash::of(&bytes) };
            let file = DocumentFile { bytes, file_name: file_name(&quote.summary.number) };
            Ok(Rendered { key, file, particulars })
        });
        // A renderer that panics fails this document, not the process.
        rendering.await.unwrap_or_else(|error| Err(RenderError::new(error)))
    }

    /// Stores a document, for which an upload has been written down.
    ///
    /// `Ok` means that it is safe on disk; a transaction may now settle the upload and refer to the document.
    pub(crate) async fn keep(
        &self,
        rendered: Rendered,
        upload: Uuid,
        patience: &mut Patience,
    ) -> Result<Frozen, StoreError> {
        let Rendered { key, file, particulars } = rendered;
        let (size_bytes, file_name) = (file.bytes.len() as u64, file.file_name.clone());
        patience.wait_for(self.store.put(key, file)).await?;
        Ok(Frozen { sha256: key.sha256, size_bytes, file_name, particulars, upload })
    }

    /// The frozen bytes.
    pub(crate) async fn fetch(&self, key: DocumentKey, patience: &mut Patience) -> Result<Bytes, StoreError> {
        let bytes = patience.wait_for(self.store.get(key)).await?;
        // Promised for every store, so not left to a host's store.
        if ContentHash::of(&bytes) == key.sha256 { Ok(bytes) } else { Err(StoreError::Corrupt) }
    }

    /// Whether the document can be had: it is there and has the size that it was frozen with.
    pub(crate) async fn available(
        &self,
        key: DocumentKey,
        size_bytes: u64,
        patience: &mut Patience,
    ) -> Result<(), StoreError> {
        match patience.wait_for(self.store.size(key)).await? {
            None => Err(StoreError::NotFound),
            Some(size) if size == size_bytes => Ok(()),
            Some(_) => Err(StoreError::Corrupt),
        }
    }

    /// Deletes a document to which nothing refers, nor can refer while this goes on.
    pub(crate) async fn delete(&self, key: DocumentKey) -> Result<(), StoreError> {
        Patience::new().wait_for(self.store.delete(key)).await
    }

    /// A URL of the store itself, good for [`DOCUMENT_URL_VALID_MS`]; `None` where the store makes none.
    pub(crate) async fn presign(
        &self,
        key: DocumentKey,
        file_name: &str,
        patience: &mut Patience,
    ) -> Result<Option<String>, StoreError> {
        let valid = Duration::from_millis(DOCUMENT_URL_VALID_MS.unsigned_abs());
        match patience.wait_for(self.store.presign(key, file_name.to_owned(), valid)).await {
            Err(StoreError::Refused(_)) => Ok(None),
            signed => signed,
        }
    }
}

/// An imported number may hold anything; a file name may not.
fn file_name(number: &str) -> String {
    let safe = number.chars().take(FILE_NAME_LIMIT);
    let safe: String =
        safe.map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect();
    match safe.trim_start_matches('.') {
        "" => "document.pdf".to_owned(),
        stem => format!("{stem}.pdf"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use chrono::NaiveDate;
    use futures_util::future::join_all;

    use super::super::pdf::tests::{company, quote};
    use super::super::{MemoryStore, PdfRenderer};
    use super::*;
    use crate::Error;

    fn documents() -> (Documents, Arc<MemoryStore>) {
        let store = Arc::new(MemoryStore::new());
        (Documents::new(Arc::new(PdfRenderer::new()), store.clone(), UrlSigner::new(&[7; 32])), store)
    }

    fn key(sha256: ContentHash) -> DocumentKey {
        DocumentKey { company: company().id, sha256 }
    }

    async fn freeze(documents: &Documents) -> Result<Frozen, Error> {
        let particulars = Particulars {
            company: company(),
            client_address: Some("1 rue Haute".into()),
            work_site: None,
            issued_on: NaiveDate::from_ymd_opt(2026, 9, 14).unwrap(),
        };
        let rendered = documents.render(particulars, quote(), None).await?;
        Ok(documents.keep(rendered, Uuid::nil(), &mut Patience::new()).await?)
    }

    #[tokio::test]
    async fn what_was_frozen_is_what_is_fetched() {
        let (documents, store) = documents();
        let frozen = freeze(&documents).await.unwrap();
        assert_eq!(frozen.file_name, "DEV-2026-0042.pdf");
        let bytes = documents.fetch(key(frozen.sha256), &mut Patience::new()).await.unwrap();
        assert_eq!(ContentHash::of(&bytes), frozen.sha256);
        assert_eq!(bytes.len() as u64, frozen.size_bytes);
        documents.available(key(frozen.sha256), frozen.size_bytes, &mut Patience::new()).await.unwrap();
        assert_eq!(freeze(&documents).await.unwrap(), frozen);
        assert_eq!(store.count(), 1);
    }

    #[tokio::test]
    async fn a_failing_store_is_an_error_and_recovers() {
        let (documents, store) = documents();
        store.fail(true);
        assert!(matches!(freeze(&documents).await, Err(Error::StorageUnavailable(_))));
        store.fail(false);
        let frozen = freeze(&documents).await.unwrap();
        store.fail(true);
        assert!(matches!(
            documents.fetch(key(frozen.sha256), &mut Patience::new()).await,
            Err(StoreError::Unavailable(_))
        ));
        let available =
            documents.available(key(frozen.sha256), frozen.size_bytes, &mut Patience::new()).await;
        assert!(matches!(available, Err(StoreError::Unavailable(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_store_is_an_error_within_five_seconds_however_often_it_is_asked() {
        let (documents, store) = documents();
        store.hang(true);
        let begun = tokio::time::Instant::now();
        let (key, patience) = (key(ContentHash::of(b"x")), &mut Patience::new());
        let slow = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(())
        };
        patience.wait_for(slow).await.unwrap();
        assert!(matches!(documents.fetch(key, patience).await, Err(StoreError::TimedOut)));
        assert!(matches!(documents.available(key, 1, patience).await, Err(StoreError::TimedOut)));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        let begun = tokio::time::Instant::now();
        assert!(matches!(freeze(&documents).await, Err(Error::StorageUnavailable(_))));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_missing_or_damaged_document_is_not_available() {
        let (documents, store) = documents();
        let frozen = freeze(&documents).await.unwrap();
        let missing = ContentHash::of(b"missing");
        assert!(matches!(
            documents.available(key(missing), 7, &mut Patience::new()).await,
            Err(StoreError::NotFound)
        ));
        assert!(matches!(
            documents.fetch(key(missing), &mut Patience::new()).await,
            Err(StoreError::NotFound)
        ));
        store.damage(frozen.sha256);
        let available =
            documents.available(key(frozen.sha256), frozen.size_bytes, &mut Patience::new()).await;
        assert!(matches!(available, Err(StoreError::Corrupt)));
        assert!(matches!(
            documents.fetch(key(frozen.sha256), &mut Patience::new()).await,
            Err(StoreError::Corrupt)
        ));
        assert!(matches!(freeze(&documents).await, Err(Error::StorageUnavailable(_))));
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
        let documents = Documents::new(Arc::new(Panics), store.clone(), UrlSigner::new(&[7; 32]));
        assert!(matches!(freeze(&documents).await, Err(Error::Internal(_))));
        assert_eq!(store.count(), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_is_rendered_at_once_than_there_are_processors() {
        #[derive(Default)]
        struct Counts {
            now: AtomicUsize,
            most: AtomicUsize,
        }
        impl DocumentRenderer for Counts {
            fn render(&self, _: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
                let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                self.now.fetch_sub(1, Ordering::SeqCst);
                Ok(b"%PDF-1.7".to_vec())
            }
        }
        let (renderer, store) = (Arc::new(Counts::default()), Arc::new(MemoryStore::new()));
        let documents = Documents::new(renderer.clone(), store.clone(), UrlSigner::new(&[7; 32]));
        // Those that nobody waits for any more keep their places until they are done.
        for _ in 0..8 {
            let impatient = tokio::time::timeout(Duration::from_millis(5), freeze(&documents)).await;
            assert!(impatient.is_err());
        }
        let all = join_all((0..32).map(|_| freeze(&documents))).await;
        assert!(all.iter().all(Result::is_ok), "{all:?}");
        assert_eq!(renderer.most.load(Ordering::SeqCst), available_parallelism().unwrap().get());
    }

    #[test]
    fn file_names_are_tame() {
        let long = "9".repeat(300);
        let cases = [
            ("DEV-2026-0042", "DEV-2026-0042.pdf"),
            ("2026/42 é", "2026-42-é.pdf"),
            ("../../etc/passwd", "-..-etc-passwd.pdf"),
            ("a\r\nb\"c\0", "a--b-c-.pdf"),
            ("", "document.pdf"),
            ("...", "document.pdf"),
            (&long, &format!("{}.pdf", &long[..100])),
        ];
        for (number, expected) in cases {
            assert_eq!(file_name(number), expected);
        }
    }
}
