//! The parameters of a path, a query and a request's headers.

use invoicing_core::internal::SHORT_TEXT;
use invoicing_core::{DEFAULT_PAGE_LIMIT, InvoiceStatus, MAX_PAGE_LIMIT, QuoteStatus};
use serde_json::{Value, json};

use super::schema::TEXT_PATTERN;
use crate::api::query_string;
use crate::api::routes::{Endpoint, Route};

/// The parameters of a route: those of its path, then those that its query is parsed with, then
/// those of its headers.
pub(super) fn of(route: &Route) -> Vec<Value> {
    let path = path_parameters(route.path).map(|name| parameter("path", name, route.endpoint));
    let query = query_parameters(route.endpoint).iter().map(|name| parameter("query", name, route.endpoint));
    let headers =
        header_parameters(route.endpoint).iter().map(|name| parameter("header", name, route.endpoint));
    path.chain(query).chain(headers).collect()
}

/// The names in the braces of a path.
fn path_parameters(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

/// The names that the query of an endpoint is parsed with.
fn query_parameters(endpoint: Endpoint) -> &'static [&'static str] {
    match endpoint {
        Endpoint::ListQuotes | Endpoint::ListInvoices => &query_string::PAGE,
        Endpoint::ListCreditNotes => &query_string::CREDIT_NOTES,
        Endpoint::ListClients => &query_string::CLIENTS,
        Endpoint::QuoteDocument | Endpoint::InvoiceDocument | Endpoint::CreditNoteDocument => {
            &query_string::DOCUMENT
        }
        Endpoint::FrozenDocument => &["sha256", "name", "expires", "signature"],
        Endpoint::GetQuote
        | Endpoint::LinkQuote
        | Endpoint::GetInvoice
        | Endpoint::GetCreditNote
        | Endpoint::CreateClient
        | Endpoint::OpenApi
        | Endpoint::Docs => &[],
    }
}

fn header_parameters(endpoint: Endpoint) -> &'static [&'static str] {
    match endpoint {
        Endpoint::FrozenDocument => &["X-Request-Id", "Range", "If-Range", "If-None-Match"],
        Endpoint::OpenApi | Endpoint::Docs => &["X-Request-Id", "If-None-Match"],
        _ => &["X-Request-Id"],
    }
}

/// A parameter. Panics if it has no description; a test calls this for each.
fn parameter(place: &'static str, name: &'static str, endpoint: Endpoint) -> Value {
    let required = place == "path" || (endpoint == Endpoint::FrozenDocument && place == "query");
    let (text, schema) = describe(place, name, endpoint);
    assert!(!text.is_empty(), "the {place} parameter {name} has no description");
    json!({"name": name, "in": place, "required": required, "description": text, "schema": schema})
}

fn describe(place: &str, name: &str, endpoint: Endpoint) -> (&'static str, Value) {
    match (place, name) {
        ("path", "id") => (subject(endpoint), uuid()),
        ("path", _) => ("Part of the signed URL.", uuid()),
        ("query", name) if endpoint == Endpoint::FrozenDocument => of_signed_url(name),
        ("query", name) => of_query(name, endpoint),
        (_, name) => of_header(name),
    }
}

/// The record that the id of a path names.
fn subject(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::GetInvoice | Endpoint::InvoiceDocument => "The invoice.",
        Endpoint::GetCreditNote | Endpoint::CreditNoteDocument => "The credit note.",
        _ => "The quote.",
    }
}

fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

fn of_query(name: &str, endpoint: Endpoint) -> (&'static str, Value) {
    match name {
        "status" if endpoint == Endpoint::ListInvoices => (STATUS, words(InvoiceStatus::ALL)),
        "status" => (STATUS, words(QuoteStatus::ALL)),
        "include" => (INCLUDE, json!({"type": "string", "enum": ["lines"]})),
        "limit" => (
            LIMIT,
            json!({"type": "integer", "minimum": 1, "maximum": MAX_PAGE_LIMIT, "default": DEFAULT_PAGE_LIMIT}),
        ),
        "offset" => (
            OFFSET,
            json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX, "default": 0}),
        ),
        "since" => (SINCE, json!({"type": "string", "format": "date-time"})),
        "q" => (Q, json!({"type": "string", "minLength": 1, "maxLength": SHORT_TEXT, "pattern": SEARCHABLE})),
        "externalId" => (
            EXTERNAL_ID,
            json!({"type": "string", "minLength": 1, "maxLength": SHORT_TEXT, "pattern": TEXT_PATTERN}),
        ),
        "type" => ("The kind of document.", json!({"type": "string", "enum": ["pdf"], "default": "pdf"})),
        _ => ("", Value::Null),
    }
}

fn words<T: Copy + serde::Serialize>(words: &[T]) -> Value {
    json!({"type": "string", "enum": words})
}

/// At least one character that is neither white space, nor a control character, nor an accent.
const SEARCHABLE: &str =
    r"[^\s\u0000-\u001f\u007f-\u009f\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]";

const STATUS: &str = "Only records in this state.";

const INCLUDE: &str = "`lines` adds the lines to each record. They are left out by default, as they make answers much larger. A page \
                       with lines of more than {{page_mib}} MiB is refused with 400 `validation_error`; the message names the \
                       largest `limit` that works at this offset.";

const LIMIT: &str = "Maximum number of records of the page.";

const OFFSET: &str = "How many records to skip. Behind the end, the page is empty.";

const SINCE: &str = "Only records whose `updatedAt` is at or after this instant: it includes the instant itself, and compares the last \
                     modification, not the creation. With it the list is ordered by `updatedAt`, newest first; without it by \
                     `createdAt`, newest first. Needs a date, a time and a zone: `2026-09-14T09:41:07.123Z`, or with an offset such \
                     as `+02:00`. Seconds may be left out, a fraction may stand behind `.` or `,`, and a space instead of the `T`; \
                     digits finer than a millisecond round up. A date alone is refused. In a URL, `+` may be sent as it is.";

const Q: &str = "Only clients of whom each word of this text, in any order, is a part of the name, the e-mail address or the city. Case \
                 and accents do not count, apostrophes of every kind are one, and hyphens separate words: `lefevre` finds \
                 `Lefèvre`, `l'atelier` finds `L’Atelier`, `etienne saint` finds `Saint-Étienne`. `%` and `_` have no special \
                 meaning. At least one character must be more than an accent, a hyphen or a space.";

const EXTERNAL_ID: &str = "Only the client with exactly this identifier of yours: one record or none. White space and characters that \
                           render as nothing do not count at its ends.";

fn of_signed_url(name: &str) -> (&'static str, Value) {
    match name {
        "sha256" => (
            "Part of the signed URL: SHA-256 of the document.",
            json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
        ),
        "name" => ("Part of the signed URL: the name of the file.", json!({"type": "string"})),
        "expires" => (
            "Part of the signed URL: its end, in milliseconds since 1970.",
            json!({"type": "integer", "format": "int64"}),
        ),
        "signature" => (
            "Part of the signed URL: proves that the service made it.",
            json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
        ),
        _ => ("", Value::Null),
    }
}

fn of_header(name: &str) -> (&'static str, Value) {
    match name {
        "X-Request-Id" => (
            "Your identifier of the request, which the answer repeats: 1 to 128 letters, digits, `.`, `_` and `-`, unless a key \
             or another secret begins anywhere in it. Any other is replaced by a new UUID.",
            json!({"type": "string"}),
        ),
        "If-None-Match" => {
            ("An `ETag` that you have: if it still holds, the answer is 304.", json!({"type": "string"}))
        }
        "Range" => (
            "The part that you want, such as `bytes=0-1023`. Several ranges are answered with the whole document.",
            json!({"type": "string"}),
        ),
        "If-Range" => (
            "The `ETag` that `Range` counts for; with another one the whole document is answered.",
            json!({"type": "string"}),
        ),
        _ => ("", Value::Null),
    }
}
