//! The choice of answers that give way to others.

use std::cmp::Reverse;
use std::collections::HashSet;

use bytes::Bytes;

use super::ledger::{Answer, AnswerId, Ledger};
use super::shares::{Limits, Share};
use super::{Holder, Owner};
use crate::api::error::ApiError;

/// What is asked of the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) bytes: usize,
    /// Bytes that the same request holds already.
    pub(super) reserved: usize,
}

/// Ends unread answers until the demand fits; they are added to `ended`.
///
/// # Errors
/// `overloaded` where that does not suffice.
pub(super) fn make_room(
    ledger: &mut Ledger,
    limits: &Limits,
    owner: &Owner,
    demand: Demand,
    ended: &mut Vec<Bytes>,
) -> Result<(), ApiError> {
    for share in owner.shares().chain([Share::Total]) {
        let held = ledger.bytes(share);
        if held == demand.reserved && Limits::admits_one_of_any_size(share) {
            continue;
        }
        let most = limits.of(share, demand.reserved.saturating_add(demand.bytes));
        let fits = |ledger: &Ledger| ledger.bytes(share).saturating_add(demand.bytes) <= most;
        if !fits(ledger) {
            let needy = Needy { owner, share, bytes: demand.bytes };
            needy.end_answers(ledger, fits, ended);
        }
        if !fits(ledger) {
            return Err(ApiError::Overloaded);
        }
    }
    Ok(())
}

/// Who needs room in a share.
struct Needy<'o> {
    owner: &'o Owner,
    share: Share,
    bytes: usize,
}

impl Needy<'_> {
    fn end_answers(&self, ledger: &mut Ledger, fits: impl Fn(&Ledger) -> bool, ended: &mut Vec<Bytes>) {
        let candidates = self.candidates(ledger);
        for id in &candidates {
            if !fits(ledger) && ledger.answer(*id).is_some_and(|answer| self.gives_way(ledger, answer)) {
                ended.extend(ledger.drop_rest(*id));
            }
        }
        // Nor that of the demand itself, which would not see its answer.
        let mut spared: HashSet<u64> = self.owner.connection.iter().map(|connection| connection.id).collect();
        for id in &candidates {
            if !fits(ledger)
                && let Some(answer) = ledger.answer(*id)
                && let Some(connection) = answer.owner.connection.clone()
                && self.gives_way(ledger, answer)
                && answer.stands_still()
                && spared.insert(connection.id)
                && self.may_close(ledger, answer, connection.id)
            {
                ended.extend(ledger.close(&connection));
            }
        }
    }

    /// The answers in the share: first those of the largest holder, and of these the one that has not moved for longest.
    fn candidates(&self, ledger: &Ledger) -> Vec<AnswerId> {
        let mut candidates: Vec<_> = ledger
            .answers(self.share)
            .map(|(id, answer)| {
                let holder = ledger.bytes(answer.owner.holder.share());
                (Reverse(holder), answer.last_progress, id)
            })
            .collect();
        candidates.sort_unstable();
        candidates.into_iter().map(|(.., id)| id).collect()
    }

    /// Whether an answer may be ended: its peer does not read it, and its holder is that of the demand or has more. Where
    /// all memory is used up, a larger holder does not keep it by reading a byte now and then.
    fn gives_way(&self, ledger: &Ledger, answer: &Answer) -> bool {
        let (own, holder) = (self.owner.holder.share(), answer.owner.holder.share());
        let is_larger = ledger.bytes(holder) > ledger.bytes(own).saturating_add(self.bytes);
        let must_stand_still = holder == own || self.share != Share::Total;
        (holder == own || is_larger) && (answer.stands_still() || !must_stand_still)
    }

    /// Whether a connection may be closed for an answer, as what the server has taken can be dropped in no other way. It
    /// stays where it serves others, but for that of a larger holder where all memory is used up.
    fn may_close(&self, ledger: &Ledger, answer: &Answer, connection: u64) -> bool {
        let own = self.owner.holder.share();
        let is_of_larger = answer.owner.holder.share() != own;
        answer.sending > 0
            && (self.share == Share::Total && is_of_larger || serves_only(ledger, connection, own))
    }
}

/// Whether a connection holds answers of one holder only. Others on it, as behind a proxy, would lose theirs. Downloads
/// of other documents that stand still do not count, as any caller can add some.
fn serves_only(ledger: &Ledger, connection: u64, holder: Share) -> bool {
    let share = Share::Connection(connection);
    let answers = ledger.answers(share).map(|(_, answer)| answer).filter(|answer| {
        let is_download = matches!(answer.owner.holder, Holder::Document(_) | Holder::Link(_));
        answer.owner.holder.share() == holder || is_download && answer.stands_still()
    });
    answers.map(|answer| answer.held + answer.sending).sum::<usize>() == ledger.bytes(share)
}
