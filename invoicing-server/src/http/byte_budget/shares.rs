//! The parts of the budget, and their sizes.

use invoicing_core::CompanyId;

use super::{Holder, Owner, Proof};
use crate::config::MIN_BUFFERED_BYTES;
use crate::documents::DocumentKey;

/// Largest size of a request or an answer that may use the reserves: a head over HTTP/2 and a
/// piece.
pub(crate) const SMALL: usize = 32 * 1024;

/// A part of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Share {
    /// A document, for readers with one kind of proof.
    Document(DocumentKey, Proof),
    /// All documents of a company, likewise.
    Documents(CompanyId, Proof),
    /// The pages of a signing link, by the hash of its token.
    Link([u8; 32]),
    /// The pages of all signing links of a company.
    Links(CompanyId),
    /// The keys and people of a company.
    Members(CompanyId),
    /// All of a company. Has no limit.
    Company(CompanyId),
    Unknown,
    /// Unknown callers of a connection.
    UnknownOn(u64),
    /// Documents and unknown callers of a connection. Holders of keys and links do not count: their
    /// companies have shares, and a proxy may serve several.
    Keyless(u64),
    /// All of a connection. Has no limit.
    Connection(u64),
    Total,
}

impl Holder {
    /// The share by which holders are compared.
    pub(super) fn share(self) -> Share {
        match self {
            Self::Unknown => Share::Unknown,
            Self::Company(company)
            | Self::Link { company, .. }
            | Self::Document(DocumentKey { company, .. }, _) => Share::Company(company),
        }
    }
}

impl Owner {
    /// The shares in which the owner's answers count: from the narrowest to the widest, so that its
    /// own answers are ended first.
    pub(super) fn shares(&self) -> impl Iterator<Item = Share> + use<> {
        let connection = self.connection.as_ref().map(|connection| connection.id);
        let (narrow, wide) = match self.holder {
            Holder::Document(key, proof) => {
                (Some(Share::Document(key, proof)), Some(Share::Documents(key.company, proof)))
            }
            Holder::Link { company, token } => (Some(Share::Link(token)), Some(Share::Links(company))),
            Holder::Company(company) => (None, Some(Share::Members(company))),
            Holder::Unknown => (connection.map(Share::UnknownOn), None),
        };
        let is_keyless = matches!(self.holder, Holder::Unknown | Holder::Document(..));
        let keyless = connection.filter(|_| is_keyless).map(Share::Keyless);
        let of_holder = narrow.into_iter().chain(wide).chain([self.holder.share()]);
        of_holder.chain(keyless).chain(connection.map(Share::Connection))
    }
}

/// The budget in bytes, of which each share is a part.
#[derive(Debug)]
pub(super) struct Limits {
    total: usize,
}

impl Limits {
    pub(super) fn new(total: usize) -> Self {
        Self { total }
    }

    /// Limit on all bytes that were taken and not sent: an answer that keeps below it may leave at
    /// once.
    pub(super) fn at_once(&self) -> usize {
        self.total / 8
    }

    /// The maximum that one answer can reserve: half of the part for large answers, so that it is
    /// served beside others.
    pub(super) fn largest_answer(&self) -> usize {
        self.of(Share::Total, usize::MAX) / 2
    }

    /// The limit of a share, for a request of `size` bytes in all.
    pub(super) fn of(&self, share: Share, size: usize) -> usize {
        // Each of these is enough for one request.
        let part = |divisor: usize| self.enough_for_one(self.total / divisor);
        // A large answer leaves a reserve in the budget. A small one also has a reserve in the
        // shares of its company and its connection.
        let reserve = |share: usize| if size <= SMALL { share / 8 } else { 0 };
        let two = size.saturating_mul(2);
        match share {
            // Two readers of the largest document at a time, beside the pieces that are under way, and
            // not more: a document may have 5 MB, and its readers leave room to those of others.
            Share::Document(..) => (self.total / 16).max((self.total / 128).saturating_add(two)),
            Share::Documents(..) => (self.total / 16 * 3).max((self.total / 128).saturating_add(two)),
            Share::Link(_) => part(32),
            Share::Links(_) => part(8),
            Share::Members(_) | Share::Keyless(_) => part(4) + reserve(part(4)),
            Share::Unknown => self.total / 16,
            // Smaller, so that a few connections do not take the share of all unknown callers.
            Share::UnknownOn(_) => self.total / 512,
            Share::Company(_) | Share::Connection(_) => usize::MAX,
            Share::Total => self.enough_for_one(self.total - self.total / 8 + reserve(self.total)),
        }
    }

    fn enough_for_one(&self, bytes: usize) -> usize {
        bytes.max(MIN_BUFFERED_BYTES).min(self.total)
    }

    /// True if an answer that is larger than the share is admitted while the share holds no other
    /// bytes.
    pub(super) fn admits_one_of_any_size(share: Share) -> bool {
        !matches!(share, Share::Unknown | Share::Total)
    }
}
