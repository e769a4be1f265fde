//! A document store that lets something happen while it stores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use invoicing_server::{DocumentFile, DocumentKey, DocumentStore, DocumentStoreError, MemoryStore, Settings};
use invoicing_tests::{Database, World};

type Hook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Runs a hook of the test after a document is stored, and before the store answers.
pub(crate) struct HookedStore {
    pub(crate) memory: Arc<MemoryStore>,
    hook: Mutex<Option<Hook>>,
}

impl HookedStore {
    /// A service whose documents go to such a store. At first nothing happens.
    pub(crate) async fn world(db: Database) -> (World, Arc<Self>) {
        Self::with(db, |_| {}).await
    }

    /// The same with changed settings.
    pub(crate) async fn with(db: Database, change: impl FnOnce(&mut Settings)) -> (World, Arc<Self>) {
        let mut made = None;
        let wrap = |memory| Arc::clone(made.insert(Arc::new(Self { memory, hook: Mutex::new(None) })));
        let world = World::on(db).settings(change).store(wrap).open().await;
        (world, made.unwrap())
    }

    /// From now on this happens with each document.
    pub(crate) fn happens(&self, hook: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) {
        *self.hook.lock().unwrap() = Some(Arc::new(hook));
    }

    /// This happens with each of the next `times` documents.
    pub(crate) fn happens_next(
        &self,
        times: usize,
        hook: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) {
        let stored = AtomicUsize::new(0);
        self.happens(move || {
            let is_next = stored.fetch_add(1, Ordering::SeqCst) < times;
            if is_next { hook() } else { Box::pin(std::future::ready(())) }
        });
    }

    /// From now on nothing happens.
    pub(crate) fn nothing_happens(&self) {
        self.hook.lock().unwrap().take();
    }
}

impl DocumentStore for HookedStore {
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        Box::pin(async move {
            self.memory.put(key, file).await?;
            let hook = self.hook.lock().unwrap().clone();
            if let Some(hook) = hook {
                hook().await;
            }
            Ok(())
        })
    }

    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, DocumentStoreError>> {
        self.memory.get(key)
    }

    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, DocumentStoreError>> {
        self.memory.size(key)
    }

    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.memory.delete(key)
    }
}
