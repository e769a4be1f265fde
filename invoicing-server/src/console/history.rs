//! The page of the history: changes with their time and author.

mod words;

use invoicing_core::internal::parse_uuid;
use invoicing_core::{Invalid, QuoteStatus, QuoteSummary, Rule, Timestamp};
use maud::{Markup, html};
use uuid::Uuid;

use super::error::PageError;
use super::layout::{Chapter, PageContent, entered};
use super::paging::{ITEMS, List};
use super::request::PageRequest;
use super::table::{Column, Table, column};
use crate::list_query::HistoryQuery;
use crate::operations::ACTOR;
use crate::records::{HistoryRecord, Webhook};
use words::Entry;

const WHEN: Column = column("When", "Quand");
const WHO: Column = column("Who", "Qui");
const WHAT: Column = column("What", "Quoi");

const ORDER: (&str, &str) = ("Latest first", "Du plus récent au plus ancien");
const CHANGES: Table<4> = Table::new(ORDER, [WHEN, WHO, WHAT, column("Record", "Enregistrement")]);
const CHANGES_OF_RECORD: Table<3> = Table::new(ORDER, [WHEN, WHO, WHAT]);

/// `GET /history`. `record`: only changes of the record with this identifier.
pub(super) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let list = List { path: "/history".to_owned(), filters: &["record"] };
    let query = query(request)?;
    let page = request.company.history().page(&query, ITEMS).await?;
    let webhooks = request.company.webhooks().list().await?;
    let title = request.pick("History", "Historique");
    let body = html! {
        h1 { (title) }
        p { (request.pick(
            "What was done with a name: in these pages, or elsewhere in the application.",
            "Ce qui a été fait sous un nom : dans ces pages ou ailleurs dans l’application.",
        )) }
        @if let Some(record) = query.subject {
            p {
                (request.pick("Only of the record", "Uniquement pour l’enregistrement")) " " code { (record) } ". "
                a href=(request.link(&list.path)) { (request.pick("Show all", "Tout afficher")) }
            }
        }
        @if page.items.is_empty() {
            (list.nothing(request, page.next.is_some()))
        } @else {
            (CHANGES.show(request.language, page.items.iter().map(|record| row(request, record, &webhooks))))
        }
        (list.links(request, page.next))
    };
    Ok(PageContent::new(title, Chapter::History, body))
}

/// Maximum number of changes that the page of a record shows: the latest.
const OF_RECORD: u32 = 10;

/// The latest changes of a record, for its page.
pub(super) async fn section(request: &PageRequest<'_>, record: Uuid) -> Result<Markup, PageError> {
    let query = HistoryQuery { subject: Some(record), before: None };
    let page = request.company.history().page(&query, OF_RECORD).await?;
    Ok(html! {
        h2 #history { (request.pick("History", "Historique")) }
        @if !page.items.is_empty() {
            (CHANGES_OF_RECORD.show(request.language, page.items.iter().map(|record| done(request, record))))
        } @else if page.next.is_none() {
            p { (request.pick("Nothing was done under a name.", "Rien n’a été fait sous un nom.")) }
        }
        @if page.next.is_some() {
            p {
                a href=(request.link(format!("/history?record={record}"))) {
                    (request.pick("Look further back", "Remonter plus loin"))
                }
            }
        }
    })
}

/// The change that declined or discarded a quote.
pub(super) struct DeclineRecord {
    pub(super) at: Timestamp,
    pub(super) by: String,
    /// The client's reason.
    pub(super) reason: Option<String>,
}

/// The change that declined or discarded a quote, if it was made under a name or through a signing
/// link.
pub(super) async fn refusal(
    request: &PageRequest<'_>,
    quote: &QuoteSummary,
) -> Result<Option<DeclineRecord>, PageError> {
    if quote.status != QuoteStatus::Rejected {
        return Ok(None);
    }
    let record = request.company.history().refusal(quote.id).await?;
    Ok(record.map(|record| DeclineRecord {
        at: record.at,
        by: who(request, &record.actor).to_owned(),
        reason: Entry::of(request.language, &record).more,
    }))
}

/// The author of a change.
fn who<'t>(request: &PageRequest<'_>, actor: &'t str) -> &'t str {
    if actor == ACTOR {
        request.language.pick("through a signing link", "par un lien de signature")
    } else {
        actor
    }
}

/// The cells of a change: time, author and action.
fn done(request: &PageRequest<'_>, record: &HistoryRecord) -> [Markup; 3] {
    let entry = Entry::of(request.language, record);
    [
        request.clock().show(record.at),
        entered(who(request, &record.actor)),
        html! { (entry.what) @if let Some(more) = &entry.more { " " span.soft { (entered(more)) } } },
    ]
}

fn query(request: &PageRequest<'_>) -> Result<HistoryQuery, Invalid> {
    let id = |text| parse_uuid(text).ok_or_else(|| Invalid::new("record", Rule::Uuid));
    Ok(HistoryQuery {
        subject: request.form.given("record").map(id).transpose()?,
        before: List::before(request)?,
    })
}

fn row(request: &PageRequest<'_>, record: &HistoryRecord, webhooks: &[Webhook]) -> [Markup; 4] {
    let entry = Entry::of(request.language, record);
    let [when, who, what] = done(request, record);
    let about = html! {
        (subject(request, record, &entry, webhooks)) " "
        @if request.form.given("record").is_none() {
            a.soft href=(request.link(format!("/history?record={}", record.subject))) {
                (request.pick("its history", "son historique"))
            }
        }
    };
    [when, who, what, about]
}

/// Time, author and action of a change, as terms of a list.
pub(super) fn facts(request: &PageRequest<'_>, record: &HistoryRecord) -> Markup {
    let entry = Entry::of(request.language, record);
    html! {
        dl.facts {
            div { dt { (request.pick("When", "Quand")) } dd { (request.clock().show(record.at)) } }
            div { dt { (request.pick("Who", "Qui")) } dd { (entered(&record.actor)) } }
            div {
                dt { (request.pick("What", "Quoi")) }
                dd {
                    (entry.what)
                    @for part in [&entry.name, &entry.more].into_iter().flatten() { br; span.soft { (entered(part)) } }
                }
            }
        }
    }
}

/// The name of the record, with a link if it has a page.
fn subject(request: &PageRequest<'_>, record: &HistoryRecord, entry: &Entry, webhooks: &[Webhook]) -> Markup {
    let action = record.action.to_string();
    match action.split('.').next().unwrap_or_default() {
        "webhook" | "deliveries" => {
            let webhook = webhooks.iter().find(|webhook| webhook.id.0 == record.subject);
            html! {
                @if let Some(webhook) = webhook {
                    a.address href=(request.link(format!("/webhooks/{}", webhook.id))) { (webhook.shown_url()) }
                } @else {
                    (request.pick("a removed webhook", "un webhook supprimé"))
                }
            }
        }
        "quote" | "signing_link" => html! {
            a href=(request.link(format!("/quotes/{}", record.subject))) { (entered(entry.name.as_deref().unwrap_or("–"))) }
        },
        "invoice" => html! {
            a href=(request.link(format!("/invoices/{}", record.subject))) { (entered(entry.name.as_deref().unwrap_or(request.pick("an invoice", "une facture")))) }
        },
        "client" => html! {
            a href=(request.link(format!("/clients/{}", record.subject))) { (entered(entry.name.as_deref().unwrap_or("–"))) }
        },
        "company" => html! { a href=(request.link("/company")) { (entered(&request.record.name)) } },
        _ => {
            html! { @if let Some(name) = &entry.name { (entered(name)) } @else { code { (record.subject) } } }
        }
    }
}
