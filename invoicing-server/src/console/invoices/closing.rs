//! The end of an invoice: marked paid by hand, or cancelled.

use invoicing_core::{Invoice, InvoiceId, InvoiceStatus};
use maud::{Markup, html};

use super::change::{Asked, Change, question, refused};
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::layout::PageContent;
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;

/// `GET /invoices/{id}/paid`.
pub(in crate::console) async fn confirm_paid(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    check_may_issue(request).await?;
    confirm(request, Change::MarkPaid).await
}

/// `GET /invoices/{id}/cancel`.
pub(in crate::console) async fn confirm_cancellation(
    request: &PageRequest<'_>,
) -> Result<PageContent, PageError> {
    confirm(request, Change::Cancel).await
}

/// `POST /invoices/{id}/paid`.
pub(in crate::console) async fn mark_paid(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    check_may_issue(request).await?;
    let paid = request.company.invoices().mark_paid(request.id()?).await;
    outcome(request, Change::MarkPaid, paid, "paid").await
}

/// `POST /invoices/{id}/cancel`.
pub(in crate::console) async fn cancel(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let canceled = request.company.invoices().cancel(request.id()?).await;
    outcome(request, Change::Cancel, canceled, "canceled").await
}

/// Refuses a person who may enter payments but not issue invoices, if the invoice is a draft: it
/// would be issued.
async fn check_may_issue(request: &PageRequest<'_>) -> Result<(), PageError> {
    if request.allows(ConsoleAction::ManageInvoices) {
        return Ok(());
    }
    match super::read(request, request.id()?).await?.summary.status {
        InvoiceStatus::Draft => Err(PageError::Forbidden),
        _ => Ok(()),
    }
}

async fn confirm(request: &PageRequest<'_>, change: Change) -> Result<PageContent, PageError> {
    let invoice = super::read(request, request.id()?).await?.summary;
    Ok(page(request, change, &Asked::of(&invoice)))
}

async fn outcome(
    request: &PageRequest<'_>,
    change: Change,
    changed: Result<Invoice, Error>,
    done: &str,
) -> Result<Outcome, PageError> {
    let id: InvoiceId = request.id()?;
    let Err(error) = changed else { return Ok(Outcome::See(format!("/invoices/{id}?done={done}"))) };
    let invoice = super::read(request, id).await?.summary;
    refused(error, &invoice, |asked| page(request, change, asked))
}

fn page(request: &PageRequest<'_>, change: Change, asked: &Asked<'_>) -> PageContent {
    let is_draft = asked.invoice.status == InvoiceStatus::Draft;
    let text = html! { p { (explanation(request, change, is_draft)) } };
    question(request, change, asked, &[], &text, &Markup::default())
}

fn explanation<'t>(request: &'t PageRequest<'_>, change: Change, is_draft: bool) -> &'t str {
    match (change, is_draft) {
        (Change::MarkPaid, true) => request.pick(
            "The invoice is issued first: it gets its number, and its document is frozen. Then the amount due is entered as a \
             payment. Without a retention, its document says that it is paid and asks for nothing.",
            "La facture est d’abord émise : elle reçoit son numéro et son document est figé. Le reste à payer est ensuite saisi comme \
             paiement. Sans retenue de garantie, le document porte la mention « Acquittée » et ne demande rien.",
        ),
        (Change::MarkPaid, false) => request.pick(
            "The amount due is entered as a payment.",
            "Le reste à payer est saisi comme paiement.",
        ),
        (_, true) => request.pick(
            "The draft gets no number, now or later. Its quote can be converted again.",
            "Le brouillon n’aura jamais de numéro. Son devis pourra être converti à nouveau.",
        ),
        (_, false) => request.pick(
            "The invoice keeps its number. A credit note takes back all that is left of it, with its own number and document. This \
             cannot be undone; its quote can be converted again.",
            "La facture garde son numéro. Un avoir reprend tout ce qu’il en reste, avec son propre numéro et son document. C’est \
             définitif ; son devis pourra être converti à nouveau.",
        ),
    }
}
