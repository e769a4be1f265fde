//! The kinds of events that a webhook subscribes to, as bits of a row.

use invoicing_core::{EventKind, Timestamp, WebhookId};

/// The columns of a webhook that an event needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subscriber {
    pub(crate) id: WebhookId,
    pub(super) kinds: i64,
    /// The instant since which its deliveries are kept as skipped.
    pub(super) disabled_at: Option<Timestamp>,
}

impl Subscriber {
    /// A webhook that gets a test delivery, disabled or not.
    pub(super) const fn to_ping(id: WebhookId) -> Self {
        Self { id, kinds: 0, disabled_at: None }
    }

    pub(crate) fn wants(self, kind: EventKind) -> bool {
        self.kinds & bit(kind) != 0
    }
}

/// One bit per kind, by its index in [`EventKind::ALL`], to which new kinds are only ever appended.
pub(crate) fn bit(kind: EventKind) -> i64 {
    EventKind::ALL.iter().position(|known| *known == kind).map_or(0, |index| 1 << index)
}

pub(super) fn to_bits(kinds: &[EventKind]) -> i64 {
    kinds.iter().fold(0, |bits, kind| bits | bit(*kind))
}

pub(super) fn from_bits(bits: i64) -> Vec<EventKind> {
    EventKind::ALL.iter().copied().filter(|kind| bits & bit(*kind) != 0).collect()
}

/// The bits of kinds that a newer version may have added. A change of the known ones leaves them as
/// they are.
pub(super) fn unknown_bits() -> i64 {
    !to_bits(EventKind::ALL)
}
