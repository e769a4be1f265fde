//! What the writer remembers of the companies that it writes for: settings, last stamp, subscriptions.
//!
//! The database belongs to one process, and that process writes with one task. So what the task has read or written
//! stays true until it writes again, and an operation need not read it again. When an operation that has written is rolled
//! back, all is forgotten, which is rare and costs a read each.

use std::collections::HashMap;
use std::sync::Arc;

use invoicing_core::{CompanyId, Timestamp};

use super::change::CompanyChange;
use super::subscriber::Subscriber;

/// Companies that are remembered. Beyond that all are forgotten, which costs a read each.
const CAPACITY: usize = 1_024;

struct Remembered {
    /// As it was read, with the last stamp. Each change replaces its instants.
    last_change: CompanyChange,
    subscribers: Option<Arc<[Subscriber]>>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct WriteCache {
    companies: HashMap<CompanyId, Remembered>,
    /// Whether the present operation has written what is remembered here.
    written: bool,
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
        self.companies.insert(change.company.id, Remembered { last_change, subscribers: None });
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
        self.written = true;
        if let Some(remembered) = self.companies.get_mut(&company) {
            remembered.last_change.stamp = stamp;
        }
    }

    /// The company's settings or webhooks are being changed.
    pub(super) fn forget(&mut self, company: CompanyId) {
        self.written = true;
        self.companies.remove(&company);
    }

    pub(super) fn begin_operation(&mut self) {
        self.written = false;
    }

    /// The present operation is rolled back. One that was refused before it wrote has read what is still true.
    pub(super) fn roll_back_operation(&mut self) {
        if self.written {
            self.companies.clear();
        }
    }

    /// The transaction is rolled back, with operations that had ended well.
    pub(super) fn clear(&mut self) {
        self.companies.clear();
    }
}
