//! The pages of quotes: the list, one quote with its documents and links, and its forms.

mod lines;
mod links;
mod list;
mod page;
mod sending;
mod totals;
mod words;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use invoicing_core::{Quote, QuoteId};

pub(super) use self::links::{confirm_link_revocation, make_link, revoke_link};
pub(super) use self::list::list;
pub(super) use self::page::show;
pub(super) use self::sending::{confirm_sending, send};
use super::error::PageError;
use super::request::{PageRequest, PageResult};
use crate::Error;
use crate::documents::{CONTENT_TYPE, content_disposition};
use crate::http::response::with_headers;
use crate::records::StoredJson;

/// Upper bound of simultaneous copies of the quote: its JSON, and the values that a page is made
/// from.
const COPIES: usize = 3;

/// A quote, read once its memory is reserved.
async fn read(request: &PageRequest<'_>, id: QuoteId) -> Result<Quote, PageError> {
    let quotes = request.company.quotes();
    let json = match quotes.small_detail(id).await? {
        StoredJson::Whole(json) => json,
        StoredJson::Large { bytes } => {
            request.reserve(bytes.saturating_mul(COPIES))?;
            quotes.detail(id).await?
        }
    };
    Ok(serde_json::from_slice(&json).map_err(Error::internal)?)
}

/// `GET /quotes/{id}/documents/{sha256}`.
pub(super) async fn document(request: &PageRequest<'_>) -> PageResult {
    let (id, sha256): (QuoteId, String) = (request.id()?, request.param("sha256")?);
    let quotes = request.company.quotes();
    let (document, size) = quotes.stored_copy(id, &sha256).await?;
    request.reserve(usize::try_from(size).unwrap_or(usize::MAX))?;
    let opened = quotes.open_stored(document).await?;
    let disposition =
        HeaderValue::try_from(content_disposition(&opened.file_name)).map_err(Error::internal)?;
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE)),
        (header::CONTENT_DISPOSITION, disposition),
    ]);
    Ok(with_headers(StatusCode::OK, headers, opened.bytes))
}
