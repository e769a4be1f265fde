//! Who is connected, and who goes when there is no room: the one that has waited longest for its peer.
//!
//! It counts and chooses. Connections end themselves when they are told to.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

/// What a connection waits for its peer to do; whoever is less far goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Waiting {
    /// To send its first request.
    First,
    /// To send another one, or to take an answer.
    Next,
    /// To send the rest of a body.
    Body,
}

/// Everybody who is connected.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    state: Mutex<State>,
    /// Somebody has left, or begun to wait.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Counts everything that happens, so that it is an order.
    clock: u64,
    places: HashMap<u64, Place>,
    /// Connections that nobody works for, in the order in which they would have to go.
    waiting: BTreeMap<(Waiting, u64), u64>,
    /// Answers that have not been taken, by their time limit.
    answers: BTreeMap<(Instant, u64), u64>,
    /// Connections that have been told to go.
    leaving: usize,
    addresses: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Place {
    /// Requests that are being served.
    requests: usize,
    /// Those of them whose body is still coming.
    arriving: usize,
    /// Whether a request has been answered.
    proven: bool,
    waiting: Option<(Waiting, u64)>,
    leaving: bool,
    leave: Arc<Notify>,
}

impl Crowd {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while it holds the lock.
        self.state.lock()
    }

    /// How many are connected.
    pub(super) fn len(&self) -> usize {
        self.state().places.len()
    }

    /// Waits until somebody has left or may be told to leave.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Tells so many to leave that there is room for one more among `most`, as far as there are any that wait; whether
    /// there is room already.
    pub(super) fn make_room(&self, most: usize) -> bool {
        let mut state = self.state();
        while state.places.len() - state.leaving >= most && state.let_go() {}
        state.places.len() < most
    }

    /// Tells those to leave who have not taken their answer in time.
    pub(super) fn end_overdue(&self, now: Instant) {
        let mut state = self.state();
        while let Some(answer) = state.answers.first_entry()
            && answer.key().0 <= now
        {
            let id = answer.remove();
            state.tell(id);
        }
    }

    /// Whether there are fewer than `most` from this address: nobody makes room for one too many.
    pub(super) fn admits(&self, address: IpAddr, most: Option<usize>) -> bool {
        most.is_none_or(|most| {
            self.state().addresses.get(&network(address)).is_none_or(|count| *count < most.max(1))
        })
    }

    /// Another connection; none where there are `most` from its address.
    pub(super) fn join(self: &Arc<Self>, address: IpAddr, most: Option<usize>) -> Option<Arc<Member>> {
        let address = most.map(|_| network(address));
        let mut state = self.state();
        if let (Some(address), Some(most)) = (address, most) {
            let count = state.addresses.entry(address).or_default();
            if *count >= most.max(1) {
                return None;
            }
            *count += 1;
        }
        let id = state.tick();
        let leave = Arc::new(Notify::new());
        let place = Place {
            requests: 0,
            arriving: 0,
            proven: false,
            waiting: None,
            leaving: false,
            leave: Arc::clone(&leave),
        };
        state.places.insert(id, place);
        state.settle(id);
        Some(Arc::new(Member { crowd: Arc::clone(self), id, leave, address }))
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Puts a connection where it belongs after something has happened to it; whether it waits.
    fn settle(&mut self, id: u64) -> bool {
        let now = self.tick();
        let Some(place) = self.places.get_mut(&id) else { return false };
        let waiting = match (place.requests, place.arriving) {
            _ if place.leaving => None,
            (0, _) if place.proven => Some(Waiting::Next),
            (0, _) => Some(Waiting::First),
            (requests, arriving) => (requests == arriving).then_some(Waiting::Body),
        };
        let before = std::mem::replace(&mut place.waiting, waiting.map(|waiting| (waiting, now)));
        if let Some(before) = before {
            self.waiting.remove(&before);
        }
        if let Some(waiting) = waiting {
            self.waiting.insert((waiting, now), id);
        }
        waiting.is_some()
    }

    fn let_go(&mut self) -> bool {
        let Some((_, id)) = self.waiting.pop_first() else { return false };
        self.tell(id);
        true
    }

    fn tell(&mut self, id: u64) {
        if let Some(place) = self.places.get_mut(&id)
            && !place.leaving
        {
            place.leaving = true;
            place.leave.notify_one();
            self.leaving += 1;
            self.settle(id);
        }
    }

    /// Something happens to a connection.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Place)) -> bool {
        self.places.get_mut(&id).map(change);
        self.settle(id)
    }
}

/// One connection of the crowd. It leaves when it is dropped.
#[derive(Debug)]
pub(super) struct Member {
    crowd: Arc<Crowd>,
    id: u64,
    leave: Arc<Notify>,
    address: Option<IpAddr>,
}

impl Member {
    /// Ready when the connection has to go.
    pub(super) async fn told_to_leave(&self) {
        self.leave.notified().await;
    }

    /// The head of a request has come. `None` when the connection has to go: nothing may be begun then.
    pub(super) fn begin(self: &Arc<Self>) -> Option<(Serving, Arriving)> {
        let mut state = self.crowd.state();
        if state.places.get(&self.id).is_none_or(|place| place.leaving) {
            return None;
        }
        state.change(self.id, |place| {
            place.requests += 1;
            place.arriving += 1;
        });
        Some((Serving(Arc::clone(self)), Arriving(Arc::clone(self))))
    }

    /// An answer begins to be sent, and must have been taken by then.
    pub(super) fn answer(self: &Arc<Self>, until: Instant) -> Unsent {
        let mut state = self.crowd.state();
        let key = (until, state.tick());
        state.answers.insert(key, self.id);
        Unsent { member: Arc::clone(self), key }
    }

    fn change(&self, change: impl FnOnce(&mut Place)) {
        if self.crowd.state().change(self.id, change) {
            self.crowd.changed.notify_one();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.crowd.state();
        if let Some(place) = state.places.remove(&self.id) {
            state.leaving -= usize::from(place.leaving);
            if let Some(waiting) = place.waiting {
                state.waiting.remove(&waiting);
            }
        }
        if let Some(address) = self.address
            && let Some(count) = state.addresses.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                state.addresses.remove(&address);
            }
        }
        drop(state);
        self.crowd.changed.notify_one();
    }
}

/// A request that is being served, until it is dropped.
#[derive(Debug)]
pub(super) struct Serving(Arc<Member>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.change(|place| {
            place.requests -= 1;
            place.proven = true;
        });
    }
}

/// A request's body that is still coming, until it is dropped. Dropped before the request is.
#[derive(Debug)]
pub(super) struct Arriving(Arc<Member>);

impl Drop for Arriving {
    fn drop(&mut self) {
        self.0.change(|place| place.arriving -= 1);
    }
}

/// An answer that its peer has not taken, until it is dropped.
#[derive(Debug)]
pub(super) struct Unsent {
    member: Arc<Member>,
    key: (Instant, u64),
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.member.crowd.state().answers.remove(&self.key);
    }
}

/// What counts as one address: of IPv6 the 64 bits that a provider gives to one customer.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests;
