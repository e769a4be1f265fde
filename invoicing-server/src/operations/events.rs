//! What has happened, and which webhooks have been told: for the host's own pages and tests.

use invoicing_core::EventId;
use uuid::Uuid;

use super::CompanyHandle;
use crate::Error;
use crate::store::Tables;
use crate::store::deliveries::DeliveryRecord;
use crate::store::events::EventRecord;

/// The recorded events of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, NewQuote, Plan};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// # company.quotes().create(&NewQuote::empty(client.id)).await?;
/// // The id of the last event that was read is a cursor that misses none.
/// let mut last = None;
/// for event in company.events().list(last, 100).await? {
///     println!("{} at {}: {}", event.kind, event.timestamp, event.body);
///     for delivery in company.events().deliveries(event.id).await? {
///         println!("  {} is {:?}", delivery.webhook, delivery.status);
///     }
///     last = Some(event.id);
/// }
/// assert!(company.events().list(last, 100).await?.is_empty());
/// # Ok(()) }
/// ```
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
