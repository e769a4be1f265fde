//! A transaction as an operation sees it, and the unit of work of one company within it.

use std::sync::Arc;

use invoicing_core::{CompanyId, Event, EventId, Timestamp};

use super::company::{CompanyChange, CompanyReader, CompanyTx, Tables};
use super::connection::Connection;
use super::ids::{DeliveryIds, OwnIds};
use super::news::News;
use super::events;
use super::webhooks::Subscriber;
use crate::Error;
use crate::dispatch::{FreshJob, Handoff, Job};
use crate::env::Env;

/// A transaction. Only the store makes one; an operation that returns an error is rolled back by it.
pub(crate) struct Tx {
    connection: Connection,
    env: Env,
    handoff: Arc<Handoff>,
    /// Deliveries that go to the dispatcher once they are committed.
    fresh: Vec<FreshJob>,
    ids: Arc<DeliveryIds>,
    own_ids: OwnIds,
    /// What caches must hear of once it is committed.
    hooks: Vec<Box<dyn FnOnce() + Send>>,
    /// What other nodes must hear of once it is committed.
    news: Vec<News>,
    /// The run of the dispatcher for which it opens the hand-off once it is committed.
    opens_handoff: Option<u64>,
    /// Events recorded by the operation under way.
    events: u16,
}

/// What is left to do after a commit where others share the database.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nobody shares a file"))]
pub(super) struct Aftermath {
    /// What the other nodes must hear of.
    pub(super) news: Vec<News>,
    /// Deliveries that are claimed for a dispatcher that is no more.
    pub(super) untaken: Vec<Job>,
}

/// Where an operation began, to take back what it left for after the commit.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    fresh: usize,
    hooks: usize,
    news: usize,
}

impl Tx {
    pub(super) fn new(
        connection: Connection,
        env: Env,
        handoff: Arc<Handoff>,
        ids: Arc<DeliveryIds>,
    ) -> Self {
        Self {
            connection,
            env,
            handoff,
            fresh: Vec::new(),
            ids,
            own_ids: OwnIds::default(),
            hooks: Vec::new(),
            news: Vec::new(),
            opens_handoff: None,
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

    pub(crate) fn handoff(&self) -> &Arc<Handoff> {
        &self.handoff
    }

    /// Begins a change of a company: reads its settings and last stamp, and locks both to the end of the transaction.
    pub(super) async fn company(&mut self, company: CompanyId) -> Result<CompanyTx<'_>, Error> {
        let change = self.begin_change(company).await?;
        Ok(CompanyTx { tx: self, change })
    }

    async fn begin_change(&mut self, company: CompanyId) -> Result<CompanyChange, Error> {
        let now = self.env.now();
        if let Some(change) = self.connection.write_cache().and_then(|cache| cache.change(company, now)) {
            return Ok(change);
        }
        let (record, last_stamp) = self.reader(company).company_row().lock().await?;
        let change = CompanyChange::new(record, last_stamp, now)?;
        if let Some(cache) = self.connection.write_cache() {
            cache.remember(&change, last_stamp);
        }
        Ok(change)
    }

    /// The tables of a company, whose row is not locked.
    pub(super) fn reader(&mut self, company: CompanyId) -> CompanyReader<'_> {
        CompanyReader { connection: &mut self.connection, company }
    }

    /// The same for what the service keeps about itself.
    pub(crate) async fn lock_service(&mut self) -> Result<(), Error> {
        self.connection.lock_service().await
    }

    /// The webhooks of a company, with what they subscribe to.
    pub(super) async fn subscribers(&mut self, company: CompanyId) -> Result<Arc<[Subscriber]>, Error> {
        if let Some(known) = self.connection.write_cache().and_then(|cache| cache.subscribers(company)) {
            return Ok(known);
        }
        let subscribers = self.reader(company).webhooks().subscribers().await?.into();
        if let Some(cache) = self.connection.write_cache() {
            cache.remember_subscribers(company, &subscribers);
        }
        Ok(subscribers)
    }

    /// Ends a change: moves the company's stamp and records the events with their deliveries.
    pub(super) async fn finish(&mut self, change: &CompanyChange, events: &[Event]) -> Result<(), Error> {
        self.remember_stamp(change);
        if events.is_empty() {
            return self.reader(change.id()).company_row().set_stamp(change.stamp).await;
        }
        events::record(self, change, events).await
    }

    /// To be called when the company's stamp is written.
    pub(super) fn remember_stamp(&mut self, change: &CompanyChange) {
        if let Some(cache) = self.connection.write_cache() {
            cache.set_stamp(change.id(), change.stamp);
        }
    }

    /// Passes deliveries on to the dispatcher once the transaction is committed.
    pub(crate) fn push_fresh(&mut self, jobs: impl IntoIterator<Item = FreshJob>) {
        self.fresh.extend(jobs);
    }

    /// Runs `hook` once the transaction is committed, whether or not the caller still waits.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Tells the caches of this node and the other nodes once the transaction is committed.
    pub(crate) fn notify(&mut self, news: News) {
        self.news.push(news);
    }

    /// Opens the hand-off once the transaction is committed, after what the same commit hands over: that was planned
    /// for an earlier run of the dispatcher and has been released with the rest.
    pub(crate) fn open_handoff_on_commit(&mut self) {
        self.opens_handoff = Some(self.handoff.run());
    }

    /// The id of an event. The events of a company are ordered by their ids as they were committed: by stamp, and
    /// within one operation in turn.
    pub(super) fn event_id(&mut self, stamp: Timestamp) -> EventId {
        self.events += 1;
        EventId(self.env.uuid_at(stamp, self.events))
    }

    /// Row ids for some deliveries, in turn; the first of them.
    pub(super) async fn delivery_ids(&mut self, deliveries: usize) -> Result<i64, Error> {
        self.ids.take(&mut self.own_ids, &mut self.connection, deliveries).await
    }

    pub(super) fn mark(&mut self) -> Mark {
        self.events = 0;
        if let Some(cache) = self.connection.write_cache() {
            cache.begin_operation();
        }
        Mark { fresh: self.fresh.len(), hooks: self.hooks.len(), news: self.news.len() }
    }

    pub(super) fn undo_to(&mut self, mark: Mark) {
        if let Some(cache) = self.connection.write_cache() {
            cache.roll_back_operation();
        }
        self.hooks.truncate(mark.hooks);
        self.news.truncate(mark.news);
        let undone = self.fresh.split_off(mark.fresh);
        self.handoff.give_back(&undone);
    }

    /// Does what had to wait for the commit.
    pub(super) fn committed(&mut self) -> Aftermath {
        self.hooks.drain(..).for_each(|hook| hook());
        self.ids.give(&mut self.own_ids);
        let mut news = std::mem::take(&mut self.news);
        let mut untaken = Vec::new();
        if !self.fresh.is_empty() {
            news.extend(self.fresh.iter().filter_map(News::of));
            untaken = self.handoff.hand_over(std::mem::take(&mut self.fresh));
        }
        if let Some(run) = self.opens_handoff.take() {
            self.handoff.open(run);
        }
        Aftermath { news, untaken }
    }

    pub(super) fn rolled_back(&mut self) {
        self.undo_to(Mark::default());
        self.opens_handoff = None;
        if let Some(cache) = self.connection.write_cache() {
            cache.clear();
        }
    }

    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
}
