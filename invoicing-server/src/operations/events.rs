//! What has happened, and who has been told: for the host's own pages and tests.

use invoicing_core::EventId;
use uuid::Uuid;

use super::CompanyHandle;
use crate::Error;
use crate::store::deliveries::{self, DeliveryRecord};
use crate::store::events::{self, EventRecord};
use crate::store::reading;

/// The recorded events of a company.
#[derive(Debug, Clone, Copy)]
pub struct Events<'a>(pub(super) &'a CompanyHandle);

impl Events<'_> {
    /// Events behind a given one (or from the first), in the order of their ids, at most `limit`.
    pub async fn list(&self, after: Option<EventId>, limit: u32) -> Result<Vec<EventRecord>, Error> {
        let after = after.unwrap_or(EventId(Uuid::nil()));
        reading!(self.0.inner.store, |c| events::list(c, self.0.id, after, limit))
    }

    /// The deliveries of an event, one per webhook that subscribed to it when it happened.
    pub async fn deliveries(&self, event: EventId) -> Result<Vec<DeliveryRecord>, Error> {
        reading!(self.0.inner.store, |c| deliveries::of_event(c, self.0.id, event))
    }
}
