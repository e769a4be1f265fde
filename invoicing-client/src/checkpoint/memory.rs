//! [`MemoryCheckpoint`]: lost with the process.

use std::collections::HashMap;

use futures_core::future::BoxFuture;
use parking_lot::Mutex;

use super::{Checkpoint, CheckpointError, CheckpointStore};

/// Checkpoints in memory, for tests and for copies that are in memory too.
#[derive(Debug, Default)]
pub struct MemoryCheckpoint(Mutex<HashMap<String, Checkpoint>>);

impl MemoryCheckpoint {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl CheckpointStore for MemoryCheckpoint {
    fn lock_and_load<'a>(
        &'a self,
        resource: &'a str,
    ) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        Box::pin(async move { Ok(self.0.lock().get(resource).cloned()) })
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        Box::pin(async move {
            self.0.lock().insert(resource.to_owned(), checkpoint.clone());
            Ok(())
        })
    }
}
