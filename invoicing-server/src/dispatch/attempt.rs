//! One attempt: sign, send, decide the next step. No transaction is open meanwhile.

use std::time::{Duration, Instant};

use http::HeaderValue;
use invoicing_core::{AttemptOutcome, DeliveryEnd, FailureClass, NextStep, RetryPolicy, Timestamp};

use super::endpoints::Endpoint;
use super::slots::Health;
use crate::invoicing::Inner;
use crate::queue::Job;

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
pub(super) async fn attempt(inner: &Inner, job: Job, health: Health) -> Finished {
    let result = send(inner, &job).await;
    Finished { job, result, health }
}

async fn send(inner: &Inner, job: &Job) -> AttemptResult {
    let settings = &inner.settings.dispatch;
    let at = inner.env.now();
    if job.claims > settings.max_attempts.saturating_add(SPARE_CLAIMS) {
        return failed(at, FailureClass::Abandoned);
    }
    let endpoint = match inner.endpoints.find(&inner.store, job.company, job.webhook).await {
        Ok(endpoint) => endpoint,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, webhook = %job.webhook, "webhook not read");
            return AttemptResult::Released;
        }
    };
    // Reading may have taken long. An attempt that might outlast the lease is not begun.
    let at = inner.env.now();
    if job.lease_until.as_millis().saturating_sub(at.as_millis()) < limit_ms(settings.attempt_timeout_ms) {
        return AttemptResult::Released;
    }
    let (target, signer) = match &*endpoint {
        Endpoint::Ready(ready) => (&ready.target, &ready.signer),
        Endpoint::Off => return AttemptResult::Disabled,
        Endpoint::Unusable(class) => return failed(at, *class),
    };
    let mut post = target.post(job.body.clone());
    let signature = signer.sign(at.as_seconds(), &job.body);
    match HeaderValue::from_str(signature.as_str()) {
        Ok(signature) => post.headers_mut().insert(inner.endpoints.signature_header.clone(), signature),
        Err(_) => return failed(at, FailureClass::Unsendable),
    };
    let begun = Instant::now();
    let limit = Duration::from_millis(settings.attempt_timeout_ms);
    let outcome = inner.endpoints.transport.send(post, limit, at).await;
    let ended_at = inner.env.now();
    let policy = RetryPolicy { max_attempts: settings.max_attempts };
    let next = policy.after(job.attempts + 1, outcome, ended_at, u16::from_le_bytes(inner.env.bytes()));
    AttemptResult::Sent(SentAttempt { at, duration: begun.elapsed(), outcome, next })
}

fn limit_ms(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn failed(at: Timestamp, class: FailureClass) -> AttemptResult {
    let outcome = AttemptOutcome::Failed(class);
    let next = NextStep::End(DeliveryEnd::Failed);
    AttemptResult::Sent(SentAttempt { at, duration: Duration::ZERO, outcome, next })
}
