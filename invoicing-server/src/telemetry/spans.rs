//! The spans: one for each request, operation, transaction and attempt. The book lists their
//! fields.
//!
//! Spans have ids, routes, statuses and codes only. None holds a key, a secret, a token, an
//! address, a name or a body.

use http::{HeaderValue, Method, StatusCode};
use invoicing_core::{AttemptOutcome, CompanyId, EventId, WebhookId};
use tracing::Span;
use tracing::field::{Empty, display};

/// The span of an operation's wait for its transaction; several operations may share one
/// transaction of the database.
pub(crate) fn transaction(access: &'static str, company: Option<CompanyId>) -> Span {
    tracing::info_span!("transaction", access, company = company.map(display))
}

/// The form of a method in spans and log lines: a caller can send any text.
pub(crate) fn known(method: &Method) -> &str {
    match *method {
        Method::GET
        | Method::HEAD
        | Method::POST
        | Method::PATCH
        | Method::OPTIONS
        | Method::PUT
        | Method::DELETE => method.as_str(),
        _ => "_OTHER",
    }
}

/// The span of a request to an application. It records only the pattern of the route and not the
/// path, which may hold a token. The span has its name before it is entered, because exporters read
/// the name then.
pub(crate) fn request(method: &Method, request_id: &HeaderValue, route: Option<&'static str>) -> Span {
    let span = tracing::info_span!(
        "request",
        otel.name = known(method),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = known(method),
        http.route = Empty,
        http.response.status_code = Empty,
        request_id = request_id.to_str().unwrap_or_default(),
        company = Empty,
    );
    if let Some(route) = route {
        span.record("otel.name", display(format_args!("{} {route}", known(method))));
        span.record("http.route", route);
    }
    span
}

/// Records the company of a request with a valid key.
pub(crate) fn of_company(span: &Span, company: CompanyId) {
    span.record("company", display(company));
}

/// Records the answer of a request.
pub(crate) fn answered(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// The span of a host operation.
pub(crate) fn operation(operation: &'static str, company: Option<CompanyId>) -> Span {
    tracing::info_span!("operation", otel.name = operation, company = company.map(display), result = Empty,)
}

/// Records the end of an operation.
pub(crate) fn ended(span: &Span, result: &str) {
    span.record("result", result);
}

/// The span of an attempt to deliver an event. It begins a new trace, because the operation that
/// caused the event is long over.
pub(crate) fn attempt(
    company: CompanyId,
    webhook: WebhookId,
    event: EventId,
    number: u32,
    request_id: Option<&str>,
) -> Span {
    tracing::info_span!(
        parent: None,
        "attempt",
        otel.name = "webhook attempt",
        otel.kind = "client",
        otel.status_code = Empty,
        company = display(company),
        webhook = display(webhook),
        event = display(event),
        number,
        request_id,
        http.response.status_code = Empty,
        failure = Empty,
    )
}

/// Records the end of an attempt.
pub(crate) fn attempted(span: &Span, outcome: AttemptOutcome) {
    let is_success = matches!(outcome, AttemptOutcome::Answered { status: 200..=299, .. });
    match outcome {
        AttemptOutcome::Answered { status, .. } => span.record("http.response.status_code", status),
        AttemptOutcome::Failed(class) => span.record("failure", class.as_str()),
    };
    if !is_success {
        span.record("otel.status_code", "ERROR");
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn without_a_subscriber_nothing_is_allocated() {
        let (company, request_id) = (CompanyId(Uuid::nil()), HeaderValue::from_static("r1"));
        let measured = measure(|| {
            let request = request(&Method::GET, &request_id, Some("/api/v1/quotes"));
            of_company(&request, company);
            let operation = operation("quotes.list", Some(company));
            drop(transaction("read", Some(company)));
            ended(&operation, "ok");
            answered(&request, StatusCode::OK);
        });
        assert_eq!(measured.count_total, 0, "{measured:?}");
    }
}
