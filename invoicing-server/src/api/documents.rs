//! Handler of `/documents`: downloads behind signed URLs.

use http::request::Parts;
use matchit::Params;

use super::download::Download;
use super::error::ApiError;
use super::response::ApiResponse;
use crate::Invoicing;

/// `GET /documents/{company}/{sha256}`. The signature in the URL is the permission.
pub(super) async fn download(
    invoicing: &Invoicing,
    params: &Params<'_, '_>,
    head: &Parts,
) -> Result<ApiResponse, ApiError> {
    let segment = |name| params.get(name).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let grant = invoicing.inner().document_grant(segment("company"), segment("sha256"), query)?;
    let download = Download::new(&head.method, &head.headers, grant.key.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    download.respond(invoicing.inner().open_granted(&grant).await?, &grant.file_name)
}
