//! A transaction, and the actions after its commit.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use invoicing_core::{EventId, Timestamp};

use super::change::ChangeContext;
use super::connection::Connection;
#[cfg(feature = "postgres")]
use super::connection::ReadSet;
use super::notification::{Incoming, Notification, OnIncoming};
use crate::env::Env;
use crate::error::Error;
use crate::queue::{Job, NewDelivery, Queue};

/// Row ids of deliveries that the sequence of PostgreSQL allocates at once: its increment.
#[cfg(feature = "postgres")]
pub(super) const BLOCK: i64 = 1_024;

/// The parts that a store shares with its transactions.
pub(super) struct StoreContext {
    pub(super) env: Env,
    pub(super) queue: Arc<Queue>,
    /// The listener of this node; none before the service is composed.
    pub(super) on_incoming: OnceLock<OnIncoming>,
}

impl StoreContext {
    pub(super) fn new(env: Env, queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { env, queue, on_incoming: OnceLock::new() })
    }
}

/// A transaction. Only the store makes one, and rolls back an operation that returns an error.
pub(crate) struct Tx {
    connection: Connection,
    context: Arc<StoreContext>,
    /// Row ids for deliveries: of a block that belongs to this transaction alone, or all unused
    /// ones if no other process writes.
    delivery_ids: Range<i64>,
    new_deliveries: NewDeliveries,
    /// Hooks that run after the commit.
    hooks: Vec<Box<dyn FnOnce() + Send>>,
    /// Notifications of other nodes, sent after the commit.
    notifications: Vec<Notification>,
    /// Events recorded by the operation under way.
    events: u16,
    /// The kinds of the events that all its operations have recorded.
    event_kinds: Vec<&'static str>,
}

/// Deliveries that go to the dispatcher after the commit. If they are dropped before it, they free
/// the room that is reserved for them.
struct NewDeliveries {
    queue: Arc<Queue>,
    waiting: Vec<NewDelivery>,
}

impl NewDeliveries {
    /// Drops the deliveries after the first `kept`.
    fn truncate(&mut self, kept: usize) {
        self.queue.undo(&self.waiting.split_off(kept));
    }
}

impl Drop for NewDeliveries {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

/// The lengths of the lists of actions after the commit at the beginning of an operation, to drop
/// those that it adds.
#[derive(Clone, Copy, Default)]
pub(super) struct Savepoint {
    new_deliveries: usize,
    hooks: usize,
    notifications: usize,
    event_kinds: usize,
}

impl Tx {
    pub(super) fn new(connection: Connection, context: Arc<StoreContext>, delivery_ids: Range<i64>) -> Self {
        let new_deliveries = NewDeliveries { queue: Arc::clone(&context.queue), waiting: Vec::new() };
        Self {
            connection,
            context,
            delivery_ids,
            new_deliveries,
            hooks: Vec::new(),
            notifications: Vec::new(),
            events: 0,
            event_kinds: Vec::new(),
        }
    }

    /// The connection, to run a statement on.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(crate) fn env(&self) -> &Env {
        &self.context.env
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.context.queue
    }

    /// Leases that end at or before this instant are expired. A SQLite file has one process: its
    /// running dispatcher decides about each of its claims, so no lease is expired; without a
    /// dispatcher, all are.
    pub(super) fn abandoned_leases(&self) -> Timestamp {
        match (self.connection.is_shared(), self.queue().is_open()) {
            (true, _) => self.env().now(),
            (false, true) => Timestamp::from_millis(0),
            (false, false) => Timestamp::from_millis(i64::MAX),
        }
    }

    /// Locks the service's own settings against other transactions, until the end of this one. It
    /// is the first action of a service in a database. A copy into the database begins under the
    /// same lock, so this call notices it.
    pub(crate) async fn lock_service(&mut self) -> Result<(), Error> {
        #[cfg(feature = "postgres")]
        if self.connection.is_shared() {
            use super::connection::postgres::locks::{COPY, SERVICE_LOCK, TABLE_EXISTS};
            let connection = &mut self.connection;
            connection.query("SELECT pg_advisory_xact_lock($1)", &[&SERVICE_LOCK]).execute().await?;
            if connection.query(TABLE_EXISTS, &[&COPY]).scalar().await? {
                return Err(Error::unavailable("the copy into the database is not complete"));
            }
        }
        Ok(())
    }

    /// Updates the cache. Must be called when the company's stamp is written.
    pub(super) fn remember_stamp(&mut self, change: &ChangeContext) {
        if let Some(cache) = self.connection.write_cache() {
            cache.set_stamp(change.company.id, change.stamp);
        }
    }

    /// Passes deliveries to the dispatcher after the commit.
    pub(crate) fn push_new(&mut self, deliveries: impl IntoIterator<Item = NewDelivery>) {
        self.new_deliveries.waiting.extend(deliveries);
    }

    /// Runs `hook` once the transaction is committed and its deliveries are handed over, whether or
    /// not the caller still waits.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Notifies the caches of this node and the other nodes once the transaction is committed.
    pub(crate) fn notify(&mut self, notification: Notification) {
        self.notifications.push(notification);
    }

    /// The id of an event. The ids order the events of a company as they were committed: by stamp,
    /// and within one operation in the order of the calls.
    pub(super) fn event_id(&mut self, stamp: Timestamp) -> EventId {
        self.events += 1;
        EventId(self.env().uuid_at(stamp, self.events))
    }

    /// Counts an event, once the transaction is committed.
    pub(super) fn count_event(&mut self, kind: &'static str) {
        self.event_kinds.push(kind);
    }

    /// Allocates consecutive row ids for deliveries. Returns the first of them. An event has fewer
    /// deliveries than a block has ids.
    pub(super) async fn delivery_ids(&mut self, deliveries: usize) -> Result<i64, Error> {
        let wanted = i64::try_from(deliveries).unwrap_or(i64::MAX);
        #[cfg(feature = "postgres")]
        if self.delivery_ids.end - self.delivery_ids.start < wanted {
            const NEXT_BLOCK: &str = "SELECT nextval('delivery_id_block')";
            let block: i64 = self.connection.query_of(ReadSet::Nothing, NEXT_BLOCK, &[]).scalar().await?;
            // The rest of the old block is given up: row ids may have gaps.
            self.delivery_ids = block..block + BLOCK;
        }
        let first = self.delivery_ids.start;
        self.delivery_ids.start += wanted;
        Ok(first)
    }

    pub(super) fn savepoint(&mut self) -> Savepoint {
        self.events = 0;
        self.connection.begin_operation();
        Savepoint {
            new_deliveries: self.new_deliveries.waiting.len(),
            hooks: self.hooks.len(),
            notifications: self.notifications.len(),
            event_kinds: self.event_kinds.len(),
        }
    }

    /// Drops everything that the present operation has left in memory. Returns true if it has left
    /// nothing in the database either.
    pub(super) fn undo_to(&mut self, mark: Savepoint) -> bool {
        self.hooks.truncate(mark.hooks);
        self.notifications.truncate(mark.notifications);
        self.event_kinds.truncate(mark.event_kinds);
        self.new_deliveries.truncate(mark.new_deliveries);
        self.connection.roll_back_operation()
    }

    /// Runs the commit hooks. Returns the notifications for other nodes, and the jobs that were
    /// claimed for a run of the dispatcher that has ended.
    pub(super) fn committed(&mut self) -> (Vec<Notification>, Vec<Job>) {
        for kind in std::mem::take(&mut self.event_kinds) {
            self.context.env.metrics().event(kind);
        }
        let mut notifications = std::mem::take(&mut self.notifications);
        if let Some(on_incoming) = self.context.on_incoming.get() {
            notifications.iter().copied().map(Incoming::Notification).for_each(on_incoming);
        }
        let new_deliveries = std::mem::take(&mut self.new_deliveries.waiting);
        let mut untaken = Vec::new();
        if !new_deliveries.is_empty() {
            notifications.extend(new_deliveries.iter().filter_map(Notification::of));
            untaken = self.context.queue.hand_over(new_deliveries);
        }
        self.hooks.drain(..).for_each(|hook| hook());
        (notifications, untaken)
    }

    pub(super) fn rolled_back(&mut self) {
        self.undo_to(Savepoint::default());
        if let Some(cache) = self.connection.write_cache() {
            cache.clear();
        }
    }

    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
}
