//! The pages of quotes: the list, one quote with its documents and links, and its forms.

mod converting;
mod links;
mod list;
mod page;
mod sending;
mod words;

use invoicing_core::{Quote, QuoteId};

pub(super) use self::converting::convert;
pub(super) use self::links::{confirm_link_revocation, make_link, revoke_link};
pub(super) use self::list::list;
pub(super) use self::page::show;
pub(super) use self::sending::{confirm_sending, send};
use super::error::PageError;
use super::request::{PageRequest, PageResult};
use super::stored;

/// A quote, read once its memory is reserved.
async fn read(request: &PageRequest<'_>, id: QuoteId) -> Result<Quote, PageError> {
    stored::record(request, id).await
}

/// `GET /quotes/{id}/documents/{sha256}`.
pub(super) async fn document(request: &PageRequest<'_>) -> PageResult {
    let (id, sha256): (QuoteId, String) = (request.id()?, request.param("sha256")?);
    let (document, size) = request.company.quotes().stored_copy(id, &sha256).await?;
    stored::download(request, document, size).await
}
