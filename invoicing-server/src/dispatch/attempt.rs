//! One attempt: sign, send, take the next step from [`RetryPolicy`]. No transaction is open
//! meanwhile.

use std::time::{Duration, Instant};

use http::HeaderValue;
use invoicing_core::{AttemptOutcome, DeliveryOutcome, FailureClass, NextStep, RetryPolicy, Timestamp};
use tracing::Instrument as _;

use super::DispatchContext;
use super::transport::Post;
use crate::queue::{Job, Pool};
use crate::telemetry::spans;

/// A delivery is given up after this many claims beyond the limit of attempts: its processes kept
/// dying before they recorded one.
const SPARE_CLAIMS: u32 = 20;
/// Shortest remaining lease beyond the time limit of an attempt, in milliseconds. With less, no
/// attempt is begun. Any fresh lease has 1 s more, so it always suffices.
const MIN_REST_MS: u64 = 5_000;

/// A job, and the result of its attempt.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) job: Job,
    pub(super) result: AttemptResult,
    /// Pool whose slot the attempt had.
    pub(super) pool: Pool,
    /// Attempts of the webhook that were in flight then, this one included.
    pub(super) in_flight: usize,
}

/// The result of an attempt, or the reason why none was made.
#[derive(Debug, Clone)]
pub(super) enum AttemptResult {
    /// The attempt was made.
    Sent(SentAttempt),
    /// No attempt: the webhook was disabled or removed when it was last read.
    Disabled,
    /// No attempt: the database could not be read, or the lease was about to end.
    Released,
    /// No attempt: the webhook held more deliveries than it may.
    Surplus,
}

/// An attempt that was made, with its outcome and the next step.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentAttempt {
    pub(super) at: Timestamp,
    pub(super) duration: Duration,
    pub(super) outcome: AttemptOutcome,
    pub(super) next: NextStep,
}

/// Makes an attempt, if one can be made now.
pub(super) async fn attempt(context: &DispatchContext, job: Job, pool: Pool, in_flight: usize) -> Finished {
    let result = match prepare(context, &job).await {
        Ok((at, post)) => {
            let request_id = job.cause.as_ref().and_then(|cause| cause.request_id.as_deref());
            let span = spans::attempt(job.company, job.webhook, job.event, job.number, request_id);
            if let (Some(cause), Some(traces)) = (&job.cause, &context.traces) {
                cause.notify_host(&**traces, &span);
            }
            let sent = send(context, &job, at, post).instrument(span.clone()).await;
            spans::attempted(&span, sent.outcome);
            AttemptResult::Sent(sent)
        }
        Err(result) => result,
    };
    Finished { job, result, pool, in_flight }
}

/// The instant of an attempt, and its request; or the failure of an attempt that cannot be sent.
type PreparedAttempt = (Timestamp, Result<Post, FailureClass>);

/// # Errors
/// The result to record if no attempt is made.
async fn prepare(context: &DispatchContext, job: &Job) -> Result<PreparedAttempt, AttemptResult> {
    let settings = &context.settings;
    let now = context.env.now();
    if job.claims > settings.max_attempts.saturating_add(SPARE_CLAIMS) {
        return Ok((now, Err(FailureClass::Abandoned)));
    }
    let receiver = match context.endpoints.find(&context.store, job.company, job.webhook, now).await {
        Ok(receiver) => receiver,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, webhook = %job.webhook, "webhook not read; its delivery is attempted later");
            return Err(AttemptResult::Released);
        }
    };
    // Read again: the delivery may have waited in the queue of its webhook, and the read of the
    // webhook may have taken long.
    let at = context.env.now();
    let needed = i64::try_from(settings.attempt_timeout_ms.saturating_add(MIN_REST_MS)).unwrap_or(i64::MAX);
    if at.plus_millis(needed) > job.lease_until {
        return Err(AttemptResult::Released);
    }
    let endpoint = match receiver.resolve(job.is_ping) {
        Some(Ok(endpoint)) => endpoint,
        Some(Err(class)) => return Ok((at, Err(class))),
        None => return Err(AttemptResult::Disabled),
    };
    let event = HeaderValue::from_str(&job.event.to_string());
    let (Ok(signature), Ok(event)) = (endpoint.signature(at, &job.body), event) else {
        return Ok((at, Err(FailureClass::Unsendable)));
    };
    let mut post = endpoint.target.post(job.body.clone());
    post.headers_mut().insert(context.endpoints.event_header.clone(), event);
    post.headers_mut().insert(context.endpoints.signature_header.clone(), signature);
    Ok((at, Ok(post)))
}

async fn send(
    context: &DispatchContext,
    job: &Job,
    at: Timestamp,
    post: Result<Post, FailureClass>,
) -> SentAttempt {
    let settings = &context.settings;
    let post = match post {
        Ok(post) => post,
        Err(class) => return failed(at, class),
    };
    let begun = Instant::now();
    let limit = Duration::from_millis(settings.attempt_timeout_ms);
    let outcome = context.endpoints.transport.send(post, limit, at).await;
    let ended_at = context.env.now();
    let policy = RetryPolicy { max_attempts: settings.max_attempts };
    let next = policy.after(job.attempts + 1, outcome, ended_at, u16::from_le_bytes(context.env.bytes()));
    SentAttempt { at, duration: begun.elapsed(), outcome, next }
}

fn failed(at: Timestamp, class: FailureClass) -> SentAttempt {
    let outcome = AttemptOutcome::Failed(class);
    let next = NextStep::End(DeliveryOutcome::Failed);
    SentAttempt { at, duration: Duration::ZERO, outcome, next }
}
