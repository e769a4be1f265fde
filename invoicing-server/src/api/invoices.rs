//! Handlers of `/invoices`.

use http::StatusCode;
use invoicing_core::{InvoiceId, InvoiceStatus};

use super::query;
use super::request::ApiRequest;
use crate::http::response::{ApiResult, json};

/// `GET /invoices`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query::page::<InvoiceStatus>(request.query())?;
    request.reserve_page(query.window)?;
    let page = request.company.invoices().page_within(&query, &|bytes| request.reserve(bytes)).await?;
    Ok(json(StatusCode::OK, page))
}

/// `GET /invoices/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> ApiResult {
    let id: InvoiceId = request.id()?;
    query::none(request.query())?;
    let detail = request.company.invoices().detail_within(id, &|bytes| request.reserve(bytes)).await?;
    Ok(json(StatusCode::OK, detail))
}
