//! The loop's access to the database. Each call is a future beside the attempts: the loop never
//! waits for one of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use invoicing_core::{Timestamp, WebhookId};

use super::DispatchContext;
use super::PAUSE_MS;
use super::attempt::Finished;
use super::latency::LATE;
use super::record::{BatchOutcome, record_batch};
use super::webhook_queue::{BegunDelivery, MAX_KEPT_QUEUES};
use crate::error::Error;
use crate::queue::{Job, Pool};
use crate::store::bulk_changes::NotedWebhook;
use crate::store::claims::{ClaimLease, ClaimRequest, Claimed, PendingWebhook};
use crate::store::settings::HostTask;
use crate::store::{ServiceTables, ServiceTx};

/// Time limit for the retries of a recording while the dispatcher stops, from the first failure on.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);

/// Releases the claims of earlier runs of this process and of processes that are known to be dead.
/// The queue opens after this call. Until then deliveries are committed without a claim, so no
/// claim of the new run is released.
pub(super) async fn recover(context: &DispatchContext) -> Result<u64, Error> {
    let (unreleased, token) = context.queue.unreleased();
    context
        .store
        .write_service(async move |tx| {
            let now = tx.env().now();
            let dead = tx.deliveries().release_dead(now).await?;
            Ok(dead + tx.deliveries().release(&unreleased, token, now).await?)
        })
        .await
}

/// The webhooks that were prompt by the attempts on record. All others count as new, because the
/// cause of their slow attempts may be over. If the attempts cannot be read, every webhook counts
/// as new.
pub(super) async fn load_latency_history(context: &DispatchContext) -> Vec<WebhookId> {
    let prompt =
        context.store.read_service(async |tx| tx.deliveries().prompt_webhooks(LATE, MAX_KEPT_QUEUES).await);
    prompt.await.unwrap_or_else(|error| {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "earlier latencies of receivers not read; every webhook counts as new");
        Vec::new()
    })
}

/// Interval at which the dispatcher's last run is recorded in the database, in milliseconds.
const NOTE_MS: i64 = 30 * 60 * 1_000;

/// Interval of polls without a request: wake-ups may be lost.
pub(super) const POLL: Duration = Duration::from_secs(5);
/// Pause after a poll, in multiples of the time that the database took for it, between [`POLL`] and
/// [`LONGEST_PAUSE`]. A poll is slow while PostgreSQL cannot remove dead index entries, because
/// another session may still read them.
const PAUSE_PER_POLL: u32 = 20;
/// Longest pause between polls, and so the longest wait of a delivery that a claim has missed.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The result of a poll of the table.
pub(super) struct Polled {
    /// When it began.
    pub(super) at: Timestamp,
    /// Every webhook with pending deliveries.
    pub(super) waiting: Vec<PendingWebhook>,
    /// Deliveries that wait for a retry, such as those of an earlier run or of another node.
    pub(super) begun: Vec<(Timestamp, BegunDelivery)>,
    /// The webhooks with [bulk work](super::bulk), ordered by id.
    pub(super) noted: Vec<NotedWebhook>,
    /// Pause until the next poll.
    pub(super) pause: Duration,
}

pub(super) async fn poll(context: &DispatchContext) -> Result<Polled, Error> {
    let now = context.env.now();
    let (last_run, noted, (mut waiting, took), mut begun) = context
        .store
        .read_service(async move |tx| {
            let last_run = tx.settings().last_run(HostTask::Dispatcher).await?;
            let noted = tx.bulk_changes().list().await?;
            let next_due = tx.deliveries().next_due(now).await?;
            Ok((last_run, noted, next_due, tx.deliveries().begun(now).await?))
        })
        .await?;
    if last_run.is_none_or(|at| at > now || at.plus_millis(NOTE_MS) <= now) {
        let note = async move |tx: ServiceTx<'_>| tx.settings().note_run(HostTask::Dispatcher, now).await;
        // The next poll tries again.
        if let Err(error) = context.store.write_service(note).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "run of the dispatcher not noted; the next poll notes it"
            );
        }
    }
    #[cfg(feature = "metrics")]
    super::metrics::backlog(context, now).await;
    // Bulk work skips these deliveries, so a claim of them would be in vain.
    let skipping: HashSet<_> = noted.iter().filter(|noted| noted.skips).map(|noted| noted.webhook).collect();
    waiting.retain(|waiting| !skipping.contains(&waiting.webhook));
    begun.retain(|(_, (webhook, _))| !skipping.contains(webhook));
    let pause = (took * PAUSE_PER_POLL).clamp(POLL, LONGEST_PAUSE);
    Ok(Polled { at: now, waiting, begun, noted, pause })
}

/// Result of a claim for one webhook, with the number of memory slots reserved for it.
pub(super) type ClaimResult = (WebhookId, usize, Result<Claimed, Error>);

/// Claims for several webhooks at once.
pub(super) async fn claim(context: &DispatchContext, requests: Vec<ClaimRequest>) -> Vec<ClaimResult> {
    let claimed = context.store.claim(lease(context), &requests).await;
    let rooms = requests.into_iter().map(|request| request.room);
    claimed.into_iter().zip(rooms).map(|((webhook, claimed), room)| (webhook, room, claimed)).collect()
}

/// A retry that is given a slot of a pool, and is to be claimed.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignedRetry {
    pub(super) webhook: WebhookId,
    pub(super) delivery: i64,
    pub(super) pool: Pool,
}

/// The retries to claim, and the ones that were claimed.
pub(super) type Resumption = (Vec<AssignedRetry>, Result<Vec<Job>, Error>);

pub(super) async fn resume(context: &DispatchContext, retries: Vec<AssignedRetry>) -> Resumption {
    let begun = retries.iter().map(|retry| (retry.webhook, retry.delivery)).collect();
    let jobs = context.store.resume(lease(context), begun).await;
    (retries, jobs)
}

fn lease(context: &DispatchContext) -> ClaimLease {
    let now = context.env.now();
    ClaimLease { token: context.queue.token(), now, lease_until: context.queue.lease_from(now) }
}

/// Records a batch. While the database is unavailable the recording is retried: an attempt without
/// a record would be made again, and a result that is recorded twice counts once. After any other
/// error each result is recorded by itself. A result that still fails is dropped, and its delivery
/// falls due at the end of its lease.
pub(super) async fn record(
    context: &DispatchContext,
    batch: Arc<Vec<Finished>>,
    stopping: Arc<AtomicBool>,
) -> BatchOutcome {
    let mut failing_since = None;
    loop {
        let (shared, endpoints) = (Arc::clone(&batch), Arc::clone(&context.endpoints));
        let recorded =
            context.store.write_service(async move |tx| record_batch(tx, &shared, &endpoints).await);
        let error = match recorded.await {
            Ok(recorded) => {
                super::metrics::recorded(context.env.metrics(), &batch, &recorded);
                if recorded.disabled > 0
                    && let Some(notices) = &context.notices
                {
                    notices.wake();
                }
                return recorded;
            }
            Err(error) => error,
        };
        let results = batch.len();
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            results,
            "recording of attempt results failed"
        );
        let unavailable = matches!(error, Error::StorageUnavailable(_)) && !error.is_statement_timeout();
        let is_over = stopping.load(Ordering::Relaxed)
            && failing_since.get_or_insert_with(Instant::now).elapsed() > STOPPING_LIMIT;
        if unavailable && !is_over {
            tokio::time::sleep(Duration::from_millis(PAUSE_MS.unsigned_abs())).await;
        } else if unavailable || results == 1 {
            tracing::error!(results, "attempt results not recorded; the attempts will be repeated");
            return BatchOutcome::default();
        } else {
            let mut all = BatchOutcome::default();
            for finished in batch.iter() {
                let alone = Arc::new(vec![finished.clone()]);
                all.add(Box::pin(record(context, alone, Arc::clone(&stopping))).await);
            }
            return all;
        }
    }
}

/// Releases the claims that a run has left. If that fails, the next start does it.
pub(super) async fn release(context: &DispatchContext) {
    let (unreleased, token) = context.queue.unreleased();
    let released = context.store.write_service(async move |tx| {
        let now = tx.env().now();
        tx.deliveries().release_run(&unreleased, token, now).await
    });
    if let Err(error) = released.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "claimed deliveries not released; they wait for the next start or the end of their leases"
        );
    }
}
