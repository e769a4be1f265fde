//! A transaction, and what happens after its commit.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use invoicing_core::{EventId, Timestamp};

use super::change::CompanyChange;
use super::connection::Connection;
use super::notification::{Incoming, Notification, OnIncoming};
#[cfg(feature = "postgres")]
use super::write::Reads;
use crate::Error;
use crate::env::Env;
use crate::queue::{Job, NewDelivery, Queue};
use crate::telemetry::EventCounts;

/// Row ids of deliveries that the sequence of PostgreSQL allocates at once: its increment.
#[cfg(feature = "postgres")]
pub(super) const BLOCK: i64 = 1_024;

/// What a store shares with its transactions.
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

/// A transaction. Only the store makes one; an operation that returns an error is rolled back by it.
pub(crate) struct Tx {
    connection: Connection,
    context: Arc<StoreContext>,
    /// Row ids for deliveries: of a block that belongs to this transaction alone, or all that are left where no other
    /// process writes.
    delivery_ids: Range<i64>,
    new_deliveries: NewDeliveries,
    /// What runs after the commit.
    hooks: Vec<Box<dyn FnOnce() + Send>>,
    /// What other nodes are told after the commit.
    notifications: Vec<Notification>,
    /// Events recorded by the operation under way.
    events: u16,
    /// Those of all its operations, by kind.
    event_counts: EventCounts,
}

/// Deliveries that go to the dispatcher after the commit. Dropped before it, they free the room that is reserved for them.
struct NewDeliveries {
    queue: Arc<Queue>,
    waiting: Vec<NewDelivery>,
}

impl NewDeliveries {
    /// Drops those after the first ones.
    fn truncate(&mut self, kept: usize) {
        self.queue.undo(&self.waiting.split_off(kept));
    }
}

impl Drop for NewDeliveries {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

/// Where an operation began, to drop what it left for after the commit.
#[derive(Clone, Copy, Default)]
pub(super) struct Savepoint {
    new_deliveries: usize,
    hooks: usize,
    notifications: usize,
    event_counts: EventCounts,
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
            event_counts: EventCounts::default(),
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

    /// Claims whose leases end by this instant bind no dispatcher. On SQLite, where the file has one process, its running
    /// dispatcher decides about each of its claims, and without one no claim binds.
    pub(super) fn abandoned_leases(&self) -> Timestamp {
        match (self.connection.is_shared(), self.queue().is_open()) {
            (true, _) => self.env().now(),
            (false, true) => Timestamp::from_millis(0),
            (false, false) => Timestamp::from_millis(i64::MAX),
        }
    }

    /// Locks what the service keeps about itself against other transactions, until the end of this one. It is the first
    /// thing that a service does in a database, so a copy into it, which begins under the same lock, is noticed here.
    pub(crate) async fn lock_service(&mut self) -> Result<(), Error> {
        #[cfg(feature = "postgres")]
        if self.connection.is_shared() {
            use super::locks::{COPY, SERVICE_LOCK, TABLE_EXISTS};
            let connection = &mut self.connection;
            connection.query("SELECT pg_advisory_xact_lock($1)", &[&SERVICE_LOCK]).execute().await?;
            if connection.query(TABLE_EXISTS, &[&COPY]).scalar().await? {
                return Err(Error::unavailable("the database is being copied into"));
            }
        }
        Ok(())
    }

    /// To be called when the company's stamp is written.
    pub(super) fn remember_stamp(&mut self, change: &CompanyChange) {
        if let Some(cache) = self.connection.write_cache() {
            cache.set_stamp(change.company.id, change.stamp);
        }
    }

    /// Passes deliveries to the dispatcher after the commit.
    pub(crate) fn push_new(&mut self, deliveries: impl IntoIterator<Item = NewDelivery>) {
        self.new_deliveries.waiting.extend(deliveries);
    }

    /// Runs `hook` once the transaction is committed and its deliveries are handed over, whether or not the caller still
    /// waits.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Tells the caches of this node and the other nodes once the transaction is committed.
    pub(crate) fn notify(&mut self, notification: Notification) {
        self.notifications.push(notification);
    }

    /// The id of an event. The events of a company are ordered by their ids as they were committed: by stamp, and
    /// within one operation in turn.
    pub(super) fn event_id(&mut self, stamp: Timestamp) -> EventId {
        self.events += 1;
        EventId(self.env().uuid_at(stamp, self.events))
    }

    /// Counts an event, once the transaction is committed.
    pub(super) fn count_event(&mut self, kind: &str) {
        self.event_counts.add(kind);
    }

    /// Consecutive row ids for deliveries; the first of them. An event has fewer deliveries than a block has ids.
    pub(super) async fn delivery_ids(&mut self, deliveries: usize) -> Result<i64, Error> {
        let wanted = i64::try_from(deliveries).unwrap_or(i64::MAX);
        #[cfg(feature = "postgres")]
        if self.delivery_ids.end - self.delivery_ids.start < wanted {
            const NEXT_BLOCK: &str = "SELECT nextval('delivery_id_block')";
            let block: i64 = self.connection.query_of(Reads::Nothing, NEXT_BLOCK, &[]).scalar().await?;
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
            event_counts: self.event_counts,
        }
    }

    /// Drops what the present operation has left in memory. Whether it has left nothing in the database either.
    pub(super) fn undo_to(&mut self, mark: Savepoint) -> bool {
        self.hooks.truncate(mark.hooks);
        self.notifications.truncate(mark.notifications);
        self.event_counts = mark.event_counts;
        self.new_deliveries.truncate(mark.new_deliveries);
        self.connection.roll_back_operation()
    }

    /// Does what had to wait for the commit. What the other nodes are to be told, and the deliveries that are claimed for a
    /// run of the dispatcher that has ended.
    pub(super) fn committed(&mut self) -> (Vec<Notification>, Vec<Job>) {
        self.context.env.metrics().events(std::mem::take(&mut self.event_counts));
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
