//! A transaction as an operation sees it, and the unit of work of one company within it.

use std::str::FromStr;
use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;
use invoicing_core::{Company, CompanyId, Event, EventId, Timestamp};

use super::connection::Connection;
use super::ids::{DeliveryIds, OwnIds};
use super::news::News;
use super::sqlite::Known;
use super::webhooks::{self, Subscriber};
use super::{companies, events};
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
    /// What need not be read again, where nobody else writes.
    known: Known,
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

/// A company that is about to be changed: its settings, and the stamp of the change.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) company: Company,
    pub(crate) zone: Tz,
    /// The instant on the clock.
    pub(super) now: Timestamp,
    /// The modification stamp: `max(now, last stamp + 1 ms)`.
    pub(crate) at: Timestamp,
}

impl Unit {
    pub(crate) fn new(company: Company, last_stamp: i64, now: Timestamp) -> Result<Self, Error> {
        let zone = Tz::from_str(&company.time_zone)
            .map_err(|cause| Error::bad_row("company", "record.timeZone", company.id, cause))?;
        let at = Self::stamp(Timestamp::from_millis(last_stamp), now);
        Ok(Self { company, zone, now, at })
    }

    pub(super) fn stamp(last: Timestamp, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_millis(last.as_millis().saturating_add(1)))
    }

    pub(crate) fn id(&self) -> CompanyId {
        self.company.id
    }

    /// The date in the company's time zone. It follows the clock and not the stamps, which a clock that was wrong once
    /// has moved ahead for good.
    pub(crate) fn today(&self) -> NaiveDate {
        self.date_of(self.now)
    }

    /// The date of an instant in the company's time zone.
    pub(crate) fn date_of(&self, at: Timestamp) -> NaiveDate {
        at.to_chrono().with_timezone(&self.zone).date_naive()
    }
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
            known: Known::default(),
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

    /// Begins a change of a company: reads its settings and last stamp. From here to the end of the transaction nobody
    /// else changes anything of the company.
    pub(crate) async fn unit(&mut self, company: CompanyId) -> Result<Unit, Error> {
        let now = self.env.now();
        if let Some(unit) = self.known.unit(company, now) {
            return Ok(unit);
        }
        let (company, last_stamp) =
            companies::lock(&mut self.connection, company).await?.ok_or(Error::NotFound)?;
        let unit = Unit::new(company, last_stamp, now)?;
        if !self.connection.is_shared() {
            self.known.learn(&unit, Timestamp::from_millis(last_stamp));
        }
        Ok(unit)
    }

    /// Keeps everybody else from changing anything of the company until the end of the transaction, where somebody else
    /// could. For what needs nothing of the company itself.
    pub(crate) async fn lock(&mut self, company: CompanyId) -> Result<(), Error> {
        if self.connection.is_shared() {
            companies::lock(&mut self.connection, company).await?;
        }
        Ok(())
    }

    /// The same for what the service keeps about itself.
    pub(crate) async fn lock_service(&mut self) -> Result<(), Error> {
        self.connection.lock_service().await
    }

    /// The webhooks of a company, with what they subscribe to.
    pub(super) async fn subscribers(&mut self, company: CompanyId) -> Result<Arc<[Subscriber]>, Error> {
        if let Some(subscribers) = self.known.subscribers(company) {
            return Ok(subscribers);
        }
        let subscribers = webhooks::subscribers(&mut self.connection, company).await?.into();
        // Remembered for a company that is known; on PostgreSQL none is.
        self.known.learn_subscribers(company, &subscribers);
        Ok(subscribers)
    }

    /// To be called when the settings or the webhooks of a company are written.
    pub(super) fn forget(&mut self, company: CompanyId) {
        self.known.forget(company);
    }

    /// Ends a change: moves the company's stamp and records the events with their deliveries.
    pub(crate) async fn finish(&mut self, unit: &Unit, events: &[Event]) -> Result<(), Error> {
        self.stamped(unit);
        if events.is_empty() {
            return companies::set_stamp(&mut self.connection, unit.id(), unit.at).await;
        }
        events::record(self, unit, events).await
    }

    /// To be called when the company's stamp is written.
    pub(super) fn stamped(&mut self, unit: &Unit) {
        self.known.stamped(unit.id(), unit.at);
    }

    /// Passes deliveries on to the dispatcher once the transaction is committed.
    pub(crate) fn push_fresh(&mut self, jobs: impl IntoIterator<Item = FreshJob>) {
        self.fresh.extend(jobs);
    }

    /// Runs `hook` once the transaction is committed, whether or not the caller still waits.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Tells the other nodes once the transaction is committed.
    pub(crate) fn announce(&mut self, news: News) {
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
        self.known.keep();
        Mark { fresh: self.fresh.len(), hooks: self.hooks.len(), news: self.news.len() }
    }

    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.known.undo();
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
        self.known.clear();
    }

    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
}
