//! A service in memory: the contract's lists, and those of servers that promise less.

mod render;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use uuid::Uuid;

use crate::{Timestamp, Version};
pub(crate) use render::pause;

/// How a server lists what has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The contract's.
    ModifiedDescending,
    ModifiedAscending,
    CreatedDescending,
    CreatedAscending,
}

impl Order {
    pub(crate) const ALL: [Self; 4] =
        [Self::ModifiedDescending, Self::ModifiedAscending, Self::CreatedDescending, Self::CreatedAscending];
}

/// What a server states as `asOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsOf {
    /// The last stamp: the contract's.
    LastStamp,
    /// Its clock.
    Now,
    Absent,
}

impl AsOf {
    pub(crate) const ALL: [Self; 3] = [Self::LastStamp, Self::Now, Self::Absent];
}

/// How a server works.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// Items per page. Far fewer than the client asks for, so that few records make many pages.
    pub(crate) page: usize,
    pub(crate) order: Order,
    pub(crate) as_of: AsOf,
    /// Whether records with one stamp are in another order at every request.
    pub(crate) shuffles_ties: bool,
}

impl Habits {
    /// The contract's.
    pub(crate) fn ours(page: usize) -> Self {
        Self { page, order: Order::ModifiedDescending, as_of: AsOf::LastStamp, shuffles_ties: false }
    }
}

/// A change in the service, made by one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// New records, all with one stamp.
    Create(u8),
    /// Existing records, chosen by number, all with one stamp.
    Update(Vec<u8>),
    /// A record of another resource: only the company's stamp moves.
    Elsewhere,
    /// An existing record, by a transaction that took its stamp so many milliseconds ago and becomes visible now.
    UpdateLate(u8, i64),
    /// A new record, by such a transaction.
    CreateLate(i64),
    /// An existing record is gone.
    Delete(u8),
}

/// What happens before a request is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    /// Changes that become visible.
    pub(crate) changes: Vec<Change>,
    /// Whether the request is refused for good.
    pub(crate) refuse: bool,
}

/// What the service holds.
#[derive(Debug)]
pub(crate) struct State {
    habits: Habits,
    /// The server's clock, in milliseconds. It moves with every change.
    clock: i64,
    last_stamp: i64,
    created: u64,
    /// The current versions, in the order of creation.
    pub(crate) records: Vec<Version>,
    /// Every version that ever was, so that no record has one twice.
    all: Vec<Version>,
    /// What happens before each of the next requests.
    pub(crate) script: VecDeque<Before>,
    /// So many of the next requests are answered with 503.
    pub(crate) down: u32,
    /// Requests answered.
    pub(crate) requests: u64,
    /// Of these, those for one record.
    pub(crate) details: u64,
}

/// The service, shared with the test that looks into it.
#[derive(Clone)]
pub(crate) struct Model(Arc<Mutex<State>>);

impl Model {
    pub(crate) fn new(habits: Habits) -> Self {
        Self(Arc::new(Mutex::new(State {
            habits,
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

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
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
            Change::Elsewhere => self.last_stamp = self.clock,
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
        // Ids are in no order that means anything.
        let id = Uuid::from_u128(u128::from(self.created.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let version = Version { updated_at: Timestamp::from_millis(stamp), id };
        self.records.push(version);
        self.committed(version);
    }

    fn update(&mut self, number: u8, stamp: i64) {
        let Some(index) = self.index(number) else { return };
        let mut version = Version { updated_at: Timestamp::from_millis(stamp), ..self.records[index] };
        // Two versions of one record have two stamps: nobody could tell them apart otherwise.
        while version != self.records[index] && self.all.contains(&version) {
            version.updated_at = version.updated_at.plus_millis(1);
        }
        if self.all.contains(&version) {
            return;
        }
        self.records[index] = version;
        self.committed(version);
    }

    fn committed(&mut self, version: Version) {
        self.all.push(version);
        self.last_stamp = self.last_stamp.max(version.updated_at.as_millis());
    }

    fn index(&self, number: u8) -> Option<usize> {
        usize::from(number).checked_rem(self.records.len())
    }

    /// The record that a number chooses.
    pub(crate) fn chosen(&self, number: u8) -> Option<Version> {
        self.index(number).map(|index| self.records[index])
    }

    /// What a list with this `since` holds, in the server's order.
    fn listed(&self, since: Timestamp) -> Vec<Version> {
        let mut found: Vec<_> =
            self.records.iter().copied().filter(|record| record.updated_at >= since).collect();
        let tie = |version: &Version| {
            let salt = if self.habits.shuffles_ties { self.requests } else { 0 };
            let mixed = version.id.as_u128() ^ u128::from(salt.wrapping_mul(0xd6e8_feb8_6659_fd93));
            if salt == 0 { mixed } else { mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) }
        };
        match self.habits.order {
            Order::ModifiedDescending => found.sort_by_key(|v| std::cmp::Reverse((v.updated_at, tie(v)))),
            Order::ModifiedAscending => found.sort_by_key(|v| (v.updated_at, tie(v))),
            Order::CreatedDescending => found.reverse(),
            Order::CreatedAscending => {}
        }
        found
    }

    fn as_of(&self) -> Option<Timestamp> {
        match self.habits.as_of {
            AsOf::LastStamp => Some(Timestamp::from_millis(self.last_stamp)),
            AsOf::Now => Some(Timestamp::from_millis(self.clock)),
            AsOf::Absent => None,
        }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}
