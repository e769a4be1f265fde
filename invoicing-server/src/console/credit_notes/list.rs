//! The list of credit notes.

use invoicing_core::CreditNoteItem;
use maud::{Markup, html};

use crate::console::error::PageError;
use crate::console::event_cells::shortened;
use crate::console::figures::Figures;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::paging::{ITEMS, List};
use crate::console::request::PageRequest;
use crate::list_query::{CreditNoteQuery, PageWindow};

/// `GET /credit-notes`. `before`: the number of credit notes before the page.
pub(in crate::console) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let offset = u64::from(List::before::<u32>(request)?.unwrap_or(0));
    let query = CreditNoteQuery::default().window(PageWindow::default().limit(ITEMS).offset(offset));
    let page = request.company.credit_notes().list(&query).await?;
    let next = page.pagination.has_more.then_some(offset + u64::from(ITEMS));
    let list = List { path: "/credit-notes".to_owned(), filters: &[] };
    let title = request.pick("Credit notes", "Avoirs");
    let body = html! {
        h1 { (title) }
        @if page.data.is_empty() {
            (list.nothing(request, false))
        } @else {
            (table(request, &page.data))
        }
        (list.links(request, next))
    };
    Ok(PageContent::new(title, Chapter::CreditNotes, body))
}

fn table(request: &PageRequest<'_>, notes: &[CreditNoteItem]) -> Markup {
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

fn row(request: &PageRequest<'_>, note: &CreditNoteItem) -> Markup {
    let note = &note.summary;
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
