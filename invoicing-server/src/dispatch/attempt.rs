//! One attempt: sign, send, ask [`RetryPolicy`] for the next step. No transaction is open meanwhile.

use std::time::{Duration, Instant};

use http::HeaderValue;
use invoicing_core::{AttemptOutcome, DeliveryOutcome, FailureClass, NextStep, RetryPolicy, Timestamp};
use tracing::Instrument as _;

use super::DispatchContext;
use super::transport::Post;
use crate::queue::{Job, Pool};
use crate::telemetry::spans;

/// A delivery is given up after this many claims beyond the limit of attempts: its processes kept dying before they
/// recorded one.
const SPARE_CLAIMS: u32 = 20;
/// Shortest rest of a lease, beyond the limit of an attempt, with which an attempt is begun. In milliseconds; 1 s less than
/// any lease has at first, so that a fresh one always suffices.
const MIN_REST_MS: u64 = 5_000;

/// A job, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) job: Job,
    pub(super) result: AttemptResult,
    /// Pool whose slot the attempt had.
    pub(super) pool: Pool,
    /// Attempts of the webhook that were in flight then, this one included.
    pub(super) in_flight: usize,
}

#[derive(Debug, Clone)]
pub(super) enum AttemptResult {
    /// The attempt was made.
    Sent(SentAttempt),
    /// No attempt: the webhook was disabled or removed when it was last read.
    Disabled,
    /// No attempt: the database could not be read, or the lease was about to end.
    Released,
}

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
                cause.tell(&**traces, &span);
            }
            let sent = send(context, &job, at, post).instrument(span.clone()).await;
            spans::attempted(&span, sent.outcome);
            AttemptResult::Sent(sent)
        }
        Err(result) => result,
    };
    Finished { job, result, pool, in_flight }
}

/// What is to be sent, and when; or why the attempt fails before that.
type Prepared = (Timestamp, Result<Post, FailureClass>);

/// # Errors
/// Why no attempt is made.
async fn prepare(context: &DispatchContext, job: &Job) -> Result<Prepared, AttemptResult> {
    let settings = &context.settings;
    let now = context.env.now();
    if job.claims > settings.max_attempts.saturating_add(SPARE_CLAIMS) {
        return Ok((now, Err(FailureClass::Abandoned)));
    }
    let receiver = match context.receivers.find(&context.store, job.company, job.webhook, now).await {
        Ok(receiver) => receiver,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, webhook = %job.webhook, "webhook not read");
            return Err(AttemptResult::Released);
        }
    };
    // The delivery may have waited in its lane, and reading may have taken long.
    let at = context.env.now();
    let needed = i64::try_from(settings.attempt_timeout_ms.saturating_add(MIN_REST_MS)).unwrap_or(i64::MAX);
    if at.plus_millis(needed) > job.lease_until {
        return Err(AttemptResult::Released);
    }
    let ready = match receiver.endpoint(job.is_ping) {
        Some(Ok(ready)) => ready,
        Some(Err(class)) => return Ok((at, Err(class))),
        None => return Err(AttemptResult::Disabled),
    };
    let event = HeaderValue::from_str(&job.event.to_string());
    let (Ok(signature), Ok(event)) = (ready.signature(at, &job.body), event) else {
        return Ok((at, Err(FailureClass::Unsendable)));
    };
    let mut post = ready.target.post(job.body.clone());
    post.headers_mut().insert(context.receivers.event_header.clone(), event);
    post.headers_mut().insert(context.receivers.signature_header.clone(), signature);
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
    let outcome = context.receivers.transport.send(post, limit, at).await;
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
