//! The pages of credit notes: the list, and one credit note with its document.

mod list;
mod page;

use invoicing_core::CreditNoteId;

pub(super) use self::list::list;
pub(super) use self::page::show;
use super::request::{PageRequest, PageResult};
use super::stored;

/// `GET /credit-notes/{id}/document`.
pub(super) async fn document(request: &PageRequest<'_>) -> PageResult {
    let id: CreditNoteId = request.id()?;
    let (document, size) = request.company.credit_notes().stored_document(id).await?;
    stored::download(request, document, size).await
}
