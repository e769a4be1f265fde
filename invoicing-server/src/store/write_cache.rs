//! What the writer remembers of the companies that it writes for: settings, last stamp, subscriptions.
//!
//! The database belongs to one process, and that process writes with one task. So what the task has read or written
//! stays true until it writes again, and an operation need not read it again. What an operation has changed is
//! forgotten when the operation is rolled back.

use std::collections::HashMap;
use std::sync::Arc;

use invoicing_core::{CompanyId, Timestamp};

use super::change::CompanyChange;
use super::subscriber::Subscriber;

/// Companies that are remembered. Beyond that all are forgotten, which costs a read each.
const CAPACITY: usize = 1_024;

struct Remembered {
    /// As it was read; its instants are replaced for each change.
    change: CompanyChange,
    last_stamp: Timestamp,
    subscribers: Option<Arc<[Subscriber]>>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct WriteCache {
    companies: HashMap<CompanyId, Remembered>,
    /// Companies that the present operation has changed.
    changed: Vec<CompanyId>,
}

impl WriteCache {
    /// A change that begins now.
    pub(super) fn change(&self, company: CompanyId, now: Timestamp) -> Option<CompanyChange> {
        let Remembered { change, last_stamp, .. } = self.companies.get(&company)?;
        let stamp = CompanyChange::next_stamp(*last_stamp, now);
        Some(CompanyChange { now, stamp, ..change.clone() })
    }

    pub(super) fn remember(&mut self, change: &CompanyChange, last_stamp: Timestamp) {
        if self.companies.len() >= CAPACITY {
            self.companies.clear();
        }
        let remembered = Remembered { change: change.clone(), last_stamp, subscribers: None };
        self.companies.insert(change.id(), remembered);
    }

    pub(super) fn subscribers(&self, company: CompanyId) -> Option<Arc<[Subscriber]>> {
        self.companies.get(&company)?.subscribers.clone()
    }

    pub(super) fn remember_subscribers(&mut self, company: CompanyId, subscribers: &Arc<[Subscriber]>) {
        if let Some(remembered) = self.companies.get_mut(&company) {
            remembered.subscribers = Some(Arc::clone(subscribers));
        }
    }

    /// The company's stamp is moved.
    pub(super) fn set_stamp(&mut self, company: CompanyId, stamp: Timestamp) {
        self.changed.push(company);
        if let Some(remembered) = self.companies.get_mut(&company) {
            remembered.last_stamp = stamp;
        }
    }

    /// The company's settings or webhooks are being changed.
    pub(super) fn forget(&mut self, company: CompanyId) {
        self.changed.push(company);
        self.companies.remove(&company);
    }

    /// Another operation begins; the changes of the previous one stand.
    pub(super) fn begin_operation(&mut self) {
        self.changed.clear();
    }

    /// The present operation is rolled back.
    pub(super) fn roll_back_operation(&mut self) {
        for company in self.changed.drain(..) {
            self.companies.remove(&company);
        }
    }

    /// The transaction is rolled back.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
