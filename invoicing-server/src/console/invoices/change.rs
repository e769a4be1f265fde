//! The changes that an invoice's page offers, and the question that comes before each.

use invoicing_core::{InvoiceStatus, InvoiceSummary};
use maud::{Markup, html};

use super::words;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::figures::Figures;
use crate::console::inputs::problem_of;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;

/// A change of an invoice that the console offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Issue,
    Pay,
    MarkPaid,
    Credit,
    Refund,
    Cancel,
}

impl Change {
    pub(super) const ALL: [Self; 6] =
        [Self::Issue, Self::Pay, Self::MarkPaid, Self::Credit, Self::Refund, Self::Cancel];

    /// The last segment of its path.
    pub(super) const fn segment(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Pay => "pay",
            Self::MarkPaid => "paid",
            Self::Credit => "credit",
            Self::Refund => "refund",
            Self::Cancel => "cancel",
        }
    }

    /// The title of the question, and of the link to it.
    pub(super) fn title<'t>(self, request: &'t PageRequest<'_>) -> &'t str {
        match self {
            Self::Issue => request.pick("Issue the invoice", "Émettre la facture"),
            Self::Pay => request.pick("Enter a payment", "Saisir un paiement"),
            Self::MarkPaid => request.pick("Mark as paid", "Marquer comme payée"),
            Self::Credit => request.pick("Issue a credit note", "Émettre un avoir"),
            Self::Refund => request.pick("Enter a refund", "Saisir un remboursement"),
            Self::Cancel => request.pick("Cancel the invoice", "Annuler la facture"),
        }
    }

    const fn needs(self) -> ConsoleAction {
        match self {
            Self::Pay | Self::MarkPaid | Self::Refund => ConsoleAction::EnterPayments,
            Self::Issue | Self::Credit | Self::Cancel => ConsoleAction::ManageInvoices,
        }
    }

    /// True if the state and the amounts of the invoice allow it.
    fn is_possible(self, invoice: &InvoiceSummary) -> bool {
        use InvoiceStatus::{Draft, Overdue, Paid, Sent};
        let is_open = matches!(invoice.status, Sent | Overdue);
        let is_issued = is_open || invoice.status == Paid;
        match self {
            Self::Issue => invoice.status == Draft,
            Self::Pay => is_issued && !(invoice.amount_due.is_zero() && invoice.retention_due.is_zero()),
            Self::MarkPaid => is_open && !invoice.is_credited_in_full(),
            Self::Credit => {
                let is_of_0_and_paid = invoice.total_ttc.is_zero() && !invoice.amount_paid.is_zero();
                is_issued && !invoice.is_credited_in_full() && !is_of_0_and_paid
            }
            Self::Refund => is_issued && !invoice.amount_overpaid.is_zero(),
            Self::Cancel => {
                let is_of_0 = is_issued && invoice.total_ttc.is_zero();
                invoice.status == Draft || (is_open || is_of_0) && invoice.amount_paid.is_zero()
            }
        }
    }

    /// True if the page of the invoice offers it.
    pub(super) fn is_offered(self, request: &PageRequest<'_>, invoice: &InvoiceSummary) -> bool {
        request.allows(self.needs()) && self.is_possible(invoice)
    }
}

/// An invoice about which a question asks.
pub(super) struct Asked<'a> {
    pub(super) invoice: &'a InvoiceSummary,
    /// The reason why the form was refused.
    pub(super) error: Option<&'a Error>,
}

impl<'a> Asked<'a> {
    /// The question as its page is opened, or comes again as it was.
    pub(super) const fn of(invoice: &'a InvoiceSummary) -> Self {
        Self { invoice, error: None }
    }
}

/// The question again, with the error of its form.
pub(super) fn refused(
    error: Error,
    invoice: &InvoiceSummary,
    question: impl FnOnce(&Asked<'_>) -> PageContent,
) -> Result<Outcome, PageError> {
    Outcome::refused(error, |error| question(&Asked { invoice, error: Some(error) }))
}

/// The question before a change. `names`: the inputs of its form.
pub(super) fn question(
    request: &PageRequest<'_>,
    change: Change,
    asked: &Asked<'_>,
    names: &[&str],
    text: &Markup,
    fields: &Markup,
) -> PageContent {
    let (title, page) = (change.title(request), format!("/invoices/{}", asked.invoice.id));
    let body = html! {
        h1 { (title) }
        (problem_of(request, asked.error, names))
        (facts(request, asked.invoice))
        (text)
        (request.form_about(format!("{page}/{}", change.segment()), asked.invoice.updated_at, &html! {
            (fields)
            p.actions {
                button.grave[change == Change::Cancel] { (title) }
                a href=(request.link(&page)) { (request.pick("Back", "Retour")) }
            }
        }))
    };
    PageContent::new(title, Chapter::Invoices, body)
}

pub(super) fn facts(request: &PageRequest<'_>, invoice: &InvoiceSummary) -> Markup {
    let figures = Figures::new(request.language, &invoice.currency);
    html! {
        dl.facts {
            div { dt { (request.pick("Number", "Numéro")) } dd { (words::name(request, invoice.number.as_deref())) } }
            div { dt { (request.pick("State", "État")) } dd { (words::state(request.language, invoice.status)) } }
            div { dt { (request.pick("Client", "Client")) } dd { (entered(&invoice.client_name)) } }
            div { dt { (request.pick("Total incl. VAT", "Total TTC")) } dd { (figures.amount(invoice.total_ttc.get())) } }
            div { dt { (request.pick("Amount due", "Reste à payer")) } dd { (figures.amount(invoice.amount_due.get())) } }
        }
    }
}
