//! The table of open connections. When it is full, it closes the connection that has waited longest for its peer.
//!
//! The table only counts and chooses: a connection is notified, and ends itself.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What an idle connection waits for. Ordered: the first kind is closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WaitsFor {
    /// The first request.
    FirstRequest,
    /// The next request, or the peer to read a response.
    NextRequest,
    /// The rest of a request body.
    RequestBody,
}

/// The place of an idle connection in the order of closing: the kind of its wait, then the time since which it waits.
type IdleKey = (WaitsFor, u64);

/// The open connections of a server.
#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    inner: Mutex<Inner>,
    /// Notified when a connection has ended or becomes idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Logical clock: increases with every change, so that its values order the changes.
    clock: u64,
    connections: HashMap<u64, ConnectionState>,
    /// Connections that only wait for their peer, in the order of closing.
    idle: BTreeMap<IdleKey, u64>,
    /// Responses that are being sent, by their deadline.
    unsent_responses: BTreeMap<(Instant, u64), u64>,
    /// Connections that were asked to close and have not ended.
    closing: usize,
    per_address: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct ConnectionState {
    /// Requests that are being served.
    requests: usize,
    /// Those of them whose body is still arriving.
    arriving_bodies: usize,
    /// Whether a request has been answered.
    has_answered: bool,
    idle: Option<IdleKey>,
    is_closing: bool,
    close: Arc<Notify>,
}

impl ConnectionTable {
    /// The number of open connections.
    pub(super) fn len(&self) -> usize {
        self.inner.lock().connections.len()
    }

    /// Waits until a connection has ended or becomes idle.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Closes as many idle connections as needed for one more among `limit`. Whether there is room already.
    pub(super) fn make_room(&self, limit: usize) -> bool {
        let mut inner = self.inner.lock();
        while inner.connections.len() - inner.closing >= limit && inner.close_first_idle() {}
        inner.connections.len() < limit
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

    /// Whether fewer than `limit` connections come from this address.
    pub(super) fn has_room_for(&self, address: IpAddr, limit: Option<usize>) -> bool {
        limit.is_none_or(|limit| {
            self.inner.lock().per_address.get(&network(address)).is_none_or(|count| *count < limit.max(1))
        })
    }

    /// Adds a connection; `None` where `limit` connections come from its address.
    pub(super) fn insert(
        self: &Arc<Self>,
        address: IpAddr,
        limit: Option<usize>,
    ) -> Option<Arc<ConnectionGuard>> {
        let address = limit.map(|_| network(address));
        let mut inner = self.inner.lock();
        if let (Some(address), Some(limit)) = (address, limit) {
            let count = inner.per_address.entry(address).or_default();
            if *count >= limit.max(1) {
                return None;
            }
            *count += 1;
        }
        let id = inner.tick();
        let close = Arc::new(Notify::new());
        let state = ConnectionState {
            requests: 0,
            arriving_bodies: 0,
            has_answered: false,
            idle: None,
            is_closing: false,
            close: Arc::clone(&close),
        };
        inner.connections.insert(id, state);
        inner.update_idle(id);
        Some(Arc::new(ConnectionGuard { table: Arc::clone(self), id, close, address }))
    }
}

impl Inner {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Recomputes whether a connection is idle, after each change to it.
    fn update_idle(&mut self, id: u64) -> bool {
        let now = self.tick();
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let idle = connection.waits_for().map(|waits_for| (waits_for, now));
        let before = std::mem::replace(&mut connection.idle, idle);
        if let Some(before) = before {
            self.idle.remove(&before);
        }
        if let Some(idle) = idle {
            self.idle.insert(idle, id);
        }
        idle.is_some()
    }

    fn close_first_idle(&mut self) -> bool {
        let Some((_, id)) = self.idle.pop_first() else { return false };
        self.close(id);
        true
    }

    fn close(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id)
            && !connection.is_closing
        {
            connection.is_closing = true;
            connection.close.notify_one();
            self.closing += 1;
            self.update_idle(id);
        }
    }

    /// Changes a connection. Whether it is idle afterwards.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut ConnectionState)) -> bool {
        self.connections.get_mut(&id).map(change);
        self.update_idle(id)
    }
}

impl ConnectionState {
    /// `None` while the server works for the connection, or once it is closing.
    fn waits_for(&self) -> Option<WaitsFor> {
        match (self.requests, self.arriving_bodies) {
            _ if self.is_closing => None,
            (0, _) if self.has_answered => Some(WaitsFor::NextRequest),
            (0, _) => Some(WaitsFor::FirstRequest),
            (requests, arriving) => (requests == arriving).then_some(WaitsFor::RequestBody),
        }
    }
}

/// One connection of the table. Dropping it removes the connection.
#[derive(Debug)]
pub(super) struct ConnectionGuard {
    table: Arc<ConnectionTable>,
    id: u64,
    close: Arc<Notify>,
    address: Option<IpAddr>,
}

impl ConnectionGuard {
    /// Waits until the table asks the connection to close.
    pub(super) async fn must_close(&self) {
        self.close.notified().await;
    }

    /// Registers a request whose head has arrived. `None` where the connection must close.
    pub(super) fn begin_request(self: &Arc<Self>) -> Option<(RequestGuard, BodyGuard)> {
        let mut inner = self.table.inner.lock();
        if inner.connections.get(&self.id).is_none_or(|connection| connection.is_closing) {
            return None;
        }
        inner.change(self.id, |connection| {
            connection.requests += 1;
            connection.arriving_bodies += 1;
        });
        Some((RequestGuard(Arc::clone(self)), BodyGuard(Arc::clone(self))))
    }

    /// Registers a response that the peer must have read by the deadline.
    pub(super) fn begin_response(self: &Arc<Self>, deadline: Instant) -> ResponseGuard {
        let mut inner = self.table.inner.lock();
        let key = (deadline, inner.tick());
        inner.unsent_responses.insert(key, self.id);
        ResponseGuard { connection: Arc::clone(self), key }
    }

    fn change(&self, change: impl FnOnce(&mut ConnectionState)) {
        if self.table.inner.lock().change(self.id, change) {
            self.table.changed.notify_one();
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut inner = self.table.inner.lock();
        if let Some(connection) = inner.connections.remove(&self.id) {
            inner.closing -= usize::from(connection.is_closing);
            if let Some(idle) = connection.idle {
                inner.idle.remove(&idle);
            }
        }
        if let Some(address) = self.address
            && let Some(count) = inner.per_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                inner.per_address.remove(&address);
            }
        }
        drop(inner);
        self.table.changed.notify_one();
    }
}

/// A request that is being served, until this is dropped.
#[derive(Debug)]
pub(super) struct RequestGuard(Arc<ConnectionGuard>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.change(|connection| {
            connection.requests -= 1;
            connection.has_answered = true;
        });
    }
}

/// A request body that is arriving, until this is dropped. It must be dropped before its [`RequestGuard`].
#[derive(Debug)]
pub(super) struct BodyGuard(Arc<ConnectionGuard>);

impl Drop for BodyGuard {
    fn drop(&mut self) {
        self.0.change(|connection| connection.arriving_bodies -= 1);
    }
}

/// A response that the peer has not read, until this is dropped.
#[derive(Debug)]
pub(super) struct ResponseGuard {
    connection: Arc<ConnectionGuard>,
    key: (Instant, u64),
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.connection.table.inner.lock().unsent_responses.remove(&self.key);
    }
}

/// The unit of the limit per address. For IPv6 the first 64 bits, which a provider assigns to one customer.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests;
