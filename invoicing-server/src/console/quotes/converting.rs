//! The conversion of an accepted quote to an invoice.

use invoicing_core::{QuoteId, QuoteStatus, QuoteSummary};
use maud::{Markup, html};

use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::invoices;
use crate::console::request::{Outcome, PageRequest};

/// The invoice of an accepted quote, or the form that converts it.
pub(super) async fn section(request: &PageRequest<'_>, quote: &QuoteSummary) -> Result<Markup, PageError> {
    if quote.status != QuoteStatus::Accepted {
        return Ok(Markup::default());
    }
    let invoice = request.company.invoices().of_quote(quote.id).await?;
    Ok(html! {
        @if let Some(invoice) = invoice {
            p {
                (request.pick("Invoice:", "Facture :")) " "
                a href=(request.link(format!("/invoices/{}", invoice.id))) { (invoices::name(request, invoice.number.as_deref())) }
                " " (invoices::state(request.language, invoice.status))
            }
        } @else if request.allows(ConsoleAction::ManageInvoices) {
            (request.form_about(format!("/quotes/{}/convert", quote.id), quote.updated_at, &html! {
                button { (request.pick("Convert to an invoice", "Convertir en facture")) }
            }))
        }
    })
}

/// `POST /quotes/{id}/convert`.
pub(in crate::console) async fn convert(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let quote: QuoteId = request.id()?;
    let invoice = request.company.invoices().convert(quote).await?;
    Ok(Outcome::See(format!("/invoices/{}?done=made", invoice.summary.id)))
}
