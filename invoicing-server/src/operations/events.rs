//! Events and the deliveries of each, for the host's own pages and tests.

use invoicing_core::EventId;
use uuid::Uuid;

use super::CompanyHandle;
use crate::error::Error;
use crate::list_query::EventQuery;
use crate::records::{DeliveryRecord, EventPage, EventRecord};
use crate::store::Tables;

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
/// use invoicing_server::{EventKind, EventQuery};
///
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
///
/// // A page of the host shows the newest first.
/// let page = company.events().page(&EventQuery::default().kind(EventKind::QuoteCreated), 50).await?;
/// println!("{} went to {} webhooks", page.items[0].id, page.items[0].deliveries.delivered);
/// assert_eq!(company.events().get(page.items[0].id).await?.kind, "quote.created");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Events<'a>(pub(super) &'a CompanyHandle);

impl CompanyHandle {
    /// The events of the company's records.
    pub fn events(&self) -> Events<'_> {
        Events(self)
    }
}

impl Events<'_> {
    /// Events after a given one (or from the first), in the order of their ids, at most `limit`.
    /// `limit` has no maximum; the whole answer is in memory at once.
    pub async fn list(&self, after: Option<EventId>, limit: u32) -> Result<Vec<EventRecord>, Error> {
        let after = after.unwrap_or(EventId(Uuid::nil()));
        let found = self.0.read(async move |mut tx| tx.events().list(after, limit).await);
        self.0.operation("events.list", found).await
    }

    /// A page of events, newest first, at most `limit` (1 to 100). With a kind it looks at 2,000
    /// events at most, so it may be shorter or empty, and still name a [`next`](EventPage::next)
    /// page.
    ///
    /// # Errors
    /// [`Error::Invalid`] about any other `limit`.
    pub async fn page(&self, query: &EventQuery, limit: u32) -> Result<EventPage, Error> {
        let (query, now) = (*query, self.0.env().now());
        let found = self.0.read(async move |mut tx| tx.event_page(&query, limit, now).await);
        self.0.operation("events.page", found).await
    }

    /// One event.
    pub async fn get(&self, id: EventId) -> Result<EventRecord, Error> {
        self.0.operation("events.get", self.0.read(async move |mut tx| tx.events().find(id).await)).await
    }

    /// The deliveries of an event, one per webhook that subscribed to it when it happened.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an event that the company does not have.
    pub async fn deliveries(&self, event: EventId) -> Result<Vec<DeliveryRecord>, Error> {
        let now = self.0.env().now();
        let found = self.0.read(async move |mut tx| {
            let deliveries = tx.deliveries().of_event(event, now).await?;
            if deliveries.is_empty() {
                tx.events().find(event).await?;
            }
            Ok(deliveries)
        });
        self.0.operation("events.deliveries", found).await
    }
}
