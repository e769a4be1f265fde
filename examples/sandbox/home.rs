//! Where a sandbox keeps everything: the database, the documents, and what it has to show again at its next start.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use invoicing_examples::Failure;
use invoicing_server::{Invoicing, InvoicingBuilder, ObjectStorage, PostgresSettings};
use tempfile::TempDir;

use crate::args::Db;

/// The places of one sandbox, or of several processes that share them.
pub(crate) struct Home {
    db: Db,
    documents: PathBuf,
    /// The credentials that it shows.
    pub(crate) credentials: PathBuf,
    /// Lives as long as the service that writes into it.
    temporary: Option<TempDir>,
}

impl Home {
    pub(crate) fn new(db: Option<Db>, documents: Option<PathBuf>) -> Result<Self, Failure> {
        let (db, temporary) = if let Some(db) = db {
            (db, None)
        } else {
            let folder = tempfile::tempdir()?;
            (Db::File(folder.path().join("sandbox.db")), Some(folder))
        };
        let credentials_of = |path: &Path| beside(path, ".sandbox.json");
        let db = match db {
            Db::File(path) => Db::File(behind_links(path)),
            postgres @ Db::Postgres { .. } => postgres,
        };
        let (documents, credentials) = match &db {
            Db::File(path) => (documents.unwrap_or_else(|| beside(path, ".documents")), credentials_of(path)),
            Db::Postgres { name, .. } => {
                // Processes on one database have to find the same. In the temporary folder others could make it first.
                let documents = match documents {
                    Some(documents) => documents,
                    None => shared_folder()?.join(name),
                };
                let credentials = credentials_of(&documents);
                (documents, credentials)
            }
        };
        Ok(Self { db, documents, credentials, temporary })
    }

    /// A builder of the service.
    pub(crate) fn builder(&self) -> Result<InvoicingBuilder, Failure> {
        let builder = match &self.db {
            Db::File(path) => Invoicing::sqlite(path),
            Db::Postgres { url, .. } => Invoicing::postgres(PostgresSettings::new(url)),
        };
        Ok(builder.document_store(Arc::new(ObjectStorage::folder(&self.documents)?)))
    }

    /// For the log: no password.
    pub(crate) fn shown(&self) -> String {
        let documents = self.documents.display();
        match &self.db {
            Db::File(path) => format!("{} (documents: {documents})", path.display()),
            Db::Postgres { name, .. } => format!("PostgreSQL, database {name} (documents: {documents})"),
        }
    }

    /// For a person, as a sentence.
    pub(crate) fn kept(&self) -> String {
        match self.temporary {
            Some(_) => "All data is gone at the end, unless --db names a file.".into(),
            None => format!("The data is kept in {}.", self.shown()),
        }
    }

    /// Waits for its turn, for as long as the file lives: two processes that start at once on one database must not both
    /// open the demo companies. A SQLite file has one process anyhow.
    pub(crate) async fn turn(&self) -> Result<Option<File>, Failure> {
        if let Db::File(_) = self.db {
            return Ok(None);
        }
        let path = beside(&self.credentials, ".lock");
        let locked = tokio::task::spawn_blocking(move || {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock().map(|()| file)
        });
        Ok(Some(locked.await??))
    }
}

/// In the home of the user, and for this user only.
fn shared_folder() -> Result<PathBuf, Failure> {
    let home = std::env::home_dir().ok_or("there is no home folder: name a folder with --documents")?;
    let folder = home.join(".invoicing-sandbox");
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(&folder)?;
    Ok(folder)
}

/// The file that a path leads to, as the service resolves it: everything lies beside that one.
fn behind_links(mut path: PathBuf) -> PathBuf {
    // The service refuses links that go in a circle.
    for _ in 0..40 {
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
