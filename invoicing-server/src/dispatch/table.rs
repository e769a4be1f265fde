//! What the loop asks of the database. Each is a future beside the attempts: the loop never waits for one of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use invoicing_core::{Timestamp, WebhookId};

use super::Job;
use super::attempt::Attempted;
use super::record::{Recorded, record};
use crate::Error;
use crate::invoicing::Inner;
use crate::store::claims::{self, Claimant};
use crate::store::reading;

/// How long to wait when the database is in trouble.
pub(super) const TROUBLE: Duration = Duration::from_millis(250);
/// How long a dispatcher that stops goes on trying to record, from the first failure on.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);

/// Releases what a process left behind that is no more, where that can be known, and opens the hand-off with the same
/// commit: a delivery that is handed over later is not released.
pub(super) async fn take_over(inner: &Inner) -> Result<u64, Error> {
    inner
        .store
        .write(|tx| {
            Box::pin(async move {
                let now = tx.env().now();
                let mut released = claims::release_dead(tx.connection(), now).await?;
                let (left, token) = tx.handoff().left();
                if !left.is_empty() {
                    released += claims::release(tx.connection(), &left, token, now).await?;
                }
                tx.open_handoff_on_commit();
                Ok(released)
            })
        })
        .await
}

/// Every webhook with something pending, and when it is to be looked at.
pub(super) async fn look(inner: &Inner) -> Result<Vec<(WebhookId, Timestamp)>, Error> {
    reading!(inner.store, |c| claims::waiting(c, inner.env.now()))
}

/// What a claim for one webhook gave: the room that was reserved for it, the deliveries, when the next falls due.
pub(super) type Claimed = (WebhookId, usize, Result<(Vec<Job>, Option<Timestamp>), Error>);

/// Claims for several webhooks at once.
pub(super) async fn claim(inner: &Inner, wanted: Vec<(WebhookId, usize)>) -> Vec<Claimed> {
    let now = inner.env.now();
    let (token, lease_until) = (inner.handoff.token(), inner.handoff.lease_from(now));
    let claimed = inner.store.claim(Claimant { token, now, lease_until }, &wanted).await;
    wanted.into_iter().zip(claimed).map(|((webhook, room), (_, claimed))| (webhook, room, claimed)).collect()
}

/// Records a batch. While the database is unavailable it tries again and again: an outcome that is not recorded is
/// an attempt made again, while recording an outcome twice changes nothing. Where something else is wrong, every outcome
/// is recorded by itself, and only what still fails is left to the end of its lease.
pub(super) async fn keep(inner: &Inner, batch: Arc<Vec<Attempted>>, stopping: Arc<AtomicBool>) -> Recorded {
    let mut failing_since = None;
    loop {
        let (shared, endpoints) = (Arc::clone(&batch), Arc::clone(&inner.endpoints));
        let recorded =
            inner.store.write(move |tx| Box::pin(async move { record(tx, &shared, &endpoints).await }));
        let error = match recorded.await {
            Ok(recorded) => return recorded,
            Err(error) => error,
        };
        log_unrecorded(&error, batch.len());
        let unavailable = matches!(error, Error::StorageUnavailable(_)) && !error.is_too_slow();
        if unavailable && !(stopping.load(Ordering::Relaxed) && is_over(&mut failing_since)) {
            tokio::time::sleep(TROUBLE).await;
        } else if unavailable || batch.len() == 1 {
            tracing::error!("{} outcomes are lost; their attempts will be made again", batch.len());
            let lost = batch.iter().map(|attempted| attempted.job.delivery).collect();
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

fn log_unrecorded(error: &Error, outcomes: usize) {
    tracing::warn!(error = error as &dyn std::error::Error, "{outcomes} outcomes cannot be recorded");
}

fn one_by_one(
    inner: &Inner,
    batch: Arc<Vec<Attempted>>,
    stopping: Arc<AtomicBool>,
) -> BoxFuture<'_, Recorded> {
    Box::pin(async move {
        let mut all = Recorded::default();
        for attempted in batch.iter() {
            let alone = Arc::new(vec![attempted.clone()]);
            all.add(keep(inner, alone, Arc::clone(&stopping)).await);
        }
        all
    })
}

/// Gives back deliveries that were not attempted, for whoever comes next. Whether that was done.
pub(super) async fn give_back(inner: &Inner, deliveries: Vec<i64>) -> bool {
    let given_back = inner.store.write(|tx| {
        Box::pin(async move {
            let (now, token) = (tx.env().now(), tx.handoff().token());
            claims::release_run(tx.connection(), &deliveries, token, now).await
        })
    });
    let given_back = given_back.await;
    if let Err(error) = &given_back {
        let error = error as &dyn std::error::Error;
        tracing::warn!(error, "deliveries were not given back; they wait for the next start");
    }
    given_back.is_ok()
}
