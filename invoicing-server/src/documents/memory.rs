//! A store for tests, with failures on demand.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::{self, BoxFuture, FutureExt};

use super::{ContentHash, DocumentStore, StoreError};

/// Documents in memory, for tests. It forgets them when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    documents: Mutex<HashMap<ContentHash, Bytes>>,
    failing: AtomicBool,
    hanging: AtomicBool,
}

impl MemoryStore {
    /// An empty store that works.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on every call fails with [`StoreError::Unavailable`], or works again.
    pub fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// From now on no call ever ends, or they end again.
    pub fn hang(&self, hanging: bool) {
        self.hanging.store(hanging, Ordering::SeqCst);
    }

    /// How many documents there are.
    pub fn count(&self) -> usize {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Damages a stored document: its last byte is cut off.
    pub fn damage(&self, hash: ContentHash) {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = documents.get_mut(&hash) {
            bytes.truncate(bytes.len().saturating_sub(1));
        }
    }

    fn answer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut HashMap<ContentHash, Bytes>) -> Result<T, StoreError>,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        if self.hanging.load(Ordering::SeqCst) {
            return future::pending().boxed();
        }
        if self.failing.load(Ordering::SeqCst) {
            let error = io::Error::other("the test wants the document store to fail");
            return future::ready(Err(StoreError::from(error))).boxed();
        }
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        future::ready(work(&mut documents)).boxed()
    }
}

impl DocumentStore for MemoryStore {
    fn put(&self, hash: ContentHash, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        self.answer(|documents| {
            let stored = documents.entry(hash).or_insert_with(|| bytes.clone());
            if ContentHash::of(stored) == hash { Ok(()) } else { Err(StoreError::Corrupt) }
        })
    }

    fn get(&self, hash: ContentHash) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        self.answer(|documents| {
            let bytes = documents.get(&hash).ok_or(StoreError::NotFound)?;
            if ContentHash::of(bytes) == hash { Ok(bytes.clone()) } else { Err(StoreError::Corrupt) }
        })
    }

    fn size(&self, hash: ContentHash) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        self.answer(|documents| Ok(documents.get(&hash).map(|bytes| bytes.len() as u64)))
    }
}
