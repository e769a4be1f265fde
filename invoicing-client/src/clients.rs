//! Clients: reading, and creating without creating twice.

use invoicing_core::{NewClient, Page};

use crate::call::Call;
use crate::send::unsendable;
use crate::{CatchUp, CheckpointStore, Client, ErrorKind, Follow, InvoicingClient, List, Request};

/// The company's clients.
#[derive(Debug, Clone)]
pub struct Clients {
    client: InvoicingClient,
}

/// What [`Clients::create`] found or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCreation {
    /// The client was created by this request (201).
    Created(Client),
    /// A client with this `externalId` existed, and is returned as it was, whatever was sent (200).
    ///
    /// After a broken connection it may be the one that the first attempt created.
    Existing(Client),
}

impl ClientCreation {
    /// The client, new or not.
    pub fn client(&self) -> &Client {
        match self {
            Self::Created(client) | Self::Existing(client) => client,
        }
    }

    /// The client, new or not.
    pub fn into_client(self) -> Client {
        match self {
            Self::Created(client) | Self::Existing(client) => client,
        }
    }

    /// Whether the service created it for this request.
    pub fn is_created(&self) -> bool {
        matches!(self, Self::Created(_))
    }
}

impl Clients {
    pub(crate) fn new(client: InvoicingClient) -> Self {
        Self { client }
    }

    /// Lists clients, newest first.
    pub fn list(&self) -> List<Self> {
        List::new(self.client.clone())
    }

    /// Looks a client up by the caller's own identifier.
    pub fn find(&self, external_id: &str) -> Request<Option<Client>> {
        let call = self.list().external_id(external_id).call();
        Request::new(&self.client, Ok(call), |shared, answer| {
            let page: Page<Client> = shared.read(&answer)?;
            Ok(page.data.into_iter().next())
        })
    }

    /// Creates a client.
    ///
    /// With an `externalId` this is safe to repeat, and is repeated like a read where an attempt fails. Without one it
    /// is attempted **once**: after [`ErrorKind::Timeout`] or [`ErrorKind::Interrupted`] the client may exist.
    pub fn create(&self, new: &NewClient) -> Request<ClientCreation> {
        const OPERATION: &str = "clients.create";
        let call = Call::post(OPERATION, "/clients".to_owned(), new, new.external_id.is_some());
        let call = call.map_err(|error| unsendable(OPERATION, error));
        Request::new(&self.client, call, |shared, answer| {
            let client = shared.read(&answer)?;
            match answer.status {
                201 => Ok(ClientCreation::Created(client)),
                200 => Ok(ClientCreation::Existing(client)),
                _ => Err(answer.fail(ErrorKind::Unreadable)),
            }
        })
    }

    /// Keeps a copy of all clients in step. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }

    /// Keeps a copy of all clients in step by passes alone: no event tells of clients. See [`Follow`].
    pub fn follow(&self, store: impl CheckpointStore + 'static) -> Follow<Self> {
        self.catch_up(store).follow()
    }
}
