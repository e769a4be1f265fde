//! [`FileCheckpoint`]: a JSON file that is replaced atomically.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_core::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::lock::{FileLock, LockError};
use super::{Checkpoint, CheckpointError, CheckpointStore};

/// The version of the file's format.
const FORMAT: u32 = 1;

/// The checkpoint of one resource in one file.
///
/// ```no_run
/// use invoicing_client::{FileCheckpoint, InvoicingClient};
///
/// # async fn example(client: InvoicingClient) -> Result<(), Box<dyn std::error::Error>> {
/// let mut catch_up = client.clients().catch_up(FileCheckpoint::new("clients.checkpoint.json"));
/// catch_up.pass(async |client| { println!("{}", client.name); Ok::<(), std::io::Error>(()) }).await?;
/// # Ok(())
/// # }
/// ```
///
/// A save writes a temporary file, syncs it to disk and renames it, so that a crash leaves the old or the new
/// checkpoint. The folder must exist.
///
/// A lock file, with the suffix `.lock`, is locked from the first [`lock_and_load`](CheckpointStore::lock_and_load) or save
/// until the last clone is dropped. [`read`](Self::read) needs no lock. A second process,
/// or a second `FileCheckpoint` for the same path, gets [`CheckpointError::InUse`]. The lock file is not removed; it may
/// be deleted while unused. If a future was dropped during a write, dropping the last clone waits for the end of that
/// write. The lock is free afterwards.
///
/// The content is JSON with a version. Unknown fields are ignored. A damaged file, or one with an unknown version, is an
/// error and never a new start.
#[derive(Debug, Clone)]
pub struct FileCheckpoint(Arc<Owner>);

/// Shared by the clones. A blocking task holds the inner `Arc`, and may outlive the last clone.
#[derive(Debug)]
struct Owner(Arc<SharedFile>);

#[derive(Debug)]
struct SharedFile {
    path: PathBuf,
    /// Locked during each read and write, so that an abandoned save ends before the next one begins.
    state: Mutex<LockState>,
    /// Number of saves requested.
    saves: AtomicU64,
}

#[derive(Debug)]
enum LockState {
    Unlocked,
    Locked {
        _lock: FileLock,
        /// Number of the last save. An abandoned save that begins late must not overwrite a newer checkpoint.
        last_save: u64,
    },
    /// All clones are dropped; another `FileCheckpoint` may use the file.
    Closed,
}

impl Drop for Owner {
    fn drop(&mut self) {
        *self.0.state.lock() = LockState::Closed;
    }
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    resource: String,
    #[serde(flatten)]
    checkpoint: Checkpoint,
}

/// The part that all versions of the format have in common.
#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl FileCheckpoint {
    /// Uses this path. Nothing is read or written yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Owner(Arc::new(SharedFile {
            path: path.into(),
            state: Mutex::new(LockState::Unlocked),
            saves: AtomicU64::new(0),
        }))))
    }

    /// Reads the checkpoint of a resource without a lock, to show where a copy stands. `None` if none was ever saved.
    ///
    /// A catch-up may move it at any moment; a save replaces the file as a whole.
    pub async fn read(&self, resource: &str) -> Result<Option<Checkpoint>, CheckpointError> {
        let Owner(shared) = &*self.0;
        let (path, resource) = (shared.path.clone(), resource.to_owned());
        let done = tokio::task::spawn_blocking(move || read(&path, resource)).await;
        done.map_err(|error| io_error(&shared.path, "read")(io::Error::other(error)))?
    }
}

impl CheckpointStore for FileCheckpoint {
    fn lock_and_load<'a>(
        &'a self,
        resource: &'a str,
    ) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        let resource = resource.to_owned();
        Box::pin(async move { self.run_blocking("read", move |path, _| read(path, resource)).await })
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        let content =
            Content { version: FORMAT, resource: resource.to_owned(), checkpoint: checkpoint.clone() };
        Box::pin(async move {
            let Owner(inner) = &*self.0;
            let number = inner.saves.fetch_add(1, Ordering::Relaxed) + 1;
            let save = move |path: &Path, last_save: &mut u64| {
                if number > *last_save {
                    write(path, &content).map_err(io_error(path, "written"))?;
                    *last_save = number;
                }
                Ok(())
            };
            self.run_blocking("written", save).await
        })
    }
}

impl FileCheckpoint {
    /// Runs file operations on a thread for blocking work.
    async fn run_blocking<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Path, &mut u64) -> Result<T, CheckpointError> + Send + 'static,
    ) -> Result<T, CheckpointError> {
        let Owner(inner) = &*self.0;
        let shared = Arc::clone(inner);
        let done = tokio::task::spawn_blocking(move || shared.with_lock(work)).await;
        done.map_err(|error| io_error(&inner.path, action)(io::Error::other(error)))?
    }
}

impl SharedFile {
    /// Runs file operations under the lock, which is acquired at the first use.
    fn with_lock<T>(
        &self,
        work: impl FnOnce(&Path, &mut u64) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        let mut state = self.state.lock();
        if let LockState::Unlocked = *state {
            *state = LockState::Locked { _lock: self.lock()?, last_save: 0 };
        }
        match &mut *state {
            LockState::Locked { last_save, .. } => work(&self.path, last_save),
            // Only an abandoned task runs this late, and its result is discarded.
            LockState::Unlocked | LockState::Closed => {
                Err(CheckpointError::InUse { path: self.path.clone() })
            }
        }
    }

    fn lock(&self) -> Result<FileLock, CheckpointError> {
        FileLock::acquire(&self.path).map_err(|error| match error {
            LockError::InUse => CheckpointError::InUse { path: self.path.clone() },
            LockError::Io(error) => io_error(&self.path, "locked")(error),
        })
    }
}

fn read(path: &Path, resource: String) -> Result<Option<Checkpoint>, CheckpointError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path, "read")(error)),
    };
    let damaged = |source| CheckpointError::Damaged { path: path.to_owned(), source };
    let Header { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version != FORMAT {
        return Err(CheckpointError::UnsupportedVersion { path: path.to_owned(), version });
    }
    let content: Content = serde_json::from_slice(&bytes).map_err(damaged)?;
    if content.resource == resource {
        Ok(Some(content.checkpoint))
    } else {
        let path = path.to_owned();
        Err(CheckpointError::OtherResource { path, found: content.resource, expected: resource })
    }
}

fn write(path: &Path, content: &Content) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Makes the rename durable. Other systems neither need nor allow the sync of a folder.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> CheckpointError {
    let path = path.to_owned();
    move |source| CheckpointError::Io { path, action, source }
}
