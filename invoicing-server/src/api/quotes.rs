//! Handlers of `/quotes`.

use bytes::Bytes;
use http::StatusCode;
use invoicing_core::{QuoteId, QuoteStatus};
use serde::Deserialize;

use super::error::ApiError;
use super::json::required_nullable;
use super::query::{DocumentQuery, NoParameters};
use super::request::ApiRequest;
use super::response::ApiResponse;
use crate::page::PageQuery;

/// The body of `PATCH /quotes/{id}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkBody {
    #[serde(deserialize_with = "required_nullable")]
    external_id: Option<String>,
}

/// `GET /quotes`.
pub(super) async fn list(request: &ApiRequest<'_>) -> Result<ApiResponse, ApiError> {
    let query: PageQuery<QuoteStatus> = request.query()?;
    Ok(ApiResponse::json(StatusCode::OK, request.company.quotes().page(&query).await?))
}

/// `GET /quotes/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> Result<ApiResponse, ApiError> {
    let id: QuoteId = request.id()?;
    let NoParameters = request.query()?;
    Ok(ApiResponse::json(StatusCode::OK, request.company.quotes().detail(id).await?))
}

/// `PATCH /quotes/{id}`.
pub(super) async fn link(request: &ApiRequest<'_>, body: &Bytes) -> Result<ApiResponse, ApiError> {
    let id: QuoteId = request.id()?;
    let NoParameters = request.query()?;
    let LinkBody { external_id } = request.json(body)?;
    let link = request.company.quotes().link(id, external_id.as_deref()).await?;
    ApiResponse::record(StatusCode::OK, &link)
}

/// `GET /quotes/{id}/document`.
pub(super) async fn document(request: &ApiRequest<'_>) -> Result<ApiResponse, ApiError> {
    let id: QuoteId = request.id()?;
    let DocumentQuery = request.query()?;
    ApiResponse::record(StatusCode::OK, &request.company.quotes().document(id).await?)
}
