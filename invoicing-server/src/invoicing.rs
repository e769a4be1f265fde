//! The service as a host holds it: opened from a database, and the way to everything else. Composes all parts.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use zeroize::Zeroizing;

use crate::Error;
use crate::access::{Access, Counting, KeyCache, KeyLookup};
use crate::api::ApiContext;
use crate::api::capacity::Capacity;
use crate::api::openapi::OpenApi;
use crate::api::service::ApiService;
use crate::cause::TraceContext;
#[cfg(feature = "postgres")]
use crate::config::PostgresSettings;
use crate::config::{SettingError, Settings};
use crate::dispatch::transport::{Transport, TransportBuilder};
use crate::dispatch::{DispatchContext, DispatchReport, Dispatcher, Heartbeat, Receivers};
use crate::documents::{DocumentRenderer, DocumentStore, Documents, ObjectStorage, UrlSigner};
use crate::env::Env;
use crate::health::{Health, HealthContext, HealthService};
use crate::open_error::OpenError;
use crate::operations::sealing;
use crate::operations::sweep::Sweeper;
use crate::operations::{
    Companies, CompanyHandle, HeldDates, Numbering, Reminder, ResealReport, Services, SigningLinks,
    SweepReport,
};
use crate::queue::{NewDelivery, Queue};
use crate::sealing::{AssociatedData, NotOpened, Sealer, SealingError, SealingKeys};
use crate::store::notification::{Incoming, Notification};
#[cfg(feature = "postgres")]
use crate::store::postgres::Postgres;
use crate::store::sealed::SealedWith;
use crate::store::sqlite::Sqlite;
use crate::store::{ServiceTables, Store, settings};
use crate::telemetry::Metrics;

/// Interval between two sweeps of [`Invoicing::run`].
const SWEEP_INTERVAL: Duration = Duration::from_hours(1);

/// The service. Cheap to clone; all clones are one.
///
/// In the background runs only what the database needs. The host serves the API ([`service`](Self::service)), and runs
/// the dispatcher and the sweep ([`run`](Self::run)). The log warns of either one that is missing, at most once an hour.
#[derive(Debug, Clone)]
pub struct Invoicing(Arc<Inner>);

struct Inner {
    settings: Settings,
    services: Arc<Services>,
    access: Arc<Access>,
    sweeper: Sweeper,
    api: Arc<ApiContext>,
    dispatch: Arc<DispatchContext>,
    health: Arc<HealthContext>,
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
    metrics: Metrics,
    traces: Option<Arc<dyn TraceContext>>,
}

/// Which database.
#[derive(Debug)]
enum Database {
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

    /// Where documents are stored unless the host says where.
    fn default_document_store(&self) -> Result<Arc<dyn DocumentStore>, OpenError> {
        match self {
            Self::Sqlite(path) => {
                let folder = ObjectStorage::folder(path.with_added_extension("documents"));
                Ok(Arc::new(folder.map_err(OpenError::Documents)?))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let rule = "must be given on PostgreSQL: one that all nodes reach";
                Err(SettingError::new("document store", rule).into())
            }
        }
    }

    /// Where requests are counted, and for how long what was read of a key or a webhook is used. Where one process owns
    /// the database, both are in its memory. Elsewhere another node may have changed a record, and its notification may
    /// be lost.
    fn sharing(&self) -> (Counting, Duration) {
        match self {
            Self::Sqlite(_) => (Counting::Local, Duration::MAX),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => (Counting::Shared, Duration::from_secs(5)),
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
    fn new(database: Database) -> Self {
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
        }
    }

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

    /// Takes a context of the host's from where an operation is called to the attempts that deliver its events, also after a
    /// restart and on another node: an example that links spans of OpenTelemetry is `observe`.
    #[must_use]
    pub fn trace_context(self, traces: impl TraceContext) -> Self {
        Self { traces: Some(Arc::new(traces)), ..self }
    }

    /// Where the service records its metrics; otherwise the recorder that the process has installed, which must be done
    /// before the service is opened. What there is stands in OPERATIONS.md.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics_recorder(self, recorder: Arc<dyn metrics::Recorder + Send + Sync>) -> Self {
        Self { metrics: Metrics::new(Some(recorder)), ..self }
    }

    /// Opens the service. Creates the SQLite file where there is none; a PostgreSQL database must be there, and may be
    /// empty.
    ///
    /// # Errors
    /// [`OpenError`] when this process or another one has the SQLite file open already, when the database cannot be opened,
    /// when a setting is not usable, or when what it holds is sealed with keys that were not given.
    pub async fn open(self) -> Result<Invoicing, OpenError> {
        self.settings.check()?;
        let renderer = renderer_or_default(self.renderer)?;
        let (settings, database, env) = (self.settings, self.database, self.env.of_service(self.metrics));
        #[cfg(feature = "metrics")]
        env.metrics().describe();
        let queue = Arc::new(Queue::new(&env, &settings.dispatch));
        let store = Arc::new(database.open(env.clone(), Arc::clone(&queue)).await?);
        let sealer = Arc::new(Sealer::new(env.clone()));
        sealing::adopt(&store, &sealer, self.sealing_keys, || {}).await?;
        let url_key = url_key(&store, &env, &sealer).await?;
        let document_store = self.store.map_or_else(|| database.default_document_store(), Ok)?;
        let transport = (self.transport)(transport_builder(&settings)).build()?;
        let (counting, max_age) = database.sharing();
        let receivers = Arc::new(Receivers::new(&settings, transport, Arc::clone(&sealer), max_age)?);
        let access = Arc::new(Access {
            store: Arc::clone(&store),
            env: env.clone(),
            quota: settings.quota,
            counting,
            keys: Arc::new(KeyCache::new(max_age)),
            lookup: KeyLookup::new(Arc::clone(&store)),
        });
        listen(&store, Arc::clone(&access.keys), Arc::clone(&receivers), Arc::clone(&queue)).await;
        let services = Arc::new(Services {
            store: Arc::clone(&store),
            env: env.clone(),
            access: Arc::clone(&access),
            sealer,
            documents: Documents::new(renderer, document_store),
            url_signer: UrlSigner::new(&url_key),
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
            receivers,
            slot: Mutex::default(),
            heartbeat: Heartbeat::new(),
            traces: self.traces.clone(),
        });
        Ok(Invoicing(Arc::new(Inner {
            health: Arc::new(HealthContext::new(store, Arc::clone(&dispatch))),
            api: Arc::new(ApiContext {
                services: Arc::clone(&services),
                access: Arc::clone(&access),
                capacity: Arc::new(Capacity::new(&settings.requests)),
                openapi: OpenApi::new(&settings),
                #[cfg(feature = "reference")]
                reference: crate::api::reference::Reference::new(&settings),
                body_time: Duration::from_millis(settings.requests.body_time_ms),
            }),
            dispatch,
            sweeper: Sweeper { services: Arc::clone(&services), access: Arc::clone(&access) },
            settings,
            services,
            access,
        })))
    }
}

fn renderer_or_default(
    given: Option<Arc<dyn DocumentRenderer>>,
) -> Result<Arc<dyn DocumentRenderer>, SettingError> {
    #[cfg(feature = "pdf")]
    let given = given.or_else(|| Some(Arc::new(crate::documents::PdfRenderer::new())));
    given.ok_or(SettingError::new("renderer", "must be given where the feature `pdf` is off"))
}

fn transport_builder(settings: &Settings) -> TransportBuilder {
    let dispatch = &settings.dispatch;
    Transport::builder(settings.target)
        .connect_timeout(Duration::from_millis(dispatch.attempt_timeout_ms))
        .proxy(dispatch.proxy.clone(), dispatch.proxy_resolves_names)
}

/// Lets the caches follow what this node and others commit, until the store is closed.
async fn listen(store: &Store, keys: Arc<KeyCache>, receivers: Arc<Receivers>, queue: Arc<Queue>) {
    let listener = move |incoming: Incoming| match incoming {
        Incoming::Notification(Notification::Due(webhook)) => {
            drop(queue.hand_over(vec![NewDelivery::Pending(webhook)]));
        }
        Incoming::Notification(Notification::Webhook(webhook)) => receivers.forget(webhook),
        Incoming::Notification(Notification::Key(key)) => keys.revoke(key),
        Incoming::Notification(Notification::KeyIssued) => keys.forget_unknown(),
        Incoming::Notification(Notification::Plan { company, plan }) => keys.set_plan(company, plan),
        Incoming::Gap => {
            receivers.forget_all();
            keys.outdate();
            queue.request_poll();
        }
    };
    store.listen(Box::new(listener)).await;
}

/// The key of document URLs: made once per database, and again where the key that it was sealed with is lost.
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

impl Invoicing {
    /// A service on a SQLite file, which belongs to one process at a time.
    pub fn sqlite(path: impl AsRef<Path>) -> Builder {
        Builder::new(Database::Sqlite(path.as_ref().to_owned()))
    }

    /// A service on a PostgreSQL database (12 or later), which any number of processes may share: each is a *node*, serves
    /// the API and may run the dispatcher. All nodes need the same settings, the same sealing keys, and a
    /// [document store](Builder::document_store) that all of them reach.
    #[cfg(feature = "postgres")]
    pub fn postgres(settings: PostgresSettings) -> Builder {
        Builder::new(Database::Postgres(settings))
    }

    /// The API, as a hyper and a tower service.
    pub fn service(&self) -> ApiService {
        ApiService::new(Arc::clone(&self.0.api))
    }

    /// The settings console, for the people that the host has signed in: a hyper and a tower service for a prefix of the host's.
    ///
    /// # Errors
    /// [`SettingError`] for settings that are not usable.
    #[cfg(feature = "console")]
    pub fn console(
        &self,
        settings: crate::console::ConsoleSettings,
        sign_in: impl crate::console::SignIn,
    ) -> Result<crate::console::Console, SettingError> {
        crate::console::Console::new(Arc::clone(&self.0.api), settings, Some(Box::new(sign_in)))
    }

    /// The page behind signing links alone, without the rest of the console: `/sign/{token}` below the base URL. Every other
    /// path but those of its style, script and logo is 404.
    ///
    /// # Errors
    /// [`SettingError`] for settings that are not usable.
    #[cfg(feature = "console")]
    pub fn signing_page(
        &self,
        settings: crate::console::ConsoleSettings,
    ) -> Result<crate::console::Console, SettingError> {
        crate::console::Console::new(Arc::clone(&self.0.api), settings, None)
    }

    /// Whether this process can serve. The database is asked at most once a second, however often this is called, and for
    /// 0.8 s at most. So an outage shows within 2 s, and so does its end.
    ///
    /// ```
    /// # use invoicing_server::Invoicing;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
    /// let health = invoicing.health().await;
    /// assert!(health.is_ready(), "{:?}", health.reasons());
    /// # Ok(()) }
    /// ```
    pub async fn health(&self) -> Health {
        self.0.health.health().await
    }

    /// The same as a hyper and a tower service, with `/livez` and `/readyz`, for the probes of a load balancer or an
    /// orchestrator. The host mounts it beside the API or on a port of its own.
    pub fn health_service(&self) -> HealthService {
        HealthService::new(Arc::clone(&self.0.health))
    }

    /// What delivers webhooks, once the host runs it: by itself, or with everything else by [`run`](Self::run).
    pub fn dispatcher(&self) -> Dispatcher {
        Dispatcher(Arc::clone(&self.0.dispatch))
    }

    /// Does all that the service does by itself until `stop` completes: delivers webhooks as [`Dispatcher::run`] does, and
    /// [sweeps](Self::sweep) at the start and every hour. A sweep that fails is logged, and the next one does its work.
    ///
    /// ```
    /// # use invoicing_server::Invoicing;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// let running = tokio::spawn({
    ///     let invoicing = invoicing.clone();
    ///     let stopped = async { _ = stopped.await };
    ///     async move { invoicing.run(stopped).await }
    /// });
    ///
    /// // When the host ends, for instance after `tokio::signal::ctrl_c()`.
    /// drop(stop);
    /// let report = running.await??;
    /// println!("{} delivered", report.delivered);
    /// invoicing.close().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Dispatcher::run`].
    pub async fn run(&self, stop: impl Future<Output = ()> + Send) -> Result<DispatchReport, Error> {
        let dispatcher = self.dispatcher();
        tokio::select! {
            report = dispatcher.run(stop) => report,
            never = self.sweep_every_hour() => match never {},
        }
    }

    /// Boxed, so that it is compiled once, and not by each host.
    fn sweep_every_hour(&self) -> BoxFuture<'_, Infallible> {
        Box::pin(async move {
            let mut hours = interval(SWEEP_INTERVAL);
            hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                hours.tick().await;
                if let Err(error) = self.sweep().await {
                    tracing::error!(error = &error as &dyn std::error::Error, "the sweep failed");
                }
            }
        })
    }

    /// The companies.
    pub fn companies(&self) -> Companies {
        Companies(Arc::clone(&self.0.services))
    }

    /// One company: every operation on its records starts here.
    pub fn company(&self, id: CompanyId) -> CompanyHandle {
        CompanyHandle::new(Arc::clone(&self.0.services), id)
    }

    /// What the holder of a public signing link can do.
    pub fn signing_links(&self) -> SigningLinks {
        SigningLinks::new(Arc::clone(&self.0.services))
    }

    /// Does what is due because time has passed: quotes expire, invoices fall overdue, idle keys are revoked, old
    /// attempts and documents that nothing came of are deleted. [`run`](Self::run) calls it every hour; a host without it calls
    /// it at least as often.
    ///
    /// A record that cannot be read keeps no other from being swept: the report names it. So it does with a company of which
    /// something failed for now.
    ///
    /// ```
    /// # use invoicing_server::Invoicing;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
    /// let report = invoicing.sweep().await?;
    /// println!("{} quotes expired, {} invoices fell overdue", report.expired_quotes, report.overdue_invoices);
    /// for record in report.unreadable {
    ///     println!("{record:?} needs repair");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StorageUnavailable`] where the database does not answer, or another node takes over the sweep.
    pub async fn sweep(&self) -> Result<SweepReport, Error> {
        self.0.sweeper.sweep().await
    }

    /// Takes other sealing keys into use while the service runs: a new current one, with the one until now as an older
    /// one. Call [`reseal`](Self::reseal) afterwards.
    ///
    /// # Errors
    /// [`SealingError`]; the keys in use stay in use then.
    pub async fn use_sealing_keys(&self, keys: SealingKeys) -> Result<(), SealingError> {
        let Services { store, sealer, .. } = &*self.0.services;
        let dispatch = Arc::clone(&self.0.dispatch);
        sealing::adopt(store, sealer, Some(keys), move || dispatch.receivers.forget_all()).await
    }

    /// Seals every stored secret with the current key: those in clear, and those that older keys have sealed. It works
    /// in batches, while everything else goes on; broken off, it is simply called again. What it replaces is wiped
    /// from the database's files.
    ///
    /// ```
    /// # use invoicing_server::{Invoicing, NewCompany, NewWebhook, Plan};
    /// use invoicing_server::{SealingKey, SealingKeys};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let database = folder.path().join("invoicing.db");
    /// let old = SealingKey::from_base64("2025-01", "zs7IkuWzqFjT1mYVmcVFRjNDVPeCwf6wbu5S4bS5l6I=")?;
    /// let invoicing = Invoicing::sqlite(database).sealing_keys(SealingKeys::new(old.clone())).open().await?;
    /// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
    /// # let new = NewWebhook::for_all_events("https://crm.example.com/hook");
    /// # invoicing.company(company.id).webhooks().register(&new).await?;
    ///
    /// // A year later, with a new key beside the one until now.
    /// let new = SealingKey::from_base64("2026-01", "YPVSqZPFO0RRnlS0obR1j+zoUx+IR0U6uK0tPUl/5SU=")?;
    /// invoicing.use_sealing_keys(SealingKeys::new(new.clone()).older(old)).await?;
    /// let report = invoicing.reseal().await?;
    /// assert_eq!((report.resealed, report.unreadable), (2, 0)); // of a webhook, and of document URLs
    ///
    /// // Nothing needs the old key any more: the next start does without it.
    /// assert_eq!(invoicing.sealed_with().await?.keys.into_keys().collect::<Vec<_>>(), ["2026-01"]);
    /// invoicing.use_sealing_keys(SealingKeys::new(new)).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] without a key.
    pub async fn reseal(&self) -> Result<ResealReport, Error> {
        self.0.services.reseal().await
    }

    /// How many stored secrets are sealed with which key.
    pub async fn sealed_with(&self) -> Result<SealedWith, Error> {
        self.0.services.store.read_service(async |tx| tx.sealed_secrets().count().await).await
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Its clock and randomness.
    pub fn env(&self) -> &Env {
        &self.0.services.env
    }

    /// Finishes what is being written and closes the database. Operations fail from then on. Dropping the service
    /// instead loses nothing either, but leaves the quota of each key a little smaller for a minute.
    pub async fn close(&self) {
        if let Err(error) = self.0.access.release_reservations().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "releasing the reserved quota failed");
        }
        self.0.services.store.close().await;
    }

    #[cfg(test)]
    pub(crate) fn sweeper(&self) -> &Sweeper {
        &self.0.sweeper
    }
}
