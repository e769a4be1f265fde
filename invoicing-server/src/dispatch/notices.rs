//! Notifies the host of webhooks that failures have disabled.
//!
//! The transaction that disables a webhook leaves a notice in the database. After the commit the
//! dispatcher calls the host beside its other work, and deletes the notice once the call has
//! succeeded. A node holds a notice for a minute while it calls, so that two nodes do not call for
//! the same notice. If the node dies or the call fails, any node calls again after that minute.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use invoicing_core::{CompanyId, DisabledReason, Timestamp, WebhookId};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::DispatchContext;
use crate::error::Error;
use crate::store::disabled_notices::DisabledNotice;
use crate::store::{ServiceTables, ServiceTx};

/// Time for which a node holds a notice, in milliseconds.
const HELD_MS: i64 = 60 * 1_000;
/// Time limit of a call: less than the notice is held.
const CALL_LIMIT: Duration = Duration::from_secs(30);
/// Interval at which a node looks for notices that another node has left.
const POLL: Duration = Duration::from_secs(30);
/// Time limit for calls under way while the dispatcher stops.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);
/// Maximum number of calls at the same time.
const BATCH: u32 = 16;

/// A webhook that was disabled without its owner's doing: see
/// [`InvoicingBuilder::on_webhook_disabled`](crate::InvoicingBuilder::on_webhook_disabled).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisabledWebhook {
    /// Its company.
    pub company: CompanyId,
    /// The webhook. It may have been enabled again or removed since.
    pub webhook: WebhookId,
    /// Why it was disabled.
    pub reason: DisabledReason,
    /// When it was disabled. A repeated call has the same webhook and instant; another disabling
    /// has another instant.
    pub disabled_at: Timestamp,
}

impl From<DisabledNotice> for DisabledWebhook {
    fn from(notice: DisabledNotice) -> Self {
        let DisabledNotice { company, webhook, disabled_at, reason } = notice;
        Self { company, webhook, reason, disabled_at }
    }
}

/// The result of the callback.
type CallbackResult = Result<(), Box<dyn StdError + Send + Sync>>;

/// The host's callback.
pub(crate) struct Notices {
    callback: Arc<dyn Fn(DisabledWebhook) -> BoxFuture<'static, CallbackResult> + Send + Sync>,
    /// Notified when this node has disabled a webhook.
    wake: Notify,
}

impl Notices {
    pub(crate) fn new<F>(callback: impl Fn(DisabledWebhook) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = CallbackResult> + Send + 'static,
    {
        Self { callback: Arc::new(move |disabled| callback(disabled).boxed()), wake: Notify::new() }
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Calls the host, in a separate task so that a callback that blocks does not block the
    /// dispatcher. Returns whether the call has succeeded.
    async fn call(&self, disabled: DisabledWebhook) -> bool {
        let DisabledWebhook { company, webhook, .. } = disabled;
        let callback = Arc::clone(&self.callback);
        // A `JoinSet` aborts its task when this call ends.
        let mut task = JoinSet::new();
        task.spawn(async move { callback(disabled).await });
        match tokio::time::timeout(CALL_LIMIT, task.join_next()).await {
            Ok(Some(Ok(Ok(())))) => return true,
            Ok(Some(Ok(Err(error)))) => {
                let error: &(dyn StdError + 'static) = &*error;
                tracing::warn!(%company, %webhook, error, "callback for disabled webhooks failed; it is called again");
            }
            Ok(_) => {
                tracing::error!(%company, %webhook, "callback for disabled webhooks panicked; it is called again");
            }
            Err(_) => {
                tracing::warn!(%company, %webhook, "callback for disabled webhooks exceeded {CALL_LIMIT:?}; it runs again");
            }
        }
        false
    }
}

/// Notifies the host beside a dispatcher, until the dispatcher has ended. Calls under way may then
/// take a few seconds more.
pub(super) async fn notify_until(context: &DispatchContext, mut ended: watch::Receiver<bool>) {
    let mut notifying = pin!(notify_repeatedly(context, ended.clone()));
    tokio::select! {
        () = &mut notifying => return,
        _ = ended.wait_for(|ended| *ended) => {}
    }
    if tokio::time::timeout(STOPPING_LIMIT, notifying).await.is_err() {
        tracing::warn!("callback for disabled webhooks cut short by the stop; the next start calls it again");
    }
}

async fn notify_repeatedly(context: &DispatchContext, mut ended: watch::Receiver<bool>) {
    let Some(notices) = &context.notices else { return };
    loop {
        // Read before the calls: a last round follows the end, for webhooks that were disabled just
        // before it.
        let is_last = *ended.borrow();
        notify_host(context).await;
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

/// Notifies the host of each disabled webhook whose notice no node has claimed.
pub(super) async fn notify_host(context: &DispatchContext) {
    let Some(notices) = &context.notices else { return };
    loop {
        match hold(context).await {
            Ok(held) if held.is_empty() => return,
            Ok(held) => {
                join_all(held.into_iter().map(|notice| notify_of(context, notices, notice))).await;
            }
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "notices of disabled webhooks not read; the next poll reads them");
                return;
            }
        }
    }
}

/// Holds notices that no node holds, and returns them.
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

async fn notify_of(context: &DispatchContext, notices: &Notices, notice: DisabledNotice) {
    if !notices.call(notice.into()).await {
        return;
    }
    let delete = async move |tx: ServiceTx<'_>| tx.webhooks().delete_notice(&notice).await;
    if let Err(error) = context.store.write_service(delete).await {
        let error = &error as &dyn StdError;
        tracing::warn!(error, "notice of a disabled webhook not deleted; its callback is called again");
    }
}
