//! Handler of `/documents`: downloads behind signed URLs.

use http::uri::PathAndQuery;

use super::ApiContext;
use super::rate_limit::KeyQuota;
use crate::http::byte_budget::Proof;
use crate::http::download;
use crate::http::exchange::Exchange;
use crate::http::response::ApiResult;

/// `GET /documents/{company}/{upload}`. The signature in the URL is the permission.
pub(super) async fn download(context: &ApiContext, exchange: &Exchange<'_, KeyQuota>) -> ApiResult {
    let (head, services) = (exchange.head, &context.services);
    let document =
        services.verify_document_url(head.uri.path_and_query().map_or("", PathAndQuery::as_str))?;
    let store = services.documents.bounded_store();
    download::download(exchange, &context.http.capacity, Proof::Url, (&document, None), store).await
}
