//! One attempt: sign, send, decide the next step. No transaction is open meanwhile.

use std::time::{Duration, Instant};

use http::HeaderValue;
use invoicing_core::{AttemptOutcome, DeliveryOutcome, FailureClass, NextStep, RetryPolicy, Timestamp};

use super::DispatchContext;
use super::endpoints::{Endpoint, Ready};
use super::slots::Health;
use crate::queue::Job;

/// Shortest rest of a lease, beyond the limit of an attempt, with which an attempt is begun. In milliseconds.
const LEASE_MARGIN_MS: i64 = 5_000;
/// Claims beyond the limit of attempts that processes may use up by dying before the delivery is given up.
const SPARE_CLAIMS: u32 = 20;

/// A job, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) job: Job,
    pub(super) result: AttemptResult,
    /// Health of the webhook when the attempt was begun.
    pub(super) health: Health,
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
pub(super) async fn attempt(context: &DispatchContext, job: Job, health: Health) -> Finished {
    let result = send(context, &job).await;
    Finished { job, result, health }
}

async fn send(context: &DispatchContext, job: &Job) -> AttemptResult {
    let settings = &context.settings;
    if job.claims > settings.max_attempts.saturating_add(SPARE_CLAIMS) {
        return failed(context.env.now(), FailureClass::Abandoned);
    }
    let endpoint = match context.endpoints.find(&context.store, job.company, job.webhook).await {
        Ok(endpoint) => endpoint,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, webhook = %job.webhook, "webhook not read");
            return AttemptResult::Released;
        }
    };
    // The delivery may have waited in its lane, and reading may have taken long.
    let at = context.env.now();
    let limit = i64::try_from(settings.attempt_timeout_ms).unwrap_or(i64::MAX);
    if at.plus_millis(limit.saturating_add(LEASE_MARGIN_MS)) > job.lease_until {
        return AttemptResult::Released;
    }
    let Ready { target, signer } = match &endpoint {
        Endpoint::Ready(ready) => &**ready,
        Endpoint::Disabled => return AttemptResult::Disabled,
        Endpoint::Unusable(class) => return failed(at, *class),
    };
    let Ok(signature) = HeaderValue::from_str(signer.sign(at.as_seconds(), &job.body).as_str()) else {
        return failed(at, FailureClass::Unsendable);
    };
    let mut post = target.post(job.body.clone());
    post.headers_mut().insert(context.endpoints.signature_header.clone(), signature);
    let begun = Instant::now();
    let limit = Duration::from_millis(settings.attempt_timeout_ms);
    let outcome = context.endpoints.transport.send(post, limit, at).await;
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
