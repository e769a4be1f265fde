//! Accepting connections, as long as there is room for them, or room can be made.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use super::crowd::{Crowd, Member};
use super::limits::ServeLimits;

/// How long to wait when no connection can be accepted and nobody could be told to leave.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long fewer connections are let in after the process has run out of file descriptors.
const NARROW: Duration = Duration::from_mins(1);
/// Descriptors that are given back then at least: the database and the document store need some too.
const SPARE: usize = 32;

/// The listener, and who may come in.
pub(super) struct Door {
    listener: TcpListener,
    crowd: Arc<Crowd>,
    connections: usize,
    per_address: Option<usize>,
    /// Fewer connections than the limit, until then.
    narrow: Option<(usize, Instant)>,
    /// Accepted, and waiting for room.
    next: Option<(TcpStream, SocketAddr)>,
}

impl Door {
    pub(super) fn new(listener: TcpListener, crowd: Arc<Crowd>, limits: &ServeLimits) -> Self {
        let (connections, per_address) = (limits.connections.max(1), limits.connections_per_address);
        Self { listener, crowd, connections, per_address, narrow: None, next: None }
    }

    /// The next connection. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> (TcpStream, Arc<Member>) {
        loop {
            if self.next.is_none() {
                self.next = self.accept().await;
                continue;
            }
            if let Some((_, peer)) = &self.next
                && !self.crowd.admits(peer.ip(), self.per_address)
            {
                self.next = None;
                continue;
            }
            while let most = self.most()
                && !self.crowd.make_room(most)
            {
                self.crowd.changed().await;
            }
            if let Some((stream, peer)) = self.next.take()
                && let Some(member) = self.crowd.join(peer.ip(), self.per_address)
            {
                return (stream, member);
            }
        }
    }

    /// How many may be connected now.
    fn most(&mut self) -> usize {
        match self.narrow {
            Some((most, until)) if Instant::now() < until => most,
            _ => {
                self.narrow = None;
                self.connections
            }
        }
    }

    async fn accept(&mut self) -> Option<(TcpStream, SocketAddr)> {
        match self.listener.accept().await {
            Ok(accepted) => return Some(accepted),
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                self.become_narrow(&error);
                // Whoever has been told to leave gives a descriptor back; if that does not help, there is a pause.
                sleep(ACCEPT_PAUSE).await;
            }
        }
        None
    }

    /// There were no descriptors for one more connection: some have to leave.
    fn become_narrow(&mut self, error: &io::Error) {
        let open = self.crowd.len();
        let most = self.most().min(open.saturating_sub(SPARE.max(open / 16))).max(1);
        if self.narrow.is_none_or(|(before, _)| most < before) {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, open, most, "cannot accept connections; letting fewer in for a while");
        }
        self.narrow = Some((most, Instant::now() + NARROW));
        self.crowd.make_room(most);
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
