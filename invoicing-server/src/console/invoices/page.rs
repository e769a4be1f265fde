//! The page of an invoice.

use invoicing_core::{CreditNoteReference, Invoice, InvoiceId, InvoiceSummary};
use maud::{Markup, html};

use super::change::Change;
use super::{amounts, payments, words};
use crate::console::error::PageError;
use crate::console::figures::Figures;
use crate::console::history;
use crate::console::inputs::order_number_fact;
use crate::console::layout::{Chapter, PageContent, entered, notice};
use crate::console::lines::{RecordLines, lines};
use crate::console::request::PageRequest;
use crate::console::stored;
use crate::console::table::{Table, figure, short};
use crate::console::totals::{RecordTotals, totals};
use crate::records::Payment;

/// Maximum number of credit notes that the page lists: the latest.
const CREDIT_NOTES: usize = 20;

const CREDIT_NOTES_OF_INVOICE: Table<3> = Table::new(
    ("Latest first", "Les plus récents d’abord"),
    [short("Number", "Numéro"), short("Issued", "Émis"), figure("Total incl. VAT", "Total TTC")],
);

/// `GET /invoices/{id}`. Its parameter `lines` is the number of lines before the shown part.
pub(in crate::console) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: InvoiceId = request.id()?;
    let invoice = super::read(request, id).await?;
    let payments = request.company.invoices().payments(id).await?;
    let history = history::section(request, id.0).await?;
    let (summary, page) = (&invoice.summary, format!("/invoices/{id}"));
    let lines = lines(
        request,
        &RecordLines { lines: &invoice.lines, currency: &summary.currency, page: page.clone() },
    )?;
    let title = words::name(request, summary.number.as_deref());
    let (document, download) =
        (format!("{page}/document"), request.pick("Download the invoice", "Télécharger la facture"));
    let body = html! {
        p { a href=(request.link("/invoices")) { "← " (request.pick("Invoices", "Factures")) } }
        h1 { (title) }
        (done(request, summary, &payments))
        (facts(request, &invoice))
        (actions(request, summary))
        (lines)
        (totals(request, &totals_of(&invoice)))
        (amounts::ladder(request, summary))
        (stored::section(request, &document, summary.document_format.as_ref(), download))
        (payments::section(request, summary, &payments))
        (credit_notes(request, &invoice))
        (history)
    };
    let unnamed = request.pick("Invoice", "Facture");
    Ok(PageContent::new(summary.number.as_deref().unwrap_or(unnamed), Chapter::Invoices, body))
}

fn facts(request: &PageRequest<'_>, invoice: &Invoice) -> Markup {
    let Invoice { summary: invoice, detail, .. } = invoice;
    let clock = request.clock();
    let days = [
        (request.pick("Issued", "Émise"), invoice.issue_date),
        (request.pick("Due date", "Échéance"), invoice.due_date),
        (request.pick("Date of the supply", "Date de la prestation"), invoice.supplied_on),
        (request.pick("Period from", "Période du"), invoice.period_start),
        (request.pick("Period to", "Période au"), invoice.period_end),
    ];
    let instants = [
        (request.pick("Created", "Créée"), Some(invoice.created_at)),
        (request.pick("Paid in full", "Payée en totalité"), invoice.paid_at),
        (request.pick("Cancelled", "Annulée"), invoice.canceled_at),
    ];
    html! {
        dl.facts {
            div { dt { (request.pick("State", "État")) } dd { (words::state(request.language, invoice.status)) } }
            div { dt { (request.pick("Kind", "Type")) } dd { (words::kind(request.language, &invoice.r#type)) } }
            div {
                dt { (request.pick("Client", "Client")) }
                dd {
                    a href=(request.link(format!("/clients/{}", invoice.client_id))) { (entered(&invoice.client_name)) }
                    @if let Some(email) = &invoice.client_email { br; span.soft { (entered(email)) } }
                }
            }
            @for (name, day) in days {
                @if let Some(day) = day { div { dt { (name) } dd { (clock.date(day)) } } }
            }
            @for (name, at) in instants {
                @if let Some(at) = at { div { dt { (name) } dd { (clock.show(at)) } } }
            }
            (order_number_fact(request, detail.order_number.as_deref()))
            @if let Some(quote) = invoice.quote_id {
                div {
                    dt { (request.pick("Quote", "Devis")) }
                    dd { a href=(request.link(format!("/quotes/{quote}"))) { (request.pick("Open the quote", "Ouvrir le devis")) } }
                }
            }
            div { dt { (request.pick("Identifier", "Identifiant")) } dd { code { (invoice.id) } } }
        }
    }
}

fn actions(request: &PageRequest<'_>, invoice: &InvoiceSummary) -> Markup {
    let offered: Vec<_> =
        Change::ALL.into_iter().filter(|change| change.is_offered(request, invoice)).collect();
    html! {
        @if !offered.is_empty() {
            p.actions {
                @for (place, change) in offered.into_iter().enumerate() {
                    a.button.plain[place > 0] href=(request.link(format!("/invoices/{}/{}", invoice.id, change.segment()))) {
                        (change.title(request))
                    }
                }
            }
        }
    }
}

fn totals_of(invoice: &Invoice) -> RecordTotals<'_> {
    let head = &invoice.summary;
    RecordTotals {
        currency: &head.currency,
        vat_breakdown: &invoice.detail.vat_breakdown,
        total_ht: head.total_ht,
        total_ttc: head.total_ttc,
        retention: None,
    }
}

fn credit_notes(request: &PageRequest<'_>, invoice: &Invoice) -> Markup {
    let notes = &invoice.detail.credit_notes;
    let left_out = notes.len().saturating_sub(CREDIT_NOTES);
    html! {
        @if !notes.is_empty() {
            h2 { (request.pick("Credit notes", "Avoirs")) }
            (CREDIT_NOTES_OF_INVOICE.show(request.language, notes.iter().rev().take(CREDIT_NOTES).map(|note| credit_note(request, note, &invoice.summary.currency))))
        }
        @if left_out > 0 {
            p.soft { (request.pick("Older ones that are not shown:", "Plus anciens, non affichés :")) " " (left_out) }
        }
    }
}

fn credit_note(request: &PageRequest<'_>, note: &CreditNoteReference, currency: &str) -> [Markup; 3] {
    let total = Figures::new(request.language, currency).amount(note.total_ttc.get());
    [
        html! { a href=(request.link(format!("/credit-notes/{}", note.id))) { (note.number) } },
        request.clock().date(note.issue_date),
        html! { (total) },
    ]
}

/// The notice of the form before this page.
fn done(request: &PageRequest<'_>, invoice: &InvoiceSummary, payments: &[Payment]) -> Markup {
    let text = match request.form.text("done") {
        "made" => request.pick(
            "The draft is made. Check it, then issue it.",
            "Le brouillon est créé. Vérifiez-le, puis émettez-le.",
        ),
        "issued" => request.pick(
            "Issued: the invoice has its number, and its document is frozen.",
            "Émise : la facture a son numéro et son document est figé.",
        ),
        "paid" => request.pick("Marked as paid.", "Marquée comme payée."),
        "entered" => return notice("done", &html! { p { (recorded(request, invoice, payments)) } }),
        "reversed" => request.pick("Reversed.", "Annulé."),
        "canceled" => request.pick("Cancelled.", "Annulée."),
        _ => return Markup::default(),
    };
    notice("done", &html! { p { (text) } })
}

/// The amount of the payment or refund that the form has entered, as it was recorded.
fn recorded(request: &PageRequest<'_>, invoice: &InvoiceSummary, payments: &[Payment]) -> Markup {
    let id = request.form.text("payment").parse().ok();
    let Some(payment) = payments.iter().find(|payment| Some(payment.id) == id) else {
        return html! { (request.pick("Entered.", "Saisi.")) };
    };
    let entered = if payment.amount.is_negative() {
        request.pick("Entered: a refund of", "Saisi : un remboursement de")
    } else {
        request.pick("Entered: a payment of", "Saisi : un paiement de")
    };
    let figures = Figures::new(request.language, &invoice.currency);
    html! { (entered) " " (figures.amount(payment.amount.get().abs())) "." }
}
