//! The list of credit notes.

use invoicing_core::{CreditNote, CreditNoteId, CreditNoteSummary};
use maud::{Markup, html};

use crate::console::error::PageError;
use crate::console::event_cells::shortened;
use crate::console::figures::Figures;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::paging::{ITEMS, List};
use crate::console::request::PageRequest;
use crate::console::table::{Table, column, figure, short};

const CREDIT_NOTES: Table<5> = Table::new(
    ("Newest first", "Les plus récents d’abord"),
    [
        short("Number", "Numéro"),
        column("Client", "Client"),
        short("Invoice", "Facture"),
        short("Issued", "Émis"),
        figure("Total incl. VAT", "Total TTC"),
    ],
);

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
        (CREDIT_NOTES.show(request.language, notes.iter().map(|note| row(request, note))))
    }
}

fn row(request: &PageRequest<'_>, note: &CreditNoteSummary) -> [Markup; 5] {
    let total = Figures::new(request.language, &note.currency).amount(note.total_ttc.get());
    [
        html! { a href=(request.link(format!("/credit-notes/{}", note.id))) { (note.number) } },
        entered(&shortened(&note.client_name)),
        html! { a href=(request.link(format!("/invoices/{}", note.invoice_id))) { (note.invoice_number) } },
        request.clock().date(note.issue_date),
        html! { (total) },
    ]
}
