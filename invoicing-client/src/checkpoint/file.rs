//! A checkpoint in a file: readable JSON, replaced as a whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::{Checkpoint, CheckpointError, CheckpointStore};

/// The version of the file's format.
const FORMAT: u32 = 1;

/// One resource's checkpoint in one file.
///
/// It is written beside the file, synced to disk and renamed over it, so that a crash leaves the old or the new one.
/// The folder must exist.
#[derive(Debug, Clone)]
pub struct FileCheckpoint {
    path: PathBuf,
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
        Self { path: path.into() }
    }
}

impl CheckpointStore for FileCheckpoint {
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        let (path, resource) = (self.path.clone(), resource.to_owned());
        Box::pin(async move { off_thread(&self.path, "read", move || read(&path, resource)).await })
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        let content =
            Content { version: FORMAT, resource: resource.to_owned(), checkpoint: checkpoint.clone() };
        let path = self.path.clone();
        Box::pin(async move {
            off_thread(&self.path, "written", move || {
                write(&path, &content).map_err(io_error(&path, "written"))
            })
            .await
        })
    }
}

/// Runs file work where it may block.
async fn off_thread<T: Send + 'static>(
    path: &Path,
    action: &'static str,
    work: impl FnOnce() -> Result<T, CheckpointError> + Send + 'static,
) -> Result<T, CheckpointError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| io_error(path, action)(io::Error::other(error)))?
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
