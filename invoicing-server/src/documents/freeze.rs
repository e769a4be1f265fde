//! Freezing a document and getting it back.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::Quote;

use super::{
    ContentHash, DocumentInput, DocumentRenderer, DocumentStore, Particulars, RenderError, SignedCopy,
    StoreError, UrlSigner,
};

/// How long a store may take for one call, whichever store it is: a caller waits with an HTTP request open.
const STORE_TIME_LIMIT: Duration = Duration::from_secs(5);

/// Longest file name that is derived from a number, in characters before `.pdf`.
const FILE_NAME_LIMIT: usize = 100;

/// Renders, keeps and hands out documents.
pub(crate) struct Documents {
    renderer: Arc<dyn DocumentRenderer>,
    store: Arc<dyn DocumentStore>,
    signer: UrlSigner,
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

/// Why a document was not frozen. Nothing refers to it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FreezeError {
    /// The renderer failed.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Documents {
    /// Puts the three parts together.
    pub(crate) fn new(
        renderer: Arc<dyn DocumentRenderer>,
        store: Arc<dyn DocumentStore>,
        signer: UrlSigner,
    ) -> Self {
        Self { renderer, store, signer }
    }

    /// Signs and verifies the URLs under which documents are served.
    pub(crate) fn signer(&self) -> &UrlSigner {
        &self.signer
    }

    /// Renders the quote as it stands and stores the bytes under their hash.
    ///
    /// `Ok` means that they are safe on disk; a transaction may now refer to them. A document that nothing refers to
    /// in the end, because the transaction was rolled back, stays in the store and does no harm.
    pub(crate) async fn freeze(
        &self,
        particulars: Particulars,
        quote: Quote,
        signed: Option<SentCopy>,
    ) -> Result<Frozen, FreezeError> {
        let file_name = file_name(&quote.head.number);
        let renderer = Arc::clone(&self.renderer);
        let rendering = tokio::task::spawn_blocking(move || {
            let input = DocumentInput::new(&particulars, &quote, signed.as_ref().map(SentCopy::as_signed));
            let bytes = renderer.render(&input)?;
            Ok((ContentHash::of(&bytes), Bytes::from(bytes), particulars))
        });
        // A renderer that panics fails this document, not the process.
        let (sha256, bytes, particulars) =
            rendering.await.unwrap_or_else(|error| Err(RenderError::new(error)))?;
        let size_bytes = bytes.len() as u64;
        in_time(self.store.put(sha256, bytes)).await?;
        Ok(Frozen { sha256, size_bytes, file_name, particulars })
    }

    /// The frozen bytes.
    pub(crate) async fn fetch(&self, hash: ContentHash) -> Result<Bytes, StoreError> {
        let bytes = in_time(self.store.get(hash)).await?;
        // Promised for every store, so not left to a host's store.
        if ContentHash::of(&bytes) == hash { Ok(bytes) } else { Err(StoreError::Corrupt) }
    }

    /// Whether the document can be had: it is there and has the size that it was frozen with.
    pub(crate) async fn available(&self, hash: ContentHash, size_bytes: u64) -> Result<(), StoreError> {
        match in_time(self.store.size(hash)).await? {
            None => Err(StoreError::NotFound),
            Some(size) if size == size_bytes => Ok(()),
            Some(_) => Err(StoreError::Corrupt),
        }
    }
}

async fn in_time<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    tokio::time::timeout(STORE_TIME_LIMIT, call).await.unwrap_or(Err(StoreError::TimedOut))
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
    use chrono::NaiveDate;

    use super::super::plain::tests::{company, quote};
    use super::super::{MemoryStore, PlainRenderer};
    use super::*;

    fn documents() -> (Documents, Arc<MemoryStore>) {
        let store = Arc::new(MemoryStore::new());
        (Documents::new(Arc::new(PlainRenderer::new()), store.clone(), UrlSigner::new(&[7; 32])), store)
    }

    async fn freeze(documents: &Documents) -> Result<Frozen, FreezeError> {
        let particulars = Particulars {
            company: company(),
            client_address: Some("1 rue Haute".into()),
            work_site: None,
            issued_on: NaiveDate::from_ymd_opt(2026, 9, 14).unwrap(),
        };
        documents.freeze(particulars, quote(), None).await
    }

    #[tokio::test]
    async fn what_was_frozen_is_what_is_fetched() {
        let (documents, store) = documents();
        let frozen = freeze(&documents).await.unwrap();
        assert_eq!(frozen.file_name, "DEV-2026-0042.pdf");
        let bytes = documents.fetch(frozen.sha256).await.unwrap();
        assert_eq!(ContentHash::of(&bytes), frozen.sha256);
        assert_eq!(bytes.len() as u64, frozen.size_bytes);
        documents.available(frozen.sha256, frozen.size_bytes).await.unwrap();
        assert_eq!(freeze(&documents).await.unwrap(), frozen);
        assert_eq!(store.count(), 1);
    }

    #[tokio::test]
    async fn a_failing_store_is_an_error_and_recovers() {
        let (documents, store) = documents();
        store.fail(true);
        assert!(matches!(freeze(&documents).await, Err(FreezeError::Store(StoreError::Unavailable(_)))));
        store.fail(false);
        let frozen = freeze(&documents).await.unwrap();
        store.fail(true);
        assert!(matches!(documents.fetch(frozen.sha256).await, Err(StoreError::Unavailable(_))));
        let available = documents.available(frozen.sha256, frozen.size_bytes).await;
        assert!(matches!(available, Err(StoreError::Unavailable(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_store_is_an_error_after_five_seconds() {
        let (documents, store) = documents();
        store.hang(true);
        let begun = tokio::time::Instant::now();
        let hash = ContentHash::of(b"x");
        assert!(matches!(documents.fetch(hash).await, Err(StoreError::TimedOut)));
        assert!(matches!(documents.available(hash, 1).await, Err(StoreError::TimedOut)));
        assert!(matches!(freeze(&documents).await, Err(FreezeError::Store(StoreError::TimedOut))));
        assert_eq!(begun.elapsed().as_secs(), 15);
    }

    #[tokio::test]
    async fn a_missing_or_damaged_document_is_not_available() {
        let (documents, store) = documents();
        let frozen = freeze(&documents).await.unwrap();
        let missing = ContentHash::of(b"missing");
        assert!(matches!(documents.available(missing, 7).await, Err(StoreError::NotFound)));
        assert!(matches!(documents.fetch(missing).await, Err(StoreError::NotFound)));
        store.damage(frozen.sha256);
        let available = documents.available(frozen.sha256, frozen.size_bytes).await;
        assert!(matches!(available, Err(StoreError::Corrupt)));
        assert!(matches!(documents.fetch(frozen.sha256).await, Err(StoreError::Corrupt)));
        assert!(matches!(freeze(&documents).await, Err(FreezeError::Store(StoreError::Corrupt))));
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
        assert!(matches!(freeze(&documents).await, Err(FreezeError::Render(_))));
        assert_eq!(store.count(), 0);
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
