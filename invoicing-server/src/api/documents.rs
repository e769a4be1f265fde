//! Handler of `/documents`: downloads behind signed URLs.

use http::request::Parts;
use matchit::Params;

use super::ApiContext;
use super::download::Download;
use super::response::ApiResult;
use crate::Error;
use crate::documents::Deadline;

/// `GET /documents/{company}/{upload}`. The signature in the URL is the permission.
pub(super) async fn download(context: &ApiContext, params: &Params<'_, '_>, head: &Parts) -> ApiResult {
    let segment = |name| params.get(name).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let services = &context.services;
    let document = services.verify_document_url(segment("company"), segment("upload"), query)?;
    let download = Download::new(&head.method, &head.headers, document.sha256);
    if download.is_not_modified() {
        return download.not_modified();
    }
    let fetched = services.documents.fetch(&document, &mut Deadline::new()).await;
    download.respond(fetched.map_err(Error::from)?, &document.file_name)
}
