//! Handlers of `/clients`.

use bytes::Bytes;
use http::StatusCode;
use invoicing_core::NewClient;

use super::query_string;
use super::request::ApiRequest;
use crate::http::response::{ApiResult, json, record};

/// `GET /clients`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query_string::clients(request.query())?;
    request.reserve_page(query.window)?;
    Ok(json(StatusCode::OK, request.company.clients().list_json(&query).await?))
}

/// `POST /clients`: 201 for a new client, 200 if the external id is known.
pub(super) async fn create(request: &ApiRequest<'_>, body: &Bytes) -> ApiResult {
    query_string::none(request.query())?;
    let new: NewClient = request.json(body)?;
    let creation = request.company.clients().find_or_create(&new).await?;
    let status = if creation.created { StatusCode::CREATED } else { StatusCode::OK };
    record(status, &creation.client)
}
