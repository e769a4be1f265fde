//! Bringing the schema up to date. Migrations only ever go forward.

use sqlx::{Connection, SqliteConnection};

use super::OpenError;

/// In order; a migration's version is its place, from 1. Never edited once released.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../migrations/sqlite/0002_particulars.sql"),
    include_str!("../../migrations/sqlite/0003_uploads.sql"),
    include_str!("../../migrations/sqlite/0004_sealed_secrets.sql"),
];

/// The table that remembers; its name leaves room for a host's own in the same database.
const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS invoicing_migration (version INTEGER PRIMARY KEY) WITHOUT ROWID";

pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(CREATE).execute(&mut *tx).await?;
    let found: i64 = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM invoicing_migration")
        .fetch_one(&mut *tx)
        .await?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    for (version, migration) in (1..=known).zip(MIGRATIONS).filter(|(version, _)| *version > found) {
        sqlx::raw_sql(*migration).execute(&mut *tx).await?;
        sqlx::query("INSERT INTO invoicing_migration (version) VALUES ($1)")
            .bind(version)
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(())
}
