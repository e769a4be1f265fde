//! Handler of `/documents`: downloads behind signed URLs.

use http::uri::PathAndQuery;

use super::ApiContext;
use super::rate_limit::KeyQuota;
use crate::error::Error;
use crate::http::byte_budget::Holder;
use crate::http::download::Download;
use crate::http::error::ApiError;
use crate::http::exchange::Exchange;
use crate::http::response::ApiResult;

/// `GET /documents/{company}/{upload}`. The signature in the URL is the permission.
pub(super) async fn download(context: &ApiContext, exchange: &Exchange<'_, KeyQuota>) -> ApiResult {
    let (head, services, capacity) = (exchange.head, &context.services, &context.http.capacity);
    let document =
        services.verify_document_url(head.uri.path_and_query().map_or("", PathAndQuery::as_str))?;
    let download = Download::new(&head.method, &head.headers, document.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    let reservation = exchange.admit(Holder::Document(document.key))?;
    let _slot = capacity.keyless_documents.try_acquire(document.key.company).ok_or(ApiError::Overloaded)?;
    let mut store = services.documents.bounded_store();
    let size = store.size(document.key).await.map_err(Error::from)?;
    // Reserved before the bytes are read, so that they never exceed their share.
    reservation.cover(usize::try_from(size).map_err(Error::internal)?)?;
    let bytes = store.fetch(&document).await.map_err(Error::from)?;
    download.respond(bytes, &document.file_name)
}
