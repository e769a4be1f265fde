//! Clock synchronisation with the database, whose clock all nodes share.
//!
//! Leases, quotas and due times are instants that one node writes and another one reads. A node whose clock
//! is minutes ahead would take claims of other nodes for expired. So a node asks the database for the time and corrects
//! its own clock by the difference. A clock that does not follow the database (one that a test moves) is left alone.

use std::time::Duration;

use super::super::connection::Connection;
use super::Shared;

/// In milliseconds.
const NOW: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
/// How often the database is asked.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
/// Smaller differences are the round trip to the server, in milliseconds.
const GRAIN_MS: i64 = 20;

impl Shared {
    /// Asks the database for the time.
    pub(super) async fn correct_clock(&self) -> Result<(), sqlx::Error> {
        let mut connection = Connection::of(self.session().await?);
        let env = &self.context.env;
        let before = env.now().as_millis();
        let there: i64 = connection.query(NOW, &[]).scalar().await?;
        let after = env.now().as_millis();
        // The server answered between the two instants; a time between them needs no correction.
        let off = if there < before { there - before } else { (there - after).max(0) };
        // That of the machine, and not what is left of it after earlier corrections.
        env.metrics().clock_was_off(env.correction() + off);
        if off.abs() >= GRAIN_MS && env.correct(off) {
            tracing::info!(milliseconds = off, "clock corrected by the database's");
        }
        Ok(())
    }
}
