//! [`FileLock`]: one process at a time uses a checkpoint file.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Held until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct FileLock {
    /// `None` on file systems without locks, where a second process is not detected.
    file: Option<File>,
}

impl Drop for FileLock {
    /// Unlocks explicitly: closing the file is not enough while a child process that is being started has it open.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.file.as_ref().map(File::unlock) {
            tracing::debug!(%error, "cannot unlock, closing the file releases the lock");
        }
    }
}

pub(super) enum LockError {
    InUse,
    Io(io::Error),
}

impl FileLock {
    /// Locks a file with the suffix `.lock`, as the checkpoint file itself is replaced by every save.
    ///
    /// The lock file is never removed: another process may have opened it just before.
    pub(super) fn acquire(path: &Path) -> Result<Self, LockError> {
        let options = File::options().create(true).truncate(false).write(true).open(lock_path(path));
        let file = options.map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(LockError::InUse),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                Ok(Self { file: None })
            }
            Err(TryLockError::Error(error)) => Err(LockError::Io(error)),
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".lock");
    name.into()
}
