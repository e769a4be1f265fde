//! A transaction, and what happens after its commit.

use std::sync::Arc;

use invoicing_core::{EventId, Timestamp};

use super::change::CompanyChange;
use super::connection::Connection;
use super::ids::{DeliveryIds, OwnIds};
use super::notification::{Incoming, LocalListener, Notification};
use crate::Error;
use crate::env::Env;
use crate::queue::{Job, NewDelivery, Queue};

/// A transaction. Only the store makes one; an operation that returns an error is rolled back by it.
pub(crate) struct Tx {
    connection: Connection,
    env: Env,
    queue: Arc<Queue>,
    local_listener: LocalListener,
    /// Deliveries that go to the dispatcher after the commit.
    new_deliveries: Vec<NewDelivery>,
    ids: Arc<DeliveryIds>,
    own_ids: OwnIds,
    /// What runs after the commit.
    hooks: Vec<Box<dyn FnOnce() + Send>>,
    /// What other nodes are told after the commit.
    notifications: Vec<Notification>,
    /// Events recorded by the operation under way.
    events: u16,
}

/// What is left to do after a commit on a database with other nodes.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a SQLite file has no other nodes"))]
pub(super) struct AfterCommit {
    /// What the other nodes are told.
    pub(super) notifications: Vec<Notification>,
    /// Deliveries that are claimed for a dispatcher that has ended.
    pub(super) untaken: Vec<Job>,
}

/// Where an operation began, to drop what it left for after the commit.
#[derive(Clone, Copy, Default)]
pub(super) struct Savepoint {
    new_deliveries: usize,
    hooks: usize,
    notifications: usize,
}

impl Tx {
    pub(super) fn new(
        connection: Connection,
        env: Env,
        queue: Arc<Queue>,
        local_listener: LocalListener,
        ids: Arc<DeliveryIds>,
    ) -> Self {
        Self {
            connection,
            env,
            queue,
            local_listener,
            new_deliveries: Vec::new(),
            ids,
            own_ids: OwnIds::default(),
            hooks: Vec::new(),
            notifications: Vec::new(),
            events: 0,
        }
    }

    /// The connection, to run a statement on.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Locks what the service keeps about itself to the end of the transaction.
    pub(crate) async fn lock_service(&mut self) -> Result<(), Error> {
        self.connection.lock_service().await
    }

    /// To be called when the company's stamp is written.
    pub(super) fn remember_stamp(&mut self, change: &CompanyChange) {
        if let Some(cache) = self.connection.write_cache() {
            cache.set_stamp(change.id(), change.stamp);
        }
    }

    /// Passes deliveries to the dispatcher after the commit.
    pub(crate) fn push_new(&mut self, deliveries: impl IntoIterator<Item = NewDelivery>) {
        self.new_deliveries.extend(deliveries);
    }

    /// Runs `hook` once the transaction is committed, whether or not the caller still waits.
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
        EventId(self.env.uuid_at(stamp, self.events))
    }

    /// Consecutive row ids for deliveries; the first of them.
    pub(super) async fn delivery_ids(&mut self, deliveries: usize) -> Result<i64, Error> {
        self.ids.take(&mut self.own_ids, &mut self.connection, deliveries).await
    }

    pub(super) fn savepoint(&mut self) -> Savepoint {
        self.events = 0;
        if let Some(cache) = self.connection.write_cache() {
            cache.begin_operation();
        }
        Savepoint {
            new_deliveries: self.new_deliveries.len(),
            hooks: self.hooks.len(),
            notifications: self.notifications.len(),
        }
    }

    pub(super) fn undo_to(&mut self, mark: Savepoint) {
        if let Some(cache) = self.connection.write_cache() {
            cache.roll_back_operation();
        }
        self.hooks.truncate(mark.hooks);
        self.notifications.truncate(mark.notifications);
        let rolled_back = self.new_deliveries.split_off(mark.new_deliveries);
        self.queue.undo(&rolled_back);
    }

    /// Does what had to wait for the commit.
    pub(super) fn committed(&mut self) -> AfterCommit {
        self.hooks.drain(..).for_each(|hook| hook());
        self.ids.share(&mut self.own_ids);
        let mut notifications = std::mem::take(&mut self.notifications);
        if let Some(on_incoming) = self.local_listener.get() {
            notifications.iter().copied().map(Incoming::Notification).for_each(on_incoming);
        }
        let mut untaken = Vec::new();
        if !self.new_deliveries.is_empty() {
            notifications.extend(self.new_deliveries.iter().filter_map(Notification::of));
            untaken = self.queue.hand_over(std::mem::take(&mut self.new_deliveries));
        }
        AfterCommit { notifications, untaken }
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
