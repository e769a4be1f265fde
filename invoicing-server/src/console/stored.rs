//! Records and documents that may be large: read once their memory is reserved.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use invoicing_core::{DocumentFormat, OpenEnum};
use maud::{Markup, html};

use super::error::PageError;
use super::request::{PageRequest, PageResult};
use crate::documents::{CONTENT_TYPE, StoredFile, content_disposition};
use crate::error::Error;
use crate::http::response::with_headers;
use crate::operations::reading::ReadDocument;
use crate::records::StoredJson;

/// Upper bound of simultaneous copies of a record: its JSON, and the values that a page is made
/// from.
const COPIES: usize = 3;

/// A document, read once its memory is reserved.
pub(super) async fn record<D: ReadDocument>(request: &PageRequest<'_>, id: D::Id) -> Result<D, PageError> {
    let documents = request.company.documents::<D>();
    let json = match documents.small_detail(id).await? {
        StoredJson::Whole(json) => json,
        StoredJson::Large { bytes } => {
            request.reserve(bytes.saturating_mul(COPIES))?;
            documents.detail(id).await?
        }
    };
    Ok(serde_json::from_slice(&json).map_err(Error::internal)?)
}

/// The part of a record's page about its frozen document; nothing without one. `path`: that of the
/// document. `text`: the text of the link to it.
pub(super) fn section(
    request: &PageRequest<'_>,
    path: &str,
    format: Option<&OpenEnum<DocumentFormat>>,
    text: &str,
) -> Markup {
    let Some(format) = format else { return Markup::default() };
    html! {
        h2 { (request.pick("Frozen document", "Document figé")) }
        p { a href=(request.link(path)) download { (text) } " " span.soft { (format) } }
    }
}

/// The latest frozen file of a document.
pub(super) async fn latest<D: ReadDocument>(request: &PageRequest<'_>) -> PageResult {
    let (file, size) = request.company.documents::<D>().stored(request.id()?).await?;
    download(request, file, size).await
}

/// A frozen document as a file. `size`: its size in bytes.
pub(super) async fn download(request: &PageRequest<'_>, document: StoredFile, size: u64) -> PageResult {
    request.reserve(usize::try_from(size).unwrap_or(usize::MAX))?;
    let opened = request.company.open_stored(document).await?;
    let disposition =
        HeaderValue::try_from(content_disposition(&opened.file_name)).map_err(Error::internal)?;
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE)),
        (header::CONTENT_DISPOSITION, disposition),
    ]);
    Ok(with_headers(StatusCode::OK, headers, opened.bytes))
}
