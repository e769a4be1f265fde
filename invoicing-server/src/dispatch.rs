//! The webhook dispatcher: from committed deliveries to recorded attempts.
//!
//! Operations write the rows: an event, and a delivery per webhook, in the transaction of the
//! change. The dispatcher claims the deliveries, makes the attempts, and records them. Only one
//! other component ends deliveries: [bulk] work skips, in batches, the deliveries that wait for a
//! disabled webhook.
//!
//! A delivery is *claimed* while it is in memory: `held_until` is the end of a lease and `claim`
//! holds this run's token. New deliveries are inserted as claimed and come through the [`Queue`];
//! all others (retries, deliveries without a memory slot, deliveries of a dead process) are
//! claimed from the table when they fall due. A claim without a record falls due again, so a crash
//! delays and may repeat an attempt but never loses one. Retries are claimed by their ids, before
//! any first attempt of their webhook.
//!
//! Each webhook has one [queue](webhook_queue) with bounded memory and bounded deliveries under
//! way: a dead receiver fills that queue only. A *slot* is the right to one attempt in flight, and
//! a *memory slot* that to hold one delivery without an attempt. The [latency] of a webhook puts it
//! into the [pool](crate::queue::Pools) of prompt webhooks or that of slow ones, which divide both
//! kinds of slots, and decides its *priority* in the [queues](priority_queue) for slots and for
//! claims.

mod attempt;
mod backlog;
mod bulk;
mod endpoint_cache;
mod engine;
mod heartbeat;
mod latency;
mod metrics;
mod notices;
mod priority_queue;
mod record;
mod slots;
mod storage;
#[cfg(test)]
mod tests;
pub(crate) mod transport;
mod webhook_queue;

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use invoicing_core::ConflictReason;
use tokio::sync::{Mutex, watch};

use crate::config::DispatchSettings;
use crate::env::Env;
use crate::error::Error;
use crate::queue::Queue;
use crate::store::Store;
use crate::trace_context::TraceContext;
pub(crate) use endpoint_cache::EndpointCache;
use engine::Engine;
pub use heartbeat::DispatcherHealth;
pub(crate) use heartbeat::Heartbeat;
pub use notices::DisabledWebhook;
pub(crate) use notices::Notices;

/// Pause after a failure of the database, in milliseconds.
const PAUSE_MS: i64 = 250;

/// The counts of one run of a dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DispatchReport {
    /// Attempts that were made.
    pub attempts: u64,
    /// Deliveries that ended with a 2xx.
    pub delivered: u64,
    /// Deliveries that were given up.
    pub failed: u64,
    /// Deliveries that were skipped because their webhook is disabled or removed.
    pub skipped: u64,
    /// Attempts after which another one is due later.
    pub retried: u64,
}

impl DispatchReport {
    fn add(&mut self, more: Self) {
        self.attempts += more.attempts;
        self.delivered += more.delivered;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.retried += more.retried;
    }
}

/// The parts of the service that a dispatcher uses.
pub(crate) struct DispatchContext {
    pub(crate) store: Arc<Store>,
    pub(crate) env: Env,
    pub(crate) settings: DispatchSettings,
    pub(crate) queue: Arc<Queue>,
    pub(crate) endpoints: Arc<EndpointCache>,
    /// Held by the dispatcher that runs.
    pub(crate) slot: Mutex<()>,
    pub(crate) heartbeat: Heartbeat,
    /// The host's tracing, for attempts whose events have a context of the host.
    pub(crate) traces: Option<Arc<dyn TraceContext>>,
    /// The callback for webhooks that failures have disabled, if the host has set one.
    pub(crate) notices: Option<Notices>,
}

impl fmt::Debug for DispatchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContext").finish_non_exhaustive()
    }
}

/// Delivers webhooks for as long as its host runs it. [`Invoicing::run`](crate::Invoicing::run)
/// runs it together with the sweep, which is what most hosts want.
///
/// ```
/// # use invoicing_server::{Invoicing, NewCompany, NewWebhook, Plan, Settings, TargetPolicy};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let target = TargetPolicy { allow_http: true, allow_private: true };
/// # let settings = Settings { target, ..Settings::default() };
/// # let database = folder.path().join("invoicing.db");
/// # let invoicing = Invoicing::sqlite(database).settings(settings).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let nothing_listens = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
/// # let webhook = NewWebhook::for_all_events(format!("http://{nothing_listens}/hook"));
/// # let webhook = company.webhooks().register(&webhook).await?.webhook;
/// // A test delivers what is due, and looks at what became of it. Here the receiver is down.
/// company.webhooks().ping(webhook.id).await?;
/// let report = invoicing.dispatcher().run_once().await?;
/// assert_eq!((report.attempts, report.retried), (1, 1));
///
/// // A host that sweeps by itself runs the dispatcher alone, until it is told to stop.
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let dispatcher = invoicing.dispatcher();
/// let running = tokio::spawn(async move { dispatcher.run(async { _ = stopped.await }).await });
/// drop(stop);
/// println!("{:?}", running.await??);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Dispatcher(pub(crate) Arc<DispatchContext>);

impl Dispatcher {
    /// Delivers until `stop` completes, then lets the attempts in flight end (each has a time
    /// limit), records them, and releases all other claims. Dropping the future instead loses
    /// nothing, but the deliveries in memory wait for the next start.
    ///
    /// # Errors
    /// [`Error::Conflict`] when a dispatcher of this service runs already;
    /// [`Error::StorageUnavailable`] when the database cannot be read at the start. Later trouble
    /// with the database is waited out.
    pub async fn run(&self, stop: impl Future<Output = ()> + Send) -> Result<DispatchReport, Error> {
        self.work(false, pin!(stop)).await
    }

    /// Delivers what is due now, and returns when nothing is: for tests that move the clock by
    /// hand.
    pub async fn run_once(&self) -> Result<DispatchReport, Error> {
        self.work(true, pin!(std::future::pending())).await
    }

    /// Boxed, because the compiler limits the depth of nested futures, and the host's futures add
    /// to that depth. The box also lets the loop be compiled once instead of in each host.
    fn work<'r>(
        &'r self,
        until_idle: bool,
        stop: Pin<&'r mut (dyn Future<Output = ()> + Send + 'r)>,
    ) -> BoxFuture<'r, Result<DispatchReport, Error>> {
        Box::pin(async move {
            // Released after the engine is dropped, because the drop leaves the engine's deliveries
            // to the next run.
            let Ok(_slot) = self.0.slot.try_lock() else {
                return Err(ConflictReason::DispatcherRuns.into());
            };
            if until_idle {
                let report = Engine::new(&self.0).run(until_idle, stop).await;
                notices::notify_host(&self.0).await;
                return report;
            }
            let _run = self.0.heartbeat.begin();
            let (end, ended) = watch::channel(false);
            let delivering = async {
                let report = Engine::new(&self.0).run(until_idle, stop).await;
                end.send_replace(true);
                report
            };
            let (report, ()) = tokio::join!(delivering, notices::notify_until(&self.0, ended));
            report
        })
    }
}
