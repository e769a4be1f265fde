//! Handlers of `/invoices`.

use http::StatusCode;
use invoicing_core::{InvoiceId, InvoiceStatus};

use super::query_string;
use super::request::ApiRequest;
use crate::http::error::ApiError;
use crate::http::response::{ApiResult, json, record};
use crate::records::{Lines, MAX_PAGE_READS, StoredJson, StoredPage};

/// `GET /invoices`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query_string::page::<InvoiceStatus>(request.query())?;
    request.reserve_page(query.window)?;
    let invoices = request.company.invoices();
    let mut lines = Lines::UnlessLarge;
    for _ in 0..MAX_PAGE_READS {
        match invoices.page_with(&query, lines).await? {
            StoredPage::Whole(page) => return Ok(json(StatusCode::OK, page)),
            StoredPage::Large { bytes, as_of } => {
                request.reserve(bytes)?;
                lines = Lines::AsOf(as_of);
            }
        }
    }
    Err(ApiError::Overloaded)
}

/// `GET /invoices/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> ApiResult {
    let id: InvoiceId = request.id()?;
    query_string::none(request.query())?;
    let invoices = request.company.invoices();
    let detail = match invoices.small_detail(id).await? {
        StoredJson::Whole(detail) => detail,
        StoredJson::Large { bytes } => {
            request.reserve(bytes)?;
            invoices.detail(id).await?
        }
    };
    Ok(json(StatusCode::OK, detail))
}

/// `GET /invoices/{id}/document`.
pub(super) async fn document(request: &ApiRequest<'_>) -> ApiResult {
    let id: InvoiceId = request.id()?;
    query_string::document(request.query())?;
    record(StatusCode::OK, &request.company.invoices().document(id).await?)
}
