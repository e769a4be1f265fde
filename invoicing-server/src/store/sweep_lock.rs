//! The right to sweep, which one node has at a time.

use super::connection::Connection;
use crate::error::Error;

/// The exclusive right to sweep. Dropping it releases it a little later.
///
/// The connection holds the lock; `None` on SQLite: two sweeps of its one process do no harm.
pub(crate) struct SweepLock(pub(super) Option<Connection>);

impl SweepLock {
    /// Must be called between steps: PostgreSQL ends the lock of a connection that is idle for
    /// long.
    ///
    /// # Errors
    /// If the lock is lost, with the connection that held it.
    pub(crate) async fn refresh(&mut self) -> Result<(), Error> {
        let Some(connection) = &mut self.0 else { return Ok(()) };
        connection.query("SELECT 1", &[]).execute().await?;
        Ok(())
    }

    /// Releases it at once.
    pub(crate) async fn release(self) {
        if let Some(mut connection) = self.0
            && let Err(error) = connection.end_transaction().await
        {
            tracing::debug!(%error, "sweep lock not released; it ends with its connection");
        }
    }
}
