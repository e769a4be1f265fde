//! A checkpoint in a file: readable JSON, replaced as a whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::lock::{Lock, Refused};
use super::{Checkpoint, CheckpointError, CheckpointStore};

/// The version of the file's format.
const FORMAT: u32 = 1;

/// One resource's checkpoint in one file.
///
/// It is written beside the file, synced to disk and renamed over it, so that a crash leaves the old or the new one.
/// The folder must exist. A file of the same name with `.lock` behind it is locked from the first use until the last
/// clone is dropped: a second process, or a second `FileCheckpoint` for the same path, gets
/// [`CheckpointError::InUse`]. It stays behind, and may be removed when nothing uses it. Where a future was dropped
/// while the file was being written, dropping the last clone waits until that is done, so that the next finds it free.
///
/// The content is JSON with a version. Fields that this release does not know are ignored; a file that is damaged, or of
/// a version that it does not know, is an error and never a new beginning.
#[derive(Debug, Clone)]
pub struct FileCheckpoint(Arc<Owner>);

/// What the clones share. Work off the thread has its own hold of what is inside, and may outlive it.
#[derive(Debug)]
struct Owner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Whoever reads or writes holds the mutex: a save that was abandoned half-way is through before the next begins.
    state: Mutex<State>,
    /// Saves that were asked for.
    saves: AtomicU64,
}

#[derive(Debug)]
enum State {
    Unused,
    Locked {
        _lock: Lock,
        /// Which save was the last one: one that was abandoned and begins late does not put an older checkpoint over it.
        saved: u64,
    },
    /// Nobody has it any more, and another one may have the file.
    Closed,
}

impl Drop for Owner {
    fn drop(&mut self) {
        *self.0.state() = State::Closed;
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

/// What every version of the format has.
#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl FileCheckpoint {
    /// Keeps the checkpoint at this path. Nothing is read or written yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Owner(Arc::new(Inner {
            path: path.into(),
            state: Mutex::new(State::Unused),
            saves: AtomicU64::new(0),
        }))))
    }
}

impl CheckpointStore for FileCheckpoint {
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        let resource = resource.to_owned();
        Box::pin(async move { self.off_thread("read", move |path, _| read(path, resource)).await })
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
            let save = move |path: &Path, saved: &mut u64| {
                if number > *saved {
                    write(path, &content).map_err(io_error(path, "written"))?;
                    *saved = number;
                }
                Ok(())
            };
            self.off_thread("written", save).await
        })
    }
}

impl FileCheckpoint {
    /// Runs file work where it may block.
    async fn off_thread<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Path, &mut u64) -> Result<T, CheckpointError> + Send + 'static,
    ) -> Result<T, CheckpointError> {
        let Owner(inner) = &*self.0;
        let shared = Arc::clone(inner);
        let done = tokio::task::spawn_blocking(move || shared.alone(work)).await;
        done.map_err(|error| io_error(&inner.path, action)(io::Error::other(error)))?
    }
}

impl Inner {
    /// Does some work while nobody else uses the file.
    fn alone<T>(
        &self,
        work: impl FnOnce(&Path, &mut u64) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        let mut state = self.state();
        if let State::Unused = *state {
            *state = State::Locked { _lock: self.lock()?, saved: 0 };
        }
        match &mut *state {
            State::Locked { saved, .. } => work(&self.path, saved),
            // Only work that was abandoned before it began comes here: nobody hears of it.
            State::Unused | State::Closed => Err(CheckpointError::InUse { path: self.path.clone() }),
        }
    }

    fn lock(&self) -> Result<Lock, CheckpointError> {
        Lock::take(&self.path).map_err(|refused| match refused {
            Refused::InUse => CheckpointError::InUse { path: self.path.clone() },
            Refused::Io(error) => io_error(&self.path, "locked")(error),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it is held leaves a state that is right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        return Err(CheckpointError::UnknownVersion { path: path.to_owned(), version });
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
    // The rename itself lives in the folder. Other systems neither need nor allow this.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> CheckpointError {
    let path = path.to_owned();
    move |source| CheckpointError::Io { path, action, source }
}
