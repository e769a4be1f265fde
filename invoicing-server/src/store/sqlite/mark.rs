//! The mark beside a database that could not be written: the instant since which requests may have
//! been accepted without a note. It is overwritten in place, as a full disk has no room for a new
//! file.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use invoicing_core::Timestamp;
use parking_lot::Mutex;

use super::private;

/// Length of the mark in decimal milliseconds. It is within one sector, so it is never half
/// written.
const WIDTH: usize = 16;
const UNMARKED: &[u8; WIDTH] = b"----------------";

/// The file of the mark.
pub(crate) struct Mark {
    /// The open file; `None` if it cannot be used, or the database is closed.
    file: Mutex<Option<File>>,
    found: Option<Timestamp>,
}

impl Mark {
    /// Opens the file, and makes it if it is missing.
    pub(super) fn open(database: &Path) -> Self {
        match open(database) {
            Ok((file, found)) => Self { file: Mutex::new(Some(file)), found },
            Err(error) => {
                tracing::warn!(%error, "mark file of the database not usable: API requests will fail while the disk is full");
                Self { file: Mutex::default(), found: None }
            }
        }
    }

    /// The instant since which the previous process may have accepted requests without a note.
    pub(crate) fn found(&self) -> Option<Timestamp> {
        self.found
    }

    /// Sets the mark. It is on the disk when this returns.
    pub(crate) fn set(&self, since: Timestamp) -> io::Result<()> {
        let text = format!("{:0WIDTH$}", since.as_millis().max(0));
        self.overwrite(text.as_bytes())
    }

    pub(crate) fn clear(&self) -> io::Result<()> {
        self.overwrite(UNMARKED)
    }

    /// Closes the file: the next process owns it.
    pub(super) fn close(&self) {
        self.file.lock().take();
    }

    fn overwrite(&self, text: &[u8]) -> io::Result<()> {
        let mut file = self.file.lock();
        let file = file.as_mut().ok_or_else(|| io::Error::other("the file of the mark is not open"))?;
        write(file, text)
    }
}

fn open(database: &Path) -> io::Result<(File, Option<Timestamp>)> {
    let path = database.with_added_extension("mark");
    let found = match std::fs::read(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut file = private().create(true).truncate(false).open(&path)?;
    // The file is new, or an earlier process could not write all of it.
    if found.len() < WIDTH {
        write(&mut file, UNMARKED)?;
        return Ok((file, None));
    }
    if found == UNMARKED {
        return Ok((file, None));
    }
    let since = std::str::from_utf8(&found).ok().and_then(|text| text.parse().ok());
    // An unreadable mark may stand for any moment.
    Ok((file, Some(Timestamp::from_millis(since.unwrap_or(0)))))
}

fn write(file: &mut File, text: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_outlives_the_process_until_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("invoicing.db");
        let since = Timestamp::from_millis(1_789_378_867_123);
        assert_eq!(Mark::open(&database).found(), None);
        let mark = Mark::open(&database);
        mark.set(since).unwrap();
        assert_eq!(Mark::open(&database).found(), Some(since));
        mark.clear().unwrap();
        assert_eq!(Mark::open(&database).found(), None);
        mark.close();
        assert!(mark.set(since).is_err(), "the file may be another process's by now");
        std::fs::write(folder.path().join("invoicing.db.mark"), "????????????????").unwrap();
        assert_eq!(Mark::open(&database).found(), Some(Timestamp::from_millis(0)));
    }
}
