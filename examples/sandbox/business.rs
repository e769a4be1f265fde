//! The stream of business: what a company's people and clients do all day, and what each step causes.
//!
//! Nothing is kept in memory: each step looks into the service for a record that it can move, so it goes on after a
//! restart. The seed decides what is tried; with the same records, that is what happens.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use invoicing_core::{CompanyId, EventId, Timestamp};
use invoicing_examples::{Failure, explain};
use invoicing_server::{CompanyHandle, Error, EventRecord, Invoicing};
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::output::Output;
use crate::steps;
use crate::stop::Stop;

/// Events that are read at once.
const PAGE: u32 = 1_000;
/// The number of further draws if a step finds no record that it fits.
const DRAWS: usize = 50;

/// The result of a step.
pub(crate) struct Done {
    pub(crate) operation: &'static str,
    pub(crate) ids: BTreeMap<&'static str, Uuid>,
}

impl Done {
    pub(crate) fn new<const N: usize>(operation: &'static str, ids: [(&'static str, Uuid); N]) -> Self {
        Self { operation, ids: ids.into() }
    }
}

/// The line of an operation.
#[derive(Serialize)]
struct Line {
    operation: &'static str,
    at: Timestamp,
    ids: BTreeMap<&'static str, Uuid>,
    events: Vec<Announced>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: Vec<_> = self.events.iter().map(|event| &*event.event).collect();
        write!(f, "  {:<24} {}", self.operation, events.join(", "))
    }
}

/// An event that receivers will hear of: `id` is `data.id`, `timestamp` that of the envelope.
#[derive(Serialize)]
struct Announced {
    event: String,
    id: Uuid,
    timestamp: Timestamp,
}

/// The part of a delivery's body that is announced.
#[derive(Deserialize)]
struct Body {
    data: BodyData,
}

#[derive(Deserialize)]
struct BodyData {
    id: Uuid,
}

/// One company's day.
pub(crate) struct Business {
    pub(crate) invoicing: Invoicing,
    pub(crate) company: CompanyHandle,
    pub(crate) rng: Rng,
    /// The last event that was announced, or recorded before this start.
    announced: Option<EventId>,
}

impl Business {
    pub(crate) fn new(invoicing: Invoicing, company: CompanyId, seed: u64) -> Self {
        let company = invoicing.company(company);
        Self { invoicing, company, rng: Rng::with_seed(seed), announced: None }
    }

    /// Does `rate` operations per second until it is to stop.
    pub(crate) async fn go_on(mut self, rate: f64, output: &mut Output, stop: &Stop) -> Result<(), Failure> {
        while !self.new_events().await?.is_empty() {}
        if rate == 0.0 {
            stop.wait().await;
            return Ok(());
        }
        let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.wait() => return Ok(()),
                _ = ticks.tick() => {}
            }
            // Not interrupted, so that each event is announced.
            match self.step().await {
                Ok(done) => {
                    let line = self.line(done).await?;
                    output.line(&line).await?;
                }
                Err(error) => tracing::warn!(error = explain(&error), "an operation failed"),
            }
        }
    }

    /// Something that the state of the business allows.
    async fn step(&mut self) -> Result<Done, Error> {
        for _ in 0..DRAWS {
            let step = steps::draw(&mut self.rng);
            match self.perform(step).await {
                Ok(Some(done)) => return Ok(done),
                // Nothing there for it, or not in a state for it: another one.
                Ok(None) | Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.create_client().await
    }

    async fn line(&mut self, done: Done) -> Result<Line, Failure> {
        let mut events = Vec::new();
        for record in self.new_events().await? {
            let Body { data: BodyData { id } } = serde_json::from_str(&record.body)?;
            // Another sandbox on the same database announces what it does.
            if done.ids.values().any(|own| *own == id) {
                events.push(Announced { event: record.kind, id, timestamp: record.timestamp });
            }
        }
        Ok(Line { operation: done.operation, at: self.invoicing.env().now(), ids: done.ids, events })
    }

    /// The events since the last call, at most a page of them.
    async fn new_events(&mut self) -> Result<Vec<EventRecord>, Error> {
        let events = self.company.events().list(self.announced, PAGE).await?;
        self.announced = events.last().map(|event| event.id).or(self.announced);
        Ok(events)
    }
}
