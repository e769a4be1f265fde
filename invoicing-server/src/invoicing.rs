//! The service as a host holds it: opened from a database, and the way to everything else.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::CompanyId;

use crate::Error;
use crate::config::Settings;
use crate::dispatch::transport::{Transport, TransportBuilder};
use crate::dispatch::{Dispatcher, Endpoints, Handoff};
use crate::documents::{DocumentRenderer, DocumentStore, Documents, FolderStore, PlainRenderer, UrlSigner};
use crate::env::Env;
use crate::operations::{Companies, CompanyHandle, KeyCache, SigningLinks, SweepReport};
use crate::service::ApiService;
use crate::store::{OpenError, Store, companies};

/// The service. Cheap to clone; all clones are one.
///
/// Nothing runs behind the host's back but the task that writes to the database: the host serves the API
/// ([`service`](Self::service)), runs the [`dispatcher`](Self::dispatcher) and calls [`sweep`](Self::sweep).
#[derive(Debug, Clone)]
pub struct Invoicing(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) env: Env,
    pub(crate) settings: Settings,
    pub(crate) documents: Documents,
    pub(crate) keys: KeyCache,
    pub(crate) handoff: Arc<Handoff>,
    pub(crate) endpoints: Arc<Endpoints>,
    /// Imports whose number was taken go on one after the other, or they would take it from each other for ever.
    pub(crate) import_turn: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a service is opened from.
pub struct Builder {
    database: PathBuf,
    settings: Settings,
    env: Env,
    renderer: Arc<dyn DocumentRenderer>,
    store: Option<Arc<dyn DocumentStore>>,
    transport: Box<dyn FnOnce(TransportBuilder) -> TransportBuilder + Send>,
}

impl Builder {
    /// How the service behaves; the contract's defaults otherwise.
    #[must_use]
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// The clock and the randomness; the system's otherwise.
    #[must_use]
    pub fn env(self, env: Env) -> Self {
        Self { env, ..self }
    }

    /// What turns quotes into documents; [`PlainRenderer`] otherwise.
    #[must_use]
    pub fn renderer(self, renderer: Arc<dyn DocumentRenderer>) -> Self {
        Self { renderer, ..self }
    }

    /// Where frozen documents are kept; a folder beside the database otherwise, `<database>.documents`.
    #[must_use]
    pub fn document_store(self, store: Arc<dyn DocumentStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Adjusts the HTTP client that delivers webhooks: another resolver, another certificate authority.
    #[must_use]
    pub fn webhook_transport(
        self,
        adjust: impl FnOnce(TransportBuilder) -> TransportBuilder + Send + 'static,
    ) -> Self {
        Self { transport: Box::new(adjust), ..self }
    }

    /// Opens the service. Creates the database where there is none.
    ///
    /// # Errors
    /// [`OpenError`] when another process has the database open, when it cannot be opened, or when a setting is not
    /// usable.
    pub async fn open(self) -> Result<Invoicing, OpenError> {
        self.settings.check()?;
        let handoff = Arc::new(Handoff::new(&self.env));
        let store = Store::open(&self.database, self.env.clone(), Arc::clone(&handoff)).await?;
        let signer = UrlSigner::new(&url_key(&store, &self.env).await?);
        let documents = self.store.unwrap_or_else(|| {
            let mut folder = self.database.into_os_string();
            folder.push(".documents");
            Arc::new(FolderStore::new(folder))
        });
        let dispatch = &self.settings.dispatch;
        let limit = Duration::from_millis(dispatch.attempt_timeout_ms);
        let transport = Transport::builder(self.settings.target)
            .connect_timeout(limit)
            .proxy(dispatch.proxy.clone(), dispatch.proxy_resolves_names);
        let transport = (self.transport)(transport).build()?;
        let endpoints = Arc::new(Endpoints::new(&self.settings, transport)?);
        let inner = Arc::new(Inner {
            store,
            env: self.env,
            settings: self.settings,
            documents: Documents::new(self.renderer, documents, signer),
            keys: KeyCache::default(),
            handoff,
            endpoints,
            import_turn: tokio::sync::Mutex::default(),
        });
        Ok(Invoicing(inner))
    }
}

/// The key of document URLs: made once per database.
async fn url_key(store: &Store, env: &Env) -> Result<[u8; 32], OpenError> {
    const NAME: &str = "document_url_key";
    let fresh = env.bytes::<32>();
    let key = store.write(move |tx| {
        Box::pin(async move {
            if let Some(key) = companies::setting(tx.connection(), NAME).await? {
                return Ok(key);
            }
            companies::insert_setting(tx.connection(), NAME, &fresh).await?;
            Ok(fresh.to_vec())
        })
    });
    let key = key.await.map_err(OpenError::Start)?;
    key.try_into().map_err(|_| OpenError::Start(Error::bad_row("setting", "value", NAME, "not 32 bytes")))
}

impl Invoicing {
    /// A service on a SQLite file.
    pub fn builder(database: impl AsRef<Path>) -> Builder {
        Builder {
            database: database.as_ref().to_owned(),
            settings: Settings::default(),
            env: Env::system(),
            renderer: Arc::new(PlainRenderer::new()),
            store: None,
            transport: Box::new(|transport| transport),
        }
    }

    /// The API, as a hyper and a tower service.
    pub fn service(&self) -> ApiService {
        ApiService::new(self.clone())
    }

    /// What delivers webhooks, once the host runs it.
    pub fn dispatcher(&self) -> Dispatcher {
        Dispatcher::new(Arc::clone(&self.0))
    }

    /// The companies.
    pub fn companies(&self) -> Companies {
        Companies(Arc::clone(&self.0))
    }

    /// One company: every operation on its records starts here.
    pub fn company(&self, id: CompanyId) -> CompanyHandle {
        CompanyHandle::new(Arc::clone(&self.0), id)
    }

    /// What the holder of a public signing link can do.
    pub fn signing_links(&self) -> SigningLinks {
        SigningLinks(Arc::clone(&self.0))
    }

    /// Does what is due because time has passed: quotes expire, invoices fall overdue, idle keys are revoked, old
    /// attempts are deleted. To be called at least once an hour.
    pub async fn sweep(&self) -> Result<SweepReport, Error> {
        self.0.sweep().await
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Its clock and randomness.
    pub fn env(&self) -> &Env {
        &self.0.env
    }

    /// Finishes what is being written and closes the database. Operations fail from then on. Dropping the service
    /// instead loses nothing either, but leaves the quota of each key a little smaller for a minute.
    pub async fn close(&self) {
        if let Err(error) = self.0.settle_quotas().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "reserved quota was not given back");
        }
        self.0.store.close().await;
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }
}
