//! What one node tells the others after a commit. Nothing depends on it: a node that misses a notification polls within
//! seconds.

use invoicing_core::{CompanyId, KeyId, WebhookId};
use serde::{Deserialize, Serialize};

use crate::queue::NewDelivery;

/// A change that other nodes act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Notification {
    /// Deliveries of this webhook are due and not claimed.
    Due(WebhookId),
    /// This webhook has another target, secret or state.
    Webhook(WebhookId),
    /// This key was revoked.
    Key(KeyId),
    /// This company has another plan.
    Plan(CompanyId),
}

impl Notification {
    /// What other nodes need to know of a delivery that has just been committed.
    pub(super) fn of(delivery: &NewDelivery) -> Option<Self> {
        match delivery {
            NewDelivery::Pending(webhook) => Some(Self::Due(*webhook)),
            NewDelivery::Leased(_) => None,
        }
    }
}
