//! Status of a commit whose answer was lost.
//!
//! Each transaction begins by inserting a row with an id of its own into `commit_status`. To resolve a lost commit, the
//! same row is inserted again: the statement waits for the transaction if it is still in progress. If the row exists,
//! the transaction was committed. If not, the statement has inserted it, and the transaction can no longer commit. So
//! the answer is final, also after a failover to a synchronous standby.

use std::time::{Duration, Instant};

use sqlx::ConnectOptions as _;
use uuid::Uuid;

use super::super::connection::Connection;
use super::{Postgres, Shared};
use crate::Error;
use crate::store::session::no_answer;

/// The connection was lost during the commit, and the status of the transaction was not found out in time.
pub(super) const IN_DOUBT: &str = "the outcome of the commit is not known";
/// How long the status is asked for. The caller gets its answer earlier; what is committed is still handed over.
const ASK_FOR: Duration = Duration::from_mins(1);
/// Pause before it is asked for again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a row is kept: 1 h in milliseconds.
const KEPT_MS: i64 = 60 * 60 * 1_000;
/// How long a missing row means "not committed": half of that, however far the clocks of the nodes differ.
const RELIABLE_MS: i64 = KEPT_MS / 2;
/// Rows that one statement prunes.
const BATCH: i64 = 10_000;

/// Writes in either case, so that the answer comes only once it is as durable as the transaction's own commit: with a
/// synchronous standby, there too.
const ASK: &str = "INSERT INTO commit_status (id, at, given_up) VALUES ($1, $2, true) \
     ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING given_up";
const PRUNE: &str = "DELETE FROM commit_status \
     WHERE id = ANY(ARRAY(SELECT id FROM commit_status WHERE id < $1 ORDER BY id LIMIT $2))";

/// Whether a transaction was committed.
///
/// # Errors
/// Where that could not be found out in time.
pub(super) async fn was_committed(shared: &Shared, id: Uuid) -> Result<bool, Error> {
    let begun = Instant::now();
    // The time is in the id. The process may have been suspended for longer than rows are kept.
    let is_old = || shared.context.env.now().as_millis() - millis_of(id) > RELIABLE_MS;
    loop {
        match ask(shared, id).await {
            Ok(false) if is_old() => {
                tracing::error!(transaction = %id, "commit status lost: the transaction is too old");
                return Err(Error::unavailable(IN_DOUBT));
            }
            Ok(committed) => {
                tracing::warn!(committed, "the answer to a commit was lost; its status is resolved");
                return Ok(committed);
            }
            Err(error) if is_old() || begun.elapsed() > ASK_FOR => {
                tracing::error!(%error, transaction = %id, "commit status unknown");
                return Err(Error::unavailable(IN_DOUBT));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Asks on a connection of its own, as transactions in doubt may hold all those of the pool. Where the server accepts no
/// more connections, asks on one of the pool.
async fn ask(shared: &Shared, id: Uuid) -> Result<bool, sqlx::Error> {
    let now = shared.context.env.now().as_millis();
    let asked = async {
        let mut connection = shared.options.connect().await?;
        sqlx::query_scalar(ASK).bind(id).bind(now).fetch_one(&mut connection).await
    };
    let given_up: bool =
        match tokio::time::timeout(shared.answer_limit, asked).await.unwrap_or_else(|_| Err(no_answer())) {
            Err(sqlx::Error::Database(_)) => {
                let mut connection = Connection::of(shared.session().await?);
                connection.query(ASK, &[&id, &now]).scalar().await?
            }
            asked => asked?,
        };
    Ok(!given_up)
}

/// The instant in a `UUIDv7`, in milliseconds.
fn millis_of(id: Uuid) -> i64 {
    i64::try_from(id.as_u128() >> 80).unwrap_or(i64::MAX)
}

/// The lowest id of an instant.
fn first_of(millis: i64) -> Uuid {
    Uuid::from_u128(u128::try_from(millis).unwrap_or(0) << 80)
}

impl Postgres {
    /// Deletes the commit status of old transactions, in batches.
    pub(in crate::store) async fn prune_commit_status(&self) -> Result<(), Error> {
        let mut connection = Connection::of(self.shared.session().await?);
        let before = self.shared.context.env.now().as_millis().saturating_sub(KEPT_MS);
        while connection.query(PRUNE, &[&first_of(before), &BATCH]).execute().await? > 0 {}
        Ok(())
    }
}
