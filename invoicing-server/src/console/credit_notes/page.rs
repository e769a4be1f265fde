//! The page of a credit note.

use invoicing_core::{CreditNote, CreditNoteId, CreditNoteSummary};
use maud::{Markup, html};

use crate::console::error::PageError;
use crate::console::layout::{Chapter, PageContent, entered, notice};
use crate::console::lines::{RecordLines, lines};
use crate::console::request::PageRequest;
use crate::console::stored;
use crate::console::totals::{RecordTotals, totals};

/// `GET /credit-notes/{id}`. Its parameter `lines` is the number of lines before the shown part.
pub(in crate::console) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: CreditNoteId = request.id()?;
    let note: CreditNote = stored::record(request, id).await?;
    let (summary, page) = (&note.summary, format!("/credit-notes/{id}"));
    let lines =
        lines(request, &RecordLines { lines: &note.lines, currency: &summary.currency, page: page.clone() })?;
    let (document, download) =
        (format!("{page}/document"), request.pick("Download the credit note", "Télécharger l’avoir"));
    let body = html! {
        p { a href=(request.link("/credit-notes")) { "← " (request.pick("Credit notes", "Avoirs")) } }
        h1 { (summary.number) }
        (done(request))
        (facts(request, summary))
        (lines)
        (totals(request, &totals_of(&note)))
        (stored::section(request, &document, summary.document_format.as_ref(), download))
    };
    Ok(PageContent::new(&*summary.number, Chapter::CreditNotes, body))
}

fn facts(request: &PageRequest<'_>, note: &CreditNoteSummary) -> Markup {
    html! {
        dl.facts {
            div {
                dt { (request.pick("Invoice", "Facture")) }
                dd { a href=(request.link(format!("/invoices/{}", note.invoice_id))) { (note.invoice_number) } }
            }
            div {
                dt { (request.pick("Client", "Client")) }
                dd {
                    (entered(&note.client_name))
                    @if let Some(email) = &note.client_email { br; span.soft { (entered(email)) } }
                }
            }
            div { dt { (request.pick("Issued", "Émis")) } dd { (request.clock().date(note.issue_date)) } }
            div { dt { (request.pick("Reason", "Motif")) } dd.text { (entered(&note.reason)) } }
            div { dt { (request.pick("Identifier", "Identifiant")) } dd { code { (note.id) } } }
        }
    }
}

fn totals_of(note: &CreditNote) -> RecordTotals<'_> {
    RecordTotals {
        currency: &note.summary.currency,
        vat_breakdown: &note.detail.vat_breakdown,
        total_ht: note.summary.total_ht,
        total_ttc: note.summary.total_ttc,
        retention: None,
    }
}

/// The notice of the form before this page.
fn done(request: &PageRequest<'_>) -> Markup {
    let text = match request.form.text("done") {
        "issued" => request.pick("Issued: its document is frozen.", "Émis : son document est figé."),
        _ => return Markup::default(),
    };
    notice("done", &html! { p { (text) } })
}
