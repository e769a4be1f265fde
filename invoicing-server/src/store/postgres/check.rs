//! Asks the server whether it can be used, for [`StoreHealth`].

use sqlx::{ConnectOptions as _, Connection as _, PgConnection};

use super::super::check::StoreHealth;
use super::super::connection::Connection;
use super::super::migrate::{self, POSTGRES};
use super::Postgres;
use crate::Error;

/// Also answered by a standby, to which a connection may lead during a failover.
const CHECK: &str = "SELECT max(version), NOT pg_is_in_recovery() FROM invoicing_migration";

type Answer = (Option<i64>, bool);

impl Postgres {
    /// On a connection of its own, so that a node whose pool is busy is not taken for one without a database. It is kept
    /// for the next check; one that is dropped in the middle is not.
    pub(in crate::store) async fn check(&self) -> Result<StoreHealth, Error> {
        let mut kept = self.check_connection.lock().await;
        if self.shared.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed.into());
        }
        let answer = match kept.take() {
            Some(mut connection) => ask(&mut connection).await.ok().map(|answer| (answer, connection)),
            None => None,
        };
        // One that leads to a standby is made anew, as the address may lead elsewhere by then.
        let keep = |answer: &Answer, connection| answer.1.then_some(connection);
        let (found, takes_changes) = if let Some((answer, connection)) = answer {
            *kept = keep(&answer, connection);
            answer
        } else {
            match self.shared.options.connect().await {
                Ok(mut connection) => {
                    let answer = ask(&mut connection).await?;
                    *kept = keep(&answer, connection);
                    answer
                }
                // It may accept no more connections.
                Err(sqlx::Error::Database(_)) => self.ask_in_pool().await?,
                Err(error) => return Err(error.into()),
            }
        };
        Ok(StoreHealth::of(migrate::is_complete(found, POSTGRES), takes_changes))
    }

    async fn ask_in_pool(&self) -> Result<Answer, sqlx::Error> {
        Connection::of(self.shared.session().await?).query(CHECK, &[]).fetch_one().await
    }

    /// Ends the connection of the checks.
    pub(super) async fn close_check(&self) {
        if let Some(connection) = self.check_connection.lock().await.take() {
            // The server learns of it in any case.
            let _ = connection.close().await;
        }
    }
}

async fn ask(connection: &mut PgConnection) -> Result<Answer, sqlx::Error> {
    sqlx::query_as(CHECK).fetch_one(connection).await
}
