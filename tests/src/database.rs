//! On which database a test runs, and a place of its own there for a service.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use invoicing_server::{Invoicing, InvoicingBuilder, MemoryStore, PostgresSettings, SealingKey, SealingKeys};
use invoicing_test_databases::{Database, postgres};
use sqlx::postgres::Postgres;
use sqlx::sqlite::{Sqlite, SqliteConnectOptions};
use sqlx::{AssertSqlSafe, Connection, Decode, Executor as _, PgConnection, SqliteConnection, Type};
use tempfile::TempDir;
use uuid::Uuid;

use crate::release::Release;

/// A database of its own for a service, removed with it.
#[derive(Debug)]
pub struct Place(Kind);

#[derive(Debug)]
enum Kind {
    Sqlite(TempDir),
    Postgres(postgres::Fresh),
}

impl Place {
    /// A new one.
    pub async fn new(db: Database) -> Self {
        Self(match db {
            Database::Sqlite => Kind::Sqlite(tempfile::tempdir().expect("a temporary folder")),
            Database::Postgres => Kind::Postgres(postgres::fresh(Some(fill)).await),
        })
    }

    /// A new one that has not even tables.
    pub async fn empty(db: Database) -> Self {
        match db {
            Database::Sqlite => Self::new(db).await,
            Database::Postgres => Self(Kind::Postgres(postgres::fresh(None).await)),
        }
    }

    /// A copy of the database that a release recorded.
    pub async fn of_release(release: &Release) -> Self {
        let (place, folder) = (Self::empty(release.database()).await, release.folder());
        match &place.0 {
            Kind::Sqlite(_) => {
                std::fs::copy(folder.join("sqlite/invoicing.db"), place.file()).expect("a database file");
            }
            Kind::Postgres(_) => {
                let dump = std::fs::read_to_string(folder.join("postgres/dump.sql")).expect("a dump");
                let mut connection = PgConnection::connect(place.url()).await.expect("the server answers");
                sqlx::raw_sql(AssertSqlSafe(dump)).execute(&mut connection).await.expect("the dump runs");
                connection.close().await.expect("the server answers");
            }
        }
        place
    }

    /// Which kind it is.
    pub fn database(&self) -> Database {
        match self.0 {
            Kind::Sqlite(_) => Database::Sqlite,
            Kind::Postgres(_) => Database::Postgres,
        }
    }

    /// A builder of a service here. On PostgreSQL it needs a document store.
    pub fn builder(&self) -> InvoicingBuilder {
        match &self.0 {
            Kind::Sqlite(_) => Invoicing::sqlite(self.file()),
            Kind::Postgres(database) => Invoicing::postgres(settings(database)),
        }
    }

    /// A builder of a service here that does not listen for other nodes, as behind a pooler without a `listen_url`.
    ///
    /// # Panics
    /// If the database is a file.
    pub fn builder_without_listener(&self) -> InvoicingBuilder {
        match &self.0 {
            Kind::Sqlite(_) => panic!("a file has no nodes"),
            Kind::Postgres(database) => {
                let settings = settings(database);
                Invoicing::postgres(PostgresSettings {
                    transaction_pooling: true,
                    listen_url: None,
                    ..settings
                })
            }
        }
    }

    /// The database file.
    ///
    /// # Panics
    /// Where it is no file.
    pub fn file(&self) -> PathBuf {
        match &self.0 {
            Kind::Sqlite(folder) => folder.path().join("invoicing.db"),
            Kind::Postgres(_) => panic!("PostgreSQL has no file of its own"),
        }
    }

    /// Where the server is.
    ///
    /// # Panics
    /// Where there is none.
    pub fn url(&self) -> &str {
        match &self.0 {
            Kind::Sqlite(_) => panic!("SQLite has no server"),
            Kind::Postgres(database) => database.url(),
        }
    }

    /// The same place by a URL with a password, if the URL had none: a cluster of ours takes any.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        match self.0 {
            Kind::Postgres(database) => Self(Kind::Postgres(database.with_password(password))),
            Kind::Sqlite(_) => self,
        }
    }

    /// Whether these bytes are stored anywhere: in any file of SQLite, its journal included; in any row of PostgreSQL, as
    /// they are or in hexadecimal.
    pub async fn holds(&self, bytes: &[u8]) -> bool {
        let contains =
            |content: &[u8], bytes: &[u8]| content.windows(bytes.len()).any(|window| window == bytes);
        if let Kind::Sqlite(folder) = &self.0 {
            let files =
                std::fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("a file").path());
            let contents =
                files.filter(|file| file.is_file()).map(|file| std::fs::read(file).expect("a file"));
            return contents.into_iter().any(|content| contains(&content, bytes));
        }
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let mut behind = self.behind().await;
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
        for table in behind.all::<String>(tables, &[]).await {
            let rows = behind.all::<String>(&format!("SELECT t::text FROM \"{table}\" t"), &[]).await;
            if rows.iter().any(|row| contains(row.as_bytes(), bytes) || row.contains(&hex)) {
                return true;
            }
        }
        false
    }

    /// A connection behind the service's back.
    pub async fn behind(&self) -> Behind {
        match &self.0 {
            Kind::Sqlite(_) => {
                // Overwritten bytes must not stay readable in the file: some tests search it.
                let options = SqliteConnectOptions::new()
                    .filename(self.file())
                    .create_if_missing(true)
                    .pragma("secure_delete", "FAST");
                Behind::Sqlite(SqliteConnection::connect_with(&options).await.expect("the database opens"))
            }
            Kind::Postgres(database) => {
                Behind::Postgres(PgConnection::connect(database.url()).await.expect("the server answers"))
            }
        }
    }
}

/// The address for a service: that of the pooler, if there is one.
fn settings(database: &postgres::Fresh) -> PostgresSettings {
    let direct = PostgresSettings::new(database.url());
    let Some(url) = database.pooled_url() else { return direct };
    let listen_url = Some(database.url().to_owned());
    PostgresSettings { url, transaction_pooling: true, listen_url, ..direct }
}

/// Creates the tables.
fn fill(url: String) -> LocalBoxFuture<'static, ()> {
    Box::pin(async move {
        let builder = Invoicing::postgres(PostgresSettings::new(&url));
        // A key, so that no warning about a missing one is logged beside the tests.
        let key = SealingKey::new("template", [1; 32]).expect("a key");
        let builder =
            builder.document_store(Arc::new(MemoryStore::new())).sealing_keys(SealingKeys::new(key));
        let invoicing = builder.open().await.expect("it opens");
        invoicing.close().await;
        // Every world makes the choices of a first opening itself.
        let mut connection = PgConnection::connect(&url).await.expect("the server answers");
        connection.execute("DELETE FROM setting").await.expect("the statement runs");
        connection.close().await.expect("the server answers");
    })
}

/// A connection behind the service's back. Statements are the same for both databases, or [`Database::either`].
#[derive(Debug)]
pub enum Behind {
    /// To a file.
    Sqlite(SqliteConnection),
    /// To a server.
    Postgres(PgConnection),
}

/// The values of `$1`, `$2`, … in a statement.
#[derive(Debug, Clone)]
pub enum Argument {
    /// An id.
    Id(Uuid),
    /// A text.
    Text(String),
    /// A number or an instant.
    Number(i64),
}

impl From<Uuid> for Argument {
    fn from(id: Uuid) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Argument {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// A type that a single column can be read as, from either database.
pub trait Scalar:
    for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres> + Send + Unpin
{
}

impl<T> Scalar for T where
    T: for<'r> Decode<'r, Sqlite>
        + Type<Sqlite>
        + for<'r> Decode<'r, Postgres>
        + Type<Postgres>
        + Send
        + Unpin
{
}

macro_rules! bound {
    ($query:expr, $arguments:expr) => {
        $arguments.iter().fold($query, |query, argument| match argument {
            Argument::Id(id) => query.bind(*id),
            Argument::Text(text) => query.bind(text.clone()),
            Argument::Number(number) => query.bind(*number),
        })
    };
}

impl Behind {
    /// Runs a statement; how many rows it changed.
    pub async fn run(&mut self, statement: &str, arguments: &[Argument]) -> u64 {
        let text = AssertSqlSafe(statement.to_owned());
        match self {
            Self::Sqlite(connection) => {
                let done = bound!(sqlx::query(text), arguments).execute(connection).await;
                done.map(|done| done.rows_affected())
            }
            Self::Postgres(connection) => {
                let done = bound!(sqlx::query(text), arguments).execute(connection).await;
                done.map(|done| done.rows_affected())
            }
        }
        .unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// The only column of the rows that a statement finds.
    pub async fn all<T: Scalar>(&mut self, statement: &str, arguments: &[Argument]) -> Vec<T> {
        let text = AssertSqlSafe(statement.to_owned());
        match self {
            Self::Sqlite(connection) => {
                bound!(sqlx::query_scalar(text), arguments).fetch_all(connection).await
            }
            Self::Postgres(connection) => {
                bound!(sqlx::query_scalar(text), arguments).fetch_all(connection).await
            }
        }
        .unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// The only column of the only row that a statement finds.
    pub async fn one<T: Scalar>(&mut self, statement: &str, arguments: &[Argument]) -> T {
        let mut found = self.all(statement, arguments).await;
        assert_eq!(found.len(), 1, "{statement}: one row");
        found.remove(0)
    }
}
