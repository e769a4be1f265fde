//! Handler of `/documents`: downloads behind signed URLs.

use http::request::Parts;
use http::uri::PathAndQuery;

use super::ApiContext;
use super::byte_budget::{ByteReservation, Caller, ConnectionId, Owner};
use super::download::Download;
use super::response::ApiResult;
use crate::Error;

/// `GET /documents/{company}/{upload}`. The signature in the URL is the permission.
pub(super) async fn download(
    context: &ApiContext,
    head: &Parts,
    connection: Option<ConnectionId>,
    reservation: &mut Option<ByteReservation>,
) -> ApiResult {
    let (services, capacity) = (&context.services, &context.capacity);
    let document =
        services.verify_document_url(head.uri.path_and_query().map_or("", PathAndQuery::as_str))?;
    let download = Download::new(&head.method, &head.headers, document.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    let owner = Owner { connection, caller: Caller::Document(document.key) };
    *reservation = Some(capacity.bytes.admit(owner)?);
    let _place = (capacity.documents.try_share(document.key.company)?, capacity.documents.try_acquire()?);
    let fetched = services.documents.bounded_store().fetch(&document).await;
    download.respond(fetched.map_err(Error::from)?, &document.file_name)
}
