//! Handlers of `/clients`.

use bytes::Bytes;
use http::StatusCode;
use invoicing_core::NewClient;

use super::error::ApiError;
use super::query::NoParameters;
use super::request::ApiRequest;
use super::response::ApiResponse;
use crate::page::ClientQuery;

/// `GET /clients`.
pub(super) async fn list(request: &ApiRequest<'_>) -> Result<ApiResponse, ApiError> {
    let query: ClientQuery = request.query()?;
    Ok(ApiResponse::json(StatusCode::OK, request.company.clients().page(&query).await?))
}

/// `POST /clients`: 201 for a new client, 200 where the external id is known.
pub(super) async fn create(request: &ApiRequest<'_>, body: &Bytes) -> Result<ApiResponse, ApiError> {
    let NoParameters = request.query()?;
    let new: NewClient = request.json(body)?;
    let creation = request.company.clients().create(&new).await?;
    let status = if creation.created { StatusCode::CREATED } else { StatusCode::OK };
    ApiResponse::record(status, &creation.client)
}
