//! Handlers of `/quotes`.

use bytes::Bytes;
use http::StatusCode;
use invoicing_core::{QuoteId, QuoteStatus};
use serde::Deserialize;

use super::query_string;
use super::request::ApiRequest;
use crate::http::error::ApiError;
use crate::http::response::{ApiResult, json, record};
use crate::records::{Lines, MAX_PAGE_READS, StoredJson, StoredPage};

/// The body of `PATCH /quotes/{id}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkBody {
    /// Required, but may be null. serde alone reads a missing `Option` as null.
    #[serde(deserialize_with = "Option::deserialize")]
    external_id: Option<String>,
}

/// `GET /quotes`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query_string::page::<QuoteStatus>(request.query())?;
    request.reserve_page(query.window)?;
    let quotes = request.company.quotes();
    let mut lines = Lines::UnlessLarge;
    for _ in 0..MAX_PAGE_READS {
        match quotes.page_with(&query, lines).await? {
            StoredPage::Whole(page) => return Ok(json(StatusCode::OK, page)),
            StoredPage::Large { bytes, as_of } => {
                request.reserve(bytes)?;
                lines = Lines::AsOf(as_of);
            }
        }
    }
    Err(ApiError::Overloaded)
}

/// `GET /quotes/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> ApiResult {
    let id: QuoteId = request.id()?;
    query_string::none(request.query())?;
    let quotes = request.company.quotes();
    let detail = match quotes.small_detail(id).await? {
        StoredJson::Whole(detail) => detail,
        StoredJson::Large { bytes } => {
            request.reserve(bytes)?;
            quotes.detail(id).await?
        }
    };
    Ok(json(StatusCode::OK, detail))
}

/// `PATCH /quotes/{id}`.
pub(super) async fn link(request: &ApiRequest<'_>, body: &Bytes) -> ApiResult {
    let id: QuoteId = request.id()?;
    query_string::none(request.query())?;
    let LinkBody { external_id } = request.json(body)?;
    let link = request.company.quotes().link(id, external_id.as_deref()).await?;
    record(StatusCode::OK, &link)
}

/// `GET /quotes/{id}/document`.
pub(super) async fn document(request: &ApiRequest<'_>) -> ApiResult {
    let id: QuoteId = request.id()?;
    query_string::document(request.query())?;
    record(StatusCode::OK, &request.company.quotes().document(id).await?)
}
