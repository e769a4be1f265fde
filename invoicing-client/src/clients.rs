//! [`Clients`]: read, and create without duplicates.

use invoicing_core::{NewClient, Page};

use crate::call::Call;
use crate::resource::sealed;
use crate::{
    CatchUp, CheckpointStore, Client, Error, ErrorKind, Follow, InvoicingClient, List, RecordVersion,
    Request, Resource,
};

/// The company's clients.
#[derive(Debug, Clone)]
pub struct Clients {
    client: InvoicingClient,
}

/// Result of [`Clients::create`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCreation {
    /// This request created the client (201).
    Created(Client),
    /// A client with this `externalId` existed. It is returned unchanged; the fields of the request are ignored (200).
    ///
    /// After a broken connection it may be the client that an earlier attempt of the same call created.
    Existing(Client),
}

impl ClientCreation {
    /// The client, new or existing.
    pub fn client(&self) -> &Client {
        match self {
            Self::Created(client) | Self::Existing(client) => client,
        }
    }

    /// The client, new or existing.
    pub fn into_client(self) -> Client {
        match self {
            Self::Created(client) | Self::Existing(client) => client,
        }
    }

    /// True if this request created the client.
    pub fn is_created(&self) -> bool {
        matches!(self, Self::Created(_))
    }
}

impl InvoicingClient {
    /// The company's clients.
    pub fn clients(&self) -> Clients {
        Clients { client: self.clone() }
    }
}

impl Clients {
    /// Lists clients, newest first.
    pub fn list(&self) -> List<Self> {
        List::new(self.client.clone())
    }

    /// Finds the client with this `externalId`.
    pub fn find(&self, external_id: &str) -> Request<Option<Client>> {
        let call = self.list().external_id(external_id).call();
        Request::new(&self.client, Ok(call), |key, response| {
            let page: Page<Client> = response.parse(key)?;
            Ok(page.data.into_iter().next())
        })
    }

    /// Creates a client.
    ///
    /// With an `externalId` the call is idempotent and is retried like a read. Without one it is retried only after 429 and
    /// 503 `overloaded`, before which nothing was done. After any other failure without a 4xx, such as
    /// [`ErrorKind::Timeout`] or [`ErrorKind::Interrupted`], the client may exist.
    pub fn create(&self, new: &NewClient) -> Request<ClientCreation> {
        const OPERATION: &str = "clients.create";
        let call = Call::post(OPERATION, "/clients".to_owned(), new, new.external_id.is_some());
        let call = call.map_err(|error| Error::invalid_request(OPERATION, error));
        Request::new(&self.client, call, |key, response| {
            let client = response.parse(key)?;
            match response.status {
                201 => Ok(ClientCreation::Created(client)),
                200 => Ok(ClientCreation::Existing(client)),
                _ => Err(response.error(ErrorKind::InvalidResponse)),
            }
        })
    }

    /// Keeps a copy of all clients up to date. See [`CatchUp`].
    pub fn catch_up(&self, store: impl CheckpointStore + 'static) -> CatchUp<Self> {
        CatchUp::new(self.list(), store)
    }

    /// Keeps a copy of all clients up to date by passes alone, as there are no events about clients. See [`Follow`].
    pub fn follow(&self, store: impl CheckpointStore + 'static) -> Follow<Self> {
        self.catch_up(store).follow()
    }
}

impl List<Clients> {
    /// Only clients of whom each word of this text is a part of the name, the e-mail or the city, ignoring case and accents.
    pub fn q(self, text: &str) -> Self {
        self.filter("q", text)
    }

    /// Only the client with exactly this `externalId`.
    pub fn external_id(self, external_id: &str) -> Self {
        self.filter("externalId", external_id)
    }
}

impl sealed::Sealed for Clients {}

impl Resource for Clients {
    type Item = Client;
    const NAME: &'static str = "clients";
    const HAS_LINES: bool = false;
    const LIST_OPERATION: &'static str = "clients.list";
    const GET_OPERATION: &'static str = "clients.get";
    // There are no events about clients, and no endpoint reads one by id.
    const EVENT_PREFIX: Option<&'static str> = None;

    fn version(item: &Client) -> RecordVersion {
        RecordVersion { updated_at: item.updated_at, id: item.id.0 }
    }
}
