//! The choice of answers that give way. All are chosen before any is ended: where they do not suffice, none is.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::ledger::{Answer, AnswerId, Ledger};
use super::shares::{Limits, Share};
use super::{ConnectionHandle, Holder, Owner};
use crate::api::error::ApiError;

/// What is asked of the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) bytes: usize,
    /// Bytes that the same request holds already.
    pub(super) reserved: usize,
}

/// What is to be ended.
#[derive(Debug, Default)]
struct Plan {
    /// Answers whose rest is to be dropped.
    rests: HashSet<AnswerId>,
    /// Connections to be closed for what the server has taken of their answers: it cannot be dropped in any other way.
    connections: HashMap<u64, ConnectionHandle>,
    freed: HashMap<Share, usize>,
}

/// Ends unread answers until the demand fits; they are returned.
///
/// # Errors
/// `overloaded` where that does not suffice. Then nothing is ended.
pub(super) fn make_room(
    ledger: &mut Ledger,
    limits: &Limits,
    owner: &Owner,
    demand: Demand,
) -> Result<Vec<Bytes>, ApiError> {
    let plan = plan(ledger, limits, owner, demand)?;
    let mut ended: Vec<_> = plan.rests.into_iter().filter_map(|id| ledger.drop_rest(id)).collect();
    for connection in plan.connections.into_values() {
        ended.extend(ledger.close(&connection));
    }
    Ok(ended)
}

/// Chooses what to end, so that the demand fits.
///
/// # Errors
/// `overloaded` where nothing suffices.
fn plan(ledger: &Ledger, limits: &Limits, owner: &Owner, demand: Demand) -> Result<Plan, ApiError> {
    let mut planner = Planner { ledger, owner, demand, plan: Plan::default() };
    if ledger.bytes(Share::Total).saturating_add(demand.bytes) <= limits.smallest {
        return Ok(planner.plan);
    }
    for share in owner.shares().chain([Share::Total]) {
        let held = ledger.bytes(share);
        if held == demand.reserved && Limits::admits_one_of_any_size(share) {
            continue;
        }
        let most = limits.of(share, demand.reserved.saturating_add(demand.bytes));
        let fits = |plan: &Plan| held.saturating_add(demand.bytes) <= most.saturating_add(plan.freed(share));
        if !fits(&planner.plan) {
            planner.choose(share, &fits);
        }
        if !fits(&planner.plan) {
            return Err(ApiError::Overloaded);
        }
    }
    Ok(planner.plan)
}

struct Planner<'l> {
    ledger: &'l Ledger,
    owner: &'l Owner,
    demand: Demand,
    plan: Plan,
}

impl Planner<'_> {
    /// Adds to the plan until it fits or nothing is left to choose.
    fn choose(&mut self, share: Share, fits: &impl Fn(&Plan) -> bool) {
        let own = self.owner.holder.share();
        let own_bytes = self.ledger.bytes(own).saturating_add(self.demand.bytes);
        let ledger = self.ledger;
        if share == Share::Total {
            let larger = holders_of_more_than(ledger, own_bytes);
            for &holder in &larger {
                let is_over = |plan: &Plan| {
                    fits(plan) || ledger.bytes(holder) <= own_bytes.saturating_add(plan.freed(holder))
                };
                // Even if its peers read: a peer that reads a byte now and then could otherwise keep all.
                self.drop_rests(ledger.answers(holder), &is_over);
            }
            self.drop_rests(ledger.stalled(own), fits);
            for holder in larger {
                self.close_connections(holder, &|_| true, fits);
            }
            self.close_connections(own, &|connection| serves_only(ledger, connection, own), fits);
        } else {
            let is_larger = |holder| holder == own || ledger.bytes(holder) > own_bytes;
            let stalled = ledger.stalled(share);
            self.drop_rests(stalled.filter(|(_, answer)| is_larger(answer.owner.holder.share())), fits);
            self.close_connections(share, &|connection| serves_only(ledger, connection, own), fits);
        }
    }

    fn drop_rests<'a>(
        &mut self,
        answers: impl Iterator<Item = (AnswerId, &'a Answer)>,
        is_done: &impl Fn(&Plan) -> bool,
    ) {
        for (id, answer) in answers {
            if is_done(&self.plan) {
                return;
            }
            self.plan.drop_rest(id, answer);
        }
    }

    /// Closes connections of a share on which an answer stands still, where they may be closed.
    fn close_connections(
        &mut self,
        share: Share,
        may_close: &impl Fn(u64) -> bool,
        is_done: &impl Fn(&Plan) -> bool,
    ) {
        // Not that of the demand itself, which would not see its answer.
        let mut seen: HashSet<u64> = self.owner.connection.iter().map(|connection| connection.id).collect();
        for (_, answer) in self.ledger.stalled(share).filter(|(_, answer)| answer.sending > 0) {
            if is_done(&self.plan) {
                return;
            }
            if let Some(connection) = &answer.owner.connection
                && seen.insert(connection.id)
                && may_close(connection.id)
            {
                self.close_connection(connection);
            }
        }
    }

    fn close_connection(&mut self, connection: &ConnectionHandle) {
        if self.plan.connections.insert(connection.id, connection.clone()).is_none() {
            for (id, answer) in self.ledger.answers(Share::Connection(connection.id)) {
                self.plan.drop_rest(id, answer);
                self.plan.free(&answer.owner, answer.sending);
            }
        }
    }
}

impl Plan {
    fn freed(&self, share: Share) -> usize {
        self.freed.get(&share).copied().unwrap_or_default()
    }

    fn drop_rest(&mut self, id: AnswerId, answer: &Answer) {
        if answer.held > 0 && self.rests.insert(id) {
            self.free(&answer.owner, answer.held);
        }
    }

    fn free(&mut self, owner: &Owner, bytes: usize) {
        for share in owner.shares().chain([Share::Total]) {
            *self.freed.entry(share).or_default() += bytes;
        }
    }
}

/// Whether a connection holds answers of one holder only. Others on it, as behind a proxy, would lose theirs. Downloads
/// of other documents that stand still do not count, as any caller can add some.
fn serves_only(ledger: &Ledger, connection: u64, holder: Share) -> bool {
    let share = Share::Connection(connection);
    let is_own = |answer: &Answer| answer.owner.holder.share() == holder;
    let own = ledger.answers(share).filter(|(_, answer)| is_own(answer));
    let idle = ledger.stalled(share).filter(|(_, answer)| {
        matches!(answer.owner.holder, Holder::Document(_) | Holder::Link(_)) && !is_own(answer)
    });
    own.chain(idle).map(|(_, answer)| answer.held + answer.sending).sum::<usize>() == ledger.bytes(share)
}

/// The holders beyond so many bytes, the largest first.
fn holders_of_more_than(ledger: &Ledger, bytes: usize) -> Vec<Share> {
    let larger = ledger.usage().filter(|(share, held)| share.is_of_holder() && *held > bytes);
    let mut larger: Vec<_> = larger.map(|(share, held)| (Reverse(held), share)).collect();
    larger.sort_unstable();
    larger.into_iter().map(|(_, share)| share).collect()
}
