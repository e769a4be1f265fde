//! A CSV file with one row per record, and the checkpoint that goes with it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use invoicing_client::{Checkpoint, CheckpointError, CheckpointStore, FileCheckpoint};
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;

use crate::rows::Row;

/// Rows by id, so that a newer version takes the place of an older one.
type Rows = BTreeMap<String, Vec<String>>;

/// See the module's text.
pub(crate) struct Table {
    path: PathBuf,
    header: &'static [&'static str],
    rows: Mutex<Rows>,
    checkpoint: FileCheckpoint,
}

impl Table {
    /// The table in this folder. The rows of an earlier run are read when a pass begins.
    pub(crate) fn open<R: Row>(folder: &Path, name: &str) -> Arc<Self> {
        let path = folder.join(format!("{name}.csv"));
        let checkpoint = FileCheckpoint::new(folder.join(format!("{name}.checkpoint.json")));
        Arc::new(Self { path, header: R::HEADER, rows: Mutex::default(), checkpoint })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> usize {
        self.rows().len()
    }

    /// Takes a version. It is on disk once the checkpoint is saved, which is when its acknowledgement counts.
    pub(crate) fn put(&self, record: &impl Row) {
        let cells = record.cells();
        self.rows().insert(cells[0].clone(), cells);
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// First the data, then the checkpoint: a process that dies in between reads some versions twice, and misses none.
impl CheckpointStore for Table {
    fn lock_and_load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Option<Checkpoint>> {
        Box::pin(async move {
            // First, as this keeps a second run out, which would write what it has read before.
            let known = self.checkpoint.lock_and_load(resource).await?;
            if !self.path.exists() {
                // A checkpoint without its file means nothing.
                return Ok(None);
            }
            let failed = |source| CheckpointError::Io { path: self.path.clone(), action: "read", source };
            *self.rows() = read(&self.path).map_err(io::Error::from).map_err(failed)?;
            Ok(known)
        })
    }

    fn save<'a>(&'a self, resource: &'a str, checkpoint: &'a Checkpoint) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (path, header, rows) = (self.path.clone(), self.header, self.rows().clone());
            let written = spawn_blocking(move || write(&path, header, &rows));
            let failed = |source| CheckpointError::Io { path: self.path.clone(), action: "written", source };
            written.await.map_err(io::Error::other).flatten().map_err(failed)?;
            self.checkpoint.save(resource, checkpoint).await
        })
    }
}

type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, CheckpointError>> + Send + 'a>>;

fn read(path: &Path) -> Result<Rows, csv::Error> {
    let mut rows = Rows::new();
    for record in csv::Reader::from_path(path)?.into_records() {
        let cells: Vec<String> = record?.iter().map(str::to_owned).collect();
        rows.insert(cells[0].clone(), cells);
    }
    Ok(rows)
}

/// Replaces the file as a whole.
fn write(path: &Path, header: &[&str], rows: &Rows) -> io::Result<()> {
    let file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    let mut csv = csv::Writer::from_writer(file);
    csv.write_record(header)?;
    for cells in rows.values() {
        csv.write_record(cells)?;
    }
    let file = csv.into_inner().map_err(csv::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
