//! Carries a call out: attempts under one deadline, each behind the rate limiter.
//!
//! Whether there is another attempt is decided in [`retry`](crate::retry). Responses are read in
//! [`response`](crate::response).

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderValue;
use serde::de::DeserializeOwned;
use tracing::{Instrument, Span, debug, field, info, info_span};
use uuid::Uuid;

use crate::attempt::{AttemptOutcome, AttemptResult};
use crate::call::{Call, CallOptions};
use crate::client::ClientInner;
use crate::limits::Limits;
use crate::quota_wait;
use crate::rate_limiter::{NoPermit, Permit, rate_limit_headers};
use crate::response::{ApiResponse, cause_text, conclude, reported_id};
use crate::retry::{Attempt, Decision};
use crate::{Error, ErrorKind, TransportError, TransportErrorKind};

/// Bound for deadlines: an `Instant` may not be able to represent a later one.
const MAX_DEADLINE: Duration = Duration::from_hours(24 * 365);

impl ClientInner {
    /// Carries the call out and parses the JSON of the response.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        call: &Call,
        options: CallOptions,
    ) -> Result<T, Error> {
        let response = self.send(call, options).await?;
        response.parse(&self.key)
    }

    /// Carries the call out.
    pub(crate) async fn send(&self, call: &Call, options: CallOptions) -> Result<ApiResponse, Error> {
        // At info, so that the event of a failed attempt, which is at info too, shows the call that it belongs to.
        let span = info_span!(
            "invoicing",
            operation = call.operation,
            method = %call.method,
            path = call.path(),
            request_id = field::Empty,
            attempts = field::Empty,
            status = field::Empty,
        );
        self.attempts(call, options.or_default(self.limits)).instrument(span).await
    }

    async fn attempts(&self, call: &Call, limits: Limits) -> Result<ApiResponse, Error> {
        let deadline = self.env.now() + limits.deadline.min(MAX_DEADLINE);
        let request_id = self.request_id();
        let mut failed = None;
        let mut number = 0;
        loop {
            let request = self
                .request_factory
                .request(call, &request_id)
                .map_err(|error| Error::invalid_request(call.operation, error))?;
            let permit = match self.permit(call, deadline).await {
                Ok(permit) => permit,
                Err(denied) => return self.without_permit(call, number, &request_id, failed, denied),
            };
            number += 1;
            let result = self.attempt(request, self.until(deadline).min(limits.attempt_timeout)).await;
            let outcome = AttemptOutcome::of(&result, self.env.wall_clock());
            record_outcome(permit, &result, outcome);
            let decision = Attempt {
                is_idempotent: call.is_idempotent,
                number,
                max_attempts: limits.max_attempts,
                outcome,
                remaining: self.until(deadline),
                random: self.env.random(),
            }
            .decide();
            self.log(number, &request_id, &result, outcome, decision);
            let Decision::Retry { after } = decision else {
                return conclude(self, call, number, &request_id, result);
            };
            if let AttemptOutcome::Response { status: 429, .. } = outcome {
                quota_wait::report(after, &*self.env);
            }
            self.env.sleep(after).await;
            failed = Some(result);
        }
    }

    fn until(&self, deadline: Instant) -> Duration {
        deadline.saturating_duration_since(self.env.now())
    }

    /// Waits for the rate limiter. Downloads do not count in the quota and do not wait.
    async fn permit(&self, call: &Call, deadline: Instant) -> Result<Option<Permit<'_>>, NoPermit> {
        match &self.rate_limiter {
            Some(limiter) if call.uses_quota() => {
                let env = &*self.env;
                limiter.acquire(env, deadline, |wait| quota_wait::report(wait, env)).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Ends a call that gets no permit before its deadline. The failure of the last attempt, if any, is the result.
    fn without_permit(
        &self,
        call: &Call,
        attempts: u32,
        request_id: &HeaderValue,
        failed: Option<AttemptResult>,
        denied: NoPermit,
    ) -> Result<ApiResponse, Error> {
        match failed {
            Some(result) => conclude(self, call, attempts, request_id, result),
            None => Err(Error::new(call.operation, ErrorKind::LocalRateLimit)
                .with(|details| details.retry_after = Some(denied.after))),
        }
    }

    /// Logs one event per attempt, in the call's span.
    fn log(
        &self,
        number: u32,
        sent_id: &HeaderValue,
        result: &AttemptResult,
        outcome: AttemptOutcome,
        decision: Decision,
    ) {
        let status = result.as_ref().ok().map(|response| response.status().as_u16());
        Span::current()
            .record("attempts", number)
            .record("request_id", reported_id(&self.key, sent_id, result))
            .record("status", status);
        let failure = result.as_ref().err().map(|error| field::display(error.kind));
        let cause = result.as_ref().err().and_then(|error| error.cause.as_deref());
        let cause = cause.map(|cause| cause_text(&self.key, cause));
        if let Decision::Retry { after } = decision {
            info!(number, failure, cause, ?outcome, ?after, "attempt failed, will retry");
        } else {
            debug!(number, failure, cause, ?outcome, ?decision, "attempt");
        }
    }

    async fn attempt(&self, request: http::Request<Bytes>, timeout: Duration) -> AttemptResult {
        let response = self.transport.send(request, self.limits.max_response_bytes);
        match tokio::time::timeout(timeout, response).await {
            Ok(result) => result,
            Err(_) => Err(TransportError::new(TransportErrorKind::Timeout)),
        }
    }

    /// One id for all attempts of a call: the service's log can be searched for a call without a response too.
    fn request_id(&self) -> HeaderValue {
        let random = (u128::from(self.env.random()) << 64) | u128::from(self.env.random());
        let id = uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid();
        HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            .unwrap_or(HeaderValue::from_static("-"))
    }
}

/// Tells the rate limiter how the request ended.
fn record_outcome(permit: Option<Permit<'_>>, result: &AttemptResult, outcome: AttemptOutcome) {
    match (permit, result, outcome) {
        (Some(permit), Ok(response), AttemptOutcome::Response { status, retry_after, .. }) => {
            permit.answered(status, rate_limit_headers(response.headers()), retry_after);
        }
        (Some(permit), Err(TransportError { kind: TransportErrorKind::Connect, .. }), _) => permit.not_sent(),
        // Whether the service counted the request is unknown. Dropping the permit assumes that it did.
        _ => {}
    }
}
