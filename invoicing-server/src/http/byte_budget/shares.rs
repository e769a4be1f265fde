//! The parts of the budget, and their sizes.

use invoicing_core::CompanyId;

use super::{Holder, Owner};
use crate::config::MIN_BUFFERED_BYTES;
use crate::documents::DocumentKey;

/// Largest size of a request or an answer that may use the reserves: a head over HTTP/2 and a
/// piece.
pub(crate) const SMALL: usize = 32 * 1024;

/// A part of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Share {
    Document(DocumentKey),
    /// All documents of a company.
    Documents(CompanyId),
    /// Requests and answers of the holders of a company's signing links.
    Links(CompanyId),
    Company(CompanyId),
    Unknown,
    /// Unknown callers of a connection.
    UnknownOn(u64),
    /// Documents and unknown callers of a connection. Its holders of keys do not count: their
    /// companies have shares, and a proxy may serve several.
    Keyless(u64),
    /// All of a connection. Has no limit.
    Connection(u64),
    Total,
}

impl Holder {
    pub(super) fn share(self) -> Share {
        match self {
            Self::Unknown => Share::Unknown,
            Self::Company(company) | Self::Link(company) | Self::Document(DocumentKey { company, .. }) => {
                Share::Company(company)
            }
        }
    }
}

impl Owner {
    /// The shares in which the owner's answers count: from the narrowest to the widest, so that its
    /// own answers are ended first.
    pub(super) fn shares(&self) -> impl Iterator<Item = Share> + use<> {
        let (document, documents) = match self.holder {
            Holder::Document(key) => (Some(Share::Document(key)), Some(Share::Documents(key.company))),
            Holder::Link(company) => (None, Some(Share::Links(company))),
            Holder::Unknown | Holder::Company(_) => (None, None),
        };
        let connection = self.connection.as_ref().map(|connection| connection.id);
        let unknown = connection.filter(|_| self.holder == Holder::Unknown).map(Share::UnknownOn);
        // Answers to holders of links do not count: their companies bound them, as for holders of
        // keys.
        let is_keyless = matches!(self.holder, Holder::Unknown | Holder::Document(_));
        let keyless = connection.filter(|_| is_keyless).map(Share::Keyless);
        let narrow = document.into_iter().chain(documents).chain(unknown).chain([self.holder.share()]);
        narrow.chain(keyless).chain(connection.map(Share::Connection))
    }
}

/// The budget and its shares, in bytes.
#[derive(Debug)]
pub(super) struct Limits {
    /// Limit on all bytes that were taken and not sent: an answer that keeps below it may leave at
    /// once.
    pub(super) at_once: usize,
    total: usize,
    company: usize,
    keyless: usize,
    documents: usize,
    document: usize,
    unknown: usize,
    unknown_on_connection: usize,
}

impl Limits {
    pub(super) fn new(total: usize) -> Self {
        // Each share is enough for one request.
        let share = |divisor: usize| (total / divisor).max(MIN_BUFFERED_BYTES).min(total);
        Self {
            at_once: total / 8,
            total,
            company: share(4),
            keyless: share(4),
            documents: share(8),
            document: total / 16,
            unknown: total / 16,
            unknown_on_connection: total / 512,
        }
    }

    /// The most that one answer can reserve: half of the part for large answers, so that it is
    /// served beside others.
    pub(super) fn largest_answer(&self) -> usize {
        self.of(Share::Total, usize::MAX) / 2
    }

    /// The limit of a share, for a request of `size` bytes in all.
    pub(super) fn of(&self, share: Share, size: usize) -> usize {
        // A large answer leaves a reserve in the budget. A small one also has a reserve in the
        // shares of its company and its connection.
        let reserve = |share: usize| if size <= SMALL { share / 8 } else { 0 };
        match share {
            // Two readers of the largest document are served at a time.
            Share::Document(_) => self.document.max(size.saturating_mul(2)),
            Share::Documents(_) | Share::Links(_) => self.documents.max(size.saturating_mul(2)),
            Share::Company(_) => self.company + reserve(self.company),
            Share::Unknown => self.unknown,
            // Smaller, so that a few connections do not take the share of all unknown callers.
            Share::UnknownOn(_) => self.unknown_on_connection,
            Share::Keyless(_) => self.keyless + reserve(self.keyless),
            Share::Connection(_) => usize::MAX,
            Share::Total => {
                (self.total - self.total / 8 + reserve(self.total)).max(MIN_BUFFERED_BYTES).min(self.total)
            }
        }
    }

    /// True if an answer that is larger than the share is admitted while the share holds no other
    /// bytes.
    pub(super) fn admits_one_of_any_size(share: Share) -> bool {
        !matches!(share, Share::Unknown | Share::Total)
    }
}
