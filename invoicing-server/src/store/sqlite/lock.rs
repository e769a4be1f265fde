//! The lock of a database: one process has it, by whatever path.
//!
//! The file beside the database keeps out each process that comes by the same path. The lock on the
//! file itself keeps out those that come by another name of it, after it was moved for instance.
//! SQLite has locks of its own on that file, which the system drops as soon as the process closes
//! any descriptor of it. So a process opens it for the lock only if it does not have it already, and
//! closes it after the last connection.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{location, private};
use crate::error::Error;
use crate::store::DatabaseError;

/// Number of tries, and the wait between them, to lock a database that is in use: 2 s in all.
const LOCK_TRIES: u32 = 40;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// A database that this process alone has. To be dropped behind its connections.
pub(crate) struct DatabaseLock {
    file: DatabaseFile,
    _held: held::HeldFile,
    _beside: File,
}

/// The file of a database, as it was when it was locked.
#[derive(Clone)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    id: held::FileId,
}

impl DatabaseLock {
    pub(crate) fn file(&self) -> &DatabaseFile {
        &self.file
    }
}

impl DatabaseFile {
    /// The resolved path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the file still has its path. Changes of a file that was moved away would be lost
    /// to the next process, and a new connection would read the file that replaced it.
    pub(super) fn check_in_place(&self) -> Result<(), Error> {
        if held::id(&self.path).is_ok_and(|id| id == self.id) {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "the database {} was moved or replaced: put it back, or end the service",
            self.path.display()
        )))
    }
}

/// Takes the locks of the database that a path leads to, and makes the file if there is none. An
/// earlier owner that is just ending gets a moment to do so.
pub(crate) async fn lock(given: &Path) -> Result<DatabaseLock, DatabaseError> {
    let path = location::resolve(given)?;
    let lock_path = path.with_added_extension("lock");
    let failed = |source| DatabaseError::Lock { path: lock_path.clone(), source };
    let beside = private().create(true).truncate(false).open(&lock_path).map_err(failed)?;
    for _ in 0..LOCK_TRIES {
        match beside.try_lock() {
            Ok(()) => {
                make(&path)?;
                if let Some((held, id)) = held::take(&path)? {
                    let file = DatabaseFile { path, id };
                    return Ok(DatabaseLock { file, _held: held, _beside: beside });
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        tokio::time::sleep(LOCK_WAIT).await;
    }
    Err(DatabaseError::InUse(given.to_owned()))
}

/// Makes the file for its owner only, if there is none: SQLite gives the same mode to its log and
/// the index of the log.
fn make(path: &Path) -> Result<(), DatabaseError> {
    match private().create_new(true).open(path) {
        Ok(_new) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(refused(path, &error)),
    }
}

fn refused(path: &Path, error: &io::Error) -> DatabaseError {
    DatabaseError::Path { path: path.to_owned(), problem: error.to_string() }
}

/// The file itself, known by its device and its number there.
#[cfg(unix)]
mod held {
    use std::collections::BTreeSet;
    use std::fs::{File, Metadata, TryLockError};
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use parking_lot::Mutex;

    use super::refused;
    use crate::store::DatabaseError;

    /// Device, and number on it.
    pub(super) type FileId = (u64, u64);

    /// The databases of this process.
    static OPEN: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

    /// An entry of [`OPEN`], and the locked file.
    pub(super) struct HeldFile {
        id: FileId,
        locked: Option<File>,
    }

    impl Drop for HeldFile {
        fn drop(&mut self) {
            // Closed first: from then on another part of the process may open it.
            self.locked.take();
            OPEN.lock().remove(&self.id);
        }
    }

    pub(super) fn id(path: &Path) -> io::Result<FileId> {
        path.metadata().map(|metadata| id_of(&metadata))
    }

    fn id_of(metadata: &Metadata) -> FileId {
        (metadata.dev(), metadata.ino())
    }

    /// `None` if this process or another one has the file.
    pub(super) fn take(path: &Path) -> Result<Option<(HeldFile, FileId)>, DatabaseError> {
        let failed = |error: io::Error| refused(path, &error);
        let metadata = path.metadata().map_err(failed)?;
        // SQLite's log lies beside one of the names, and a connection by another would miss it.
        if metadata.nlink() > 1 {
            return Err(DatabaseError::SeveralNames { path: path.to_owned(), names: metadata.nlink() });
        }
        let id = id_of(&metadata);
        if !OPEN.lock().insert(id) {
            return Ok(None);
        }
        let mut held = HeldFile { id, locked: None };
        // On other systems this lock and those of SQLite may exclude each other.
        if cfg!(target_os = "linux") {
            let file = File::open(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => held.locked = Some(file),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Ok(Some((held, id)))
    }
}

/// Without the number of a file: the lock beside it is the only one.
#[cfg(not(unix))]
mod held {
    use std::io;
    use std::path::Path;

    use crate::store::DatabaseError;

    pub(super) type FileId = ();

    pub(super) struct HeldFile;

    pub(super) fn id(path: &Path) -> io::Result<FileId> {
        path.metadata().map(drop)
    }

    pub(super) fn take(_path: &Path) -> Result<Option<(HeldFile, FileId)>, DatabaseError> {
        Ok(Some((HeldFile, ())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_that_this_process_has_open_is_not_said_to_be_another_s() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("invoicing.db");
        let first = lock(&path).await.unwrap();
        let text = lock(&path).await.err().unwrap().to_string();
        assert_eq!(text, format!("{} is open already, in another process or in this one", path.display()));
        drop(first);
        lock(&path).await.unwrap();
    }

    #[cfg(unix)]
    /// Rules: OPEN-1, OPEN-3
    #[tokio::test(start_paused = true)]
    async fn a_moved_file_stays_locked_in_this_process_and_is_missed_at_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("invoicing.db"), folder.path().join("moved.db"));
        let first = lock(&path).await.unwrap();
        first.file().check_in_place().unwrap();
        std::fs::rename(&path, &moved).unwrap();
        for name in [&path, &moved] {
            let refused = lock(name).await.err().unwrap();
            assert!(matches!(&refused, DatabaseError::InUse(path) if path == name), "{refused}");
        }
        let missed = first.file().check_in_place().unwrap_err();
        assert!(matches!(missed, Error::StorageUnavailable(_)), "{missed}");
        std::fs::copy(&moved, &path).unwrap();
        assert!(first.file().check_in_place().is_err(), "another file is there");
        std::fs::rename(&moved, &path).unwrap();
        first.file().check_in_place().unwrap();
        drop(first);
        lock(&path).await.unwrap();
    }
}
