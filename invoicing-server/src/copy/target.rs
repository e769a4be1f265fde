//! The PostgreSQL side: an earlier copy, the next rows, and the end.
//!
//! The table `invoicing_copy` counts the rows of a copy, and while it exists no service opens the
//! database. The transaction that takes rows counts them. The end of the copy replaces the table by
//! a setting that names the source.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Postgres, Transaction};

use super::source::{BinaryRows, Survey, SurveyedTable};
use super::tables::{Catalogue, CatalogueRow, CopiedTable, catalogue, quoted};
use super::{CopyError, Moment, binary};
use crate::config::PostgresSettings;
use crate::env::Env;
use crate::store::connection::postgres::locks::{COPY, SERVICE_LOCK, TABLE_EXISTS};
use crate::store::{migrate, postgres};

/// The setting that names the source of a finished copy.
const COPIED_FROM: &str = "copied_from";

/// A copy may take longer than the server's limits for other transactions.
const NO_LIMITS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
/// `indkey` counts from 0 on.
const CATALOGUE: &str = "SELECT t.relname::text, c.attname::text, format_type(c.atttypid, NULL), \
     coalesce(array_position(k.indkey::int2[], c.attnum) + 1, 0)::bigint \
     FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid \
     LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary \
     WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') \
     AND c.attnum > 0 AND NOT c.attisdropped AND c.attgenerated = ''";
/// The moment by both clocks, the source, and the rows that were copied so far.
const CREATE: &str = "CREATE TABLE invoicing_copy (at BIGINT NOT NULL, ahead BIGINT NOT NULL, source BYTEA NOT NULL, \
     rows BIGINT NOT NULL)";
const BEGIN: &str = "INSERT INTO invoicing_copy (at, ahead, source, rows) VALUES ($1, $2, $3, 0)";
const BEGUN: &str = "SELECT at, ahead, source, rows FROM invoicing_copy";
const COPIED: &str = "SELECT rows FROM invoicing_copy FOR UPDATE";
const MOVE: &str = "UPDATE invoicing_copy SET rows = $1";
const FINISHED: &str = "SELECT value FROM setting WHERE name = $1";
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
/// Each node takes ids in blocks, from the sequence's next value on: none may be taken.
const BLOCKS: &str = "SELECT setval('delivery_id_block', greatest(last_value, (SELECT max(id) FROM delivery))) \
     FROM delivery_id_block WHERE EXISTS (SELECT 1 FROM delivery)";
const FINISH: &str = "INSERT INTO setting (name, value) VALUES ($1, $2)";
const DROP: &str = "DROP TABLE invoicing_copy";

/// A PostgreSQL database that takes a copy.
pub(super) struct PostgresTarget {
    connection: PgConnection,
}

/// A copy that was begun by an earlier call.
pub(super) struct EarlierCopy {
    pub(super) moment: Moment,
    /// The fingerprint of the source.
    pub(super) source: Vec<u8>,
    /// Rows that were copied so far; `None` once it was finished.
    pub(super) rows: Option<u64>,
}

impl PostgresTarget {
    pub(super) async fn connect(settings: &PostgresSettings) -> Result<Self, CopyError> {
        // Nothing is prepared by name: a pooler may give each transaction another connection.
        let options =
            postgres::connect::parse(&settings.url).map_err(|error| CopyError::Target(error.into()))?;
        let options = options.application_name("invoicing").statement_cache_capacity(0);
        // Some of these statements take long by nature.
        let options = options.disable_statement_logging();
        let patience = Duration::from_millis(settings.acquire_timeout_ms);
        let connection = postgres::connect::connect(&options, patience).await.map_err(CopyError::Target)?;
        Ok(Self { connection })
    }

    async fn begin(&mut self) -> Result<Transaction<'_, Postgres>, sqlx::Error> {
        let mut tx = self.connection.begin_with(postgres::BEGIN).await?;
        sqlx::raw_sql(NO_LIMITS).execute(&mut *tx).await?;
        Ok(tx)
    }

    /// The copy of an earlier call, if there is one. Refuses a database with other content in these
    /// tables.
    pub(super) async fn earlier_copy(
        &mut self,
        tables: &Catalogue,
    ) -> Result<Option<EarlierCopy>, CopyError> {
        let mut tx = self.begin().await?;
        if exists(&mut tx, COPY).await? {
            return Ok(Some(begun(&mut tx).await?));
        }
        if exists(&mut tx, "setting").await? {
            let value: Option<Vec<u8>> =
                sqlx::query_scalar(FINISHED).bind(COPIED_FROM).fetch_optional(&mut *tx).await?;
            if let Some(value) = value {
                return finished(&value).ok_or(CopyError::OtherSource).map(Some);
            }
        }
        assert_empty(&mut tx, tables).await?;
        Ok(None)
    }

    /// The tables that the copy goes into. If no copy was begun, they are made and rolled back:
    /// before the source is checked, nothing stays.
    pub(super) async fn catalogue(&mut self, begun: bool) -> Result<Catalogue, CopyError> {
        let mut tx = self.begin().await?;
        if !begun {
            migrate::postgres(&mut tx).await.map_err(CopyError::Target)?;
        }
        let rows: Vec<CatalogueRow> = sqlx::query_as(CATALOGUE).fetch_all(&mut *tx).await?;
        tx.rollback().await?;
        Ok(catalogue(rows))
    }

    /// The present moment by the clock of this machine, which the service has used so far, and by
    /// the clock of the database.
    pub(super) async fn moment(&mut self, env: &Env) -> Result<Moment, CopyError> {
        let mut tx = self.begin().await?;
        let at = env.now().as_millis();
        let theirs: i64 = sqlx::query_scalar(NOW).fetch_one(&mut *tx).await?;
        Ok(Moment { at, ahead: theirs - at })
    }

    /// Makes the tables and begins a copy. From here on no service opens the database.
    pub(super) async fn begin_copy(
        &mut self,
        tables: &Catalogue,
        moment: Moment,
        survey: &Survey<'_>,
    ) -> Result<(), CopyError> {
        migrate::postgres(&mut self.connection).await.map_err(CopyError::Target)?;
        let mut tx = self.begin().await?;
        // With the lock, a service that is opening the database either finds the table, or has left
        // rows that the check finds.
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(SERVICE_LOCK).execute(&mut *tx).await?;
        sqlx::raw_sql(CREATE).execute(&mut *tx).await?;
        assert_empty(&mut tx, tables).await?;
        let begin = sqlx::query(BEGIN).bind(moment.at).bind(moment.ahead).bind(survey.fingerprint());
        begin.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Copies the rows behind the first `copied` ones, in a transaction that counts them.
    pub(super) async fn copy(
        &mut self,
        table: &CopiedTable,
        batch: &BinaryRows,
        copied: u64,
    ) -> Result<(), CopyError> {
        let mut tx = self.begin().await?;
        let found: i64 = sqlx::query_scalar(COPIED).fetch_one(&mut *tx).await?;
        if found != number(copied) {
            return Err(CopyError::AnotherCopy);
        }
        let mut copy = tx.copy_in_raw(&table.copy_in()).await?;
        for part in [binary::HEADER, &batch.bytes[..], binary::TRAILER] {
            copy.send(part).await?;
        }
        copy.finish().await?;
        sqlx::query(MOVE).bind(number(copied + batch.rows)).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Compares everything with the source, and if it is the same, opens the database for the
    /// service. No row can change between the comparison and the opening.
    pub(super) async fn finish(&mut self, moment: Moment, survey: &Survey<'_>) -> Result<(), CopyError> {
        let mut tx = self.begin().await?;
        let names =
            survey.tables.iter().map(|surveyed| quoted(&surveyed.table.name)).collect::<Vec<_>>().join(", ");
        let lock = format!("LOCK TABLE {names} IN SHARE MODE");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *tx).await?;
        for SurveyedTable { table, rows, sha256 } in &survey.tables {
            let (found, their_sha256) = (count(&mut tx, table).await?, hash(&mut tx, table).await?);
            if found != *rows || their_sha256 != *sha256 {
                return Err(CopyError::Differs { table: table.name.clone(), found, expected: *rows });
            }
        }
        sqlx::query(BLOCKS).execute(&mut *tx).await?;
        sqlx::query(FINISH).bind(COPIED_FROM).bind(copied_from(moment, survey)).execute(&mut *tx).await?;
        sqlx::raw_sql(DROP).execute(&mut *tx).await?;
        // The first queries are to be planned for the tables as they are now.
        sqlx::raw_sql(AssertSqlSafe(format!("ANALYZE {names}"))).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }

    pub(super) async fn close(self) {
        // Everything is committed, so an error on closing the connection is no failure of the copy.
        if let Err(error) = self.connection.close().await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "connection not closed cleanly; the copy is complete"
            );
        }
    }
}

async fn exists(tx: &mut PgConnection, table: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(TABLE_EXISTS).bind(table).fetch_one(tx).await
}

async fn begun(tx: &mut PgConnection) -> Result<EarlierCopy, CopyError> {
    type CopyRow = (i64, i64, Vec<u8>, i64);
    let (at, ahead, source, rows): CopyRow = sqlx::query_as(BEGUN).fetch_one(tx).await?;
    let rows = u64::try_from(rows).map_err(|_| CopyError::OtherSource)?;
    Ok(EarlierCopy { moment: Moment { at, ahead }, source, rows: Some(rows) })
}

/// Returns an error if one of the tables has a row.
async fn assert_empty(tx: &mut PgConnection, tables: &Catalogue) -> Result<(), CopyError> {
    for name in tables.keys() {
        if !exists(tx, name).await? {
            continue;
        }
        let statement = AssertSqlSafe(format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(name)));
        if sqlx::query_scalar(statement).fetch_one(&mut *tx).await? {
            return Err(CopyError::NotEmpty(name.clone()));
        }
    }
    Ok(())
}

async fn count(tx: &mut PgConnection, table: &CopiedTable) -> Result<u64, sqlx::Error> {
    let statement = AssertSqlSafe(format!("SELECT count(*) FROM {}", quoted(&table.name)));
    let count: i64 = sqlx::query_scalar(statement).fetch_one(tx).await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

async fn hash(tx: &mut PgConnection, table: &CopiedTable) -> Result<[u8; 32], sqlx::Error> {
    let mut hash = Sha256::new();
    let mut rows = tx.copy_out_raw(&table.copy_out()).await?;
    while let Some(piece) = rows.try_next().await? {
        hash.update(&piece);
    }
    Ok(hash.finalize().into())
}

/// A number of rows as a BIGINT.
fn number(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// The stored form of a copy's moment and source.
fn copied_from(moment: Moment, survey: &Survey<'_>) -> Vec<u8> {
    [&moment.at.to_be_bytes()[..], &moment.ahead.to_be_bytes(), &survey.fingerprint()].concat()
}

fn finished(value: &[u8]) -> Option<EarlierCopy> {
    let (at, rest) = value.split_first_chunk()?;
    let (ahead, source) = rest.split_first_chunk()?;
    let moment = Moment { at: i64::from_be_bytes(*at), ahead: i64::from_be_bytes(*ahead) };
    Some(EarlierCopy { moment, source: source.to_vec(), rows: None })
}
