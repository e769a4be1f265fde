//! Metrics of attempts and of the backlog.

use invoicing_core::{DeliveryOutcome, EventId, NextStep, Timestamp};

use super::attempt::{AttemptResult, Finished, SentAttempt};
use super::record::BatchOutcome;
use crate::telemetry::{AttemptEnd, Metrics};

/// Counts attempts once they are on record, so that the counts of all nodes add up to the table. A
/// batch whose first commit went unanswered counts here too.
pub(super) fn recorded(metrics: &Metrics, batch: &[Finished], outcome: &BatchOutcome) {
    for Finished { job, result, .. } in batch {
        let AttemptResult::Sent(SentAttempt { at, duration, outcome, next }) = result else { continue };
        let end = match next {
            NextStep::RetryAt(_) => AttemptEnd::Retried,
            NextStep::End(DeliveryOutcome::Delivered) => AttemptEnd::Delivered,
            NextStep::End(DeliveryOutcome::Failed) => AttemptEnd::Failed,
        };
        metrics.attempt(*outcome, end, *duration);
        // The number counts all claims of the delivery. If it is higher than the claims since the
        // queueing, the delivery was queued again, and its event may be of long ago.
        if matches!(end, AttemptEnd::Delivered) && job.number == job.claims {
            let took = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
            metrics.delivered_after(at.as_millis() + took - happened_at(job.event).as_millis());
        }
    }
    metrics.claims_lost(outcome.claims_lost);
    metrics.webhooks_disabled(outcome.disabled);
}

/// The instant in the id of an event.
fn happened_at(event: EventId) -> Timestamp {
    Timestamp::from_millis(i64::try_from(event.0.as_u128() >> 80).unwrap_or(0))
}

/// Sets the gauges of the backlog, which keep their values if it cannot be read.
#[cfg(feature = "metrics")]
pub(super) async fn backlog(context: &super::DispatchContext, now: Timestamp) {
    use crate::store::ServiceTables as _;
    match context.store.read_service(async |tx| tx.deliveries().backlog_size().await).await {
        Ok(size) => {
            let oldest_ms = size.oldest.map_or(0, |oldest| now.as_millis() - oldest.as_millis());
            context.env.metrics().backlog(size.pending, oldest_ms);
        }
        Err(error) => {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "backlog not measured; its gauges keep their values"
            );
        }
    }
}
