//! The choice of answers that are ended so that others find room.

use std::cmp::Reverse;
use std::collections::HashSet;

use bytes::Bytes;

use super::ledger::{AnswerId, Ledger, LedgerEntry};
use super::shares::{Limits, Share};
use super::{Holder, Owner};
use crate::http::error::ApiError;

/// The bytes that a request needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) bytes: usize,
    /// Bytes that the same request holds already.
    pub(super) reserved: usize,
}

/// Ends unread answers until the demand fits. Their bytes are added to `ended`.
///
/// # Errors
/// `overloaded` if that does not suffice.
pub(super) fn make_room(
    ledger: &mut Ledger,
    limits: &Limits,
    owner: &Owner,
    demand: Demand,
    ended: &mut Vec<Bytes>,
) -> Result<(), ApiError> {
    let own = ledger.bytes(owner.holder.share()).saturating_add(demand.bytes);
    for share in owner.shares().chain([Share::Total]) {
        let held = ledger.bytes(share);
        if held == demand.reserved && Limits::admits_one_of_any_size(share) {
            continue;
        }
        let max = limits.of(share, demand.reserved.saturating_add(demand.bytes));
        let needed = held.saturating_add(demand.bytes).saturating_sub(max);
        if needed > 0 && !(Needy { owner, share, own }).end_answers(ledger, needed, ended) {
            return Err(ApiError::Overloaded);
        }
    }
    Ok(())
}

/// An owner that needs room in a share.
struct Needy<'o> {
    owner: &'o Owner,
    share: Share,
    /// Bytes of the owner's holder, with the demand.
    own: usize,
}

impl Needy<'_> {
    /// Frees `needed` bytes in the share, or none if all answers that give way have fewer. Returns
    /// true if they are free.
    fn end_answers(&self, ledger: &mut Ledger, needed: usize, ended: &mut Vec<Bytes>) -> bool {
        let candidates = self.candidates(ledger);
        let answers = candidates.iter().filter_map(|id| ledger.answer(*id));
        let giving_way = answers.filter(|answer| self.gives_way(ledger, answer));
        if giving_way.map(|answer| answer.held + answer.sending).sum::<usize>() < needed {
            return false;
        }
        let target = ledger.bytes(self.share) - needed;
        let is_free = |ledger: &Ledger| ledger.bytes(self.share) <= target;
        for id in &candidates {
            if !is_free(ledger) && ledger.answer(*id).is_some_and(|answer| self.gives_way(ledger, answer)) {
                ended.extend(ledger.drop_rest(*id));
            }
        }
        // The demand's own connection stays open for its answer.
        let mut spared: HashSet<u64> = self.owner.connection.iter().map(|connection| connection.id).collect();
        for id in &candidates {
            if !is_free(ledger)
                && let Some(answer) = ledger.answer(*id).filter(|answer| answer.sending > 0)
                && let Some(connection) = answer.owner.connection.clone()
                && self.gives_way(ledger, answer)
                && answer.is_late()
                && spared.insert(connection.id)
                && self.may_close(ledger, answer, connection.id)
            {
                ended.extend(ledger.close(&connection));
            }
        }
        is_free(ledger)
    }

    /// The answers in the share: first those of the largest holder, and of these the one that is late
    /// for longest.
    fn candidates(&self, ledger: &Ledger) -> Vec<AnswerId> {
        let mut candidates: Vec<_> = ledger
            .answers(self.share)
            .map(|(id, answer)| {
                let holder = ledger.bytes(answer.owner.holder.share());
                (Reverse(holder), answer.late_at, id)
            })
            .collect();
        candidates.sort_unstable();
        candidates.into_iter().map(|(.., id)| id).collect()
    }

    /// True if an answer may be ended: it is late, and its holder is that of the demand or has more.
    /// If all memory is used up, or what callers without a key may have of a connection, a larger
    /// holder loses the answer even if its peer keeps pace.
    fn gives_way(&self, ledger: &Ledger, answer: &LedgerEntry) -> bool {
        let (own, holder) = (self.owner.holder.share(), answer.owner.holder.share());
        if holder == own {
            return answer.is_late();
        }
        let is_shared = matches!(self.share, Share::Total | Share::Keyless(_));
        ledger.bytes(holder) > self.own && (is_shared || answer.is_late())
    }

    /// True if a connection may be closed for an answer, as the bytes that the server has taken are
    /// freed in no other way. A connection that serves other holders stays open, unless all memory
    /// is used up and the answer is of a larger holder.
    fn may_close(&self, ledger: &Ledger, answer: &LedgerEntry, connection: u64) -> bool {
        let own = self.owner.holder.share();
        let is_of_larger = answer.owner.holder.share() != own;
        self.share == Share::Total && is_of_larger || serves_only(ledger, connection, own)
    }
}

/// True if a connection holds answers of one holder only. Other holders on it, as behind a proxy,
/// would lose theirs. Answers without a key that are late do not count, as any caller can add some.
fn serves_only(ledger: &Ledger, connection: u64, holder: Share) -> bool {
    let share = Share::Connection(connection);
    let answers = ledger.answers(share).map(|(_, answer)| answer).filter(|answer| {
        let has_key = matches!(answer.owner.holder, Holder::Company(_));
        answer.owner.holder.share() == holder || !has_key && answer.is_late()
    });
    answers.map(|answer| answer.held + answer.sending).sum::<usize>() == ledger.bytes(share)
}
