//! The errors that an endpoint can answer with.

use invoicing_core::ErrorCode::{
    self, BadRequest, Conflict, DocumentUnavailable, ExpectationFailed, MethodNotAllowed, NotFound,
    Overloaded, PayloadTooLarge, PlanRequired, RequestTimeout, ServerError, StorageUnavailable,
    TooManyRequests, Unauthorized, ValidationError,
};
use serde_json::{Map, Value, json};

use super::examples;
use super::headers;
use super::schema::Type::{Component, Text};
use super::schema::{Member, always, component, object, open_words};
use crate::api::routes::{Endpoint, ROUTES};

/// Errors of any request whose framing is ambiguous. The server sends them before the API gets the
/// request.
const FRAMING: &[ErrorCode] = &[BadRequest, ExpectationFailed];
/// Errors of a request with a key.
const WITH_KEY: &[ErrorCode] = &[
    ValidationError,
    Unauthorized,
    PlanRequired,
    TooManyRequests,
    ServerError,
    StorageUnavailable,
    Overloaded,
];
/// Errors of a request with a body.
const WITH_BODY: &[ErrorCode] = &[RequestTimeout, PayloadTooLarge];

/// The errors that an endpoint can answer with.
pub(super) fn codes(endpoint: Endpoint) -> Vec<ErrorCode> {
    let (key, body): (&[_], &[_]) = (
        if endpoint.needs_key() { WITH_KEY } else { &[] },
        if endpoint.reads_body() { WITH_BODY } else { &[] },
    );
    let own: &[_] = match endpoint {
        Endpoint::ListQuotes
        | Endpoint::ListInvoices
        | Endpoint::ListCreditNotes
        | Endpoint::ListClients
        | Endpoint::CreateClient => &[],
        Endpoint::GetQuote | Endpoint::LinkQuote | Endpoint::GetInvoice | Endpoint::GetCreditNote => {
            &[NotFound]
        }
        Endpoint::QuoteDocument | Endpoint::InvoiceDocument | Endpoint::CreditNoteDocument => {
            &[NotFound, DocumentUnavailable]
        }
        Endpoint::FrozenDocument => &[NotFound, StorageUnavailable, Overloaded],
        Endpoint::OpenApi | Endpoint::Docs => &[ValidationError, NotFound],
    };
    [FRAMING, key, body, own].concat()
}

/// The error responses of an endpoint, by status.
pub(super) fn responses(endpoint: Endpoint) -> Map<String, Value> {
    by_status(&codes(endpoint))
        .into_iter()
        .map(|(status, codes)| (status, component("responses", &name(&codes, endpoint.needs_key()))))
        .collect()
}

/// Every error response that an endpoint refers to, by name.
pub(super) fn components() -> Map<String, Value> {
    let components = ROUTES.iter().flat_map(|route| {
        let has_key = route.endpoint.needs_key();
        let by_status = by_status(&codes(route.endpoint)).into_iter();
        by_status.map(move |(_, codes)| (name(&codes, has_key), response(&codes, has_key)))
    });
    components.collect()
}

/// The codes of each status, both in the order of [`ErrorCode::KNOWN`].
fn by_status(codes: &[ErrorCode]) -> Vec<(String, Vec<ErrorCode>)> {
    let mut known: Vec<_> = ErrorCode::KNOWN.iter().filter(|code| codes.contains(code)).cloned().collect();
    known.sort_by_key(ErrorCode::status);
    let same_status = known.chunk_by(|code, next| code.status() == next.status());
    same_status.map(|codes| (codes[0].status().unwrap_or_default().to_string(), codes.to_vec())).collect()
}

/// The name of a response component: `NotFound`, `ValidationErrorOrBadRequest`, and without a key
/// `PublicNotFound`.
fn name(codes: &[ErrorCode], has_key: bool) -> String {
    let names = codes.iter().map(|code| match code {
        TooManyRequests => "TooManyRequests".to_owned(),
        code => pascal_case(code.as_str()),
    });
    let prefix = if has_key { "" } else { "Public" };
    prefix.to_owned() + &names.collect::<Vec<_>>().join("Or")
}

fn pascal_case(snake_case: &str) -> String {
    let capitalised = snake_case.split('_').map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
    capitalised.collect()
}

/// The response of one status. Its examples name the codes that it can have.
fn response(codes: &[ErrorCode], has_key: bool) -> Value {
    let texts: Vec<_> = codes.iter().map(|code| format!("`{code}`: {}", describe(code))).collect();
    let schema = if codes == [TooManyRequests] { "TooManyRequests" } else { "Error" };
    let examples: Map<_, _> = codes.iter().map(|code| (code.to_string(), example(code))).collect();
    json!({
        "description": texts.join("\n\n"),
        "headers": headers::of_errors(codes, has_key),
        "content": {"application/json": {"schema": component("schemas", schema), "examples": examples}},
    })
}

fn example(code: &ErrorCode) -> Value {
    json!({"value": examples::error(code)})
}

/// The condition of an error.
fn describe(code: &ErrorCode) -> &'static str {
    match code {
        Unauthorized => {
            "The key is missing, unknown, revoked, or was idle for more than {{idle_days}} days. One answer for all causes. Do \
             not repeat the request."
        }
        PlanRequired => "The company's plan is not the team plan. Does not count in the quota.",
        TooManyRequests => {
            "The quota of the key is used up. This body is flat, unlike that of every other error: react to the status. Wait for \
             `Retry-After`."
        }
        ValidationError => {
            "Well-formed input that breaks a rule. The message begins with the parameter or the property and says the rule. The \
             same request never succeeds."
        }
        BadRequest => {
            "A request that cannot be read: invalid JSON, a body that is not an object or not UTF-8, another `Content-Type` than \
             JSON, a `Content-Encoding` other than `identity`, ambiguous framing."
        }
        NotFound => "No such record, or an id that is malformed or of another company: one answer for all.",
        MethodNotAllowed => "The path does not have the method. `Allow` lists those that it has.",
        RequestTimeout => "The body did not arrive within {{body_seconds}} s. Nothing was done.",
        Conflict => {
            "The state of a record does not allow the change. Only operations of the product's user interface answer so today."
        }
        DocumentUnavailable => {
            "The record has no frozen document: it is in DRAFT or was discarded there, or it was issued without a \
             renderer of invoices."
        }
        PayloadTooLarge => "The body is over {{body_kib}} KiB.",
        ExpectationFailed => "The header `Expect` asks for something else than `100-continue`.",
        ServerError => {
            "The service failed. The body says nothing of the cause; `X-Request-Id` leads to it in the log."
        }
        StorageUnavailable => {
            "The database or the document store does not answer, or a document is damaged. Try again later."
        }
        Overloaded => {
            "The service, or its share for the company, is at capacity. Nothing was done. Try again later."
        }
        // A code that is added needs a description; a test fails without one.
        _ => "",
    }
}

const ERROR: &[Member] = &[always("error", Component("ErrorDetail"), "What went wrong.")];

const ERROR_DETAIL: &[Member] = &[
    always("code", Component("ErrorCode"), "For programs."),
    always("message", Text, "For humans. Its wording may change."),
];

const TOO_MANY_REQUESTS: &[Member] = &[
    always("code", Text, "Always `TOO_MANY_REQUESTS`."),
    always("message", Text, "For humans. Its wording may change."),
];

/// The schemas of error bodies, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let codes = ErrorCode::KNOWN.iter().filter(|code| **code != TooManyRequests);
    let words = codes.map(|code| (code.as_str(), describe(code)));
    let text =
        "What went wrong, for programs. More may be added: treat a code that you do not know by its status.";
    let schemas = [
        ("Error", object("Every error but that of the quota.", ERROR)),
        ("ErrorDetail", object("The error.", ERROR_DETAIL)),
        ("ErrorCode", open_words(text, words)),
        (
            "TooManyRequests",
            object("The quota is used up. Flat, unlike every other error.", TOO_MANY_REQUESTS),
        ),
    ];
    schemas.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect()
}
