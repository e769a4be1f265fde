//! What one node tells the others once it is committed. Nothing depends on it: whoever missed it finds out by itself
//! within seconds.

use invoicing_core::{CompanyId, KeyId, WebhookId};
use serde::{Deserialize, Serialize};

use crate::dispatch::FreshJob;

/// A piece of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum News {
    /// Deliveries of this webhook are due, and nobody holds them.
    Due(WebhookId),
    /// This webhook has another target, secret or state.
    Webhook(WebhookId),
    /// This key was revoked.
    Key(KeyId),
    /// This company has another plan.
    Plan(CompanyId),
}

impl News {
    /// What the others should know of a delivery that has just been committed.
    pub(super) fn of(job: &FreshJob) -> Option<Self> {
        match job {
            FreshJob::Waiting(webhook) => Some(Self::Due(*webhook)),
            FreshJob::Held(_) => None,
        }
    }
}
