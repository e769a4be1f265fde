//! Handlers of `/invoices`.

use http::StatusCode;
use invoicing_core::{InvoiceId, InvoiceStatus};

use super::query;
use super::request::ApiRequest;
use super::response::{ApiResult, json};

/// `GET /invoices`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query::page::<InvoiceStatus>(request.query())?;
    Ok(json(StatusCode::OK, request.company.invoices().page(&query).await?))
}

/// `GET /invoices/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> ApiResult {
    let id: InvoiceId = request.id()?;
    query::none(request.query())?;
    Ok(json(StatusCode::OK, request.company.invoices().detail(id).await?))
}
