//! Clients: created by the host or through the API, changed by the host.

use invoicing_core::{Client, ClientChange, ClientId, ConflictReason, NewClient, Page};

use super::CompanyHandle;
use crate::error::Error;
use crate::list_query::ClientQuery;
use crate::records::{HistoryAction, StoredPage};
use crate::store::rows::from_json;
use crate::store::{Prefetch, Tables};

/// The clients of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewCompany, Plan};
/// use invoicing_server::{ClientQuery, NewClient};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// let clients = company.clients();
/// let new = NewClient::named("Claire Lefèvre").city("Lyon").external_id("crm-42");
/// let claire = clients.create(&new).await?;
/// // With an `externalId`, creating twice creates once.
/// assert_eq!(clients.create(&new).await?, claire);
///
/// // A change states all fields.
/// let moved = clients.change(claire.id, &new.city("Villeurbanne")).await?;
/// assert_eq!(clients.list(&ClientQuery::default().q("lefevre")).await?.data, [moved]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Clients<'a>(pub(super) &'a CompanyHandle);

/// The answer of [`Clients::find_or_create`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCreation {
    /// The client: the new one, or the one that already had the `externalId`.
    pub client: Client,
    /// True if the call has created the client.
    pub created: bool,
}

impl CompanyHandle {
    /// The clients of the company.
    pub fn clients(&self) -> Clients<'_> {
        Clients(self)
    }
}

impl Clients<'_> {
    /// Creates a client. If a client already has the `externalId`, returns that client unchanged
    /// and creates nothing: the call can be repeated safely, also by concurrent callers.
    pub async fn create(&self, new: &NewClient) -> Result<Client, Error> {
        Ok(self.find_or_create(new).await?.client)
    }

    /// As [`create`](Self::create), with a flag for a new client: the API answers 201 or 200.
    pub async fn find_or_create(&self, new: &NewClient) -> Result<ClientCreation, Error> {
        let fields = new.check()?;
        let changed = self.0.write([], async move |mut tx| {
            if let Some(external_id) = fields.external_id()
                && let Some(client) = tx.clients().find_by_external_id(external_id).await?
            {
                return Ok(ClientCreation { client, created: false });
            }
            let client = fields.create(ClientId(tx.env().uuid()), tx.change.at());
            tx.clients().insert(&client).await?;
            tx.record_events(&[]).await?;
            tx.note(HistoryAction::ClientCreated, client.id.0, &client.name).await?;
            Ok(ClientCreation { client, created: true })
        });
        self.0.operation("clients.find_or_create", changed).await
    }

    /// Replaces the fields of a client. If nothing changes, `updatedAt` stays.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another client has the `externalId`.
    pub async fn change(&self, id: ClientId, change: &ClientChange) -> Result<Client, Error> {
        let checked = change.check();
        let changed = self.0.write([Prefetch::Client(id)], async move |mut tx| {
            let client = tx.client_to_change(id).await?;
            let fields = checked?;
            if let Some(external_id) = fields.external_id()
                && client.external_id.as_deref() != Some(external_id)
            {
                let owner = tx.clients().find_by_external_id(external_id).await?;
                if owner.is_some_and(|owner| owner.id != id) {
                    return Err(ConflictReason::ExternalIdTaken.into());
                }
            }
            let Some(changed) = fields.apply(&client, tx.change.stamp) else { return Ok(client) };
            tx.clients().update(&changed).await?;
            tx.record_events(&[]).await?;
            tx.note(HistoryAction::ClientChanged, id.0, &changed.name).await?;
            Ok(changed)
        });
        self.0.operation("clients.change", changed).await
    }

    /// One client.
    pub async fn get(&self, id: ClientId) -> Result<Client, Error> {
        self.0.operation("clients.get", self.0.read(async move |mut tx| tx.clients().find(id).await)).await
    }

    /// A page of clients.
    pub async fn list(&self, query: &ClientQuery) -> Result<Page<Client>, Error> {
        from_json(&self.list_json(query).await?, "client", self.0.id)
    }

    /// A page of clients as the JSON envelope of the API.
    pub async fn list_json(&self, query: &ClientQuery) -> Result<Vec<u8>, Error> {
        let query = query.clone();
        let page = self.0.read_page(async move |mut tx| tx.clients().page(&query).await);
        match self.0.operation("clients.list", page).await? {
            StoredPage::Whole(page) => Ok(page),
            StoredPage::Large { .. } => Err(Error::internal("clients have no lines")),
        }
    }
}
