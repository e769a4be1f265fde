//! The payments of an invoice: listed, reversed.

use invoicing_core::{InvoiceId, InvoiceStatus, InvoiceSummary, PaymentId, PaymentSource};
use maud::{Markup, html};

use super::words;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::figures::Figures;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::request::{Outcome, PageRequest};
use crate::console::table::{Table, column, figure};
use crate::records::Payment;

/// Maximum number of payments that the page lists: the latest.
const SHOWN: usize = 50;

const PAYMENTS: Table<5> = Table::new(
    ("Latest first", "Les plus récents d’abord"),
    [
        column("Entered", "Saisi"),
        figure("Amount", "Montant"),
        column("Method", "Moyen de paiement"),
        column("Reference", "Référence"),
        column("State", "État"),
    ],
);

/// The part of an invoice's page about its payments.
pub(super) fn section(request: &PageRequest<'_>, invoice: &InvoiceSummary, payments: &[Payment]) -> Markup {
    let left_out = payments.len().saturating_sub(SHOWN);
    html! {
        h2 #payments { (request.pick("Payments", "Paiements")) }
        @if payments.is_empty() {
            p { (request.pick("There is none yet.", "Il n’y en a pas encore.")) }
        } @else {
            (PAYMENTS.show(request.language, payments.iter().rev().take(SHOWN).map(|payment| row(request, invoice, payment))))
        }
        @if left_out > 0 {
            p.soft { (request.pick("Older ones that are not shown:", "Plus anciens, non affichés :")) " " (left_out) }
        }
    }
}

fn row(request: &PageRequest<'_>, invoice: &InvoiceSummary, payment: &Payment) -> [Markup; 5] {
    let figures = Figures::new(request.language, &invoice.currency);
    [
        request.clock().show(payment.recorded_at),
        html! { (figures.amount(payment.amount.get())) },
        origin(request, payment),
        html! { @if let Some(reference) = &payment.reference { (entered(reference)) } },
        state(request, invoice, payment),
    ]
}

/// The method of a payment and the origin of its entry.
fn origin(request: &PageRequest<'_>, payment: &Payment) -> Markup {
    let source = match payment.source {
        PaymentSource::Manual => request.pick("marked as paid", "marquée comme payée"),
        PaymentSource::Entered => request.pick("entered by hand", "saisi à la main"),
        PaymentSource::Online => request.pick("paid online", "payé en ligne"),
        PaymentSource::Bank => request.pick("found at the bank", "trouvé à la banque"),
        other => other.as_str(),
    };
    html! {
        @if let Some(method) = payment.method { (words::method(request.language, method)) " " }
        span.soft { (source) }
    }
}

fn state(request: &PageRequest<'_>, invoice: &InvoiceSummary, payment: &Payment) -> Markup {
    if let Some(at) = payment.reversed_at {
        let reversed = request.pick("Reversed", "Annulé");
        return html! { span.state.bad { (reversed) } " " span.soft { (request.clock().show(at)) } };
    }
    let may_reverse =
        request.allows(ConsoleAction::EnterPayments) && invoice.status != InvoiceStatus::Canceled;
    let shown = request.clock().text(payment.recorded_at);
    html! {
        @if payment.amount.is_negative() { span.state { (request.pick("Refund", "Remboursement")) } " " }
        @if may_reverse {
            a href=(request.link(path(invoice.id, payment.id)))
                aria-label={ (request.pick("Reverse the payment of", "Annuler le paiement du")) " " (shown) } {
                (request.pick("Reverse", "Annuler"))
            }
        }
    }
}

fn path(invoice: InvoiceId, payment: PaymentId) -> String {
    format!("/invoices/{invoice}/payments/{payment}/reverse")
}

/// `GET /invoices/{id}/payments/{payment}/reverse`. A payment that is not valid is answered like
/// an unknown one.
pub(in crate::console) async fn confirm_reversal(
    request: &PageRequest<'_>,
) -> Result<PageContent, PageError> {
    let (id, wanted): (InvoiceId, PaymentId) = (request.id()?, request.param("payment")?);
    let payments = request.company.invoices().payments(id).await?;
    let is_asked_for = |payment: &&Payment| payment.id == wanted && payment.reversed_at.is_none();
    let payment = payments.iter().find(is_asked_for).ok_or(PageError::NOT_FOUND)?;
    let invoice = super::read(request, id).await?.summary;
    let amount = Figures::new(request.language, &invoice.currency).amount(payment.amount.get());
    let title = request.pick("Reverse the payment?", "Annuler le paiement ?");
    let body = html! {
        h1 { (title) }
        dl.facts {
            div { dt { (request.pick("Number", "Numéro")) } dd { (words::name(request, invoice.number.as_deref())) } }
            div { dt { (request.pick("Amount", "Montant")) } dd { (amount) } }
            div { dt { (request.pick("Entered", "Saisi")) } dd { (request.clock().show(payment.recorded_at)) } }
        }
        p { (request.pick(
            "It stays in the list as reversed, and counts no longer. The service moves no money.",
            "Il reste dans la liste comme annulé et ne compte plus. Le service ne fait aucun virement.",
        )) }
        (request.form_about(path(id, wanted), invoice.updated_at, &html! {
            p.actions {
                button.grave { (request.pick("Reverse", "Annuler le paiement")) }
                a href=(request.link(format!("/invoices/{id}"))) { (request.pick("Keep it", "Le garder")) }
            }
        }))
    };
    Ok(PageContent::new(title, Chapter::Invoices, body))
}

/// `POST /invoices/{id}/payments/{payment}/reverse`.
pub(in crate::console) async fn reverse(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let (id, payment): (InvoiceId, PaymentId) = (request.id()?, request.param("payment")?);
    request.company.invoices().reverse_payment(id, payment).await?;
    Ok(Outcome::See(format!("/invoices/{id}?done=reversed#payments")))
}
