//! Handlers of `/credit-notes`.

use http::StatusCode;
use invoicing_core::CreditNoteId;

use super::query_string;
use super::request::ApiRequest;
use crate::http::error::ApiError;
use crate::http::response::{ApiResult, json, record};
use crate::records::{Lines, MAX_PAGE_READS, StoredJson, StoredPage};

/// `GET /credit-notes`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query_string::credit_notes(request.query())?;
    request.reserve_page(query.window)?;
    let credit_notes = request.company.credit_notes();
    let mut lines = Lines::UnlessLarge;
    for _ in 0..MAX_PAGE_READS {
        match credit_notes.page_with(&query, lines).await? {
            StoredPage::Whole(page) => return Ok(json(StatusCode::OK, page)),
            StoredPage::Large { bytes, as_of } => {
                request.reserve(bytes)?;
                lines = Lines::AsOf(as_of);
            }
        }
    }
    Err(ApiError::Overloaded)
}

/// `GET /credit-notes/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> ApiResult {
    let id: CreditNoteId = request.id()?;
    query_string::none(request.query())?;
    let credit_notes = request.company.credit_notes();
    let detail = match credit_notes.small_detail(id).await? {
        StoredJson::Whole(detail) => detail,
        StoredJson::Large { bytes } => {
            request.reserve(bytes)?;
            credit_notes.detail(id).await?
        }
    };
    Ok(json(StatusCode::OK, detail))
}

/// `GET /credit-notes/{id}/document`.
pub(super) async fn document(request: &ApiRequest<'_>) -> ApiResult {
    let id: CreditNoteId = request.id()?;
    query_string::document(request.query())?;
    record(StatusCode::OK, &request.company.credit_notes().document(id).await?)
}
