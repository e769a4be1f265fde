//! The service as a host holds it: opened from a database, and the way to everything else.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::CompanyId;
use zeroize::Zeroizing;

use crate::Error;
#[cfg(feature = "postgres")]
use crate::config::PostgresSettings;
use crate::config::Settings;
#[cfg(feature = "postgres")]
use crate::dispatch::FreshJob;
use crate::dispatch::transport::{Transport, TransportBuilder};
use crate::dispatch::{Dispatcher, Endpoints, Handoff};
use crate::documents::ObjectStorage;
use crate::documents::{DocumentRenderer, DocumentStore, Documents, UrlSigner};
use crate::env::Env;
use crate::http::load::Load;
use crate::operations::sealing::adopt;
use crate::operations::{Companies, CompanyHandle, KeyCache, ResealReport, SigningLinks, SweepReport};
use crate::sealing::{NotOpened, Place, Sealer, SealingError, SealingKeys};
use crate::service::ApiService;
#[cfg(feature = "postgres")]
use crate::store::news::News;
#[cfg(feature = "postgres")]
use crate::store::postgres::Heard;
use crate::store::sealed::SealedWith;
use crate::store::{OpenError, Store, settings};
use crate::turns::Turns;

/// The service. Cheap to clone; all clones are one.
///
/// Nothing runs behind the host's back but what the database needs: the host serves the API
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
    pub(crate) sealer: Arc<Sealer>,
    /// What the API is doing at present.
    pub(crate) load: Arc<Load>,
    /// Imports that hold the numbers of a company do so one after the other.
    pub(crate) importing: Turns,
    /// Of those who wait for a number of a company, one looks whether there is one.
    pub(crate) looking: Turns,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a service is opened from.
pub struct Builder {
    database: Database,
    settings: Settings,
    env: Env,
    renderer: Option<Arc<dyn DocumentRenderer>>,
    store: Option<Arc<dyn DocumentStore>>,
    sealing_keys: Option<SealingKeys>,
    transport: Box<dyn FnOnce(TransportBuilder) -> TransportBuilder + Send>,
}

/// Which database.
#[derive(Debug)]
enum Database {
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(PostgresSettings),
}

impl Database {
    fn check(&self) -> Result<(), OpenError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => settings.check(),
        }
    }

    async fn open(&self, env: &Env, handoff: &Arc<Handoff>) -> Result<Store, OpenError> {
        let (env, handoff) = (env.clone(), Arc::clone(handoff));
        match self {
            Self::Sqlite(path) => Store::open_sqlite(path, env, handoff).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => Store::open_postgres(settings.clone(), env, handoff).await,
        }
    }

    /// Where documents go unless the host says where.
    fn documents(&self) -> Result<Arc<dyn DocumentStore>, OpenError> {
        match self {
            Self::Sqlite(path) => beside(path),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Err(OpenError::Setting {
                name: "document store",
                rule: "must be given on PostgreSQL: one that all nodes reach",
            }),
        }
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("database", &self.database)
            .field("settings", &self.settings)
            .field("sealing_keys", &self.sealing_keys)
            .finish_non_exhaustive()
    }
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

    /// What turns quotes into documents; `PdfRenderer` otherwise. Without the feature `pdf` there is none, and a host
    /// must give one.
    #[must_use]
    pub fn renderer(self, renderer: Arc<dyn DocumentRenderer>) -> Self {
        Self { renderer: Some(renderer), ..self }
    }

    /// Where frozen documents are kept; otherwise, beside a SQLite file, a folder `<database>.documents`. On PostgreSQL it
    /// must be given, one that all processes reach. See [`ObjectStorage`].
    #[must_use]
    pub fn document_store(self, store: Arc<dyn DocumentStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Seals the secrets that have to be read again, those of webhooks and the key of document URLs, before they are
    /// stored. Without keys they are stored in clear, which the log says once. What is stored in clear stays readable
    /// and is sealed by [`Invoicing::reseal`]. API keys and tokens of signing links are stored as hashes only.
    #[must_use]
    pub fn sealing_keys(self, keys: SealingKeys) -> Self {
        Self { sealing_keys: Some(keys), ..self }
    }

    /// Adjusts the HTTP client that delivers webhooks: another resolver, another certificate authority.
    #[must_use]
    pub fn webhook_transport(
        self,
        adjust: impl FnOnce(TransportBuilder) -> TransportBuilder + Send + 'static,
    ) -> Self {
        Self { transport: Box::new(adjust), ..self }
    }

    /// Opens the service. Creates the SQLite file where there is none; a PostgreSQL database must be there, and may be
    /// empty.
    ///
    /// # Errors
    /// [`OpenError`] when another process has the SQLite file open, when the database cannot be opened, when a setting is
    /// not usable, or when what it holds is sealed with keys that were not given.
    pub async fn open(self) -> Result<Invoicing, OpenError> {
        self.settings.check()?;
        self.database.check()?;
        #[cfg(feature = "pdf")]
        let renderer = self.renderer.unwrap_or_else(|| Arc::new(crate::documents::PdfRenderer::new()));
        #[cfg(not(feature = "pdf"))]
        let renderer = self.renderer.ok_or(OpenError::Setting {
            name: "renderer",
            rule: "must be given where the feature `pdf` is off",
        })?;
        let env = self.env;
        #[cfg(feature = "postgres")]
        let env = env.with_own_correction();
        let handoff = Arc::new(Handoff::new(&env, self.settings.dispatch.lease_ms));
        let store = self.database.open(&env, &handoff).await?;
        let sealer = Arc::new(Sealer::new(env.clone()));
        adopt(&store, &sealer, self.sealing_keys, || {}).await?;
        let signer = UrlSigner::new(&*url_key(&store, &env, &sealer).await?);
        let documents = match self.store {
            Some(store) => store,
            None => self.database.documents()?,
        };
        let dispatch = &self.settings.dispatch;
        let limit = Duration::from_millis(dispatch.attempt_timeout_ms);
        let transport = Transport::builder(self.settings.target)
            .connect_timeout(limit)
            .proxy(dispatch.proxy.clone(), dispatch.proxy_resolves_names);
        let transport = (self.transport)(transport).build()?;
        let endpoints = Arc::new(Endpoints::new(&self.settings, transport, Arc::clone(&sealer))?);
        let load = Arc::new(Load::new(&self.settings.requests));
        let inner = Arc::new(Inner {
            store,
            env,
            settings: self.settings,
            documents: Documents::new(renderer, documents, signer),
            keys: KeyCache::default(),
            handoff,
            endpoints,
            sealer,
            load,
            importing: Turns::new(1),
            looking: Turns::new(1),
        });
        #[cfg(feature = "postgres")]
        inner.hear_other_nodes().await;
        Ok(Invoicing(inner))
    }
}

#[cfg(feature = "postgres")]
impl Inner {
    /// Hears what other nodes on the same database commit, for as long as the service lives.
    async fn hear_other_nodes(self: &Arc<Self>) {
        let Store::Postgres(database) = &self.store else { return };
        let weak = Arc::downgrade(self);
        let hears = move |heard: Heard| {
            weak.upgrade().is_some_and(|inner| {
                inner.heard(heard);
                true
            })
        };
        database.listen(Box::new(hears)).await;
    }

    fn heard(&self, heard: Heard) {
        let Heard::News(news) = heard else {
            self.endpoints.forget_all();
            self.keys.forget_all();
            self.handoff.look();
            return;
        };
        for news in news {
            match news {
                News::Due(webhook) => drop(self.handoff.hand_over(vec![FreshJob::Waiting(webhook)])),
                News::Webhook(webhook) => self.endpoints.forget(webhook),
                News::Key(_) | News::Plan(_) => self.keys.forget_all(),
            }
        }
    }
}

/// The folder for documents beside the database.
fn beside(database: &Path) -> Result<Arc<dyn DocumentStore>, OpenError> {
    let mut folder = database.as_os_str().to_owned();
    folder.push(".documents");
    let storage = ObjectStorage::folder(folder).map_err(OpenError::Documents)?;
    Ok(Arc::new(storage))
}

/// The key of document URLs: made once per database, and again where the key that it was sealed with is lost.
async fn url_key(store: &Store, env: &Env, sealer: &Arc<Sealer>) -> Result<Zeroizing<[u8; 32]>, OpenError> {
    const NAME: &str = settings::DOCUMENT_URL_KEY;
    let (fresh, sealer) = (Zeroizing::new(env.bytes::<32>()), Arc::clone(sealer));
    let key = store.write(move |tx| {
        Box::pin(async move {
            tx.lock_service().await?;
            match settings::find(tx.connection(), &sealer, NAME).await? {
                Some(Ok(key)) => return Ok(key),
                Some(Err(cause @ NotOpened::Lost(_))) => {
                    tracing::warn!(%cause, "the key of document URLs is replaced: earlier URLs cease to work");
                    settings::set(tx.connection(), &sealer, NAME, &*fresh).await?;
                }
                Some(Err(cause)) => return Err(Place::setting(NAME).bad_row(cause)),
                None => settings::insert(tx.connection(), &sealer, NAME, &*fresh).await?,
            }
            Ok(Zeroizing::new(fresh.to_vec()))
        })
    });
    let key = key.await.map_err(OpenError::Start)?;
    let key = key.as_slice().try_into().map(Zeroizing::new);
    key.map_err(|_| OpenError::Start(Place::setting(NAME).bad_row("not 32 bytes")))
}

impl Invoicing {
    /// A service on a SQLite file, which belongs to one process at a time.
    pub fn builder(database: impl AsRef<Path>) -> Builder {
        Self::on(Database::Sqlite(database.as_ref().to_owned()))
    }

    /// A service on a PostgreSQL database (12 or later), which any number of processes may share: each is a *node*, serves
    /// the API and may run the dispatcher. All nodes need the same settings, the same sealing keys, and a
    /// [document store](Builder::document_store) that all of them reach.
    #[cfg(feature = "postgres")]
    pub fn on_postgres(database: PostgresSettings) -> Builder {
        Self::on(Database::Postgres(database))
    }

    fn on(database: Database) -> Builder {
        Builder {
            database,
            settings: Settings::default(),
            env: Env::system(),
            renderer: None,
            store: None,
            sealing_keys: None,
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
    /// attempts and documents that nothing came of are deleted. To be called at least once an hour.
    pub async fn sweep(&self) -> Result<SweepReport, Error> {
        self.0.sweep().await
    }

    /// Takes other sealing keys into use while the service runs: a new current one, with the one until now as an older
    /// one. Call [`reseal`](Self::reseal) afterwards.
    ///
    /// # Errors
    /// [`SealingError`]; the keys in use stay in use then.
    pub async fn use_sealing_keys(&self, keys: SealingKeys) -> Result<(), SealingError> {
        self.0.use_sealing_keys(keys).await
    }

    /// Seals every stored secret with the current key: those in clear, and those that older keys have sealed. It works
    /// in batches, while everything else goes on; broken off, it is simply called again. What it replaces is wiped
    /// from the database's files.
    ///
    /// # Errors
    /// [`Error::Conflict`] without a key.
    pub async fn reseal(&self) -> Result<ResealReport, Error> {
        self.0.reseal().await
    }

    /// How many stored secrets are sealed with which key.
    pub async fn sealed_with(&self) -> Result<SealedWith, Error> {
        self.0.sealed_with().await
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
