//! What has happened, and which webhooks have been told: for the host's own pages and tests.

use invoicing_core::EventId;
use uuid::Uuid;

use super::CompanyHandle;
use crate::Error;
use crate::store::Tables;
use crate::store::deliveries::DeliveryRecord;
use crate::store::events::EventRecord;

/// The recorded events of a company.
#[derive(Debug, Clone, Copy)]
pub struct Events<'a>(pub(super) &'a CompanyHandle);

impl CompanyHandle {
    /// What has happened to its records.
    pub fn events(&self) -> Events<'_> {
        Events(self)
    }
}

impl Events<'_> {
    /// Events after a given one (or from the first), in the order of their ids, at most `limit`.
    pub async fn list(&self, after: Option<EventId>, limit: u32) -> Result<Vec<EventRecord>, Error> {
        let after = after.unwrap_or(EventId(Uuid::nil()));
        self.0.read(async move |mut tx| tx.events().list(after, limit).await).await
    }

    /// The deliveries of an event, one per webhook that subscribed to it when it happened.
    pub async fn deliveries(&self, event: EventId) -> Result<Vec<DeliveryRecord>, Error> {
        let now = self.0.env().now();
        self.0.read(async move |mut tx| tx.deliveries().of_event(event, now).await).await
    }
}
