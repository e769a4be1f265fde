//! The list of quotes, and its search.

use invoicing_core::internal::SHORT_TEXT;
use invoicing_core::{Invalid, QuoteId, QuoteStatus, QuoteSummary, Rule};
use maud::{Markup, html};

use super::words;
use crate::console::error::PageError;
use crate::console::event_cells::shortened;
use crate::console::figures::Figures;
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::paging::{ITEMS, List};
use crate::console::request::PageRequest;
use crate::console::table::{Table, column, figure, short};
use crate::list_query::QuoteSearch;

const FILTERS: &[&str] = &["q", "status"];

const QUOTES: Table<6> = Table::new(
    ("Newest first", "Les plus récents d’abord"),
    [
        short("Number", "Numéro"),
        column("Client", "Client"),
        column("State", "État"),
        figure("Total incl. VAT", "Total TTC"),
        short("Created", "Créé"),
        short("Valid until", "Valable jusqu’au"),
    ],
);

/// `GET /quotes`. `q`: part of number, client or external id. `status`: one of [`QuoteStatus`].
/// `before`: the quote behind which a further page begins.
pub(in crate::console) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let search =
        QuoteSearch { q: text(request)?, status: status(request)?, after: List::before::<QuoteId>(request)? };
    let page = request.company.quotes().search(&search, ITEMS).await?;
    let list = List { path: "/quotes".to_owned(), filters: FILTERS };
    let title = request.pick("Quotes", "Devis");
    let body = html! {
        h1 { (title) }
        (filter(request, &search))
        @if page.items.is_empty() {
            (list.nothing(request, page.next.is_some()))
        } @else {
            (table(request, &page.items))
        }
        (list.links(request, page.next))
    };
    Ok(PageContent::new(title, Chapter::Quotes, body))
}

fn text(request: &PageRequest<'_>) -> Result<Option<String>, Invalid> {
    let text = request.form.given("q");
    if text.is_some_and(|text| text.chars().count() > SHORT_TEXT) {
        return Err(Invalid::new("q", Rule::AtMostCharacters { max: SHORT_TEXT }));
    }
    Ok(text.map(str::to_owned))
}

fn status(request: &PageRequest<'_>) -> Result<Option<QuoteStatus>, Invalid> {
    let named = |invalid: Invalid| invalid.in_field("status");
    request.form.given("status").map(|status| status.parse().map_err(named)).transpose()
}

fn filter(request: &PageRequest<'_>, search: &QuoteSearch) -> Markup {
    html! {
        form.filter method="get" action=(request.link("/quotes")) role="search" {
            div {
                label for="q" { (request.pick("Search", "Rechercher")) }
                input #q name="q" type="search" maxlength=(SHORT_TEXT) value=(search.q.as_deref().unwrap_or_default())
                    aria-describedby="q-hint";
                p.hint #q-hint { (request.pick(
                    "Part of the number, the client’s name or e-mail, or the external identifier",
                    "Partie du numéro, du nom ou de l’e-mail du client, ou de l’identifiant externe",
                )) }
            }
            div {
                label for="status" { (request.pick("State", "État")) }
                select #status name="status" {
                    option value="" { (request.pick("all", "tous")) }
                    @for status in QuoteStatus::ALL {
                        option value=(status) selected[search.status == Some(*status)] {
                            (words::status_name(request.language, *status))
                        }
                    }
                }
            }
            p.actions { button { (request.pick("Search", "Rechercher")) } }
        }
    }
}

fn table(request: &PageRequest<'_>, quotes: &[QuoteSummary]) -> Markup {
    html! {
        (QUOTES.show(request.language, quotes.iter().map(|quote| row(request, quote))))
    }
}

fn row(request: &PageRequest<'_>, quote: &QuoteSummary) -> [Markup; 6] {
    let figures = Figures::new(request.language, &quote.currency);
    [
        html! { a href=(request.link(format!("/quotes/{}", quote.id))) { (quote.number) } },
        entered(&shortened(&quote.client_name)),
        words::state(request.language, quote),
        html! { (figures.amount(quote.total_ttc.get())) },
        request.clock().show_day(quote.created_at),
        html! { @match quote.valid_until {
            Some(day) => (request.clock().date(day)),
            None => span.soft { "–" },
        } },
    ]
}
