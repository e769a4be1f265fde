//! What the loop asks of the database. Each is a future beside the attempts: the loop never waits for one of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use invoicing_core::{Timestamp, WebhookId};

use super::attempt::Finished;
use super::record::{Recorded, record_batch};
use crate::Error;
use crate::invoicing::Inner;
use crate::queue::Job;
use crate::store::claims::{self, Claimant};
use crate::store::reading;

/// Pause after a failure of the database.
pub(super) const PAUSE: Duration = Duration::from_millis(250);
/// How long a dispatcher that stops goes on trying to record, from the first failure on.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);

/// Releases claims that earlier runs and dead processes left, as far as these are known, and opens the queue with the
/// same commit: a delivery that is handed over later is not released.
pub(super) async fn recover(inner: &Inner) -> Result<u64, Error> {
    inner
        .store
        .write(|tx| {
            Box::pin(async move {
                let now = tx.env().now();
                let mut released = claims::release_dead(tx.connection(), now).await?;
                let (unreleased, token) = tx.queue().unreleased();
                if !unreleased.is_empty() {
                    released += claims::release(tx.connection(), &unreleased, token, now).await?;
                }
                tx.open_queue_on_commit();
                Ok(released)
            })
        })
        .await
}

/// Every webhook with pending deliveries, and when the next of them can be claimed.
pub(super) async fn next_due(inner: &Inner) -> Result<Vec<(WebhookId, Timestamp)>, Error> {
    reading!(inner.store, |c| claims::next_due(c, inner.env.now()))
}

/// Result of a claim for one webhook: the room that was reserved for it, the deliveries, when the next falls due.
pub(super) type Claimed = (WebhookId, usize, Result<(Vec<Job>, Option<Timestamp>), Error>);

/// Claims for several webhooks at once.
pub(super) async fn claim(inner: &Inner, wanted: Vec<(WebhookId, usize)>) -> Vec<Claimed> {
    let now = inner.env.now();
    let (token, lease_until) = (inner.queue.token(), inner.queue.lease_from(now));
    let claimed = inner.store.claim(Claimant { token, now, lease_until }, &wanted).await;
    wanted.into_iter().zip(claimed).map(|((webhook, room), (_, claimed))| (webhook, room, claimed)).collect()
}

/// Records a batch. While the database is unavailable it is retried: an attempt that is not recorded is made again, while
/// one that is recorded twice counts once. After any other error each result is recorded by itself, and only those that
/// still fail are left to the end of their lease.
pub(super) async fn record(inner: &Inner, batch: Arc<Vec<Finished>>, stopping: Arc<AtomicBool>) -> Recorded {
    let mut failing_since = None;
    loop {
        let (shared, endpoints) = (Arc::clone(&batch), Arc::clone(&inner.endpoints));
        let recorded =
            inner.store.write(move |tx| Box::pin(async move { record_batch(tx, &shared, &endpoints).await }));
        let error = match recorded.await {
            Ok(recorded) => return recorded,
            Err(error) => error,
        };
        log_unrecorded(&error, batch.len());
        let unavailable = matches!(error, Error::StorageUnavailable(_)) && !error.is_too_slow();
        if unavailable && !(stopping.load(Ordering::Relaxed) && is_over(&mut failing_since)) {
            tokio::time::sleep(PAUSE).await;
        } else if unavailable || batch.len() == 1 {
            tracing::error!("{} results are lost; their attempts will be made again", batch.len());
            let lost = batch.iter().map(|finished| finished.job.delivery).collect();
            return Recorded { lost, ..Recorded::default() };
        } else {
            return one_by_one(inner, batch, stopping).await;
        }
    }
}

/// Whether a dispatcher that stops has tried for long enough.
fn is_over(failing_since: &mut Option<Instant>) -> bool {
    failing_since.get_or_insert_with(Instant::now).elapsed() > STOPPING_LIMIT
}

fn log_unrecorded(error: &Error, results: usize) {
    tracing::warn!(error = error as &dyn std::error::Error, "{results} results cannot be recorded");
}

fn one_by_one(
    inner: &Inner,
    batch: Arc<Vec<Finished>>,
    stopping: Arc<AtomicBool>,
) -> BoxFuture<'_, Recorded> {
    Box::pin(async move {
        let mut all = Recorded::default();
        for finished in batch.iter() {
            let alone = Arc::new(vec![finished.clone()]);
            all.add(record(inner, alone, Arc::clone(&stopping)).await);
        }
        all
    })
}

/// Releases deliveries that were not attempted. Whether that was done.
pub(super) async fn release(inner: &Inner, deliveries: Vec<i64>) -> bool {
    let released = inner.store.write(|tx| {
        Box::pin(async move {
            let (now, token) = (tx.env().now(), tx.queue().token());
            claims::release_run(tx.connection(), &deliveries, token, now).await
        })
    });
    let released = released.await;
    if let Err(error) = &released {
        let error = error as &dyn std::error::Error;
        tracing::warn!(error, "deliveries were not released; they wait for the next start");
    }
    released.is_ok()
}
