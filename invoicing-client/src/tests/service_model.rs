//! A service in memory whose lists follow the contract, or the weaker rules of other servers.

mod transport;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use uuid::Uuid;

use crate::{RecordVersion, Timestamp};
pub(crate) use transport::pause;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order of the contract.
    ModifiedDescending,
    ModifiedAscending,
    CreatedDescending,
    CreatedAscending,
}

impl Order {
    pub(crate) const ALL: [Self; 4] =
        [Self::ModifiedDescending, Self::ModifiedAscending, Self::CreatedDescending, Self::CreatedAscending];
}

/// The value of `asOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsOf {
    /// The last stamp, as in the contract.
    LastStamp,
    /// The clock of the server.
    Now,
    Absent,
}

impl AsOf {
    pub(crate) const ALL: [Self; 3] = [Self::LastStamp, Self::Now, Self::Absent];
}

/// The rules of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerBehavior {
    /// Items per page, far fewer than the client requests, so that few records fill several pages.
    pub(crate) page: usize,
    pub(crate) order: Order,
    pub(crate) as_of: AsOf,
    /// Records with equal stamps change their order at every request.
    pub(crate) shuffles_ties: bool,
}

impl ServerBehavior {
    /// The rules of the contract.
    pub(crate) fn conforming(page: usize) -> Self {
        Self { page, order: Order::ModifiedDescending, as_of: AsOf::LastStamp, shuffles_ties: false }
    }
}

/// A transaction in the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// New records with one stamp.
    Create(u8),
    /// Changes of existing records, selected by number, with one stamp.
    Update(Vec<u8>),
    /// A change of another resource, which advances the stamp only.
    OtherResource,
    /// A change of an existing record that becomes visible this many milliseconds after its stamp.
    UpdateLate(u8, i64),
    /// A new record that becomes visible this many milliseconds after its stamp.
    CreateLate(i64),
    /// The deletion of a record.
    Delete(u8),
}

/// Events before a response.
#[derive(Debug, Clone, Default)]
pub(crate) struct BeforeRequest {
    /// Changes that become visible.
    pub(crate) changes: Vec<Change>,
    /// The request is refused permanently.
    pub(crate) refuse: bool,
}

#[derive(Debug)]
pub(crate) struct ModelState {
    behavior: ServerBehavior,
    /// The clock of the server in milliseconds. It advances with every change.
    clock: i64,
    last_stamp: i64,
    created: u64,
    /// The current versions, in the order of creation.
    pub(crate) records: Vec<RecordVersion>,
    /// Every version so far, so that none is used twice.
    all: Vec<RecordVersion>,
    /// Events before each of the next responses.
    pub(crate) script: VecDeque<BeforeRequest>,
    /// Number of the next requests that get 503.
    pub(crate) down: u32,
    /// Number of requests.
    pub(crate) requests: u64,
    /// Number of requests for a single record.
    pub(crate) details: u64,
}

/// The service, shared with the test.
#[derive(Clone)]
pub(crate) struct ServiceModel(Arc<Mutex<ModelState>>);

impl ServiceModel {
    pub(crate) fn new(behavior: ServerBehavior) -> Self {
        Self(Arc::new(Mutex::new(ModelState {
            behavior,
            clock: 0,
            last_stamp: 0,
            created: 0,
            records: Vec::new(),
            all: Vec::new(),
            script: VecDeque::new(),
            down: 0,
            requests: 0,
            details: 0,
        })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ModelState> {
        self.0.lock().unwrap()
    }
}

impl ModelState {
    pub(crate) fn apply(&mut self, change: &Change) {
        self.clock += 1;
        match change {
            Change::Create(count) => {
                for _ in 0..*count {
                    self.create(self.clock);
                }
            }
            Change::Update(chosen) => {
                for number in chosen {
                    self.update(*number, self.clock);
                }
            }
            Change::OtherResource => self.last_stamp = self.clock,
            Change::UpdateLate(number, late) => self.update(*number, (self.clock - late).max(1)),
            Change::CreateLate(late) => self.create((self.clock - late).max(1)),
            Change::Delete(number) => {
                if let Some(index) = self.index(*number) {
                    self.records.remove(index);
                }
            }
        }
    }

    fn create(&mut self, stamp: i64) {
        self.created += 1;
        // Ids are in no order that settings anything.
        let id = Uuid::from_u128(u128::from(self.created.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let version = RecordVersion { updated_at: Timestamp::from_millis(stamp), id };
        self.records.push(version);
        self.committed(version);
    }

    fn update(&mut self, number: u8, stamp: i64) {
        let Some(index) = self.index(number) else { return };
        let mut version = RecordVersion { updated_at: Timestamp::from_millis(stamp), ..self.records[index] };
        // Two versions of a record need different stamps to be distinguishable.
        while version != self.records[index] && self.all.contains(&version) {
            version.updated_at = version.updated_at.plus_millis(1);
        }
        if self.all.contains(&version) {
            return;
        }
        self.records[index] = version;
        self.committed(version);
    }

    fn committed(&mut self, version: RecordVersion) {
        self.all.push(version);
        self.last_stamp = self.last_stamp.max(version.updated_at.as_millis());
    }

    fn index(&self, number: u8) -> Option<usize> {
        usize::from(number).checked_rem(self.records.len())
    }

    /// The record that a number selects.
    pub(crate) fn chosen(&self, number: u8) -> Option<RecordVersion> {
        self.index(number).map(|index| self.records[index])
    }

    /// The content of a list with this `since`, in the order of the server.
    fn listed(&self, since: Timestamp) -> Vec<RecordVersion> {
        let mut found: Vec<_> =
            self.records.iter().copied().filter(|record| record.updated_at >= since).collect();
        let tie = |version: &RecordVersion| {
            let salt = if self.behavior.shuffles_ties { self.requests } else { 0 };
            let mixed = version.id.as_u128() ^ u128::from(salt.wrapping_mul(0xd6e8_feb8_6659_fd93));
            if salt == 0 { mixed } else { mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) }
        };
        match self.behavior.order {
            Order::ModifiedDescending => found.sort_by_key(|v| std::cmp::Reverse((v.updated_at, tie(v)))),
            Order::ModifiedAscending => found.sort_by_key(|v| (v.updated_at, tie(v))),
            Order::CreatedDescending => found.reverse(),
            Order::CreatedAscending => {}
        }
        found
    }

    fn as_of(&self) -> Option<Timestamp> {
        match self.behavior.as_of {
            AsOf::LastStamp => Some(Timestamp::from_millis(self.last_stamp)),
            AsOf::Now => Some(Timestamp::from_millis(self.clock)),
            AsOf::Absent => None,
        }
    }
}

impl fmt::Debug for ServiceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceModel")
    }
}
