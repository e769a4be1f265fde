//! A store for tests, with failures on demand.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::future::{self, BoxFuture, FutureExt};
use parking_lot::Mutex;

use super::{ContentHash, DocumentFile, DocumentKey, DocumentStore, DocumentStoreError};

type Contents = BTreeMap<DocumentKey, Bytes>;

/// A store of documents in memory, for tests. Its documents are lost when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    documents: Mutex<Contents>,
    failing: AtomicBool,
    hanging: AtomicBool,
}

impl MemoryStore {
    /// An empty store that works.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes every further call fail with [`DocumentStoreError::Unavailable`], or work again.
    pub fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Makes every further call hang for ever, or end again.
    pub fn hang(&self, hanging: bool) {
        self.hanging.store(hanging, Ordering::SeqCst);
    }

    /// Number of documents.
    pub fn count(&self) -> usize {
        self.documents.lock().len()
    }

    /// The keys of all documents, in order.
    pub fn keys(&self) -> Vec<DocumentKey> {
        self.documents.lock().keys().copied().collect()
    }

    /// Damages every document with this hash: its last byte is cut off.
    pub fn damage(&self, hash: ContentHash) {
        for bytes in self.documents.lock().values_mut().filter(|bytes| ContentHash::of(bytes) == hash) {
            bytes.truncate(bytes.len().saturating_sub(1));
        }
    }

    fn answer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Contents) -> Result<T, DocumentStoreError>,
    ) -> BoxFuture<'_, Result<T, DocumentStoreError>> {
        if self.hanging.load(Ordering::SeqCst) {
            return future::pending().boxed();
        }
        if self.failing.load(Ordering::SeqCst) {
            let error = io::Error::other("the test wants the document store to fail");
            return future::ready(Err(DocumentStoreError::Unavailable(error.into()))).boxed();
        }
        future::ready(work(&mut self.documents.lock())).boxed()
    }
}

impl DocumentStore for MemoryStore {
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.answer(|documents| {
            let stored = documents.entry(key).or_insert_with(|| file.bytes.clone());
            if *stored == file.bytes { Ok(()) } else { Err(DocumentStoreError::Corrupt) }
        })
    }

    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, DocumentStoreError>> {
        self.answer(|documents| documents.get(&key).cloned().ok_or(DocumentStoreError::NotFound))
    }

    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, DocumentStoreError>> {
        self.answer(|documents| Ok(documents.get(&key).map(|bytes| bytes.len() as u64)))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.answer(|_| Ok(()))
    }

    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.answer(|documents| {
            documents.remove(&key);
            Ok(())
        })
    }
}
