//! Carrying a call out: attempts under one deadline, and the reading of what comes back.
//!
//! Whether there is another attempt is decided in [`retry`](crate::retry); this module only acts on it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use invoicing_core::{ApiErrorBody, ApiErrorDetail, ErrorCode, TooManyRequests};
use serde::de::DeserializeOwned;
use tracing::{Instrument, Span, debug, field, info, info_span};
use uuid::Uuid;

use crate::call::{Call, X_REQUEST_ID};
use crate::client::Shared;
use crate::config::Limits;
use crate::error::Details;
use crate::pace::{TooLate, Turn, quota};
use crate::request::Options;
use crate::retry::{Attempt, GiveUp, Next, Outcome};
use crate::retry_after::retry_after;
use crate::{Error, ErrorKind, TransportError, TransportFailure};

/// Most characters of a text from outside that an error repeats.
const LONGEST_TEXT: usize = 500;

/// A longer deadline is none; a clock may not hold it.
const LONGEST_DEADLINE: Duration = Duration::from_hours(24 * 365);

/// A successful answer, not read yet.
pub(crate) struct Answer {
    operation: &'static str,
    request_id: Option<String>,
    pub(crate) status: u16,
    pub(crate) attempts: u32,
    pub(crate) body: Bytes,
}

type Exchange = Result<Response<Bytes>, TransportError>;

impl Shared {
    /// Carries the call out and reads the answer's JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: &Call, options: Options) -> Result<T, Error> {
        let answer = self.send(call, options).await?;
        self.read(&answer)
    }

    /// Carries the call out.
    pub(crate) async fn send(&self, call: &Call, options: Options) -> Result<Answer, Error> {
        // At this level so that an attempt that is tried again says in a usual log what it is an attempt of.
        let span = info_span!(
            "invoicing",
            operation = call.operation,
            method = %call.method(),
            path = call.path(),
            request_id = field::Empty,
            attempts = field::Empty,
            status = field::Empty,
        );
        self.attempts(call, options.over(self.limits)).instrument(span).await
    }

    /// Reads the JSON of a successful answer.
    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Error> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            // Where it went wrong is found out by reading again: keeping track of it costs more than reading.
            let mut json = serde_json::Deserializer::from_slice(&answer.body);
            let located = serde_path_to_error::deserialize::<_, T>(&mut json);
            let text = located.err().map_or_else(|| error.to_string(), |error| error.to_string());
            answer.fail(ErrorKind::Unreadable).with(|details| details.message = Some(self.clean(&text)))
        })
    }

    async fn attempts(&self, call: &Call, limits: Limits) -> Result<Answer, Error> {
        let deadline = self.env.now() + limits.deadline.min(LONGEST_DEADLINE);
        let request_id = self.request_id();
        let mut failed = None;
        let mut number = 0;
        loop {
            let request = self
                .endpoint
                .request(call, &request_id)
                .map_err(|error| unsendable(call.operation, error))?;
            let turn = match self.turn(call, deadline).await {
                Ok(turn) => turn,
                Err(late) => return self.too_late(call, number, &request_id, failed, late),
            };
            number += 1;
            let exchange = self.exchange(request, self.until(deadline).min(limits.attempt_timeout)).await;
            let outcome = self.outcome(&exchange);
            settle(turn, &exchange, outcome);
            let next = Attempt {
                repeatable: call.repeatable,
                number,
                max: limits.max_attempts,
                outcome,
                remaining: self.until(deadline),
                random: self.env.random(),
            }
            .next();
            self.log(number, &request_id, &exchange, outcome, next);
            let Next::Again { after } = next else {
                return self.conclude(call, number, &request_id, exchange, next);
            };
            if let Outcome::Answered { status: 429, .. } = outcome {
                call.waits(after);
            }
            self.env.sleep(after).await;
            failed = Some(exchange);
        }
    }

    fn until(&self, deadline: Instant) -> Duration {
        deadline.saturating_duration_since(self.env.now())
    }

    /// Waits for the quota. A document's own URL does not count in it.
    async fn turn(&self, call: &Call, deadline: Instant) -> Result<Option<Turn<'_>>, TooLate> {
        match &self.pace {
            Some(pace) if call.is_counted() => {
                pace.turn(&*self.env, deadline, |wait| call.waits(wait)).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// There is no turn before the deadline: the failure that was to be repeated stands.
    fn too_late(
        &self,
        call: &Call,
        attempts: u32,
        request_id: &HeaderValue,
        failed: Option<Exchange>,
        late: TooLate,
    ) -> Result<Answer, Error> {
        match failed {
            Some(exchange) => {
                self.conclude(call, attempts, request_id, exchange, Next::GiveUp(GiveUp::Deadline))
            }
            None => Err(Error::new(call.operation, ErrorKind::Pace)
                .with(|details| details.retry_after = Some(late.after))),
        }
    }

    /// One event per attempt, in the call's span.
    fn log(&self, number: u32, sent_id: &HeaderValue, exchange: &Exchange, outcome: Outcome, next: Next) {
        let status = exchange.as_ref().ok().map(|answer| answer.status().as_u16());
        Span::current()
            .record("attempts", number)
            .record("request_id", self.shown_id(sent_id, exchange))
            .record("status", status);
        let failure = exchange.as_ref().err().map(|error| field::display(error.kind));
        if let Next::Again { after } = next {
            info!(number, failure, ?outcome, ?after, "attempt failed, will try again");
        } else {
            debug!(number, failure, ?outcome, ?next, "attempt");
        }
    }

    /// The request id of the answer, else the one that was sent.
    fn shown_id(&self, sent: &HeaderValue, exchange: &Exchange) -> Option<String> {
        let answered = exchange.as_ref().ok().and_then(|answer| answer.headers().get(X_REQUEST_ID));
        answered.unwrap_or(sent).to_str().ok().map(|id| self.clean(id)).filter(|id| !id.is_empty())
    }

    async fn exchange(&self, request: http::Request<Bytes>, timeout: Duration) -> Exchange {
        let sent = self.transport.send(request, self.limits.max_response_bytes);
        match tokio::time::timeout(timeout, sent).await {
            Ok(exchange) => exchange,
            Err(elapsed) => Err(TransportError::new(TransportFailure::Timeout).caused_by(elapsed)),
        }
    }

    fn outcome(&self, exchange: &Exchange) -> Outcome {
        match exchange {
            Ok(answer) => Outcome::Answered {
                status: answer.status().as_u16(),
                retry_after: retry_after(answer.headers(), self.env.wall_clock()),
            },
            Err(error) => match error.kind {
                TransportFailure::Connect | TransportFailure::Timeout | TransportFailure::Interrupted => {
                    Outcome::Unanswered
                }
                TransportFailure::TooLarge | TransportFailure::Redirected => Outcome::Unusable,
            },
        }
    }

    /// Turns the last attempt into the call's result.
    fn conclude(
        &self,
        call: &Call,
        attempts: u32,
        sent_id: &HeaderValue,
        exchange: Exchange,
        next: Next,
    ) -> Result<Answer, Error> {
        let request_id = self.shown_id(sent_id, &exchange);
        let response = exchange.map_err(|error| {
            Error::new(call.operation, error.kind.into()).with(|details| {
                details.attempts = attempts;
                details.request_id.clone_from(&request_id);
                details.cause = error.cause;
            })
        })?;
        let status = response.status().as_u16();
        let answer = |body| Answer { operation: call.operation, request_id, status, attempts, body };
        if next == Next::Done {
            return Ok(answer(response.into_body()));
        }
        let error = answer(Bytes::new()).fail(ErrorKind::Status);
        Err(error.with(|details| self.describe(details, response.headers(), response.body())))
    }

    /// Reads an error body: the usual shape, the flat one of the quota, or something that is not the service's.
    fn describe(&self, details: &mut Details, headers: &HeaderMap, body: &[u8]) {
        details.retry_after = retry_after(headers, self.env.wall_clock());
        let usual = || serde_json::from_slice::<ApiErrorBody>(body).ok().map(|body| body.error);
        let flat = || {
            let TooManyRequests { code, message } = serde_json::from_slice(body).ok()?;
            Some(ApiErrorDetail { code, message })
        };
        if let Some(ApiErrorDetail { code, message }) = usual().or_else(flat) {
            details.code = Some(ErrorCode::from(self.clean(code.as_str()).as_str()));
            details.message = Some(self.clean(&message));
        } else {
            // What a proxy writes is for a browser, and may repeat the request: its type and size say enough.
            let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("no type");
            let text = format!("not an answer of the service ({kind}, {} bytes)", body.len());
            details.message = Some(self.clean(&text));
        }
    }

    /// A text from outside as an error may repeat it: bounded, on one line, without the key.
    fn clean(&self, text: &str) -> String {
        let text = self.key.redact(text);
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_TEXT).collect()
    }

    /// One id for all attempts of a call, so that a call without an answer can be found in the service's log too.
    fn request_id(&self) -> HeaderValue {
        let random = (u128::from(self.env.random()) << 64) | u128::from(self.env.random());
        let id = uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid();
        HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            .unwrap_or(HeaderValue::from_static("-"))
    }
}

impl Answer {
    /// An error about what was answered.
    pub(crate) fn fail(&self, kind: ErrorKind) -> Error {
        Error::new(self.operation, kind).with(|details| {
            details.status = Some(self.status);
            details.attempts = self.attempts;
            details.request_id.clone_from(&self.request_id);
        })
    }
}

/// Tells the pace what became of the request.
fn settle(turn: Option<Turn<'_>>, exchange: &Exchange, outcome: Outcome) {
    match (turn, exchange, outcome) {
        (Some(turn), Ok(answer), Outcome::Answered { status, retry_after }) => {
            turn.answered(status, quota(answer.headers()), retry_after);
        }
        (Some(turn), Err(TransportError { kind: TransportFailure::Connect, .. }), _) => turn.unsent(),
        // Nobody knows whether the service has counted it; dropping it assumes so.
        _ => {}
    }
}

/// The call could not be put into a request.
pub(crate) fn unsendable(
    operation: &'static str,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::new(operation, ErrorKind::Request).with(|details| details.cause = Some(cause.into()))
}
