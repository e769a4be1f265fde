//! A reading connection to a SQLite file.

use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqliteConnection};

/// A reading connection of the pool. A connection that is dropped within a transaction is closed,
/// as its next user would read an old snapshot.
pub(crate) struct Reader {
    connection: PoolConnection<Sqlite>,
    in_transaction: bool,
}

impl Reader {
    pub(crate) fn new(connection: PoolConnection<Sqlite>) -> Self {
        Self { connection, in_transaction: false }
    }

    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Begins a transaction. Its first statement takes the snapshot.
    pub(crate) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        self.in_transaction = true;
        sqlx::raw_sql("BEGIN").execute(&mut *self.connection).await?;
        Ok(())
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("ROLLBACK").execute(&mut *self.connection).await?;
        self.in_transaction = false;
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.in_transaction {
            self.connection.close_on_drop();
        }
    }
}
