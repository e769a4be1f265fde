//! The list of credit notes.

use invoicing_core::{CreditNote, CreditNoteId, CreditNoteSummary};
use maud::{Markup, html};

use crate::console::error::PageError;
use crate::console::event_cells::shortened;
use crate::console::figures::Figures;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::paging::{ITEMS, List};
use crate::console::request::PageRequest;

/// `GET /credit-notes`. `before`: the credit note behind which a further page begins.
pub(in crate::console) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let after = List::before::<CreditNoteId>(request)?;
    let (notes, next) = request.company.documents::<CreditNote>().newest(None, after, ITEMS).await?;
    let list = List { path: "/credit-notes".to_owned(), filters: &[] };
    let title = request.pick("Credit notes", "Avoirs");
    let body = html! {
        h1 { (title) }
        @if notes.is_empty() {
            (list.nothing(request, false))
        } @else {
            (table(request, &notes))
        }
        (list.links(request, next))
    };
    Ok(PageContent::new(title, Chapter::CreditNotes, body))
}

fn table(request: &PageRequest<'_>, notes: &[CreditNoteSummary]) -> Markup {
    html! {
        table.cards {
            caption { (request.pick("Newest first", "Les plus récents d’abord")) }
            thead { tr {
                th scope="col" { (request.pick("Number", "Numéro")) }
                th scope="col" { (request.pick("Client", "Client")) }
                th scope="col" { (request.pick("Invoice", "Facture")) }
                th scope="col" { (request.pick("Issued", "Émis")) }
                th.figure scope="col" { (request.pick("Total incl. VAT", "Total TTC")) }
            } }
            tbody { @for note in notes { (row(request, note)) } }
        }
    }
}

fn row(request: &PageRequest<'_>, note: &CreditNoteSummary) -> Markup {
    let total = Figures::new(request.language, &note.currency).amount(note.total_ttc.get());
    html! {
        tr {
            td.short data-name=(request.pick("Number", "Numéro")) {
                a href=(request.link(format!("/credit-notes/{}", note.id))) { (note.number) }
            }
            td data-name=(request.pick("Client", "Client")) { (entered(&shortened(&note.client_name))) }
            td.short data-name=(request.pick("Invoice", "Facture")) {
                a href=(request.link(format!("/invoices/{}", note.invoice_id))) { (note.invoice_number) }
            }
            td.short data-name=(request.pick("Issued", "Émis")) { (request.clock().date(note.issue_date)) }
            td.figure data-name=(request.pick("Total incl. VAT", "Total TTC")) { (total) }
        }
    }
}
