//! Handler of `/documents`: downloads behind signed URLs.

use http::request::Parts;
use matchit::Params;

use super::ApiContext;
use super::download::Download;
use super::response::ApiResult;

/// `GET /documents/{company}/{upload}`. The signature in the URL is the permission.
pub(super) async fn download(context: &ApiContext, params: &Params<'_, '_>, head: &Parts) -> ApiResult {
    let segment = |name| params.get(name).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let documents = &context.services.documents;
    let document = documents.verify_url(segment("company"), segment("upload"), query)?;
    let download = Download::new(&head.method, &head.headers, document.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    download.respond(documents.fetch(&document).await?, &document.file_name)
}
