//! A folder of this machine, and what makes a change in it survive a loss of power.
//!
//! `object_store` forces a file and the folders that it makes to disk. It does not where another writer was faster, or
//! has crashed half-way, nor when it deletes. So after every change the folders from the document up to the root are
//! forced once more, which costs little where they are unchanged.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use object_store::local::LocalFileSystem;

use super::{StorageSetupError, StoreError};

/// The root of a store.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Opens the folder and the store in it; makes it where it is missing, for its owner only.
    pub(super) fn open(root: PathBuf) -> Result<(Self, LocalFileSystem), StorageSetupError> {
        let made = make(&root).and_then(|()| fs::canonicalize(&root));
        let root = made.map_err(|source| StorageSetupError::Folder { path: root, source })?;
        let store = LocalFileSystem::new_with_prefix(&root)?.with_fsync(true);
        Ok((Self { root }, store))
    }

    /// Returns when every folder from the one of `location` up to the root is on disk.
    pub(super) async fn flush(&self, location: &object_store::path::Path) -> Result<(), StoreError> {
        let root = self.root.clone();
        let below = location.to_string();
        let work = move || {
            let mut folder = root.join(below);
            while folder != root && folder.pop() {
                match sync(&folder) {
                    // Nothing was ever put there, so there was nothing to delete.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    done => done?,
                }
            }
            Ok(())
        };
        let done: io::Result<()> =
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
        done.map_err(|error| StoreError::Unavailable(error.into()))
    }
}

fn make(root: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(root)?;
    // Also for an existing folder: its creator may have failed before this point.
    for folder in root.ancestors().skip(1).filter(|folder| *folder != Path::new("")) {
        match sync(folder) {
            // Of a folder that cannot be read, nothing in it was made by us.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            done => done?,
        }
    }
    Ok(())
}

fn sync(folder: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened as a file, and renaming is durable by itself or not at all.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
