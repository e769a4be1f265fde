//! Reading single records together.
//!
//! A call of sqlx is a hop to SQLite's thread and back, which costs more than the read. Whoever asks while a read is
//! under way waits for its end; then one of them reads for all who wait. Whoever asks alone waits for nobody. An
//! answer is always read after it was asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use invoicing_core::CompanyId;
use sqlx::{Connection, Row as _, SqliteConnection};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::Error;

/// Most records in one read. Bounds how long the first waits for the last.
const GROUP: usize = 32;
/// Stands between the records in a read's one row. No JSON text contains it.
const SEPARATOR: u8 = 0x1e;

/// The statement that reads the details of a group: `$1` is a JSON array with the company and the id of each as one
/// hexadecimal text. What exists comes in any order, with its place in the array before it. `CROSS` keeps the table on
/// the inside of the loop.
macro_rules! details_statement {
    ($table:literal) => {
        concat!(
            "SELECT coalesce(group_concat(concat(k.key, d.head, ',\"lines\":', d.lines, ',', d.terms), char(30)), '') ",
            "FROM json_each($1) k CROSS JOIN ",
            $table,
            " d ON d.company_id = unhex(substr(k.value, 1, 32)) AND d.id = unhex(substr(k.value, 33))"
        )
    };
}
pub(super) use details_statement;

/// See the module's text.
#[derive(Clone)]
pub(super) struct Together(Arc<Shared>);

struct Shared {
    statement: &'static str,
    /// Whoever's turn it is uses it; `None` once closed.
    connection: tokio::sync::Mutex<Option<SqliteConnection>>,
    turn: Mutex<Turn>,
}

#[derive(Default)]
struct Turn {
    /// Somebody reads.
    taken: bool,
    waiting: VecDeque<Asked>,
}

struct Asked {
    company: CompanyId,
    id: Uuid,
    answer: oneshot::Sender<Answer>,
}

enum Answer {
    /// The record; `None` where there is none.
    Read(Option<Vec<u8>>),
    /// The read failed. Why is said to whoever made it.
    Failed,
    /// It is your turn to read.
    Turn(Reader),
}

impl Together {
    pub(super) fn new(connection: SqliteConnection, statement: &'static str) -> Self {
        let connection = tokio::sync::Mutex::new(Some(connection));
        Self(Arc::new(Shared { statement, connection, turn: Mutex::default() }))
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.0.connection.lock().await.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the database did not close cleanly");
        }
    }

    /// One record.
    pub(super) async fn find(&self, company: CompanyId, id: Uuid) -> Result<Vec<u8>, Error> {
        loop {
            let record = match self.take_turn_or_wait(company, id) {
                Ok(reader) => reader.read(company, id).await?,
                Err(answer) => match answer.await {
                    Ok(Answer::Read(record)) => record,
                    Ok(Answer::Turn(reader)) => reader.read(company, id).await?,
                    Ok(Answer::Failed) => return Err(Error::unavailable("a read for several failed")),
                    // Whoever read has gone away in the middle.
                    Err(_) => continue,
                },
            };
            return record.ok_or(Error::NotFound);
        }
    }

    fn take_turn_or_wait(&self, company: CompanyId, id: Uuid) -> Result<Reader, oneshot::Receiver<Answer>> {
        let mut turn = self.0.turn();
        if !turn.taken {
            turn.taken = true;
            return Ok(Reader(Arc::clone(&self.0)));
        }
        let (answer, answered) = oneshot::channel();
        turn.waiting.push_back(Asked { company, id, answer });
        Err(answered)
    }
}

impl Shared {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose turn it is. Passes the turn on when it is done, or dropped.
struct Reader(Arc<Shared>);

impl Reader {
    /// Reads a record, and for all who wait.
    async fn read(self, company: CompanyId, id: Uuid) -> Result<Option<Vec<u8>>, Error> {
        // Whatever else is ready to run may ask as well, and is let in first.
        tokio::task::yield_now().await;
        let others: Vec<Asked> = {
            let mut turn = self.0.turn();
            let room = turn.waiting.len().min(GROUP - 1);
            turn.waiting.drain(..room).collect()
        };
        let keys = others.iter().map(|asked| (asked.company, asked.id));
        let keys = keys_list(std::iter::once((company, id)).chain(keys));
        match self.fetch(&keys, 1 + others.len()).await {
            Ok(records) => {
                let mut records = records.into_iter();
                let own = records.next().flatten();
                for (asked, record) in others.into_iter().zip(records) {
                    // Whoever has gone away needs no answer.
                    let _ = asked.answer.send(Answer::Read(record));
                }
                Ok(own)
            }
            Err(error) => {
                for asked in others {
                    let _ = asked.answer.send(Answer::Failed);
                }
                Err(error)
            }
        }
    }

    /// So many records, each in the place of its key.
    async fn fetch(&self, keys: &str, count: usize) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let mut connection = self.0.connection.lock().await;
        let connection = connection.as_mut().ok_or_else(|| Error::unavailable("the database is closed"))?;
        let row = sqlx::query(self.0.statement).bind(keys).fetch_one(connection).await?;
        let text: &[u8] = row.try_get(0)?;
        let mut records = vec![None; count];
        let mut start = 0;
        for end in memchr::memchr_iter(SEPARATOR, text).chain(std::iter::once(text.len())) {
            let (place, record) = placed(&text[start..end]);
            if let Some(slot) = records.get_mut(place) {
                *slot = Some(record.to_vec());
            }
            start = end + 1;
        }
        Ok(records)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let next = {
            let mut turn = self.0.turn();
            turn.waiting.retain(|asked| !asked.answer.is_closed());
            let next = turn.waiting.pop_front();
            turn.taken = next.is_some();
            next
        };
        if let Some(asked) = next {
            // Where nobody takes the message, the reader in it is dropped and passes the turn on.
            let _ = asked.answer.send(Answer::Turn(Reader(Arc::clone(&self.0))));
        }
    }
}

/// The place that stands before a record; none before the empty text of a read that found nothing.
fn placed(text: &[u8]) -> (usize, &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (place, record) = text.split_at(digits);
    let place = str::from_utf8(place).ok().and_then(|place| place.parse().ok());
    (place.unwrap_or(usize::MAX), record)
}

fn keys_list(keys: impl Iterator<Item = (CompanyId, Uuid)>) -> String {
    let mut list = String::from("[");
    let mut buffer = Uuid::encode_buffer();
    for (company, id) in keys {
        list.push_str(if list.len() > 1 { ",\"" } else { "\"" });
        list.push_str(company.0.simple().encode_lower(&mut buffer));
        list.push_str(id.simple().encode_lower(&mut buffer));
        list.push('"');
    }
    list.push(']');
    list
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::time::timeout;

    use super::*;

    const COMPANY: CompanyId = CompanyId(Uuid::from_u128(1));

    async fn together() -> Together {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let create = "CREATE TABLE doc (company_id, id, head, lines, terms)";
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
        for id in (0..100_u128).step_by(2) {
            sqlx::query("INSERT INTO doc VALUES ($1, $2, '{' || $3, '[]', '}')")
                .bind(COMPANY.0)
                .bind(Uuid::from_u128(id))
                .bind(format!("\"id\":{id}"))
                .execute(&mut connection)
                .await
                .unwrap();
        }
        Together::new(connection, details_statement!("doc"))
    }

    async fn check(together: &Together, id: u128) {
        let found = together.find(COMPANY, Uuid::from_u128(id)).await;
        if id < 100 && id.is_multiple_of(2) {
            assert_eq!(found.unwrap(), format!("{{\"id\":{id},\"lines\":[],}}").as_bytes());
        } else {
            assert!(matches!(found, Err(Error::NotFound)), "{id}");
        }
    }

    #[tokio::test]
    async fn everybody_gets_what_they_asked_for() {
        let together = together().await;
        join_all((0..300).map(|id| check(&together, id % 110))).await;
    }

    #[tokio::test]
    async fn another_company_finds_nothing() {
        let together = together().await;
        let other = CompanyId(Uuid::from_u128(2));
        assert!(matches!(together.find(other, Uuid::from_u128(2)).await, Err(Error::NotFound)));
    }

    #[tokio::test]
    async fn whoever_goes_away_holds_up_nobody() {
        let together = &together().await;
        for polls in 0..20 {
            let gone = (0..10).map(|id| async move {
                // Dropped after so many polls, as reader, as the next one, or while waiting.
                let mut find = Box::pin(check(together, id));
                for _ in 0..polls {
                    if (&mut find).now_or_never().is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            });
            let stays = (0..20).map(|id| check(together, id));
            let all = async { tokio::join!(join_all(gone), join_all(stays)) };
            timeout(Duration::from_secs(10), all).await.unwrap();
        }
        assert!(!together.0.turn().taken && together.0.turn().waiting.is_empty());
    }

    #[tokio::test]
    async fn a_read_that_fails_fails_for_all_of_it() {
        let together = together().await;
        together.close().await;
        let found = join_all((0..10).map(|id| together.find(COMPANY, Uuid::from_u128(id)))).await;
        assert!(found.iter().all(|found| matches!(found, Err(Error::StorageUnavailable(_)))));
        assert!(!together.0.turn().taken);
    }
}
