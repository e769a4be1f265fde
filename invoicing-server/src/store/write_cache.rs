//! The cache of a transaction that writes: settings, last stamp, subscriptions and numbers of
//! companies.
//!
//! A SQLite database belongs to one process, which writes with one task. So the values that the
//! task has read or written stay true until it writes again, over all its transactions. On
//! PostgreSQL a transaction caches the companies that it has locked. Only a dispatcher may disable
//! a webhook meanwhile; the attempt then sees that. Either way an operation need not repeat the
//! reads of an earlier one. A rollback of an operation restores the cached values that it has
//! changed.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDate;
use invoicing_core::{CompanyId, Timestamp};

use super::change::ChangeContext;
use super::subscriber::Subscriber;

/// Maximum number of cached companies. Beyond that all are dropped, which costs a read each.
const CAPACITY: usize = 1_024;

#[derive(Clone)]
struct Remembered {
    /// The last change, with the last stamp. Each change replaces its instants.
    last_change: ChangeContext,
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
    /// Date of the document that has the number, if the series keeps dates.
    pub(super) last_date: Option<NaiveDate>,
}

/// The cached values of the companies that a connection writes for.
#[derive(Default)]
pub(crate) struct WriteCache {
    companies: HashMap<CompanyId, Remembered>,
    /// The companies before the present operation changed them; `None` for one that was not cached.
    before: Vec<(CompanyId, Option<Remembered>)>,
}

impl WriteCache {
    /// A change that begins now, if the company is cached.
    pub(super) fn change(&self, company: CompanyId, now: Timestamp) -> Option<ChangeContext> {
        let Remembered { last_change, .. } = self.companies.get(&company)?;
        let stamp = ChangeContext::next_stamp(last_change.stamp, now);
        Some(ChangeContext { now, stamp, ..last_change.clone() })
    }

    pub(super) fn remember(&mut self, change: &ChangeContext, last_stamp: Timestamp) {
        if self.companies.len() >= CAPACITY {
            self.companies.clear();
        }
        let last_change = ChangeContext { stamp: last_stamp, ..change.clone() };
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

    /// Updates the last number of a series.
    pub(super) fn set_number(&mut self, company: CompanyId, number: &LastNumber) {
        if let Some(Remembered { numbers: Some(numbers), .. }) = self.before_change(company) {
            let is_other = |other: &&LastNumber| (&other.kind, other.year) != (&number.kind, number.year);
            *numbers = numbers.iter().filter(is_other).cloned().chain([number.clone()]).collect();
        }
    }

    /// Updates the last stamp of a company.
    pub(super) fn set_stamp(&mut self, company: CompanyId, stamp: Timestamp) {
        if let Some(remembered) = self.before_change(company) {
            remembered.last_change.stamp = stamp;
        }
    }

    /// Drops a company whose settings or webhooks are being changed.
    pub(super) fn forget(&mut self, company: CompanyId) {
        self.before_change(company);
        self.companies.remove(&company);
    }

    /// The cached values of a company that the present operation changes, kept for its rollback.
    fn before_change(&mut self, company: CompanyId) -> Option<&mut Remembered> {
        if self.before.iter().all(|(changed, _)| *changed != company) {
            self.before.push((company, self.companies.get(&company).cloned()));
        }
        self.companies.get_mut(&company)
    }

    pub(super) fn begin_operation(&mut self) {
        self.before.clear();
    }

    /// Restores the companies that the present operation has changed.
    pub(super) fn roll_back_operation(&mut self) {
        for (company, before) in self.before.drain(..) {
            self.companies.remove(&company);
            self.companies.extend(before.map(|before| (company, before)));
        }
    }

    /// Drops all companies: the transaction is rolled back, with operations that had ended well.
    pub(super) fn clear(&mut self) {
        self.companies.clear();
    }
}
