//! Brings the schema up to date. Migrations only go forward.

use super::DatabaseError;

/// The migrations, in order. Never edited once released.
pub(super) const SQLITE: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../migrations/sqlite/0002_webhooks.sql"),
    include_str!("../../migrations/sqlite/0003_books.sql"),
    include_str!("../../migrations/sqlite/0004_lines.sql"),
    include_str!("../../migrations/sqlite/0005_versions.sql"),
    include_str!("../../migrations/sqlite/0006_commit_status.sql"),
    include_str!("../../migrations/sqlite/0007_history.sql"),
    include_str!("../../migrations/sqlite/0008_reports.sql"),
    include_str!("../../migrations/sqlite/0009_causes.sql"),
    include_str!("../../migrations/sqlite/0010_room_in_indexes.sql"),
    include_str!("../../migrations/sqlite/0011_refusals.sql"),
    include_str!("../../migrations/sqlite/0012_webhook_failures.sql"),
    include_str!("../../migrations/sqlite/0013_canceled.sql"),
    include_str!("../../migrations/sqlite/0014_begun_deliveries.sql"),
    include_str!("../../migrations/sqlite/0015_texts.sql"),
    include_str!("../../migrations/sqlite/0016_forms.sql"),
    include_str!("../../migrations/sqlite/0017_begin_change.sql"),
    include_str!("../../migrations/sqlite/0018_items.sql"),
    include_str!("../../migrations/sqlite/0019_billing.sql"),
    include_str!("../../migrations/sqlite/0020_payments.sql"),
];
#[cfg(feature = "postgres")]
pub(super) const POSTGRES: &[&str] = &[
    include_str!("../../migrations/postgres/0001_initial.sql"),
    include_str!("../../migrations/postgres/0002_webhooks.sql"),
    include_str!("../../migrations/postgres/0003_books.sql"),
    include_str!("../../migrations/postgres/0004_lines.sql"),
    include_str!("../../migrations/postgres/0005_versions.sql"),
    include_str!("../../migrations/postgres/0006_commit_status.sql"),
    include_str!("../../migrations/postgres/0007_history.sql"),
    include_str!("../../migrations/postgres/0008_reports.sql"),
    include_str!("../../migrations/postgres/0009_causes.sql"),
    include_str!("../../migrations/postgres/0010_room_in_indexes.sql"),
    include_str!("../../migrations/postgres/0011_refusals.sql"),
    include_str!("../../migrations/postgres/0012_webhook_failures.sql"),
    include_str!("../../migrations/postgres/0013_canceled.sql"),
    include_str!("../../migrations/postgres/0014_begun_deliveries.sql"),
    include_str!("../../migrations/postgres/0015_texts.sql"),
    include_str!("../../migrations/postgres/0016_forms.sql"),
    include_str!("../../migrations/postgres/0017_begin_change.sql"),
    include_str!("../../migrations/postgres/0018_items.sql"),
    include_str!("../../migrations/postgres/0019_billing.sql"),
    include_str!("../../migrations/postgres/0020_payments.sql"),
];

/// Version of the first migration. The development states before the first release had versions
/// below it, and cannot be brought up to date.
const FIRST: i64 = 101;

/// The schema of this version.
#[cfg(feature = "postgres")]
pub(crate) const KNOWN_SQLITE: i64 = newest(SQLITE);

#[cfg(feature = "postgres")]
pub(super) const KNOWN_POSTGRES: i64 = newest(POSTGRES);

/// The prefix distinguishes the table from the host's own in the same database.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS invoicing_migration (version BIGINT PRIMARY KEY)";
pub(super) const FOUND: &str = "SELECT max(version) FROM invoicing_migration";
const DONE: &str = "INSERT INTO invoicing_migration (version) VALUES ($1)";

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
        let found: Option<i64> = sqlx::query_scalar(FOUND).fetch_one(&mut *$tx).await?;
        let next = next(found, newest($migrations))?;
        for (version, migration) in (FIRST..).zip($migrations).filter(|(version, _)| *version >= next) {
            sqlx::raw_sql(*migration).execute(&mut *$tx).await?;
            sqlx::query(DONE).bind(version).execute(&mut *$tx).await?;
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

#[cfg(test)]
mod tests {
    use sqlx::{Connection, SqliteConnection};

    use super::*;

    #[tokio::test]
    async fn large_lines_of_the_first_version_are_moved_apart() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(SQLITE[0]).execute(&mut connection).await.unwrap();
        sqlx::raw_sql(CREATE).execute(&mut connection).await.unwrap();
        sqlx::query(DONE).bind(FIRST).execute(&mut connection).await.unwrap();
        for bytes in [3, 8_192, 8_193, 3_000_000] {
            for (table, also) in [("quote", ""), ("invoice", ", quote_id")] {
                let value = if also.is_empty() { "" } else { ", $1" };
                let insert = format!(
                    "INSERT INTO {table} (company_id, id, status, created_at, updated_at, summary, lines, detail{also}) \
                     VALUES ('c', '{table}' || $1, 'DRAFT', 0, 0, '', '[' || printf('%.*c', $1 - 2, 'x') || ']', ''{value})"
                );
                sqlx::query(sqlx::AssertSqlSafe(insert)).bind(bytes).execute(&mut connection).await.unwrap();
            }
        }
        sqlite(&mut connection).await.unwrap();
        let left = "SELECT lines FROM quote UNION ALL SELECT lines FROM invoice";
        let left: Vec<String> = sqlx::query_scalar(left).fetch_all(&mut connection).await.unwrap();
        let lengths: Vec<usize> = left.iter().map(String::len).collect();
        assert_eq!(lengths, [3, 8_192, 4, 7, 3, 8_192, 4, 7]);
        assert_eq!((&*left[2], &*left[3]), ("8193", "3000000"));
        let moved = "SELECT document_id || ' ' || octet_length(lines) FROM large_lines ORDER BY 1";
        let moved: Vec<String> = sqlx::query_scalar(moved).fetch_all(&mut connection).await.unwrap();
        assert_eq!(
            moved,
            ["invoice3000000 3000000", "invoice8193 8193", "quote3000000 3000000", "quote8193 8193"]
        );
    }
}
