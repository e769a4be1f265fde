//! Builders for the tests of several modules.

use bytes::Bytes;
use invoicing_core::{CompanyId, EventId, Timestamp, WebhookId};
use uuid::Uuid;

use crate::queue::Job;

pub(super) fn webhook(number: u64) -> WebhookId {
    WebhookId(Uuid::from_u128(number.into()))
}

/// A delivery without an attempt.
pub(super) fn job(webhook: WebhookId, delivery: i64) -> Job {
    Job {
        cause: None,
        delivery,
        company: CompanyId(Uuid::nil()),
        webhook,
        event: EventId(Uuid::nil()),
        body: Bytes::new(),
        is_ping: false,
        attempts: 0,
        claims: 1,
        number: 1,
        lease_until: Timestamp::from_millis(60_000),
        token: 1,
    }
}
