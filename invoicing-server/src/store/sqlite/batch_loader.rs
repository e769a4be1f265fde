//! Loads single records in batches.
//!
//! A call of sqlx is a hop to SQLite's thread and back, which costs more than the read itself. One task owns a
//! connection and answers, with one statement, all requests that arrived while the previous statement ran or in the same
//! wake-up. A record is always read after it was requested.
//!
//! Large lines are not read here: only their size, which stands in the row. So a batch is small.

use invoicing_core::CompanyId;
use sqlx::{Connection, Row as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::super::rows::Detail;
use super::worker::Worker;
use crate::Error;

/// Most records in one statement. Bounds how long the first one waits for the last.
const BATCH: usize = 32;
/// Separates the records in the statement's one row. No JSON text contains it.
const SEPARATOR: u8 = 0x1e;

/// Loads quotes; see [`start`].
pub(super) const QUOTES: &str = "
    SELECT coalesce(group_concat(CASE
        WHEN d.lines < '[' THEN concat(k.key, ' ', d.lines)
        ELSE concat(k.key, ':', d.version, d.summary, ',\"lines\":', d.lines, ',', d.detail)
    END, char(30)), '')
    FROM json_each($1) k
    CROSS JOIN quote d
      ON d.company_id = unhex(substr(k.value, 1, 32)) AND d.id = unhex(substr(k.value, 33))";

/// Loads invoices; see [`start`].
pub(super) const INVOICES: &str = "
    SELECT coalesce(group_concat(CASE
        WHEN d.lines < '[' THEN concat(k.key, ' ', d.lines)
        ELSE concat(k.key, ':', d.version, d.summary, ',\"lines\":', d.lines, ',', d.detail)
    END, char(30)), '')
    FROM json_each($1) k
    CROSS JOIN invoice d
      ON d.company_id = unhex(substr(k.value, 1, 32)) AND d.id = unhex(substr(k.value, 33))";

/// A record that a caller waits for.
pub(in crate::store) struct Request {
    company: CompanyId,
    id: Uuid,
    reply: oneshot::Sender<Result<Option<Detail>, Error>>,
}

/// Sends requests to the task that reads.
pub(in crate::store) type BatchLoader = Worker<Request>;

/// Starts the task. `$1` of the statement is a JSON array; each item is a company and an id as one hexadecimal text. The
/// records that exist come in any order, each after its index in the array, a colon and its version. In the place of one
/// with large lines come its index, a space and their size. `CROSS JOIN` makes SQLite look the records up by key.
pub(super) fn start(connection: SqliteConnection, statement: &'static str) -> BatchLoader {
    Worker::start("batch loader", |requests| work(connection, statement, requests))
}

impl Worker<Request> {
    /// Loads one record.
    pub(in crate::store) async fn load(&self, company: CompanyId, id: Uuid) -> Result<Detail, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Request { company, id, reply }).await?;
        let loaded = answer.await.map_err(|_| Error::unavailable("the database is closed"))?;
        loaded?.ok_or(Error::NotFound)
    }
}

async fn work(
    mut connection: SqliteConnection,
    statement: &'static str,
    mut requests: mpsc::Receiver<Request>,
) {
    while let Some(first) = requests.recv().await {
        // Without it the first request of a wake-up would often be read alone.
        tokio::task::yield_now().await;
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(request) = requests.try_recv()
        {
            batch.push(request);
        }
        // A caller that has gone away needs no record.
        batch.retain(|request| !request.reply.is_closed());
        answer(&mut connection, statement, batch).await;
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "database connection did not close cleanly");
    }
}

async fn answer(connection: &mut SqliteConnection, statement: &'static str, batch: Vec<Request>) {
    if batch.is_empty() {
        return;
    }
    match fetch(connection, statement, &batch).await {
        Ok(records) => {
            for (request, record) in batch.into_iter().zip(records) {
                let _ = request.reply.send(Ok(record));
            }
        }
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "batch read failed");
            for request in batch {
                let _ = request.reply.send(Err(Error::unavailable("a batch read failed")));
            }
        }
    }
}

/// Reads the records of a batch, each at the index of its request.
async fn fetch(
    connection: &mut SqliteConnection,
    statement: &'static str,
    batch: &[Request],
) -> Result<Vec<Option<Detail>>, Error> {
    let key = |request: &Request| format!("{}{}", request.company.0.simple(), request.id.simple());
    let keys: Vec<String> = batch.iter().map(key).collect();
    let keys = serde_json::to_string(&keys).map_err(Error::internal)?;
    let row = sqlx::query(statement).bind(keys).fetch_one(connection).await?;
    let text: &[u8] = row.try_get(0)?;
    let mut records = vec![None; batch.len()];
    let mut start = 0;
    for end in memchr::memchr_iter(SEPARATOR, text).chain(std::iter::once(text.len())) {
        // The empty text of a read that found nothing has no index.
        if let Some((index, detail)) = split(&text[start..end])
            && let Some(slot) = records.get_mut(index)
        {
            *slot = Some(detail);
        }
        start = end + 1;
    }
    Ok(records)
}

/// Splits the index off a record.
fn split(text: &[u8]) -> Option<(usize, Detail)> {
    let (head, json) = text.split_at(memchr::memchr(b'{', text).unwrap_or(text.len()));
    let head = str::from_utf8(head).ok()?;
    if let Some((index, version)) = head.split_once(':') {
        let whole = Detail::Whole { json: json.to_vec(), version: version.parse().ok()? };
        return Some((index.parse().ok()?, whole));
    }
    let (index, bytes) = head.split_once(' ')?;
    Some((index.parse().ok()?, Detail::Large { bytes: bytes.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::time::timeout;

    use super::*;

    const COMPANY: CompanyId = CompanyId(Uuid::from_u128(1));
    /// The record whose lines are large.
    const LARGE: u128 = 40;

    async fn loader() -> BatchLoader {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let create = "CREATE TABLE quote (company_id, id, summary, lines, detail, version)";
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
        for id in (0..100_u128).step_by(2) {
            sqlx::query("INSERT INTO quote VALUES ($1, $2, '{' || $3, $4, '}', 7)")
                .bind(COMPANY.0)
                .bind(Uuid::from_u128(id))
                .bind(format!("\"id\":{id}"))
                .bind(if id == LARGE { "9000" } else { "[]" })
                .execute(&mut connection)
                .await
                .unwrap();
        }
        start(connection, QUOTES)
    }

    async fn check(loader: &BatchLoader, id: u128) {
        let found = loader.load(COMPANY, Uuid::from_u128(id)).await;
        if id < 100 && id.is_multiple_of(2) {
            let json = format!("{{\"id\":{id},\"lines\":[],}}").into_bytes();
            let whole = Detail::Whole { json, version: 7 };
            let expected = if id == LARGE { Detail::Large { bytes: 9_000 } } else { whole };
            assert_eq!(found.unwrap(), expected);
        } else {
            assert!(matches!(found, Err(Error::NotFound)), "{id}");
        }
    }

    #[tokio::test]
    async fn each_caller_gets_its_own_record() {
        let loader = loader().await;
        join_all((0..300).map(|id| check(&loader, id % 110))).await;
    }

    #[tokio::test]
    async fn a_record_of_another_company_is_not_found() {
        let loader = loader().await;
        let other = CompanyId(Uuid::from_u128(2));
        assert!(matches!(loader.load(other, Uuid::from_u128(2)).await, Err(Error::NotFound)));
    }

    #[tokio::test]
    async fn a_dropped_request_does_not_delay_others() {
        let loader = &loader().await;
        for polls in 0..20 {
            let dropped = (0..10).map(|id| async move {
                let mut load = Box::pin(check(loader, id));
                for _ in 0..polls {
                    if (&mut load).now_or_never().is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            });
            let kept = (0..20).map(|id| check(loader, id));
            let all = async { tokio::join!(join_all(dropped), join_all(kept)) };
            timeout(Duration::from_secs(10), all).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_failed_read_fails_its_whole_batch() {
        let connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let loader = start(connection, "SELECT no_such_column");
        let found = join_all((0..10).map(|id| loader.load(COMPANY, Uuid::from_u128(id)))).await;
        assert!(found.iter().all(|found| matches!(found, Err(Error::StorageUnavailable(_)))), "{found:?}");
    }

    #[tokio::test]
    async fn a_closed_loader_refuses_requests() {
        let loader = loader().await;
        loader.close().await;
        let found = loader.load(COMPANY, Uuid::from_u128(2)).await;
        assert!(matches!(found, Err(Error::StorageUnavailable(_))));
    }
}
