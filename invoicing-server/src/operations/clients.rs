//! Clients: created by the host or through the API, changed by the host.

use invoicing_core::{Client, ClientChange, ClientId, Conflict, NewClient, Page};

use super::CompanyHandle;
use crate::Error;
use crate::store::clients;
use crate::store::page::ClientQuery;
use crate::store::reading;
use crate::store::rows::from_json;

/// The clients of a company.
#[derive(Debug, Clone, Copy)]
pub struct Clients<'a>(pub(super) &'a CompanyHandle);

/// What became of a creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The client: the new one, or the one that already had the `externalId`.
    pub client: Client,
    /// Whether it is new.
    pub created: bool,
}

impl Clients<'_> {
    /// Creates a client. With an `externalId` that is already known it returns the client that has it, unchanged,
    /// and creates nothing: replaying the call is safe, also from many places at once.
    pub async fn create(&self, new: &NewClient) -> Result<Creation, Error> {
        let fields = new.check()?;
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    if let Some(external_id) = fields.external_id() {
                        let known =
                            clients::find_by_external_id(tx.connection(), company, external_id).await?;
                        if let Some(client) = known {
                            return Ok(Creation { client, created: false });
                        }
                    }
                    let client = fields.create(ClientId(tx.env().uuid()), unit.at);
                    clients::insert(tx.connection(), company, &client).await?;
                    tx.finish(&unit, &[]).await?;
                    Ok(Creation { client, created: true })
                })
            })
            .await
    }

    /// Replaces the fields of a client. Where nothing changes, `updatedAt` stays.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another client has the `externalId`.
    pub async fn change(&self, id: ClientId, change: &ClientChange) -> Result<Client, Error> {
        let fields = change.check()?;
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let client = clients::find(tx.connection(), company, id).await?;
                    if let Some(external_id) = fields.external_id() {
                        let owner =
                            clients::find_by_external_id(tx.connection(), company, external_id).await?;
                        if owner.is_some_and(|owner| owner.id != id) {
                            return Err(Conflict::new("another client has this externalId").into());
                        }
                    }
                    let Some(changed) = fields.apply(&client, unit.at) else { return Ok(client) };
                    clients::update(tx.connection(), company, &changed).await?;
                    tx.finish(&unit, &[]).await?;
                    Ok(changed)
                })
            })
            .await
    }

    /// One client.
    pub async fn get(&self, id: ClientId) -> Result<Client, Error> {
        reading!(self.0.inner.store, |c| clients::find(c, self.0.id, id))
    }

    /// A page of clients.
    pub async fn list(&self, query: &ClientQuery) -> Result<Page<Client>, Error> {
        from_json(&self.page(query).await?, "client", self.0.id)
    }

    /// A page of clients as the JSON envelope of the API.
    pub async fn page(&self, query: &ClientQuery) -> Result<Vec<u8>, Error> {
        let page = reading!(self.0.inner.store, |c| clients::page(c, self.0.id, query))?;
        query.window.envelope(&page)
    }
}
