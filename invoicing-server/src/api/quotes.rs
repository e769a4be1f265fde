//! Handler of `PATCH /quotes/{id}`.

use bytes::Bytes;
use http::StatusCode;
use invoicing_core::QuoteId;
use serde::Deserialize;

use super::query_string;
use super::request::ApiRequest;
use crate::http::response::{ApiResult, record};

/// The body of `PATCH /quotes/{id}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkBody {
    /// Required, but may be null. serde alone reads a missing `Option` as null.
    #[serde(deserialize_with = "Option::deserialize")]
    external_id: Option<String>,
}

/// `PATCH /quotes/{id}`.
pub(super) async fn link(request: &ApiRequest<'_>, body: &Bytes) -> ApiResult {
    let id: QuoteId = request.id()?;
    query_string::none(request.query())?;
    let LinkBody { external_id } = request.json(body)?;
    let link = request.company.quotes().link(id, external_id.as_deref()).await?;
    record(StatusCode::OK, &link)
}
