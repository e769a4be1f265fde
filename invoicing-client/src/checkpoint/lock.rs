//! Seeing to it that one process at a time uses a checkpoint file.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Held until it is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    /// `None` on file systems that have no locks: two processes are then not noticed.
    file: Option<File>,
}

impl Drop for Lock {
    /// A process that is just being started by this one has the open file too, and closing it here would not unlock it.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.file.as_ref().map(File::unlock) {
            tracing::debug!(%error, "the lock goes with the file");
        }
    }
}

/// Why there is no lock.
pub(super) enum Refused {
    InUse,
    Io(io::Error),
}

impl Lock {
    /// Locks a file beside this one, as this one is replaced whenever it is saved. The other is left where it is:
    /// whoever removed it could not know whether another process has just opened it.
    pub(super) fn take(path: &Path) -> Result<Self, Refused> {
        let options = File::options().create(true).truncate(false).write(true).open(beside(path));
        let file = options.map_err(Refused::Io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(Refused::InUse),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                Ok(Self { file: None })
            }
            Err(TryLockError::Error(error)) => Err(Refused::Io(error)),
        }
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".lock");
    name.into()
}
