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
use super::request::PageRequest;
use super::stored;

/// An invoice, read once its memory is reserved.
async fn read(request: &PageRequest<'_>, id: InvoiceId) -> Result<Invoice, PageError> {
    stored::record(request, id).await
}
