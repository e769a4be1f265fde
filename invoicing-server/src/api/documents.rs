//! Handlers of `/quotes`, `/invoices` and `/credit-notes`: a list, one document, a link to its
//! file.

use http::StatusCode;
use invoicing_core::{CreditNote, Invoice, Quote};

use super::query_string;
use super::request::ApiRequest;
use crate::http::error::ApiError;
use crate::http::response::{ApiResult, json, record};
use crate::list_query::PageQuery;
use crate::operations::reading::ReadDocument;
use crate::records::{Lines, MAX_PAGE_READS, StoredJson, StoredPage};

/// A kind of document that the API lists.
pub(super) trait ListedDocument: ReadDocument {
    /// The query of the list.
    fn query(text: &str) -> Result<PageQuery<Self::Status>, ApiError>;
}

impl ListedDocument for Quote {
    fn query(text: &str) -> Result<PageQuery<Self::Status>, ApiError> {
        query_string::page(text)
    }
}

impl ListedDocument for Invoice {
    fn query(text: &str) -> Result<PageQuery<Self::Status>, ApiError> {
        query_string::page(text)
    }
}

impl ListedDocument for CreditNote {
    fn query(text: &str) -> Result<PageQuery<Self::Status>, ApiError> {
        Ok((&query_string::credit_notes(text)?).into())
    }
}

/// `GET /quotes`, `/invoices`, `/credit-notes`.
pub(super) async fn list<D: ListedDocument>(request: &ApiRequest<'_>) -> ApiResult {
    let query = D::query(request.query())?;
    request.reserve_page(query.window)?;
    let documents = request.company.documents::<D>();
    let mut lines = Lines::UnlessLarge;
    for _ in 0..MAX_PAGE_READS {
        match documents.page(&query, lines).await? {
            StoredPage::Whole(page) => return Ok(json(StatusCode::OK, page)),
            StoredPage::Large { bytes, as_of } => {
                request.reserve(bytes)?;
                lines = Lines::AsOf(as_of);
            }
        }
    }
    Err(ApiError::Overloaded)
}

/// `GET /quotes/{id}`, `/invoices/{id}`, `/credit-notes/{id}`.
pub(super) async fn get<D: ListedDocument>(request: &ApiRequest<'_>) -> ApiResult {
    let id: D::Id = request.id()?;
    query_string::none(request.query())?;
    let documents = request.company.documents::<D>();
    let detail = match documents.small_detail(id).await? {
        StoredJson::Whole(detail) => detail,
        StoredJson::Large { bytes } => {
            request.reserve(bytes)?;
            documents.detail(id).await?
        }
    };
    Ok(json(StatusCode::OK, detail))
}

/// `GET /quotes/{id}/document`, `/invoices/{id}/document`, `/credit-notes/{id}/document`.
pub(super) async fn link<D: ListedDocument>(request: &ApiRequest<'_>) -> ApiResult {
    let id: D::Id = request.id()?;
    query_string::document(request.query())?;
    record(StatusCode::OK, &request.company.documents::<D>().link(id).await?)
}
