//! Handlers of `/invoices`.

use http::StatusCode;
use invoicing_core::{InvoiceId, InvoiceStatus};

use super::error::ApiError;
use super::query::NoParameters;
use super::request::ApiRequest;
use super::response::ApiResponse;
use crate::page::PageQuery;

/// `GET /invoices`.
pub(super) async fn list(request: &ApiRequest<'_>) -> Result<ApiResponse, ApiError> {
    let query: PageQuery<InvoiceStatus> = request.query()?;
    Ok(ApiResponse::json(StatusCode::OK, request.company.invoices().page(&query).await?))
}

/// `GET /invoices/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> Result<ApiResponse, ApiError> {
    let id: InvoiceId = request.id()?;
    let NoParameters = request.query()?;
    Ok(ApiResponse::json(StatusCode::OK, request.company.invoices().detail(id).await?))
}
