//! A folder of this machine, with the steps that make a change in it survive a loss of power.
//!
//! `object_store` forces a file and the folders that it makes to disk. It does not do so if another
//! writer was faster, or has crashed half-way, nor when it deletes. So after every change the
//! folders from the document up to the root are forced again, which costs little if they are
//! unchanged.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use tokio::sync::Semaphore;

use super::{DocumentStoreError, StorageSetupError};

/// Opens the folder and the store in it. Makes the folder if it is missing, for its owner only.
pub(super) fn open(root: PathBuf) -> Result<(PathBuf, LocalFileSystem), StorageSetupError> {
    let made = make(&root).and_then(|()| fs::canonicalize(&root));
    let root = made.map_err(|source| StorageSetupError::Folder { path: root, source })?;
    let store = LocalFileSystem::new_with_prefix(&root)?.with_fsync(true);
    Ok((root, store))
}

/// Makes the folder of `location`, and those above it, for their owner only. `object_store` would
/// let others read it.
pub(super) async fn make_parent(
    root: &Path,
    location: &object_store::path::Path,
) -> Result<(), DocumentStoreError> {
    let file = root.join(location.as_ref());
    off_runtime(move || file.parent().map_or(Ok(()), make_private)).await
}

/// Returns when every folder from the one of `location` up to the root is on disk.
pub(super) async fn flush(
    root: &Path,
    location: &object_store::path::Path,
) -> Result<(), DocumentStoreError> {
    let (root, file) = (root.to_owned(), root.join(location.as_ref()));
    let work = move || {
        let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&root));
        // A folder may be missing: no document was ever put there, so there was none to delete.
        sync(folders, io::ErrorKind::NotFound)
    };
    off_runtime(work).await
}

/// Checks that the folder is there: a volume may have been taken away.
pub(super) async fn check(root: &Path, looking: Arc<Semaphore>) -> Result<(), DocumentStoreError> {
    let (root, looking) = (root.to_owned(), looking.acquire_owned().await);
    let work = move || {
        let _until_it_ends = looking;
        fs::read_dir(root).map(drop)
    };
    off_runtime(work).await
}

async fn off_runtime(
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<(), DocumentStoreError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
    done.map_err(|error| DocumentStoreError::Unavailable(error.into()))
}

/// Makes a folder and the folders above it if they are missing.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn make(root: &Path) -> io::Result<()> {
    make_private(root)?;
    // Done for an existing folder too, as its creator may have failed before this point.
    let above = root.ancestors().skip(1).filter(|folder| *folder != Path::new(""));
    // A folder that cannot be read is skipped, as this process has made nothing in it.
    sync(above, io::ErrorKind::PermissionDenied)
}

/// Forces folders to disk, except folders that cannot be opened because of `except`.
fn sync<'p>(folders: impl Iterator<Item = &'p Path>, except: io::ErrorKind) -> io::Result<()> {
    // On other systems a folder cannot be opened as a file, and renaming is durable by itself or
    // not at all.
    for folder in folders.filter(|_| cfg!(unix)) {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            Err(error) if error.kind() == except => {}
            done => done?,
        }
    }
    Ok(())
}
