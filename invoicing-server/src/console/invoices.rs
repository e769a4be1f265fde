//! The pages of invoices: the list, one invoice with its payments and credit notes, and its forms.

mod amounts;
mod change;
mod closing;
mod crediting;
mod direct;
mod doubts;
mod issuing;
mod list;
mod page;
mod paying;
mod payments;
mod words;

use invoicing_core::{Invoice, InvoiceId};

pub(super) use self::closing::{cancel, confirm_cancellation, confirm_paid, mark_paid};
pub(super) use self::crediting::{credit, new_credit, review_credit};
pub(super) use self::direct::{make, new};
pub(super) use self::issuing::{confirm_issue, issue};
pub(super) use self::list::list;
pub(super) use self::page::show;
pub(super) use self::paying::{new_payment, new_refund, pay, refund};
pub(super) use self::payments::{confirm_reversal, reverse};
pub(super) use self::words::{name, state};
use super::error::PageError;
use super::request::{PageRequest, PageResult};
use super::stored;

/// An invoice, read once its memory is reserved.
async fn read(request: &PageRequest<'_>, id: InvoiceId) -> Result<Invoice, PageError> {
    let invoices = request.company.invoices();
    stored::record(request, invoices.small_detail(id).await?, invoices.detail(id)).await
}

/// `GET /invoices/{id}/document`.
pub(super) async fn document(request: &PageRequest<'_>) -> PageResult {
    let id: InvoiceId = request.id()?;
    let (document, size) = request.company.invoices().stored_document(id).await?;
    stored::download(request, document, size).await
}
