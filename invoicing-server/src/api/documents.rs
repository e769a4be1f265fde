//! Handler of `/documents`: downloads behind signed URLs.

use http::request::Parts;
use http::uri::PathAndQuery;

use super::ApiContext;
use super::byte_budget::{ByteReservation, ConnectionHandle, Holder, Owner};
use super::download::Download;
use super::error::ApiError;
use super::response::ApiResult;
use crate::Error;

/// `GET /documents/{company}/{upload}`. The signature in the URL is the permission.
pub(super) async fn download(
    context: &ApiContext,
    head: &Parts,
    connection: Option<&ConnectionHandle>,
    reservation: &mut Option<ByteReservation>,
) -> ApiResult {
    let (services, capacity) = (&context.services, &context.capacity);
    let document =
        services.verify_document_url(head.uri.path_and_query().map_or("", PathAndQuery::as_str))?;
    let download = Download::new(&head.method, &head.headers, document.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    let owner = Owner { connection: connection.cloned(), holder: Holder::Document(document.key) };
    let reservation = &*reservation.insert(capacity.bytes.admit(owner)?);
    let _slot = capacity.keyless_documents.try_acquire(document.key.company).ok_or(ApiError::Overloaded)?;
    let mut store = services.documents.bounded_store();
    let size = store.size(document.key).await.map_err(Error::from)?;
    // Before the bytes are read, so that they never exceed their share.
    reservation.cover(usize::try_from(size).map_err(Error::internal)?)?;
    let bytes = store.fetch(&document).await.map_err(Error::from)?;
    download.respond(bytes, &document.file_name)
}
