//! How far a catch-up has come, and where that is kept. What it means is decided in [`CatchUp`](crate::CatchUp).

mod file;
mod lock;
mod memory;

use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use invoicing_core::Timestamp;
use serde::{Deserialize, Serialize};

pub use file::FileCheckpoint;
pub use memory::MemoryCheckpoint;

use crate::Version;

/// Where the next pass begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// Everything that was modified before this instant has been acknowledged, but for what becomes visible late.
    pub since: Timestamp,
    /// Versions at or after `since`, less the [look-back](crate::CatchUp::look_back), that have been acknowledged too,
    /// so that a new process does not deliver them again. Without a look-back few: those of the last instant, and what
    /// changed during the last pass.
    pub delivered: Vec<Version>,
}

impl Checkpoint {
    /// Before everything: the first pass reads all records.
    pub fn start() -> Self {
        Self { since: Timestamp::from_millis(0), delivered: Vec::new() }
    }
}

/// Keeps checkpoints, one per resource. Implement it to keep them in the database that the records go to.
///
/// Two catch-ups of the same resource must not share one.
pub trait CheckpointStore: Send + Sync {
    /// The checkpoint of a resource (`quotes`, `invoices`, `clients`); `None` where none was ever saved.
    ///
    /// One that is there and cannot be read is an error: starting over in silence would deliver everything again.
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>>;

    /// Keeps the checkpoint of a resource, wholly or not at all.
    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>>;
}

impl<S: CheckpointStore + ?Sized> CheckpointStore for Arc<S> {
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        (**self).load(resource)
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        (**self).save(resource, checkpoint)
    }
}

/// A checkpoint can be neither read nor kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("the checkpoint file {} cannot be {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read`, `written` or `locked`.
        action: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file holds something that is not a checkpoint. Restore it, or remove it to deliver everything again.
    #[error("the checkpoint file {} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it is damaged.
        source: serde_json::Error,
    },
    /// The file was written by a later version of this crate.
    #[error("the checkpoint file {} has version {version}, which this release does not know", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// The version that it names.
        version: u32,
    },
    /// Another process, or another [`FileCheckpoint`] of this one, uses the file. Two catch-ups that share a
    /// checkpoint would miss what the other one was given.
    #[error("the checkpoint file {} is in use by another process or another catch-up", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another resource.
    #[error("the checkpoint file {} belongs to {found}, not to {expected}", path.display())]
    OtherResource {
        /// The file.
        path: PathBuf,
        /// The resource that it names.
        found: String,
        /// The resource that it was asked for.
        expected: String,
    },
    /// A store of the caller's own failed.
    #[error("the checkpoint store failed")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}
