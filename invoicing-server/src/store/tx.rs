//! A transaction as an operation sees it, and the unit of work of one company within it.

use std::str::FromStr;
use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;
use invoicing_core::{Company, CompanyId, Event, EventId, Timestamp};
use sqlx::SqliteConnection;

use super::known::Known;
use super::webhooks::{self, Subscriber};
use super::{companies, deliveries, events};
use crate::Error;
use crate::dispatch::{FreshJob, Handoff};
use crate::env::Env;

/// A transaction. Only the writer makes one; an operation that returns an error is rolled back by it.
pub(crate) struct Tx {
    connection: SqliteConnection,
    env: Env,
    handoff: Arc<Handoff>,
    /// Deliveries that go to the dispatcher once they are committed.
    fresh: Vec<FreshJob>,
    known: Known,
    /// Row id of the next delivery. Never given out twice, as nobody else writes.
    next_delivery: i64,
    /// What caches must hear of once it is committed.
    hooks: Vec<Box<dyn FnOnce() + Send>>,
    /// Opens the hand-off once it is committed.
    opens_handoff: bool,
    /// Events recorded by the operation under way.
    events: u16,
}

/// Where an operation began, to take back what it left for after the commit.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    fresh: usize,
    hooks: usize,
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
    pub(super) async fn new(
        mut connection: SqliteConnection,
        env: Env,
        handoff: Arc<Handoff>,
    ) -> Result<Self, sqlx::Error> {
        let next_delivery = deliveries::next_id(&mut connection).await?;
        let (fresh, hooks) = (Vec::new(), Vec::new());
        let known = Known::default();
        Ok(Self {
            connection,
            env,
            handoff,
            fresh,
            known,
            next_delivery,
            hooks,
            opens_handoff: false,
            events: 0,
        })
    }

    /// The connection, to run a statement on.
    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn handoff(&self) -> &Arc<Handoff> {
        &self.handoff
    }

    /// Begins a change of a company: reads its settings and last stamp. The writer is alone, so nothing can come
    /// between this and the commit.
    pub(crate) async fn unit(&mut self, company: CompanyId) -> Result<Unit, Error> {
        let now = self.env.now();
        if let Some(unit) = self.known.unit(company, now) {
            return Ok(unit);
        }
        let (company, last_stamp) =
            companies::find(&mut self.connection, company).await?.ok_or(Error::NotFound)?;
        let unit = Unit::new(company, last_stamp, now)?;
        self.known.learn(&unit, Timestamp::from_millis(last_stamp));
        Ok(unit)
    }

    /// The webhooks of a company, with what they subscribe to.
    pub(super) async fn subscribers(&mut self, company: CompanyId) -> Result<Arc<[Subscriber]>, Error> {
        if let Some(subscribers) = self.known.subscribers(company) {
            return Ok(subscribers);
        }
        let subscribers = webhooks::subscribers(&mut self.connection, company).await?.into();
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

    pub(super) async fn control(&mut self, statement: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(statement).execute(&mut self.connection).await.map(drop)
    }

    /// Runs `hook` once the transaction is committed, whether or not the caller still waits.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Opens the hand-off once the transaction is committed, after what the same commit hands over: that was planned
    /// for an earlier run of the dispatcher and has been released with the rest.
    pub(crate) fn open_handoff_on_commit(&mut self) {
        self.opens_handoff = true;
    }

    /// The id of an event. The events of a company are ordered by their ids as they were committed: by stamp, and
    /// within one operation in turn.
    pub(super) fn event_id(&mut self, stamp: Timestamp) -> EventId {
        self.events += 1;
        EventId(self.env.uuid_at(stamp, self.events))
    }

    /// Row ids for some deliveries, in turn; the first of them.
    pub(super) fn delivery_ids(&mut self, deliveries: usize) -> i64 {
        let first = self.next_delivery;
        self.next_delivery += i64::try_from(deliveries).unwrap_or(0);
        first
    }

    pub(super) fn mark(&mut self) -> Mark {
        self.events = 0;
        self.known.keep();
        Mark { fresh: self.fresh.len(), hooks: self.hooks.len() }
    }

    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.known.undo();
        self.hooks.truncate(mark.hooks);
        let undone = self.fresh.split_off(mark.fresh);
        self.handoff.give_back(&undone);
    }

    pub(super) fn committed(&mut self) {
        self.hooks.drain(..).for_each(|hook| hook());
        if !self.fresh.is_empty() {
            self.handoff.hand_over(std::mem::take(&mut self.fresh));
        }
        if std::mem::take(&mut self.opens_handoff) {
            self.handoff.open();
        }
    }

    pub(super) fn rolled_back(&mut self) {
        self.undo_to(Mark::default());
        self.opens_handoff = false;
        self.known.clear();
    }

    pub(super) fn into_connection(self) -> SqliteConnection {
        self.connection
    }
}
