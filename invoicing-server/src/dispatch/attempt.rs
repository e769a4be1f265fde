//! One attempt: sign now, send, decide what follows. No transaction is open meanwhile.

use std::time::{Duration, Instant};

use http::HeaderValue;
use invoicing_core::{AttemptOutcome, DeliveryOutcome, FailureClass, NextStep, RetryPolicy, Timestamp};

use super::Job;
use super::endpoints::Endpoint;
use super::places::Pace;
use crate::invoicing::Inner;

/// Claims beyond the attempts that a delivery may use up by processes dying before it is given up.
const SPARE_CLAIMS: u32 = 20;

/// An attempt that was made, or why none was.
#[derive(Debug, Clone)]
pub(super) struct Attempted {
    pub(super) job: Job,
    pub(super) what: What,
    /// That of its lane when it was begun.
    pub(super) pace: Pace,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// It was made.
    Made(Made),
    /// The webhook is off, as far as was known.
    Off,
    /// It was not made, because the database could not be read or the claim had run out.
    GivenBack,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    pub(super) at: Timestamp,
    pub(super) duration: Duration,
    pub(super) outcome: AttemptOutcome,
    pub(super) next: NextStep,
}

/// Makes an attempt.
pub(super) async fn attempt(inner: &Inner, job: Job, pace: Pace) -> Attempted {
    let what = make(inner, &job).await;
    Attempted { job, what, pace }
}

async fn make(inner: &Inner, job: &Job) -> What {
    let settings = &inner.settings.dispatch;
    let at = inner.env.now();
    if job.claims > settings.max_attempts.saturating_add(SPARE_CLAIMS) {
        return failed(at, FailureClass::Abandoned);
    }
    let endpoint = match inner.endpoints.find(&inner.store, job.company, job.webhook).await {
        Ok(endpoint) => endpoint,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, webhook = %job.webhook, "webhook not read");
            return What::GivenBack;
        }
    };
    // Reading may have taken long: what is not over before the claim runs out is not begun.
    let at = inner.env.now();
    if job.lease_until.as_millis().saturating_sub(at.as_millis()) < limit_ms(settings.attempt_timeout_ms) {
        return What::GivenBack;
    }
    let (target, signer) = match &*endpoint {
        Endpoint::Ready(ready) => (&ready.target, &ready.signer),
        Endpoint::Off => return What::Off,
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
    What::Made(Made { at, duration: begun.elapsed(), outcome, next })
}

fn limit_ms(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn failed(at: Timestamp, class: FailureClass) -> What {
    let outcome = AttemptOutcome::Failed(class);
    let next = NextStep::End(DeliveryOutcome::Failed);
    What::Made(Made { at, duration: Duration::ZERO, outcome, next })
}
