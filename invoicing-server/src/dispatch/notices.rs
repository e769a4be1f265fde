//! Tells the host of webhooks that failures have disabled.
//!
//! The transaction that disables a webhook leaves a notice in the database. After the commit the host is called
//! beside the dispatcher, and the notice is deleted once the call has succeeded. A node holds a notice for a minute while it calls, so
//! that the nodes do not call twice. Where it dies or the call fails, any node calls again after that minute.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use invoicing_core::{CompanyId, Timestamp, WebhookId};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::DispatchContext;
use crate::Error;
use crate::records::DisabledReason;
use crate::store::disabled_notices::DisabledNotice;
use crate::store::{ServiceTables, ServiceTx};

/// How long a node holds a notice, in milliseconds.
const HELD_MS: i64 = 60 * 1_000;
/// How long a call may take: less than the notice is held.
const CALL_LIMIT: Duration = Duration::from_secs(30);
/// How often notices are looked for that another node has left.
const POLL: Duration = Duration::from_secs(30);
/// How long a dispatcher that stops waits for calls.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);
/// Most calls at the same time.
const BATCH: u32 = 16;

/// A webhook that was disabled without its owner's doing: see
/// [`Builder::on_webhook_disabled`](crate::Builder::on_webhook_disabled).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisabledWebhook {
    /// Its company.
    pub company: CompanyId,
    /// The webhook. It may have been enabled again or removed since.
    pub webhook: WebhookId,
    /// Why it was disabled.
    pub reason: DisabledReason,
    /// When it was disabled. With the webhook it tells a repeated call from another disabling.
    pub disabled_at: Timestamp,
}

impl From<DisabledNotice> for DisabledWebhook {
    fn from(notice: DisabledNotice) -> Self {
        let DisabledNotice { company, webhook, disabled_at, reason } = notice;
        Self { company, webhook, reason, disabled_at }
    }
}

type Told = Result<(), Box<dyn StdError + Send + Sync>>;

/// The host's callback.
pub(crate) struct Notices {
    callback: Arc<dyn Fn(DisabledWebhook) -> BoxFuture<'static, Told> + Send + Sync>,
    /// A webhook was disabled by this node.
    wake: Notify,
}

impl Notices {
    pub(crate) fn new<F>(callback: impl Fn(DisabledWebhook) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Told> + Send + 'static,
    {
        Self { callback: Arc::new(move |disabled| callback(disabled).boxed()), wake: Notify::new() }
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Calls the host, in a task of its own, so that a callback that blocks does not block the dispatcher. Whether it took
    /// the notice.
    async fn call(&self, disabled: DisabledWebhook) -> bool {
        let DisabledWebhook { company, webhook, .. } = disabled;
        let callback = Arc::clone(&self.callback);
        // It ends with this call.
        let mut task = JoinSet::new();
        task.spawn(async move { callback(disabled).await });
        match tokio::time::timeout(CALL_LIMIT, task.join_next()).await {
            Ok(Some(Ok(Ok(())))) => return true,
            Ok(Some(Ok(Err(error)))) => {
                let error: &(dyn StdError + 'static) = &*error;
                tracing::warn!(%company, %webhook, error, "the callback for disabled webhooks has failed");
            }
            Ok(_) => {
                tracing::error!(%company, %webhook, "the callback for disabled webhooks has panicked");
            }
            Err(_) => {
                tracing::warn!(%company, %webhook, "the callback for disabled webhooks took over {CALL_LIMIT:?}");
            }
        }
        false
    }
}

/// Tells the host beside a dispatcher, until that has ended. Calls under way may then take a few seconds more.
pub(super) async fn tell_until(context: &DispatchContext, mut ended: watch::Receiver<bool>) {
    let mut told = pin!(go_on(context, ended.clone()));
    tokio::select! {
        () = &mut told => return,
        _ = ended.wait_for(|ended| *ended) => {}
    }
    if tokio::time::timeout(STOPPING_LIMIT, told).await.is_err() {
        tracing::warn!("a callback for disabled webhooks is broken off; the next start calls again");
    }
}

async fn go_on(context: &DispatchContext, mut ended: watch::Receiver<bool>) {
    let Some(notices) = &context.notices else { return };
    loop {
        // Also what was disabled last.
        let is_last = *ended.borrow();
        tell(context).await;
        if is_last {
            return;
        }
        tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {}
            () = notices.wake.notified() => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Tells the host of all webhooks whose notices are free.
pub(super) async fn tell(context: &DispatchContext) {
    let Some(notices) = &context.notices else { return };
    loop {
        match hold(context).await {
            Ok(held) if held.is_empty() => return,
            Ok(held) => {
                join_all(held.into_iter().map(|notice| tell_of(context, notices, notice))).await;
            }
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "notices of disabled webhooks cannot be read");
                return;
            }
        }
    }
}

/// Holds notices that are free.
async fn hold(context: &DispatchContext) -> Result<Vec<DisabledNotice>, Error> {
    let now = context.env.now();
    let latest = now.plus_millis(HELD_MS);
    let store = &context.store;
    let free =
        store.read_service(async move |tx| tx.webhooks().free_notices(now, latest, BATCH).await).await?;
    if free.is_empty() {
        return Ok(free);
    }
    let free = Arc::new(free);
    store
        .write_service(async move |tx: ServiceTx<'_>| {
            let mut held = Vec::new();
            for notice in free.iter() {
                if tx.webhooks().hold_notice(notice, now, latest).await? {
                    held.push(*notice);
                }
            }
            Ok(held)
        })
        .await
}

async fn tell_of(context: &DispatchContext, notices: &Notices, notice: DisabledNotice) {
    if !notices.call(notice.into()).await {
        return;
    }
    let delete = async move |tx: ServiceTx<'_>| tx.webhooks().delete_notice(&notice).await;
    if let Err(error) = context.store.write_service(delete).await {
        let error = &error as &dyn StdError;
        tracing::warn!(error, "a notice of a disabled webhook cannot be deleted; the host is told again");
    }
}
