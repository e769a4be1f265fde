//! The table of open connections. When it is full, it closes the connection that has waited longest
//! for its peer.
//!
//! Every second it also closes the connections whose peer has not read a response in time.
//!
//! The table only counts and chooses. A connection that is notified ends itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use scopeguard::{ScopeGuard, guard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::byte_budget::ConnectionHandle;

/// The event that an idle connection waits for. The kinds are ordered: the first one is closed
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WaitsFor {
    /// The first request.
    FirstRequest,
    /// The next request, or the peer to read a response.
    NextRequest,
    /// The rest of a request body.
    RequestBody,
}

/// The place of an idle connection in the order of closing: the kind of its wait, then the time
/// since which it waits.
type IdleKey = (WaitsFor, u64);

/// The open connections of a server.
#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    inner: Mutex<TableState>,
    /// Notified when a connection has ended or becomes idle.
    changed: Notify,
}

/// The state of the table, behind its lock.
#[derive(Debug, Default)]
struct TableState {
    /// Logical clock: increases with every change, so that its values order the changes.
    clock: u64,
    /// The connections that have not ended, with those that were asked to close, by address.
    open: BTreeSet<(IpAddr, u64)>,
    /// The open connections that were not asked to close.
    connections: HashMap<u64, ConnectionState>,
    /// Connections that only wait for their peer, in the order of closing.
    idle: BTreeMap<IdleKey, u64>,
    /// Responses that are being sent, by their deadline.
    unsent_responses: BTreeMap<(Instant, u64), u64>,
}

#[derive(Debug, Default)]
/// The state of an open connection.
struct ConnectionState {
    /// Requests that are being served.
    requests: usize,
    /// Requests whose body is still arriving.
    arriving_bodies: usize,
    /// True if a request has been answered.
    has_answered: bool,
    idle: Option<IdleKey>,
    close: Arc<Notify>,
}

impl ConnectionTable {
    /// The number of open connections.
    pub(super) fn len(&self) -> usize {
        self.inner.lock().open.len()
    }

    /// Waits until a connection has ended or becomes idle.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Closes as many idle connections as needed to admit another one below `limit`. Returns
    /// whether there is room already.
    pub(super) fn make_room(&self, limit: usize) -> bool {
        let mut inner = self.inner.lock();
        while inner.connections.len() >= limit
            && let Some((_, id)) = inner.idle.pop_first()
        {
            inner.close(id);
        }
        inner.open.len() < limit
    }

    /// Closes the connections with a response past its deadline.
    pub(super) fn close_overdue(&self, now: Instant) {
        let mut inner = self.inner.lock();
        while let Some(response) = inner.unsent_responses.first_entry()
            && response.key().0 <= now
        {
            let id = response.remove();
            inner.close(id);
        }
    }

    /// True if fewer than `limit` connections come from this address.
    pub(super) fn has_room_for(&self, address: IpAddr, limit: Option<usize>) -> bool {
        let (inner, network) = (self.inner.lock(), network(address));
        let count = || inner.open.range((network, 0)..=(network, u64::MAX)).count();
        limit.is_none_or(|limit| count() < limit.max(1))
    }

    /// Adds a connection.
    pub(super) fn insert(self: &Arc<Self>, address: IpAddr) -> Arc<ConnectionGuard> {
        let (address, state) = (network(address), ConnectionState::default());
        let close = Arc::clone(&state.close);
        let mut inner = self.inner.lock();
        let id = inner.tick();
        inner.open.insert((address, id));
        inner.connections.insert(id, state);
        inner.change(id, |_| {});
        Arc::new(ConnectionGuard { table: Arc::clone(self), id, close, address })
    }
}

impl TableState {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Changes a connection, and its place in the order of closing. Returns whether it is idle
    /// then; `None` if it is closing.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut ConnectionState)) -> Option<bool> {
        let now = self.tick();
        let connection = self.connections.get_mut(&id)?;
        change(connection);
        let idle = connection.waits_for().map(|waits_for| (waits_for, now));
        let before = std::mem::replace(&mut connection.idle, idle);
        if let Some(before) = before {
            self.idle.remove(&before);
        }
        if let Some(idle) = idle {
            self.idle.insert(idle, id);
        }
        Some(idle.is_some())
    }

    /// Asks a connection to close.
    fn close(&mut self, id: u64) {
        if let Some(connection) = self.remove(id) {
            connection.close.notify_one();
        }
    }

    fn remove(&mut self, id: u64) -> Option<ConnectionState> {
        let connection = self.connections.remove(&id)?;
        if let Some(idle) = connection.idle {
            self.idle.remove(&idle);
        }
        Some(connection)
    }
}

impl ConnectionState {
    /// `None` while the server works for the connection.
    fn waits_for(&self) -> Option<WaitsFor> {
        match (self.requests, self.arriving_bodies) {
            (0, _) if self.has_answered => Some(WaitsFor::NextRequest),
            (0, _) => Some(WaitsFor::FirstRequest),
            (requests, arriving) => (requests == arriving).then_some(WaitsFor::RequestBody),
        }
    }
}

/// A change of the connection that is undone on drop.
pub(super) type ChangeGuard = ScopeGuard<Arc<ConnectionGuard>, fn(Arc<ConnectionGuard>)>;

/// One connection of the table. Dropping it removes the connection.
#[derive(Debug)]
pub(super) struct ConnectionGuard {
    table: Arc<ConnectionTable>,
    id: u64,
    close: Arc<Notify>,
    address: IpAddr,
}

impl ConnectionGuard {
    /// The connection's handle for the API, which may close it too.
    pub(super) fn handle(&self) -> ConnectionHandle {
        ConnectionHandle::new(Arc::clone(&self.close))
    }

    /// Waits until the connection is asked to close.
    pub(super) async fn must_close(&self) {
        self.close.notified().await;
    }

    /// Registers a request whose head has arrived. `None` if the connection must close. The guards
    /// are those of the request and of its body. The guard of the body must be dropped first.
    pub(super) fn begin_request(self: &Arc<Self>) -> Option<(ChangeGuard, ChangeGuard)> {
        self.table.inner.lock().change(self.id, |connection| {
            connection.requests += 1;
            connection.arriving_bodies += 1;
        })?;
        let request: ChangeGuard = guard(Arc::clone(self), |connection| {
            connection.change(|state| {
                state.requests -= 1;
                state.has_answered = true;
            });
        });
        let body: ChangeGuard =
            guard(Arc::clone(self), |connection| connection.change(|state| state.arriving_bodies -= 1));
        Some((request, body))
    }

    /// Registers a response that the peer must have read by the deadline, until the result is
    /// dropped.
    #[must_use]
    pub(super) fn begin_response(self: &Arc<Self>, deadline: Instant) -> impl Send + Sync + 'static {
        let mut inner = self.table.inner.lock();
        let key = (deadline, inner.tick());
        inner.unsent_responses.insert(key, self.id);
        guard(Arc::clone(self), move |connection| {
            connection.table.inner.lock().unsent_responses.remove(&key);
        })
    }

    fn change(&self, change: impl FnOnce(&mut ConnectionState)) {
        let is_idle = self.table.inner.lock().change(self.id, change);
        if is_idle == Some(true) {
            self.table.changed.notify_one();
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut inner = self.table.inner.lock();
        inner.open.remove(&(self.address, self.id));
        inner.remove(self.id);
        drop(inner);
        self.table.changed.notify_one();
    }
}

/// The unit of the limit per address: of an IPv6 address the first 64 bits, which a provider
/// assigns to one subscriber.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests;
