//! [`Checkpoint`] of a [`CatchUp`](crate::CatchUp), and the stores that keep it.

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

use crate::RecordVersion;
use crate::error_chain::debug_as_chain;

/// Where the next pass begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// Every change before this instant is acknowledged, except changes that become visible late.
    pub since: Timestamp,
    /// Acknowledged versions at or after `since` less the [look-back](crate::CatchUp::look_back), so that a new process
    /// does not deliver them again. Without a look-back there are few: those with the last stamp, and those that changed
    /// during the last pass.
    pub delivered: Vec<RecordVersion>,
}

impl Checkpoint {
    /// The start of time: the first pass reads all records.
    pub fn start() -> Self {
        Self { since: Timestamp::from_millis(0), delivered: Vec::new() }
    }
}

debug_as_chain! { CheckpointError }

/// Stores one checkpoint per resource. Implement it to store them in the database of the copied records.
///
/// Two catch-ups of the same resource must not share a store.
pub trait CheckpointStore: Send + Sync {
    /// Loads the checkpoint of a resource (such as `quotes`) for the catch-up that moves it. `None` if none
    /// was ever saved.
    ///
    /// A store that several processes can reach locks it, so that only one catch-up moves it at a time.
    /// An unreadable checkpoint must be an error: `None` would deliver everything again.
    fn lock_and_load<'a>(
        &'a self,
        resource: &'a str,
    ) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>>;

    /// Saves the checkpoint of a resource atomically.
    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>>;
}

impl<S: CheckpointStore + ?Sized> CheckpointStore for Arc<S> {
    fn lock_and_load<'a>(
        &'a self,
        resource: &'a str,
    ) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        (**self).lock_and_load(resource)
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        (**self).save(resource, checkpoint)
    }
}

/// A checkpoint cannot be loaded or saved.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("the checkpoint file {} cannot be {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read`, `written` or `locked`.
        action: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The content is not a checkpoint. Restore the file, or remove it to deliver everything again.
    #[error("the checkpoint file {} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line and column of the damage.
        source: serde_json::Error,
    },
    /// The file was written by a later version of this crate.
    #[error("the checkpoint file {} has version {version}, which this release does not support", path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        version: u32,
    },
    /// Another process, or another [`FileCheckpoint`] of this one, uses the file. Each of two catch-ups with one
    /// checkpoint would miss the records delivered to the other.
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
        /// The resource in the file.
        found: String,
        /// The resource of the catch-up.
        expected: String,
    },
    /// A [`CheckpointStore`] of the caller failed.
    #[error("the checkpoint store failed")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}
