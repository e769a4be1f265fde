//! Carries a call out: attempts under one deadline, each behind the rate limiter.
//!
//! Whether there is another attempt is decided in [`retry`](crate::retry). Responses are read in
//! [`response`](crate::response).

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{HeaderValue, Response};
use invoicing_core::Timestamp;
use serde::de::DeserializeOwned;
use tracing::{Instrument, Span, debug, field, info, info_span};
use uuid::Uuid;

use crate::call::Call;
use crate::catch_up;
use crate::client::ClientInner;
use crate::config::Limits;
use crate::rate_limiter::{NoPermit, Permit, rate_limit_headers};
use crate::request::CallOptions;
use crate::response::ApiResponse;
use crate::retry::{Attempt, AttemptOutcome, Decision, GiveUpReason};
use crate::retry_after::retry_after;
use crate::transport::root_cause;
use crate::{Error, ErrorKind, TransportError, TransportErrorKind};

/// A longer wait for the quota is logged at info.
const SILENT_WAIT: Duration = Duration::from_secs(1);
/// Bound for deadlines: an `Instant` may not be able to represent a later one.
const MAX_DEADLINE: Duration = Duration::from_hours(24 * 365);

pub(crate) type AttemptResult = Result<Response<Bytes>, TransportError>;

impl ClientInner {
    /// Carries the call out and parses the JSON of the response.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        call: &Call,
        options: CallOptions,
    ) -> Result<T, Error> {
        let response = self.send(call, options).await?;
        self.parse(&response)
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
                .map_err(|error| invalid_request(call.operation, error))?;
            let permit = match self.permit(call, deadline).await {
                Ok(permit) => permit,
                Err(denied) => return self.without_permit(call, number, &request_id, failed, denied),
            };
            number += 1;
            let result = self.attempt(request, self.until(deadline).min(limits.attempt_timeout)).await;
            let outcome = self.outcome(&result);
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
                return self.conclude(call, number, &request_id, result, decision);
            };
            if let AttemptOutcome::Response { status: 429, .. } = outcome {
                self.report_wait(after);
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
                limiter.acquire(&*self.env, deadline, |wait| self.report_wait(wait)).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reports the beginning of a wait for the quota: as progress of a pass, and to the log unless it is short.
    fn report_wait(&self, wait: Duration) {
        catch_up::report_wait(wait);
        if wait > SILENT_WAIT {
            info!(until = %self.wall_clock_after(wait), ?wait, "waiting for the quota of the key");
        }
    }

    fn wall_clock_after(&self, wait: Duration) -> Timestamp {
        let since_1970 = self.env.wall_clock().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from((since_1970 + wait).as_millis()).unwrap_or(i64::MAX))
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
            Some(result) => {
                let decision = Decision::GiveUp(GiveUpReason::Deadline);
                self.conclude(call, attempts, request_id, result, decision)
            }
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
            .record("request_id", self.reported_id(sent_id, result))
            .record("status", status);
        let failure = result.as_ref().err().map(|error| field::display(error.kind));
        let cause = result.as_ref().err().and_then(|error| error.cause.as_deref());
        let cause = cause.map(|cause| self.cause_text(cause));
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

    fn outcome(&self, result: &AttemptResult) -> AttemptOutcome {
        match result {
            Ok(response) => AttemptOutcome::Response {
                status: response.status().as_u16(),
                retry_after: retry_after(response.headers(), self.env.wall_clock()),
            },
            Err(error) => match error.kind {
                TransportErrorKind::Connect
                | TransportErrorKind::Timeout
                | TransportErrorKind::Interrupted => AttemptOutcome::NoResponse,
                TransportErrorKind::TooLarge | TransportErrorKind::Redirected => AttemptOutcome::Unusable,
            },
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
        (Some(permit), Ok(response), AttemptOutcome::Response { status, retry_after }) => {
            permit.answered(status, rate_limit_headers(response.headers()), retry_after);
        }
        (Some(permit), Err(TransportError { kind: TransportErrorKind::Connect, .. }), _) => permit.not_sent(),
        // Whether the service counted the request is unknown. Dropping the permit assumes that it did.
        _ => {}
    }
}

/// The error of a call that cannot be converted into an HTTP request.
pub(crate) fn invalid_request(
    operation: &'static str,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    let cause = cause.into();
    Error::new(operation, ErrorKind::InvalidRequest).with(|details| {
        details.cause_text = Some(root_cause(&*cause));
        details.cause = Some(cause);
    })
}
