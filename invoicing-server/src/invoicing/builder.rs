//! The opening of the service: the parts that a host gives, the defaults for the rest, and the
//! composition of all parts.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use zeroize::Zeroizing;

use super::{Inner, Invoicing};
use crate::access::{Access, Counting, KeyCache, Lookup, Unnoted};
use crate::api::ApiContext;
#[cfg(feature = "postgres")]
use crate::config::PostgresSettings;
use crate::config::{SettingError, Settings};
use crate::dispatch::transport::{Transport, TransportBuilder};
use crate::dispatch::{DisabledWebhook, DispatchContext, EndpointCache, Heartbeat, Notices};
use crate::documents::{
    DocumentKind, DocumentRenderer, DocumentService, DocumentStore, ObjectStorage, UrlSigner,
};
use crate::env::Env;
use crate::health::HealthContext;
use crate::http::HttpContext;
use crate::http::capacity::Capacity;
use crate::open_error::OpenError;
use crate::operations::resealing;
use crate::operations::sweep::Sweeper;
use crate::operations::{HeldDates, Numbering, Reminder, Services};
use crate::queue::{NewDelivery, Queue};
use crate::sealing::{AssociatedData, NotOpened, Sealer, SealingKeys};
use crate::store::notification::{Incoming, Notification};
#[cfg(feature = "postgres")]
use crate::store::postgres::Postgres;
use crate::store::sqlite::Sqlite;
use crate::store::{ServiceTables, Store, settings};
use crate::telemetry::Metrics;
use crate::trace_context::TraceContext;

/// The database and the parts that a service is opened with. [`Invoicing::sqlite`] or
/// `Invoicing::postgres` begins it, and [`open`](Self::open) ends it.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use invoicing_server::{Invoicing, ObjectStorage, SealingKey, SealingKeys, Settings};
///
/// # async fn host() -> Result<(), Box<dyn std::error::Error>> {
/// let key = SealingKey::from_base64("2026-09", &std::env::var("INVOICING_SEALING_KEY")?)?;
/// let invoicing = Invoicing::sqlite("/var/lib/invoicing/invoicing.db")
///     .settings(Settings { base_url: "https://quotes.example.com".to_owned(), ..Settings::default() })
///     .sealing_keys(SealingKeys::new(key))
///     .document_store(Arc::new(ObjectStorage::folder("/var/lib/invoicing/documents")?))
///     .open()
///     .await?;
/// # Ok(()) }
/// ```
pub struct InvoicingBuilder {
    database: Database,
    settings: Settings,
    env: Env,
    renderer: Option<Arc<dyn DocumentRenderer>>,
    store: Option<Arc<dyn DocumentStore>>,
    sealing_keys: Option<SealingKeys>,
    transport: Box<dyn FnOnce(TransportBuilder) -> TransportBuilder + Send>,
    metrics: Metrics,
    traces: Option<Arc<dyn TraceContext>>,
    notices: Option<Notices>,
}

/// The database of the service.
#[derive(Debug)]
pub(super) enum Database {
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(PostgresSettings),
}

impl Database {
    async fn open(&self, env: Env, queue: Arc<Queue>) -> Result<Store, OpenError> {
        Ok(match self {
            Self::Sqlite(path) => Store::Sqlite(Box::new(Sqlite::open(path, env, queue).await?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => {
                settings.check()?;
                Store::Postgres(Postgres::open(settings.clone(), env, queue).await?)
            }
        })
    }

    /// The place in which requests are counted, and the time for which a read key or webhook may be
    /// used. If one process owns the database, it counts in its memory, and its reads stay valid.
    /// On PostgreSQL another node may have changed a record, and its notification may be lost.
    fn sharing(&self) -> (Counting, Duration) {
        match self {
            Self::Sqlite(_) => (Counting::Local, Duration::MAX),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => (Counting::Shared, Duration::from_secs(5)),
        }
    }
}

impl std::fmt::Debug for InvoicingBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InvoicingBuilder")
            .field("database", &self.database)
            .field("settings", &self.settings)
            .field("sealing_keys", &self.sealing_keys)
            .finish_non_exhaustive()
    }
}

impl InvoicingBuilder {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            settings: Settings::default(),
            env: Env::system(),
            renderer: None,
            store: None,
            sealing_keys: None,
            transport: Box::new(|transport| transport),
            metrics: Metrics::default(),
            traces: None,
            notices: None,
        }
    }

    /// Sets the settings; the contract's defaults otherwise.
    #[must_use]
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Sets the clock and the randomness; the system's otherwise.
    #[must_use]
    pub fn env(self, env: Env) -> Self {
        Self { env, ..self }
    }

    /// Sets the renderer of documents; `PdfRenderer` otherwise. Without the feature `pdf` there is
    /// no default, and a host must give one. It must name quotes among its
    /// [`kinds`](DocumentRenderer::kinds), as a quote is sent with its document. Without a renderer
    /// of invoices or credit notes these are issued without a document.
    #[must_use]
    pub fn renderer(self, renderer: Arc<dyn DocumentRenderer>) -> Self {
        Self { renderer: Some(renderer), ..self }
    }

    /// Sets the store of frozen documents; otherwise a folder `<database>.documents` beside the
    /// SQLite file. On PostgreSQL a store must be given that all processes reach. See
    /// [`ObjectStorage`].
    #[must_use]
    pub fn document_store(self, store: Arc<dyn DocumentStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Seals the secrets that have to be read again, those of webhooks and the key of document
    /// URLs, before they are stored. Without keys they are stored in clear, with one warning in the
    /// log. Secrets in clear stay readable and are sealed by [`Invoicing::reseal`]. API keys and
    /// tokens of signing links are stored as hashes only.
    #[must_use]
    pub fn sealing_keys(self, keys: SealingKeys) -> Self {
        Self { sealing_keys: Some(keys), ..self }
    }

    /// Adjusts the HTTP client that delivers webhooks: another resolver, another certificate
    /// authority.
    #[must_use]
    pub fn webhook_transport(
        self,
        adjust: impl FnOnce(TransportBuilder) -> TransportBuilder + Send + 'static,
    ) -> Self {
        Self { transport: Box::new(adjust), ..self }
    }

    /// Carries a context of the host from the call of an operation to the attempts that deliver its
    /// events, even after a restart or on another node. The example `observe` links spans of
    /// OpenTelemetry.
    #[must_use]
    pub fn trace_context(self, traces: impl TraceContext) -> Self {
        Self { traces: Some(Arc::new(traces)), ..self }
    }

    /// Calls the host for each webhook that 10 failed deliveries in a row have disabled, so that it
    /// can write to the company. It is not called for a webhook that its owner disables.
    ///
    /// The call comes after the commit, from a node that runs [`Invoicing::run`] or the
    /// [`Dispatcher`](crate::Dispatcher), beside its work: a slow callback delays no delivery, but
    /// one that blocks its thread may. It comes at least once over all nodes with a callback, even
    /// after a crash. If the callback fails, panics or takes over 30 s, it is called again a minute
    /// later; [`DisabledWebhook::disabled_at`] distinguishes a repeated call from another
    /// disabling. If another node disables a webhook, the call comes within 30 s. If no node had a
    /// callback when the webhook was disabled, the call comes once a node has one, up to 30 days
    /// later. If a version without this function disabled the webhook, the call never comes.
    ///
    /// ```
    /// # use invoicing_server::Invoicing;
    /// # async fn write_to_owner(_: invoicing_server::CompanyId, _: String) -> Result<(), std::io::Error> { Ok(()) }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let database = folder.path().join("invoicing.db");
    /// let builder = Invoicing::sqlite(database).on_webhook_disabled(|disabled| async move {
    ///     let text = format!("The webhook {} was disabled: {}", disabled.webhook, disabled.reason);
    ///     write_to_owner(disabled.company, text).await?;
    ///     Ok(())
    /// });
    /// # builder.open().await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn on_webhook_disabled<F>(
        self,
        callback: impl Fn(DisabledWebhook) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        Self { notices: Some(Notices::new(callback)), ..self }
    }

    /// Sets the recorder of the service's metrics; otherwise the recorder that the process has
    /// installed, which must be done before the service is opened. The [book] lists the metrics.
    ///
    /// [book]: https://github.com/invoicing-rs/invoicing/blob/main/docs/operate-observe.md
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics_recorder(self, recorder: Arc<dyn metrics::Recorder + Send + Sync>) -> Self {
        Self { metrics: Metrics::new(recorder), ..self }
    }

    /// Opens the service. Creates the SQLite file if there is none; a PostgreSQL database must be
    /// there, and may be empty.
    ///
    /// # Errors
    /// [`OpenError`] if this process or another one has the SQLite file open already, by whatever
    /// path, if the file has several names or is mounted without its folder, if the database cannot
    /// be opened, if a setting is not usable, or if secrets in the database are
    /// sealed with keys that were not given.
    pub async fn open(self) -> Result<Invoicing, OpenError> {
        self.settings.check()?;
        let renderer = renderer_or_default(self.renderer)?;
        let (settings, database, env) = (self.settings, self.database, self.env.of_service(self.metrics));
        #[cfg(feature = "metrics")]
        env.metrics().describe();
        let queue = Arc::new(Queue::new(&env, &settings.dispatch));
        let store = Arc::new(database.open(env.clone(), Arc::clone(&queue)).await?);
        let sealer = Arc::new(Sealer::new(env.clone()));
        resealing::adopt(&store, &sealer, self.sealing_keys, || {}).await?;
        let url_key = url_key(&store, &env, &sealer).await?;
        let document_store = self.store.map_or_else(|| default_document_store(&store), Ok)?;
        let transport = (self.transport)(transport_builder(&settings)).build()?;
        let (counting, max_age) = database.sharing();
        let endpoints = Arc::new(EndpointCache::new(&settings, transport, Arc::clone(&sealer), max_age)?);
        let access = Arc::new(Access {
            store: Arc::clone(&store),
            env: env.clone(),
            opened_at: env.now(),
            quota: settings.quota,
            counting,
            keys: Arc::new(KeyCache::new(max_age)),
            lookup: Lookup::new(Arc::clone(&store)),
            unnoted: Unnoted::default(),
        });
        access.take_over_unnoted().await;
        listen(&store, Arc::clone(&access.keys), Arc::clone(&endpoints), Arc::clone(&queue)).await;
        let documents = Arc::new(DocumentService::new(renderer, document_store));
        let services = Arc::new(Services {
            store: Arc::clone(&store),
            env: env.clone(),
            access: Arc::clone(&access),
            links: Lookup::new(Arc::clone(&store)),
            sealer,
            documents: Arc::clone(&documents),
            url_signer: UrlSigner::new(&url_key),
            #[cfg(feature = "console")]
            entry_sealer: crate::operations::entry_sealer(&url_key, env.clone()),
            base_url: settings.base_url.trim_end_matches('/').to_owned(),
            presigned_urls: settings.documents.presigned_urls,
            target: settings.target,
            numbering: Numbering::default(),
            held_dates: HeldDates::default(),
            reminder: Reminder::new(env.now()),
            traces: self.traces.clone(),
        });
        let dispatch = Arc::new(DispatchContext {
            store: Arc::clone(&store),
            env: env.clone(),
            settings: settings.dispatch.clone(),
            queue,
            endpoints,
            slot: Mutex::default(),
            heartbeat: Heartbeat::new(),
            traces: self.traces.clone(),
            notices: self.notices,
        });
        let http = Arc::new(HttpContext {
            env,
            capacity: Capacity::new(&settings.requests),
            body_time: Duration::from_millis(settings.requests.body_time_ms),
        });
        Ok(Invoicing(Arc::new(Inner {
            health: Arc::new(HealthContext::new(Arc::clone(&http), store, documents, Arc::clone(&dispatch))),
            api: Arc::new(ApiContext::new(
                &settings,
                Arc::clone(&http),
                Arc::clone(&services),
                Arc::clone(&access),
            )),
            #[cfg(feature = "console")]
            http,
            dispatch,
            sweeper: Sweeper { services: Arc::clone(&services), access: Arc::clone(&access) },
            settings,
            services,
            access,
        })))
    }
}

/// The document store if the host gives none.
fn default_document_store(store: &Store) -> Result<Arc<dyn DocumentStore>, OpenError> {
    match store {
        Store::Sqlite(database) => {
            let folder = ObjectStorage::folder(database.path().with_added_extension("documents"));
            Ok(Arc::new(folder.map_err(OpenError::Documents)?))
        }
        #[cfg(feature = "postgres")]
        Store::Postgres(_) => {
            let rule = "must be given on PostgreSQL: one that all nodes reach";
            Err(SettingError::new("document store", rule).into())
        }
    }
}

fn renderer_or_default(
    given: Option<Arc<dyn DocumentRenderer>>,
) -> Result<Arc<dyn DocumentRenderer>, SettingError> {
    #[cfg(feature = "pdf")]
    let given = given.or_else(|| Some(Arc::new(crate::documents::PdfRenderer::new())));
    let renderer = given.ok_or(SettingError::new("renderer", "must be given if the feature `pdf` is off"))?;
    if renderer.kinds().contains(&DocumentKind::Quote) {
        Ok(renderer)
    } else {
        Err(SettingError::new("renderer", "must render quotes"))
    }
}

fn transport_builder(settings: &Settings) -> TransportBuilder {
    let dispatch = &settings.dispatch;
    Transport::builder(settings.target)
        .connect_timeout(Duration::from_millis(dispatch.attempt_timeout_ms))
        .proxy(dispatch.proxy.clone(), dispatch.proxy_resolves_names)
}

/// Updates the caches after commits of this node and others, until the store is closed.
async fn listen(store: &Store, keys: Arc<KeyCache>, endpoints: Arc<EndpointCache>, queue: Arc<Queue>) {
    let listener = move |incoming: Incoming| match incoming {
        Incoming::Notification(Notification::Due(webhook)) => {
            drop(queue.hand_over(vec![NewDelivery::Pending(webhook)]));
        }
        Incoming::Notification(Notification::Webhook(webhook)) => {
            endpoints.remove(webhook);
            queue.webhook_changed(webhook);
        }
        Incoming::Notification(Notification::Key(key)) => keys.revoke(key),
        Incoming::Notification(Notification::KeyIssued) => keys.clear_unknown(),
        Incoming::Notification(Notification::Plan { company, plan }) => keys.set_plan(company, plan),
        Incoming::Gap => {
            endpoints.clear();
            keys.mark_stale();
            queue.request_poll();
        }
    };
    store.listen(Box::new(listener)).await;
}

/// The key of document URLs: made once per database, and again if the key that it was sealed with
/// is lost.
async fn url_key(store: &Store, env: &Env, sealer: &Arc<Sealer>) -> Result<Zeroizing<[u8; 32]>, OpenError> {
    const NAME: &str = settings::DOCUMENT_URL_KEY;
    let (fresh, sealer) = (Zeroizing::new(env.bytes::<32>()), Arc::clone(sealer));
    let key = store.write_service(async move |tx| {
        tx.lock_service().await?;
        match tx.settings().find(&sealer, NAME).await? {
            Some(Ok(key)) => return Ok(key),
            Some(Err(cause @ NotOpened::Lost(_))) => {
                tracing::warn!(%cause, "the key of document URLs is replaced: earlier URLs cease to work");
            }
            Some(Err(cause)) => return Err(AssociatedData::setting(NAME).bad_row(cause)),
            None => {}
        }
        tx.settings().set(&sealer, NAME, &*fresh).await?;
        Ok(Zeroizing::new(fresh.to_vec()))
    });
    let key = key.await.map_err(OpenError::Start)?;
    let key = key.as_slice().try_into().map(Zeroizing::new);
    key.map_err(|_| OpenError::Start(AssociatedData::setting(NAME).bad_row("not 32 bytes")))
}
