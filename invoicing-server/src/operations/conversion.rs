//! The conversion of an accepted quote to an invoice, in the transaction that accepts the quote or
//! in one of its own.

use invoicing_core::{ConflictReason, Invoice, InvoiceId, Quote};

use crate::error::Error;
use crate::records::HistoryAction;
use crate::store::{CompanyTx, Tables};

/// Checks that the quote has no invoice that is not cancelled.
pub(super) async fn check_unconverted(tx: &mut CompanyTx<'_>, quote: &Quote) -> Result<(), Error> {
    match tx.invoices().find_live(quote.summary.id).await? {
        None => Ok(()),
        Some(live) => Err(ConflictReason::Converted { invoice: live.to_string() }.into()),
    }
}

/// Converts a quote by hand, and notes it in the history.
pub(super) async fn convert_noted(tx: &mut CompanyTx<'_>, quote: &Quote) -> Result<Invoice, Error> {
    let invoice = convert_accepted(tx, quote).await?;
    tx.note(HistoryAction::InvoiceCreated, invoice.summary.id.0, &quote.summary.number).await?;
    Ok(invoice)
}

/// Converts a quote that has no invoice yet, such as one that is being accepted.
pub(super) async fn convert_accepted(tx: &mut CompanyTx<'_>, quote: &Quote) -> Result<Invoice, Error> {
    let converted = Invoice::from_quote(InvoiceId(tx.env().uuid()), quote, tx.change.at())?;
    tx.invoices().insert(&converted.record).await?;
    tx.record_events(&converted.events).await?;
    Ok(converted.record)
}
