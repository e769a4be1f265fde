//! The bytes that are held, with their owner and the pace of their peer.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::shares::Share;
use super::{ConnectionHandle, Holder, Owner, Proof};
use crate::documents::DocumentKey;
use crate::http::error::ApiError;

/// Time by which a peer may be behind [`LOWEST_SPEED`] before its answer may be ended for another
/// one.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes per second at which a peer must read an answer, beyond the time that every answer has.
pub(crate) const LOWEST_SPEED: usize = 16 * 1024;
/// Downloads of one document at once by one kind of proof, from its check until the last piece was
/// sent.
pub(super) const DOWNLOADS_PER_DOCUMENT: usize = 8;

pub(super) type AnswerId = u64;
/// A document, and the proof of those who download it.
pub(super) type Download = (DocumentKey, Proof);

/// The answers and the bytes that are held, by share.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    total: usize,
    /// Bytes of all answers that the server has taken and not sent.
    sending: usize,
    usage: HashMap<Share, Usage>,
    answers: HashMap<AnswerId, LedgerEntry>,
    next_id: AnswerId,
    downloads: HashMap<Download, usize>,
}

/// The bytes and the answers in one share.
#[derive(Debug, Default)]
struct Usage {
    bytes: usize,
    answers: HashSet<AnswerId>,
}

/// An answer that is not sent to its end.
#[derive(Debug)]
pub(super) struct LedgerEntry {
    pub(super) owner: Owner,
    /// Bytes that the server has not taken.
    rest: Bytes,
    /// Bytes that `rest` keeps in memory: all of the answer, as pieces are copies. 0 once the last
    /// piece was taken or the rest dropped.
    pub(super) held: usize,
    /// Size of the pieces that the server has taken and not sent.
    pub(super) sending: usize,
    /// The instant from which the peer is too slow, if it reads nothing until then. Bytes that were
    /// read put it off by the time that they may take.
    pub(super) late_at: Instant,
    deadline: Option<Instant>,
    download: Option<Download>,
}

impl LedgerEntry {
    /// True if the peer reads the answer too slowly, or not at all.
    pub(super) fn is_late(&self) -> bool {
        self.late_at <= Instant::now()
    }
}

/// The time that a peer may take to read `bytes` bytes.
fn reading_time(bytes: usize) -> Duration {
    Duration::from_millis((bytes * 1_000 / LOWEST_SPEED) as u64)
}

impl Ledger {
    pub(super) fn add(&mut self, owner: &Owner, bytes: usize) {
        if bytes > 0 {
            self.total += bytes;
            owner.shares().for_each(|share| self.usage.entry(share).or_default().bytes += bytes);
        }
    }

    pub(super) fn subtract(&mut self, owner: &Owner, bytes: usize) {
        self.total -= bytes;
        for share in owner.shares() {
            if let Some(usage) = self.usage.get_mut(&share) {
                usage.bytes -= bytes;
                if usage.bytes == 0 && usage.answers.is_empty() {
                    self.usage.remove(&share);
                }
            }
        }
    }

    pub(super) fn bytes(&self, share: Share) -> usize {
        if share == Share::Total {
            return self.total;
        }
        self.usage.get(&share).map_or(0, |usage| usage.bytes)
    }

    #[cfg(test)]
    pub(super) fn shares_in_use(&self) -> usize {
        self.usage.len()
    }

    pub(super) fn sending(&self) -> usize {
        self.sending
    }

    pub(super) fn answer(&self, id: AnswerId) -> Option<&LedgerEntry> {
        self.answers.get(&id)
    }

    /// The answers in a share.
    pub(super) fn answers(&self, share: Share) -> impl Iterator<Item = (AnswerId, &LedgerEntry)> {
        let all = (share == Share::Total).then_some(&self.answers).into_iter().flat_map(HashMap::keys);
        let ids = self.usage.get(&share).into_iter().flat_map(|usage| &usage.answers);
        all.chain(ids).filter_map(|id| self.answers.get(id).map(|answer| (*id, answer)))
    }

    /// Counts a download of the owner's document.
    ///
    /// # Errors
    /// `overloaded` if there are too many and none is late.
    pub(super) fn begin_download(
        &mut self,
        owner: &Owner,
        ended: &mut Vec<Bytes>,
    ) -> Result<Option<Download>, ApiError> {
        let Holder::Document(key, proof) = owner.holder else { return Ok(None) };
        let download = (key, proof);
        if self.downloads.get(&download).is_some_and(|downloads| *downloads >= DOWNLOADS_PER_DOCUMENT) {
            let downloads =
                self.answers(Share::Document(key, proof)).filter(|(_, answer)| answer.download.is_some());
            let slowest = downloads.min_by_key(|(_, answer)| answer.late_at);
            let (id, _) = slowest.filter(|(_, answer)| answer.is_late()).ok_or(ApiError::Overloaded)?;
            ended.extend(self.drop_rest(id));
        }
        *self.downloads.entry(download).or_default() += 1;
        Ok(Some(download))
    }

    pub(super) fn end_download(&mut self, download: Option<Download>) {
        let Some(download) = download else { return };
        if let Some(downloads) = self.downloads.get_mut(&download) {
            *downloads -= 1;
            if *downloads == 0 {
                self.downloads.remove(&download);
            }
        }
    }

    /// Takes over the bytes and the download of a reservation: `rest` is taken in pieces, `sending`
    /// bytes leave at once.
    pub(super) fn insert(
        &mut self,
        owner: Owner,
        rest: Bytes,
        sending: usize,
        download: Option<Download>,
    ) -> AnswerId {
        let held = rest.len();
        self.sending += sending;
        let (id, late_at) = (self.next_id, Instant::now() + PATIENCE.max(reading_time(sending)));
        self.next_id += 1;
        for share in owner.shares() {
            self.usage.entry(share).or_default().answers.insert(id);
        }
        let answer = LedgerEntry { owner, rest, held, sending, late_at, deadline: None, download };
        self.answers.insert(id, answer);
        id
    }

    pub(super) fn set_deadline(&mut self, id: AnswerId, deadline: Instant) {
        if let Some(answer) = self.answers.get_mut(&id) {
            answer.deadline = Some(deadline);
        }
    }

    /// The next piece, of at most `max` bytes. `None` once the rest was dropped.
    pub(super) fn take_piece(&mut self, id: AnswerId, max: usize) -> Option<Bytes> {
        let answer = self.answers.get_mut(&id).filter(|answer| answer.held > 0)?;
        let piece = answer.rest.split_to(max.min(answer.rest.len()));
        answer.sending += piece.len();
        self.sending += piece.len();
        let held = if answer.rest.is_empty() { mem::take(&mut answer.held) } else { 0 };
        let owner = answer.owner.clone();
        self.add(&owner, piece.len());
        self.subtract(&owner, held);
        Some(piece)
    }

    /// Subtracts a piece that was sent or dropped.
    pub(super) fn piece_is_sent(&mut self, id: AnswerId, bytes: usize) {
        // An answer whose connection was closed is no longer in the ledger.
        let Some(answer) = self.answers.get_mut(&id) else { return };
        if answer.held == 0 && answer.sending == bytes {
            self.remove(id);
            return;
        }
        answer.sending -= bytes;
        self.sending -= bytes;
        answer.late_at = (answer.late_at + reading_time(bytes)).min(Instant::now() + PATIENCE);
        let owner = answer.owner.clone();
        self.subtract(&owner, bytes);
    }

    /// Drops the bytes that the server has not taken. The answer no longer counts as a download.
    pub(super) fn drop_rest(&mut self, id: AnswerId) -> Option<Bytes> {
        let answer = self.answers.get_mut(&id)?;
        let (rest, held) = (mem::take(&mut answer.rest), mem::take(&mut answer.held));
        let (owner, download) = (answer.owner.clone(), answer.download.take());
        let is_sent = answer.sending == 0;
        self.subtract(&owner, held);
        self.end_download(download);
        if is_sent {
            self.remove(id);
        }
        Some(rest)
    }

    /// Ends all answers of a connection, and notifies it to close.
    pub(super) fn close(&mut self, connection: &ConnectionHandle) -> Vec<Bytes> {
        connection.close.notify_one();
        let ids: Vec<_> = self.answers(Share::Connection(connection.id)).map(|(id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Drops the rests of answers past their deadline.
    pub(super) fn end_overdue(&mut self, now: Instant) -> Vec<Bytes> {
        let is_overdue = |answer: &LedgerEntry| answer.deadline.is_some_and(|deadline| deadline <= now);
        let overdue: Vec<_> =
            self.answers.iter().filter(|(_, answer)| is_overdue(answer)).map(|(id, _)| *id).collect();
        overdue.into_iter().filter_map(|id| self.drop_rest(id)).collect()
    }

    fn remove(&mut self, id: AnswerId) -> Option<Bytes> {
        let answer = self.answers.remove(&id)?;
        for share in answer.owner.shares() {
            if let Some(usage) = self.usage.get_mut(&share) {
                usage.answers.remove(&id);
            }
        }
        self.sending -= answer.sending;
        self.subtract(&answer.owner, answer.held + answer.sending);
        self.end_download(answer.download);
        Some(answer.rest)
    }
}
