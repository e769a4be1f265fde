//! What became of a commit whose answer was lost.
//!
//! Each transaction inserts a row with an id of its own into `outcome` when it begins. Where the answer to its commit is
//! lost, whoever wants to know inserts the same row: that waits for the transaction if it is still under way. If the row
//! is there, the transaction was committed. If it was not, it is now, and the transaction cannot be committed any more.
//! So the answer is right at once and for ever, also where the server has been replaced by its standby.

use std::time::{Duration, Instant};

use sqlx::ConnectOptions as _;
use uuid::Uuid;

use super::super::connection::{Connection, on, run};
use super::Shared;
use crate::Error;
use crate::error::Unknown;

/// How long it is asked for. A caller is told earlier that the answer is not known yet.
const ASKED_FOR: Duration = Duration::from_mins(1);
/// How long to wait before it is asked for again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a row is kept: 1 h in milliseconds.
const KEPT_MS: i64 = 60 * 60 * 1_000;
/// Of these, for how long no row means no commit, whatever the clocks of the nodes say. Nobody asks for longer.
const BELIEVED_MS: i64 = KEPT_MS / 2;
/// Rows that are forgotten in one statement.
const BATCH: i64 = 10_000;

/// Writes in either case, so that the answer is not given before it is where the transaction's own commit had to be: with a
/// synchronous standby, on that too.
const ASK: &str = "INSERT INTO outcome (id, at, given_up) VALUES ($1, $2, true) \
     ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING given_up";
const PRUNE: &str =
    "DELETE FROM outcome WHERE id = ANY(ARRAY(SELECT id FROM outcome WHERE at < $1 LIMIT $2))";

/// Whether a transaction was committed. Fails where that could not be found out in time.
pub(super) async fn was_committed(shared: &Shared, id: Uuid) -> Result<bool, Error> {
    let begun = Instant::now();
    // Also of a machine that has slept since. The time is in the id.
    let is_old = || shared.env.now().as_millis() - millis_of(id) > BELIEVED_MS;
    loop {
        match ask(shared, id).await {
            Ok(false) if is_old() => {
                tracing::error!(transaction = %id, "it cannot be known any more whether a transaction was committed");
                return Err(Error::unavailable(Unknown));
            }
            Ok(committed) => {
                tracing::warn!(committed, "the answer to a commit was lost; what became of it was found out");
                return Ok(committed);
            }
            Err(error) if is_old() || begun.elapsed() > ASKED_FOR => {
                tracing::error!(%error, transaction = %id, "it is not known whether a transaction was committed");
                return Err(Error::unavailable(Unknown));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// On a connection of its own: those of the pool may all be held by transactions about which somebody asks. Where the
/// server lets no more in, on one of the pool after all.
async fn ask(shared: &Shared, id: Uuid) -> Result<bool, sqlx::Error> {
    let now = shared.env.now().as_millis();
    let asked = async {
        let mut connection = shared.options.connect().await?;
        sqlx::query_scalar(ASK).bind(id).bind(now).fetch_one(&mut connection).await
    };
    let given_up: bool = match shared.in_time(asked).await {
        Err(sqlx::Error::Database(_)) => {
            let mut connection = Connection::Postgres(shared.session().await?);
            on!(&mut connection, |c| sqlx::query_scalar(ASK).bind(id).bind(now).fetch_one(c))?
        }
        asked => asked?,
    };
    Ok(!given_up)
}

/// When a `UUIDv7` was made, in milliseconds.
fn millis_of(id: Uuid) -> i64 {
    i64::try_from(id.as_u128() >> 80).unwrap_or(i64::MAX)
}

/// Forgets old ones, a few at a time.
pub(super) async fn prune(shared: &Shared) -> Result<(), Error> {
    let mut connection = Connection::Postgres(shared.session().await.map_err(Error::unavailable)?);
    let before = shared.env.now().as_millis().saturating_sub(KEPT_MS);
    while run!(&mut connection, |c| sqlx::query(PRUNE).bind(before).bind(BATCH).execute(c))? > 0 {}
    Ok(())
}
