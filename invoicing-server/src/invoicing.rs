//! The service of a host, with the API, the operations and the dispatcher.

mod builder;
mod served_app;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;
use tokio::time::{MissedTickBehavior, interval};

use crate::access::Access;
use crate::api::{ApiContext, ApiService};
#[cfg(feature = "postgres")]
use crate::config::PostgresSettings;
#[cfg(feature = "console")]
use crate::config::SettingError;
use crate::config::Settings;
use crate::dispatch::{DispatchContext, DispatchReport, Dispatcher};
use crate::env::Env;
use crate::error::Error;
use crate::health::{Health, HealthContext, HealthService};
#[cfg(feature = "console")]
use crate::http::HttpContext;
use crate::operations::resealing;
use crate::operations::sweep::Sweeper;
use crate::operations::{Companies, CompanyHandle, ResealReport, Services, SigningLinks, SweepReport};
use crate::records::SealingStats;
use crate::sealing::{SealingError, SealingKeys};
use crate::store::ServiceTables;
use builder::Database;
pub use builder::InvoicingBuilder;

/// Interval between two sweeps of [`Invoicing::run`].
const SWEEP_INTERVAL: Duration = Duration::from_hours(1);

/// The service. Cheap to clone; all clones are one.
///
/// Background tasks run for the database only. The host serves the API
/// ([`service`](Self::service)), and runs the dispatcher and the sweep ([`run`](Self::run)). The
/// log warns of either one that is missing, at most once an hour.
#[derive(Debug, Clone)]
pub struct Invoicing(Arc<Inner>);

struct Inner {
    settings: Settings,
    services: Arc<Services>,
    access: Arc<Access>,
    sweeper: Sweeper,
    /// Shared by all applications.
    #[cfg(feature = "console")]
    http: Arc<HttpContext>,
    api: Arc<ApiContext>,
    dispatch: Arc<DispatchContext>,
    health: Arc<HealthContext>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Invoicing {
    /// A service on a SQLite file, which belongs to one process at a time.
    pub fn sqlite(path: impl AsRef<Path>) -> InvoicingBuilder {
        InvoicingBuilder::new(Database::Sqlite(path.as_ref().to_owned()))
    }

    /// A service on a PostgreSQL database (12 or later), which any number of processes may share:
    /// each is a *node*, serves the API and may run the dispatcher. All nodes need the same
    /// settings, the same sealing keys, and a [document store](InvoicingBuilder::document_store) that all of
    /// them reach.
    #[cfg(feature = "postgres")]
    pub fn postgres(settings: PostgresSettings) -> InvoicingBuilder {
        InvoicingBuilder::new(Database::Postgres(settings))
    }

    /// The API, as a hyper and a tower service.
    pub fn service(&self) -> ApiService {
        ApiService::new(Arc::clone(&self.0.api))
    }

    /// The settings console, for the people that the host has signed in: a hyper and a tower
    /// service for a prefix of the host's.
    ///
    /// # Errors
    /// [`SettingError`] for settings that are not usable.
    #[cfg(feature = "console")]
    pub fn console(
        &self,
        settings: crate::console::ConsoleSettings,
        sign_in: impl crate::console::SignIn,
    ) -> Result<crate::console::Console, SettingError> {
        self.console_with(settings, Some(Box::new(sign_in)))
    }

    /// The page behind signing links alone, without the rest of the console: `/sign/{token}` below
    /// the base URL. Every other path but those of its style, script and logo is 404.
    ///
    /// # Errors
    /// [`SettingError`] for settings that are not usable.
    #[cfg(feature = "console")]
    pub fn signing_page(
        &self,
        settings: crate::console::ConsoleSettings,
    ) -> Result<crate::console::Console, SettingError> {
        self.console_with(settings, None)
    }

    #[cfg(feature = "console")]
    fn console_with(
        &self,
        settings: crate::console::ConsoleSettings,
        sign_in: Option<Box<dyn crate::console::SignIn>>,
    ) -> Result<crate::console::Console, SettingError> {
        let Inner { http, services, settings: Settings { dispatch, .. }, .. } = &*self.0;
        crate::console::Console::new(Arc::clone(http), Arc::clone(services), dispatch, settings, sign_in)
    }

    /// The health of this process: whether it can serve. Checks the database at most once a second,
    /// however often this is called, and for 0.8 s at most. An outage therefore shows within 2 s,
    /// and so does its end.
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

    /// The same as a hyper and a tower service, with `/livez` and `/readyz`, for the probes of a
    /// load balancer or an orchestrator. The host mounts it beside the API or on another port.
    pub fn health_service(&self) -> HealthService {
        HealthService::new(Arc::clone(&self.0.health))
    }

    /// The dispatcher, which delivers webhooks once the host runs it: alone, or together with the
    /// sweep by [`run`](Self::run).
    pub fn dispatcher(&self) -> Dispatcher {
        Dispatcher(Arc::clone(&self.0.dispatch))
    }

    /// Does all work that no caller starts, until `stop` completes: delivers webhooks as
    /// [`Dispatcher::run`] does, and [sweeps](Self::sweep) at the start and every hour. A sweep
    /// that fails is logged, and the next one does its work.
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
    /// The errors of [`Dispatcher::run`].
    pub async fn run(&self, stop: impl Future<Output = ()> + Send) -> Result<DispatchReport, Error> {
        let dispatcher = self.dispatcher();
        tokio::select! {
            report = dispatcher.run(stop) => report,
            never = self.sweep_every_hour() => match never {},
        }
    }

    /// The hourly sweep. Boxed, so that this crate compiles it once, rather than each host.
    fn sweep_every_hour(&self) -> BoxFuture<'_, Infallible> {
        Box::pin(async move {
            let mut hours = interval(SWEEP_INTERVAL);
            hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                hours.tick().await;
                if let Err(error) = self.sweep().await {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "sweep failed; the next one follows in an hour"
                    );
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

    /// The operations of the holder of a public signing link.
    pub fn signing_links(&self) -> SigningLinks {
        SigningLinks::new(Arc::clone(&self.0.services))
    }

    /// Makes the changes that are due by time: quotes expire, invoices fall overdue, idle keys are
    /// revoked, old attempts and documents without a record are deleted. [`run`](Self::run) calls
    /// it every hour; a host without it calls it at least as often.
    ///
    /// A record that cannot be read keeps no other from being swept: the report names it. The
    /// report also names a company if a part of its sweep has failed for now.
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
    /// [`Error::StorageUnavailable`] if the database does not answer, or another node takes over
    /// the sweep.
    pub async fn sweep(&self) -> Result<SweepReport, Error> {
        self.0.sweeper.sweep().await
    }

    /// Takes other sealing keys into use while the service runs: a new current one, with the one
    /// until now as an older one. Call [`reseal`](Self::reseal) afterwards.
    ///
    /// # Errors
    /// [`SealingError`]; the keys in use stay in use then.
    pub async fn use_sealing_keys(&self, keys: SealingKeys) -> Result<(), SealingError> {
        let Services { store, sealer, .. } = &*self.0.services;
        let dispatch = Arc::clone(&self.0.dispatch);
        resealing::adopt(store, sealer, Some(keys), move || dispatch.endpoints.clear()).await
    }

    /// Seals every stored secret with the current key: secrets in clear, and secrets that older
    /// keys have sealed. It works in batches, while all other work goes on; if broken off, it can
    /// be called again. The replaced bytes are wiped from the database's files.
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

    /// The number of stored secrets that each key has sealed.
    pub async fn sealed_with(&self) -> Result<SealingStats, Error> {
        self.0.services.store.read_service(async |tx| tx.sealed_secrets().count().await).await
    }

    /// The settings that the service was opened with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The clock and the randomness of the service.
    pub fn env(&self) -> &Env {
        &self.0.services.env
    }

    /// Finishes the writes that are under way and closes the database. Operations fail from then
    /// on. Dropping the service instead loses no data either, but leaves the quota of each key a
    /// little smaller for a minute.
    pub async fn close(&self) {
        if let Err(error) = self.0.access.release_reservations().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "reserved quota not released; the quota of each key is smaller for a minute"
            );
        }
        self.0.services.store.close().await;
    }

    /// A service on a file in a new folder, and a company of the service.
    #[cfg(test)]
    pub(crate) async fn with_company() -> (tempfile::TempDir, Self, CompanyHandle) {
        let folder = tempfile::tempdir().unwrap();
        let invoicing = Self::sqlite(folder.path().join("invoicing.db")).open().await.unwrap();
        let new = invoicing_core::NewCompany::named("Martin", invoicing_core::Plan::Team);
        let company = invoicing.companies().create(&new).await.unwrap().id;
        let company = invoicing.company(company);
        (folder, invoicing, company)
    }

    #[cfg(test)]
    pub(crate) fn sweeper(&self) -> &Sweeper {
        &self.0.sweeper
    }
}
