//! What a transaction that writes remembers of companies: settings, last stamp, subscriptions, numbers.
//!
//! A SQLite database belongs to one process, which writes with one task. So what the task has read or written stays true
//! until it writes again, over all its transactions. On PostgreSQL a transaction remembers the company that it has locked.
//! Only a dispatcher may disable a webhook meanwhile, which the attempt sees. Either way an operation need not read again
//! what an earlier one has read. What an operation that is rolled back has changed here is put back.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDate;
use invoicing_core::{CompanyId, Timestamp};

use super::change::CompanyChange;
use super::subscriber::Subscriber;

/// Companies that are remembered. Beyond that all are forgotten, which costs a read each.
const CAPACITY: usize = 1_024;

#[derive(Clone)]
struct Remembered {
    /// As it was read, with the last stamp. Each change replaces its instants.
    last_change: CompanyChange,
    subscribers: Option<Arc<[Subscriber]>>,
    /// The last number of each series.
    numbers: Option<Arc<[LastNumber]>>,
}

/// The last number of a series.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct LastNumber {
    pub(super) kind: String,
    pub(super) year: i64,
    pub(super) last: i64,
    /// Date of the document that has it, where dates are kept.
    pub(super) last_date: Option<NaiveDate>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct WriteCache {
    companies: HashMap<CompanyId, Remembered>,
    /// As they were before the present operation changed them; `None` where they were not remembered.
    before: Vec<(CompanyId, Option<Remembered>)>,
}

impl WriteCache {
    /// A change that begins now.
    pub(super) fn change(&self, company: CompanyId, now: Timestamp) -> Option<CompanyChange> {
        let Remembered { last_change, .. } = self.companies.get(&company)?;
        let stamp = CompanyChange::next_stamp(last_change.stamp, now);
        Some(CompanyChange { now, stamp, ..last_change.clone() })
    }

    pub(super) fn remember(&mut self, change: &CompanyChange, last_stamp: Timestamp) {
        if self.companies.len() >= CAPACITY {
            self.companies.clear();
        }
        let last_change = CompanyChange { stamp: last_stamp, ..change.clone() };
        self.companies
            .insert(change.company.id, Remembered { last_change, subscribers: None, numbers: None });
    }

    pub(super) fn subscribers(&self, company: CompanyId) -> Option<Arc<[Subscriber]>> {
        self.companies.get(&company)?.subscribers.clone()
    }

    pub(super) fn remember_subscribers(&mut self, company: CompanyId, subscribers: &Arc<[Subscriber]>) {
        if let Some(remembered) = self.companies.get_mut(&company) {
            remembered.subscribers = Some(Arc::clone(subscribers));
        }
    }

    pub(super) fn numbers(&self, company: CompanyId) -> Option<Arc<[LastNumber]>> {
        self.companies.get(&company)?.numbers.clone()
    }

    pub(super) fn remember_numbers(&mut self, company: CompanyId, numbers: Arc<[LastNumber]>) {
        if let Some(remembered) = self.companies.get_mut(&company) {
            remembered.numbers = Some(numbers);
        }
    }

    /// A number is allocated.
    pub(super) fn set_number(&mut self, company: CompanyId, number: &LastNumber) {
        if let Some(Remembered { numbers: Some(numbers), .. }) = self.before_change(company) {
            let is_other = |other: &&LastNumber| (&other.kind, other.year) != (&number.kind, number.year);
            *numbers = numbers.iter().filter(is_other).cloned().chain([number.clone()]).collect();
        }
    }

    /// The company's stamp is moved.
    pub(super) fn set_stamp(&mut self, company: CompanyId, stamp: Timestamp) {
        if let Some(remembered) = self.before_change(company) {
            remembered.last_change.stamp = stamp;
        }
    }

    /// The company's settings or webhooks are being changed.
    pub(super) fn forget(&mut self, company: CompanyId) {
        self.before_change(company);
        self.companies.remove(&company);
    }

    /// What is remembered of a company that the present operation changes.
    fn before_change(&mut self, company: CompanyId) -> Option<&mut Remembered> {
        if self.before.iter().all(|(changed, _)| *changed != company) {
            self.before.push((company, self.companies.get(&company).cloned()));
        }
        self.companies.get_mut(&company)
    }

    pub(super) fn begin_operation(&mut self) {
        self.before.clear();
    }

    /// The present operation is rolled back.
    pub(super) fn roll_back_operation(&mut self) {
        for (company, before) in self.before.drain(..) {
            self.companies.remove(&company);
            self.companies.extend(before.map(|before| (company, before)));
        }
    }

    /// The transaction is rolled back, with operations that had ended well.
    pub(super) fn clear(&mut self) {
        self.companies.clear();
    }
}
