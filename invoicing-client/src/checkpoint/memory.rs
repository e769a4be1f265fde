//! Checkpoints that end with the process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;

use super::{Checkpoint, CheckpointError, CheckpointStore};

/// Checkpoints in memory: for tests, and for a copy that is kept in memory itself.
#[derive(Debug, Default)]
pub struct MemoryCheckpoint(Mutex<HashMap<String, Checkpoint>>);

impl MemoryCheckpoint {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Checkpoint>> {
        // Each use is a single call, so a panic elsewhere cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointStore for MemoryCheckpoint {
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        Box::pin(async move { Ok(self.lock().get(resource).cloned()) })
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        Box::pin(async move {
            self.lock().insert(resource.to_owned(), checkpoint.clone());
            Ok(())
        })
    }
}
