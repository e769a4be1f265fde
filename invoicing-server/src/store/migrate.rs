//! Brings the schema up to date. Migrations only go forward.

use super::DatabaseError;

/// The migrations, in order. Never edited once released.
pub(super) const SQLITE: &[&str] = &[include_str!("../../migrations/sqlite/0001_initial.sql")];
#[cfg(feature = "postgres")]
pub(super) const POSTGRES: &[&str] = &[include_str!("../../migrations/postgres/0001_initial.sql")];

/// Version of the first migration. Snapshots of before the first release have versions below it, and
/// are refused.
const FIRST: i64 = 123;

/// The schema of this version.
#[cfg(feature = "postgres")]
pub(crate) const KNOWN_SQLITE: i64 = newest(SQLITE);

#[cfg(feature = "postgres")]
pub(super) const KNOWN_POSTGRES: i64 = newest(POSTGRES);

/// The prefix distinguishes the table from the host's own in the same database.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS invoicing_migration (version BIGINT PRIMARY KEY)";
pub(super) const NEWEST_VERSION: &str = "SELECT max(version) FROM invoicing_migration";
const INSERT_VERSION: &str = "INSERT INTO invoicing_migration (version) VALUES ($1)";

#[expect(clippy::cast_possible_wrap, reason = "a handful")]
const fn newest(migrations: &[&str]) -> i64 {
    FIRST + migrations.len() as i64 - 1
}

/// Version of the first migration to run on a database whose newest one is `found`.
fn next(found: Option<i64>, known: i64) -> Result<i64, DatabaseError> {
    match found {
        None => Ok(FIRST),
        Some(found) if found < FIRST => Err(DatabaseError::BeforeRelease { found }),
        Some(found) if found > known => Err(DatabaseError::TooNew { found, known }),
        Some(found) => Ok(found + 1),
    }
}

/// True if a database whose newest migration is `found` has all of these.
pub(super) fn is_complete(found: Option<i64>, migrations: &[&str]) -> bool {
    found.is_some_and(|found| found >= newest(migrations))
}

/// Runs the missing migrations within a transaction.
macro_rules! migrate {
    ($tx:expr, $migrations:expr) => {{
        sqlx::raw_sql(CREATE).execute(&mut *$tx).await?;
        let found: Option<i64> = sqlx::query_scalar(NEWEST_VERSION).fetch_one(&mut *$tx).await?;
        let next = next(found, newest($migrations))?;
        for (version, migration) in (FIRST..).zip($migrations).filter(|(version, _)| *version >= next) {
            sqlx::raw_sql(*migration).execute(&mut *$tx).await?;
            sqlx::query(INSERT_VERSION).bind(version).execute(&mut *$tx).await?;
        }
    }};
}

pub(super) async fn sqlite(connection: &mut sqlx::SqliteConnection) -> Result<(), DatabaseError> {
    let mut tx = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE").await?;
    migrate!(tx, SQLITE);
    tx.commit().await?;
    Ok(())
}

/// Migrates a PostgreSQL database. Nodes that start together take the lock in turn: the first one
/// migrates, the others find the schema up to date.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres(connection: &mut sqlx::PgConnection) -> Result<(), DatabaseError> {
    let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(&mut *connection).await?;
    if encoding != "UTF8" {
        return Err(DatabaseError::Encoding(encoding));
    }
    let mut tx = sqlx::Connection::begin(connection).await?;
    // A migration may take longer than any limit for operations.
    sqlx::raw_sql("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").execute(&mut *tx).await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(super::connection::postgres::locks::MIGRATION_LOCK)
        .execute(&mut *tx)
        .await?;
    migrate!(tx, POSTGRES);
    tx.commit().await?;
    Ok(())
}
