//! Accepts connections while the table has room for them or can make it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::connection_table::{ConnectionGuard, ConnectionTable};
use super::limits::ServeLimits;

/// Pause after a failed accept, so that a lack of file descriptors does not cause a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time for which the limit stays reduced after the process has run out of file descriptors.
const REDUCED_LIMIT_TIME: Duration = Duration::from_mins(1);
/// File descriptors to free at least: the database and the document store need some too.
const SPARE_DESCRIPTORS: usize = 32;

/// The listener with its limits.
pub(super) struct Acceptor {
    listener: TcpListener,
    table: Arc<ConnectionTable>,
    max_connections: usize,
    max_per_address: Option<usize>,
    /// A lower limit under file descriptor pressure, and its end.
    reduced_limit: Option<(usize, Instant)>,
}

impl Acceptor {
    pub(super) fn new(listener: TcpListener, table: Arc<ConnectionTable>, limits: &ServeLimits) -> Self {
        let (max_connections, max_per_address) = (limits.connections.max(1), limits.connections_per_address);
        Self { listener, table, max_connections, max_per_address, reduced_limit: None }
    }

    /// The next connection, once the table has room for it.
    pub(super) async fn next(&mut self) -> (TcpStream, Arc<ConnectionGuard>) {
        loop {
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if concerns_one_connection(&error) => continue,
                Err(error) => {
                    self.reduce_limit(&error);
                    // A connection that closes meanwhile frees a descriptor.
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // No other connection is closed for one beyond the limit of its address.
            if !self.table.has_room_for(peer.ip(), self.max_per_address) {
                continue;
            }
            while !self.table.make_room(self.limit()) {
                // The wait ends even without a change, because a reduced limit expires.
                let _ = timeout(Duration::from_secs(1), self.table.changed()).await;
            }
            return (stream, self.table.insert(peer.ip()));
        }
    }

    /// The present limit on connections.
    fn limit(&self) -> usize {
        match self.reduced_limit {
            Some((limit, until)) if Instant::now() < until => limit,
            _ => self.max_connections,
        }
    }

    /// Lowers the limit when there is no file descriptor for another connection, and closes
    /// connections down to it.
    fn reduce_limit(&mut self, error: &io::Error) {
        let (open, before) = (self.table.len(), self.limit());
        let limit = before.min(open.saturating_sub(SPARE_DESCRIPTORS.max(open / 16))).max(1);
        if limit < before {
            let error = error as &dyn std::error::Error;
            tracing::warn!(
                error,
                open,
                limit,
                "connection not accepted; the limit of connections is reduced for a minute"
            );
        }
        self.reduced_limit = Some((limit, Instant::now() + REDUCED_LIMIT_TIME));
        self.table.make_room(limit);
    }
}

fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
