//! One attempt: sign, send, ask [`RetryPolicy`] for the next step. No transaction is open meanwhile.

use std::time::{Duration, Instant};

use http::HeaderValue;
use invoicing_core::{AttemptOutcome, DeliveryOutcome, FailureClass, NextStep, RetryPolicy, Timestamp};

use super::DispatchContext;
use super::slots::Class;
use crate::queue::{Job, MIN_REST_MS};
use crate::telemetry::spans;

/// A delivery is given up after this many claims beyond the limit of attempts: its processes kept dying before they
/// recorded one.
const SPARE_CLAIMS: u32 = 20;

/// A job, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) job: Job,
    pub(super) result: AttemptResult,
    /// Class of the webhook when it was given a slot for the attempt.
    pub(super) class: Class,
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

/// Makes an attempt.
pub(super) async fn attempt(context: &DispatchContext, job: Job, class: Class, in_flight: usize) -> Finished {
    let request_id = job.cause.as_ref().and_then(|cause| cause.request_id.as_deref());
    let span = spans::attempt(job.company, job.webhook, job.event, job.number, request_id);
    if let (Some(cause), Some(traces)) = (&job.cause, &context.traces) {
        cause.tell(&**traces, &span);
    }
    let result = spans::within(span.clone(), send(context, &job)).await;
    if let AttemptResult::Sent(attempt) = &result {
        spans::attempted(&span, attempt.outcome);
    }
    Finished { job, result, class, in_flight }
}

async fn send(context: &DispatchContext, job: &Job) -> AttemptResult {
    let settings = &context.settings;
    let now = context.env.now();
    if job.claims > settings.max_attempts.saturating_add(SPARE_CLAIMS) {
        return failed(now, FailureClass::Abandoned);
    }
    let receiver = match context.receivers.find(&context.store, job.company, job.webhook, now).await {
        Ok(receiver) => receiver,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, webhook = %job.webhook, "webhook not read");
            return AttemptResult::Released;
        }
    };
    // The delivery may have waited in its lane, and reading may have taken long.
    let at = context.env.now();
    let needed = i64::try_from(settings.attempt_timeout_ms.saturating_add(MIN_REST_MS)).unwrap_or(i64::MAX);
    if at.plus_millis(needed) > job.lease_until {
        return AttemptResult::Released;
    }
    let ready = match receiver.endpoint(job.is_ping) {
        Some(Ok(ready)) => ready,
        Some(Err(class)) => return failed(at, class),
        None => return AttemptResult::Disabled,
    };
    let event = HeaderValue::from_str(&job.event.to_string());
    let (Ok(signature), Ok(event)) = (ready.signature(at, &job.body), event) else {
        return failed(at, FailureClass::Unsendable);
    };
    let mut post = ready.target.post(job.body.clone());
    post.headers_mut().insert(context.receivers.event_header.clone(), event);
    post.headers_mut().insert(context.receivers.signature_header.clone(), signature);
    let begun = Instant::now();
    let limit = Duration::from_millis(settings.attempt_timeout_ms);
    let outcome = context.receivers.transport.send(post, limit, at).await;
    let ended_at = context.env.now();
    let policy = RetryPolicy { max_attempts: settings.max_attempts };
    let next = policy.after(job.attempts + 1, outcome, ended_at, u16::from_le_bytes(context.env.bytes()));
    AttemptResult::Sent(SentAttempt { at, duration: begun.elapsed(), outcome, next })
}

fn failed(at: Timestamp, class: FailureClass) -> AttemptResult {
    let outcome = AttemptOutcome::Failed(class);
    let next = NextStep::End(DeliveryOutcome::Failed);
    AttemptResult::Sent(SentAttempt { at, duration: Duration::ZERO, outcome, next })
}
