//! Bringing the schema up to date. Migrations only ever go forward.

use super::OpenError;

/// In order; a migration's version is its place, from 1. Never edited once released.
const SQLITE: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../migrations/sqlite/0002_particulars.sql"),
    include_str!("../../migrations/sqlite/0003_uploads.sql"),
    include_str!("../../migrations/sqlite/0004_sealed_secrets.sql"),
    include_str!("../../migrations/sqlite/0005_leases.sql"),
    include_str!("../../migrations/sqlite/0006_held_series.sql"),
];
#[cfg(feature = "postgres")]
const POSTGRES: &[&str] = &[
    include_str!("../../migrations/postgres/0001_initial.sql"),
    include_str!("../../migrations/postgres/0002_room_for_claims.sql"),
];

/// The schema that this version works with.
#[cfg(feature = "postgres")]
pub(crate) const KNOWN_SQLITE: i64 = version(SQLITE);

/// The table that remembers; its name leaves room for a host's own in the same database.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS invoicing_migration (version BIGINT PRIMARY KEY)";
const FOUND: &str = "SELECT coalesce(max(version), 0) FROM invoicing_migration";
const DONE: &str = "INSERT INTO invoicing_migration (version) VALUES ($1)";

#[expect(clippy::cast_possible_wrap, reason = "a handful")]
const fn version(migrations: &[&str]) -> i64 {
    migrations.len() as i64
}

/// Runs what is missing within a transaction.
macro_rules! run {
    ($tx:expr, $migrations:expr) => {{
        sqlx::raw_sql(CREATE).execute(&mut *$tx).await?;
        let found: i64 = sqlx::query_scalar(FOUND).fetch_one(&mut *$tx).await?;
        let known = version($migrations);
        if found > known {
            return Err(OpenError::TooNew { found, known });
        }
        for (version, migration) in (1..=known).zip($migrations).filter(|(version, _)| *version > found) {
            sqlx::raw_sql(*migration).execute(&mut *$tx).await?;
            sqlx::query(DONE).bind(version).execute(&mut *$tx).await?;
        }
    }};
}

pub(super) async fn sqlite(connection: &mut sqlx::SqliteConnection) -> Result<(), OpenError> {
    let mut tx = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE").await?;
    run!(tx, SQLITE);
    tx.commit().await?;
    Ok(())
}

/// Whoever comes first does it; whoever comes meanwhile waits and finds it done.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres(connection: &mut sqlx::PgConnection) -> Result<(), OpenError> {
    let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(&mut *connection).await?;
    if encoding != "UTF8" {
        return Err(OpenError::Encoding(encoding));
    }
    let mut tx = sqlx::Connection::begin(connection).await?;
    // Changing a schema takes as long as it takes.
    sqlx::raw_sql("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").execute(&mut *tx).await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(super::postgres::MIGRATION_LOCK)
        .execute(&mut *tx)
        .await?;
    run!(tx, POSTGRES);
    tx.commit().await?;
    Ok(())
}
