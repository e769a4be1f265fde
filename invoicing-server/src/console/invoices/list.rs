//! The list of invoices.

use invoicing_core::{Invalid, Invoice, InvoiceId, InvoiceStatus, InvoiceSummary};
use maud::{Markup, html};

use super::words;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::event_cells::shortened;
use crate::console::figures::Figures;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::paging::{ITEMS, List};
use crate::console::request::PageRequest;
use crate::console::table::{Table, column, figure, short};

const INVOICES: Table<6> = Table::new(
    ("Newest first", "Les plus récentes d’abord"),
    [
        short("Number", "Numéro"),
        column("Client", "Client"),
        column("State", "État"),
        short("Due date", "Échéance"),
        figure("Total incl. VAT", "Total TTC"),
        figure("Amount due", "Reste à payer"),
    ],
);

/// `GET /invoices`. `status`: one of [`InvoiceStatus`]. `before`: the invoice behind which a further
/// page begins.
pub(in crate::console) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let status = status(request)?;
    let after = List::before::<InvoiceId>(request)?;
    let (invoices, next) = request.company.documents::<Invoice>().newest(status, after, ITEMS).await?;
    let list = List { path: "/invoices".to_owned(), filters: &["status"] };
    let title = request.pick("Invoices", "Factures");
    let body = html! {
        h1 { (title) }
        @if request.allows(ConsoleAction::ManageInvoices) {
            p.actions {
                a.button.plain href=(request.link("/invoices/new")) {
                    (request.pick("New invoice without a quote", "Nouvelle facture sans devis"))
                }
            }
        }
        (filter(request, status))
        @if invoices.is_empty() {
            (list.nothing(request, false))
        } @else {
            (table(request, &invoices))
        }
        (list.links(request, next))
    };
    Ok(PageContent::new(title, Chapter::Invoices, body))
}

fn status(request: &PageRequest<'_>) -> Result<Option<InvoiceStatus>, Invalid> {
    let named = |invalid: Invalid| invalid.in_field("status");
    request.form.given("status").map(|status| status.parse().map_err(named)).transpose()
}

fn filter(request: &PageRequest<'_>, chosen: Option<InvoiceStatus>) -> Markup {
    html! {
        form.filter method="get" action=(request.link("/invoices")) role="search" {
            div {
                label for="status" { (request.pick("State", "État")) }
                select #status name="status" {
                    option value="" { (request.pick("all", "tous")) }
                    @for status in InvoiceStatus::ALL {
                        option value=(status) selected[chosen == Some(*status)] {
                            (words::status_name(request.language, *status))
                        }
                    }
                }
            }
            p.actions { button { (request.pick("Show", "Afficher")) } }
        }
    }
}

fn table(request: &PageRequest<'_>, invoices: &[InvoiceSummary]) -> Markup {
    html! {
        (INVOICES.show(request.language, invoices.iter().map(|invoice| row(request, invoice))))
    }
}

fn row(request: &PageRequest<'_>, invoice: &InvoiceSummary) -> [Markup; 6] {
    let figures = Figures::new(request.language, &invoice.currency);
    [
        html! { a href=(request.link(format!("/invoices/{}", invoice.id))) {
            (words::name(request, invoice.number.as_deref()))
        } },
        entered(&shortened(&invoice.client_name)),
        words::state(request.language, invoice.status),
        html! { @match invoice.due_date {
            Some(day) => (request.clock().date(day)),
            None => span.soft { "–" },
        } },
        html! { (figures.amount(invoice.total_ttc.get())) },
        html! { (figures.amount(invoice.amount_due.get())) },
    ]
}
