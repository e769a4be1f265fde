//! Notifications of a commit to the caches of its own node and to the other nodes.
//!
//! Correct results never depend on the other nodes: a node that misses a notification finds the
//! change with its next poll.

use invoicing_core::{CompanyId, KeyId, Plan, WebhookId};
use serde::{Deserialize, Serialize};

use crate::queue::NewDelivery;

/// A change that caches and other nodes act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Notification {
    /// Deliveries of this webhook are due and not claimed.
    Due(WebhookId),
    /// This webhook has another target, secret or state.
    Webhook(WebhookId),
    /// This key was revoked.
    Key(KeyId),
    /// A key was issued.
    KeyIssued,
    /// This company has another plan.
    Plan { company: CompanyId, plan: Plan },
}

/// A message to the listener of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// This node or another one has committed a change.
    Notification(Notification),
    /// Notifications of other nodes may have been missed.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a SQLite file has no other nodes"))]
    Gap,
}

/// The listener of a node, through which its caches follow committed changes.
pub(crate) type OnIncoming = Box<dyn Fn(Incoming) + Send + Sync>;

impl Notification {
    /// The notification of the other nodes about a delivery that was just committed; `None` if they
    /// need none.
    pub(super) fn of(delivery: &NewDelivery) -> Option<Self> {
        match delivery {
            NewDelivery::Pending(webhook) => Some(Self::Due(*webhook)),
            NewDelivery::Leased(_) => None,
        }
    }
}
