//! The endpoints of the API contract.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use invoicing_core::internal::{search_words, sought_text};
use invoicing_core::{
    ChangeTime, ClientFields, DocumentLink, ErrorCode, ExternalLink, InvoiceStatus, NewClient, QuoteStatus,
    Timestamp, sha256_hex,
};
use serde_json::Value;
use uuid::Uuid;

use super::ReceivedRequest;
use super::query::{ListOrder, Query, SortKey};
use super::respond::{error_response, json};
use super::store::{Store, frozen};
use crate::{ClientId, CreditNoteId, CreditNoteItem, InvoiceId, InvoiceItem, QuoteId, QuoteItem};

/// Path prefix of every endpoint.
const API_PREFIX: &str = "/api/v1/";
/// Path prefix of documents.
const DOCUMENTS_PREFIX: &str = "/documents/";
/// Stated validity of a document's link, as in the API contract.
const LINK_VALIDITY_MS: i64 = 5 * 60 * 1_000;

type ApiResult = Result<Response<Bytes>, ApiError>;

/// Code and message of an error response.
struct ApiError(ErrorCode, String);

/// Serves an authorised request.
pub(super) fn respond(
    request: &ReceivedRequest,
    store: &mut Store,
    order: Option<&mut ListOrder>,
    url: &str,
) -> Response<Bytes> {
    let path = request.uri.path().strip_prefix(API_PREFIX).unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let method = if request.method == Method::HEAD { Method::GET } else { request.method.clone() };
    let result = match (method.as_str(), &segments[..]) {
        ("GET", ["quotes"]) => quotes(request, store, order),
        ("GET", ["quotes", id]) => quote(store, id),
        ("PATCH", ["quotes", id]) => link(request, store, id),
        ("GET", [resource @ ("quotes" | "invoices" | "credit-notes"), id, "document"]) => {
            document_link(request, store, resource, id, url)
        }
        ("GET", ["invoices"]) => invoices(request, store, order),
        ("GET", ["invoices", id]) => invoice(store, id),
        ("GET", ["credit-notes"]) => credit_notes(request, store, order),
        ("GET", ["credit-notes", id]) => credit_note(store, id),
        ("GET", ["clients"]) => clients(request, store, order),
        ("POST", ["clients"]) => create(request, store),
        ("OPTIONS", segments) => allowed(segments).map(options).ok_or_else(not_found),
        (_, segments) => allowed(segments).map(method_not_allowed).ok_or_else(not_found),
    };
    result.unwrap_or_else(|ApiError(code, message)| error_response(code, &message))
}

/// The methods of a path, in the format of `Allow`.
fn allowed(segments: &[&str]) -> Option<&'static str> {
    match segments {
        ["clients"] => Some("GET, HEAD, POST, OPTIONS"),
        ["quotes", _] => Some("GET, HEAD, PATCH, OPTIONS"),
        ["quotes" | "invoices" | "credit-notes"]
        | ["invoices" | "credit-notes", _]
        | ["quotes" | "invoices" | "credit-notes", _, "document"] => Some("GET, HEAD, OPTIONS"),
        _ => None,
    }
}

/// Serves a document. `None` if the path is not that of a document.
pub(super) fn document(request: &ReceivedRequest, store: &Store) -> Option<Response<Bytes>> {
    let id = request.uri.path().strip_prefix(DOCUMENTS_PREFIX)?;
    let id: Uuid = id.parse().ok()?;
    let number = store.documented().find(|(_, known, _)| *known == id).and_then(|(.., number)| number);
    let Some(number) = number else {
        return Some(error_response(ErrorCode::NotFound, "no such document"));
    };
    let mut response = Response::new(frozen(number));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/pdf"));
    Some(response)
}

fn quotes(request: &ReceivedRequest, store: &Store, order: Option<&mut ListOrder>) -> ApiResult {
    let statuses: Vec<_> = QuoteStatus::ALL.iter().map(|status| status.as_str()).collect();
    let query =
        Query::read(&request.uri, &["status", "include"], &statuses).map_err(|text| invalid(&text))?;
    let matching =
        store.quotes.iter().filter(|quote| matches(query.status.as_deref(), &quote.summary.status));
    let items = matching.map(|quote| {
        let summary = quote.summary.clone();
        let at = SortKey { id: summary.id.0, created_at: summary.created_at, updated_at: summary.updated_at };
        (at, QuoteItem { summary, lines: query.lines.then(|| quote.lines.clone()) })
    });
    Ok(json(StatusCode::OK, &query.page(items.collect(), store.last_stamp(), order)))
}

fn invoices(request: &ReceivedRequest, store: &Store, order: Option<&mut ListOrder>) -> ApiResult {
    let statuses: Vec<_> = InvoiceStatus::ALL.iter().map(|status| status.as_str()).collect();
    let query =
        Query::read(&request.uri, &["status", "include"], &statuses).map_err(|text| invalid(&text))?;
    let matching =
        store.invoices.iter().filter(|invoice| matches(query.status.as_deref(), &invoice.summary.status));
    let items = matching.map(|invoice| {
        let summary = invoice.summary.clone();
        let at = SortKey { id: summary.id.0, created_at: summary.created_at, updated_at: summary.updated_at };
        (at, InvoiceItem { summary, lines: query.lines.then(|| invoice.lines.clone()) })
    });
    Ok(json(StatusCode::OK, &query.page(items.collect(), store.last_stamp(), order)))
}

fn credit_notes(request: &ReceivedRequest, store: &Store, order: Option<&mut ListOrder>) -> ApiResult {
    let query = Query::read(&request.uri, &["include"], &[]).map_err(|text| invalid(&text))?;
    let items = store.credit_notes.iter().map(|note| {
        let summary = note.summary.clone();
        let at = SortKey { id: summary.id.0, created_at: summary.created_at, updated_at: summary.updated_at };
        (at, CreditNoteItem { summary, lines: query.lines.then(|| note.lines.clone()) })
    });
    Ok(json(StatusCode::OK, &query.page(items.collect(), store.last_stamp(), order)))
}

fn clients(request: &ReceivedRequest, store: &Store, order: Option<&mut ListOrder>) -> ApiResult {
    let query = Query::read(&request.uri, &["q", "externalId"], &[]).map_err(|text| invalid(&text))?;
    let words = query.text.as_deref().map(search_words).unwrap_or_default();
    let sought = query.external_id.as_deref().map(sought_text);
    if sought.as_deref() == Some("") {
        return Err(invalid("externalId: must have 1 to 255 characters"));
    }
    let sought = sought.map(|sought| known(store, &sought).map(|client| client.id));
    let matching = store.clients.iter().filter(|client| {
        let text = client.search_text();
        words.iter().all(|word| text.contains(word)) && sought.is_none_or(|found| found == Some(client.id))
    });
    let items = matching.map(|client| {
        let at = SortKey { id: client.id.0, created_at: client.created_at, updated_at: client.updated_at };
        (at, client.clone())
    });
    Ok(json(StatusCode::OK, &query.page(items.collect(), store.last_stamp(), order)))
}

fn quote(store: &mut Store, id: &str) -> ApiResult {
    let quote = store.quote(QuoteId(parse(id)?)).ok_or_else(not_found)?;
    Ok(json(StatusCode::OK, quote))
}

fn invoice(store: &mut Store, id: &str) -> ApiResult {
    let invoice = store.invoice(InvoiceId(parse(id)?)).ok_or_else(not_found)?;
    Ok(json(StatusCode::OK, invoice))
}

fn credit_note(store: &mut Store, id: &str) -> ApiResult {
    let note = store.credit_note(CreditNoteId(parse(id)?)).ok_or_else(not_found)?;
    Ok(json(StatusCode::OK, note))
}

fn link(request: &ReceivedRequest, store: &mut Store, id: &str) -> ApiResult {
    let id = QuoteId(parse(id)?);
    let current = store.quote(id).ok_or_else(not_found)?.summary.external_id.clone();
    let body = body(request)?;
    let external_id = match (body.len(), body.get("externalId")) {
        (1, Some(Value::Null)) => None,
        (1, Some(Value::String(text))) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => return Err(invalid("externalId: must be the one property, a text or null")),
    };
    if current != external_id {
        store.change_quote(id, |quote| quote.summary.external_id.clone_from(&external_id));
    }
    Ok(json(StatusCode::OK, &ExternalLink { id, external_id }))
}

fn document_link(request: &ReceivedRequest, store: &Store, resource: &str, id: &str, url: &str) -> ApiResult {
    if request.parameter("type").is_some_and(|kind| kind != "pdf") {
        return Err(invalid("type: must be pdf"));
    }
    let id = parse(id)?;
    let mut documented = store.documented();
    let found = documented.find(|(known, record, _)| *known == resource && *record == id);
    let (.., number) = found.ok_or_else(not_found)?;
    let number =
        number.ok_or_else(|| api_error(ErrorCode::DocumentUnavailable, "the record has no document"))?;
    let document = frozen(number);
    let sha256 = sha256_hex(&document);
    let link = DocumentLink {
        url: format!("{url}{DOCUMENTS_PREFIX}{id}?proof={sha256}"),
        expires_at: store.last_stamp().plus_millis(LINK_VALIDITY_MS),
        document_type: "pdf".to_owned(),
        file_name: format!("{number}.pdf"),
        content_type: "application/pdf".to_owned(),
        size_bytes: document.len() as u64,
        sha256,
    };
    Ok(json(StatusCode::OK, &link))
}

fn create(request: &ReceivedRequest, store: &mut Store) -> ApiResult {
    let body = Value::Object(body(request)?);
    let new: NewClient = serde_json::from_value(body).map_err(|error| invalid(&error.to_string()))?;
    let fields = new.check().map_err(|error| invalid(&error.to_string()))?;
    if let Some(known) = fields.external_id().and_then(|external_id| known(store, external_id)) {
        return Ok(json(StatusCode::OK, known));
    }
    let id = store.add_client(normalised(fields));
    let client = store.client(id).ok_or_else(not_found)?;
    Ok(json(StatusCode::CREATED, client))
}

/// The client that has an `externalId`.
fn known<'s>(store: &'s Store, external_id: &str) -> Option<&'s crate::Client> {
    store.clients.iter().find(|client| client.external_id.as_deref() == Some(external_id))
}

/// The checked fields as a record holds them: trimmed and normalised.
fn normalised(fields: ClientFields) -> NewClient {
    let at = ChangeTime { now: Timestamp::EARLIEST, stamp: Timestamp::EARLIEST };
    NewClient::of(&fields.create(ClientId(Uuid::nil()), at))
}

fn matches(wanted: Option<&str>, status: &impl ToString) -> bool {
    wanted.is_none_or(|wanted| status.to_string() == wanted)
}

fn body(request: &ReceivedRequest) -> Result<serde_json::Map<String, Value>, ApiError> {
    let kind = request.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match serde_json::from_slice(&request.body) {
        Ok(Value::Object(body)) if kind.starts_with("application/json") => Ok(body),
        _ => Err(api_error(ErrorCode::BadRequest, "the body must be a JSON object")),
    }
}

/// A malformed id is not found, like an unknown one.
fn parse(id: &str) -> Result<Uuid, ApiError> {
    id.parse().map_err(|_| not_found())
}

fn not_found() -> ApiError {
    api_error(ErrorCode::NotFound, "no such record")
}

fn invalid(message: &str) -> ApiError {
    api_error(ErrorCode::ValidationError, message)
}

fn api_error(code: ErrorCode, message: &str) -> ApiError {
    ApiError(code, message.to_owned())
}

fn options(allow: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}

fn method_not_allowed(allow: &'static str) -> Response<Bytes> {
    let mut response = error_response(ErrorCode::MethodNotAllowed, "method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}
