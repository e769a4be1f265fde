//! What the writer remembers of the companies that it writes for: settings, last stamp, subscriptions.
//!
//! The database belongs to one process, and this process writes with one task: what that task has read or written
//! stays true until it writes again. So an operation need not read it again. What an operation has touched is
//! forgotten when the operation is taken back.

use std::collections::HashMap;
use std::sync::Arc;

use chrono_tz::Tz;
use invoicing_core::{Company, CompanyId, Timestamp};

use super::super::Unit;
use super::super::webhooks::Subscriber;

/// Companies that are remembered. Beyond that all are forgotten, which costs a read each.
const ROOM: usize = 1_024;

struct Entry {
    company: Company,
    zone: Tz,
    last_stamp: Timestamp,
    subscribers: Option<Arc<[Subscriber]>>,
}

/// See the module's text.
#[derive(Default)]
pub(in crate::store) struct Known {
    companies: HashMap<CompanyId, Entry>,
    /// What the operation under way has changed.
    touched: Vec<CompanyId>,
}

impl Known {
    /// A change that begins now.
    pub(in crate::store) fn unit(&self, company: CompanyId, now: Timestamp) -> Option<Unit> {
        let Entry { company, zone, last_stamp, .. } = self.companies.get(&company)?;
        Some(Unit { company: company.clone(), zone: *zone, now, at: Unit::stamp(*last_stamp, now) })
    }

    pub(in crate::store) fn learn(&mut self, unit: &Unit, last_stamp: Timestamp) {
        if self.companies.len() >= ROOM {
            self.companies.clear();
        }
        let (company, zone) = (unit.company.clone(), unit.zone);
        self.companies.insert(unit.id(), Entry { company, zone, last_stamp, subscribers: None });
    }

    pub(in crate::store) fn subscribers(&self, company: CompanyId) -> Option<Arc<[Subscriber]>> {
        self.companies.get(&company)?.subscribers.clone()
    }

    pub(in crate::store) fn learn_subscribers(
        &mut self,
        company: CompanyId,
        subscribers: &Arc<[Subscriber]>,
    ) {
        if let Some(entry) = self.companies.get_mut(&company) {
            entry.subscribers = Some(Arc::clone(subscribers));
        }
    }

    /// The company's stamp is moved to this one.
    pub(in crate::store) fn stamped(&mut self, company: CompanyId, at: Timestamp) {
        self.touched.push(company);
        if let Some(entry) = self.companies.get_mut(&company) {
            entry.last_stamp = at;
        }
    }

    /// The company's settings or webhooks are being changed.
    pub(in crate::store) fn forget(&mut self, company: CompanyId) {
        self.touched.push(company);
        self.companies.remove(&company);
    }

    /// Another operation begins; what the one before has changed stands.
    pub(in crate::store) fn keep(&mut self) {
        self.touched.clear();
    }

    /// The operation under way is taken back.
    pub(in crate::store) fn undo(&mut self) {
        for company in self.touched.drain(..) {
            self.companies.remove(&company);
        }
    }

    /// The transaction is taken back.
    pub(in crate::store) fn clear(&mut self) {
        *self = Self::default();
    }
}
