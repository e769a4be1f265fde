//! The contract as plain code over plain lists: the answer, changes and events of each operation.
//!
//! Written from the contract and not from the service: it computes totals, states, events and deliveries itself. Values
//! that the service chooses, such as ids, are taken from its answer.

pub(crate) mod clients;
pub(crate) mod credit_notes;
pub(crate) mod documents;
pub(crate) mod invoices;
pub(crate) mod lists;
pub(crate) mod money;
pub(crate) mod quotes;
pub(crate) mod webhooks;

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Days, NaiveDate, SecondsFormat};
use chrono_tz::Tz;
use serde_json::Value;

use clients::{Client, Project};
use invoices::Invoice;
use quotes::Quote;
use webhooks::{Event, Hook};

/// Milliseconds since 1970.
pub(crate) type Millis = i64;

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    NotFound,
    Invalid,
    Conflict,
    NoDocument,
}

/// `Ok`, or every reason to refuse: the contract leaves their order open.
pub(crate) type Outcome = Result<(), Vec<Refused>>;

/// The service's answer, from which the reference takes values that the service chooses.
pub(crate) struct Seen<'a> {
    pub(crate) answer: &'a Value,
    /// The clock when the operation ran: it dates every instant in the record.
    pub(crate) now: Millis,
    /// The stamp that the operation must have received: `updatedAt`, and the time of its events.
    pub(crate) at: Millis,
    /// Invoices that the operation created, by their quote.
    pub(crate) invoices: BTreeMap<String, String>,
}

impl Seen<'_> {
    pub(crate) fn id(&self) -> String {
        self.answer["id"].as_str().unwrap_or_default().to_owned()
    }
}

/// One company with all its records.
pub(crate) struct Company {
    pub(crate) zone: Tz,
    pub(crate) automatic: bool,
    pub(crate) last_stamp: Millis,
    pub(crate) clients: Vec<Client>,
    pub(crate) quotes: Vec<Quote>,
    pub(crate) invoices: Vec<Invoice>,
    pub(crate) projects: Vec<Project>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) events: Vec<Event>,
    pub(crate) series: BTreeMap<(&'static str, i32), u32>,
    /// The last issue date of each year's invoices.
    pub(crate) issued: BTreeMap<i32, NaiveDate>,
    /// The last issue date of each year's credit notes.
    pub(crate) credited: BTreeMap<i32, NaiveDate>,
}

impl Company {
    pub(crate) fn new(zone: Tz, automatic: bool, last_stamp: Millis) -> Self {
        Self {
            zone,
            automatic,
            last_stamp,
            clients: Vec::new(),
            quotes: Vec::new(),
            invoices: Vec::new(),
            projects: Vec::new(),
            hooks: Vec::new(),
            events: Vec::new(),
            series: BTreeMap::new(),
            issued: BTreeMap::new(),
            credited: BTreeMap::new(),
        }
    }

    /// The stamp that the next change gets.
    pub(crate) fn next_stamp(&self, now: Millis) -> Millis {
        now.max(self.last_stamp + 1)
    }

    /// The calendar date of an instant in the company's time zone.
    pub(crate) fn day(&self, at: Millis) -> NaiveDate {
        utc(at).with_timezone(&self.zone).date_naive()
    }

    /// The date of an invoice that is issued now: not before the last one of its series.
    pub(crate) fn issue_date(&self, now: Millis) -> NaiveDate {
        let today = self.day(now);
        self.issued.get(&today.year()).map_or(today, |last| today.max(*last))
    }

    /// The next number of a series, `DEV-2026-0042`.
    fn number(&mut self, prefix: &'static str, at: Millis) -> String {
        let year = self.day(at).year();
        let last = self.series.entry((prefix, year)).or_insert(0);
        *last += 1;
        format!("{prefix}-{year}-{last:04}")
    }
}

pub(crate) fn utc(at: Millis) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp_millis(at).expect("an instant of our time")
}

/// An instant in the format of the contract.
pub(crate) fn instant(at: Millis) -> String {
    utc(at).to_rfc3339_opts(SecondsFormat::Millis, true)
}

pub(crate) fn instant_or_null(at: Option<Millis>) -> Value {
    at.map_or(Value::Null, |at| instant(at).into())
}

pub(crate) fn date_or_null(day: Option<NaiveDate>) -> Value {
    day.map_or(Value::Null, |day| day.format("%Y-%m-%d").to_string().into())
}

pub(crate) fn days_after(day: NaiveDate, days: i16) -> NaiveDate {
    let count = Days::new(u64::from(days.unsigned_abs()));
    if days < 0 { day - count } else { day + count }
}

/// `Ok` if there is no reason to refuse.
fn unless(reasons: Vec<Refused>) -> Outcome {
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}
