//! The pages of events, with their deliveries.

use invoicing_core::{DeliveryStatus, EventId};
use maud::{Markup, html};

use super::error::PageError;
use super::event_cells;
use super::layout::{Chapter, PageContent};
use super::paging::{ITEMS, List};
use super::request::PageRequest;
use super::table::{Table, column, figure};
use crate::list_query::EventQuery;
use crate::records::{DeliveryCounts, DeliveryRecord, EventItem, EventSubject, Webhook};

const EVENTS: Table<4> = Table::new(
    ("Newest first", "Du plus récent au plus ancien"),
    [
        column("Event", "Événement"),
        column("About", "Objet"),
        column("When", "Quand"),
        column("Deliveries", "Envois"),
    ],
);

const DELIVERIES: Table<3> = Table::new(
    ("To whom it went", "À qui il a été envoyé"),
    [column("Receiver", "Récepteur"), column("State", "État"), figure("Attempts", "Tentatives")],
);

/// `GET /events`.
pub(super) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let list = List { path: "/events".to_owned(), filters: &["kind"] };
    let query = EventQuery { kind: event_cells::chosen(request, "kind")?, before: List::before(request)? };
    let page = request.company.events().page(&query, ITEMS).await?;
    let title = request.pick("Events", "Événements");
    let body = html! {
        h1 { (title) }
        (list.filter(request, &event_cells::kinds(request)))
        @if page.items.is_empty() {
            (list.nothing(request, page.next.is_some()))
        } @else {
            (EVENTS.show(request.language, page.items.iter().map(|item| row(request, item))))
        }
        (list.links(request, page.next))
    };
    Ok(PageContent::new(title, Chapter::Events, body))
}

fn row(request: &PageRequest<'_>, item: &EventItem) -> [Markup; 4] {
    [
        html! { a href=(request.link(format!("/events/{}", item.id))) { (item.kind) } },
        event_cells::subject(request, &item.kind, item.subject.as_ref()),
        request.clock().show(item.timestamp),
        html! { (counted(request, item.deliveries)) },
    ]
}

/// The deliveries of an event by their state. States without deliveries are left out.
fn counted(request: &PageRequest<'_>, counts: DeliveryCounts) -> String {
    let by_state = [
        (counts.pending, DeliveryStatus::Pending),
        (counts.delivered, DeliveryStatus::Delivered),
        (counts.failed, DeliveryStatus::Failed),
        (counts.skipped, DeliveryStatus::Skipped),
    ];
    let there = by_state.into_iter().filter(|(count, _)| *count > 0);
    let texts: Vec<_> =
        there.map(|(count, status)| format!("{}: {count}", event_cells::word(request, status))).collect();
    if texts.is_empty() { request.pick("none", "aucun").to_owned() } else { texts.join(", ") }
}

/// `GET /events/{id}`.
pub(super) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: EventId = request.id()?;
    let event = request.company.events().get(id).await?;
    let deliveries = request.company.events().deliveries(id).await?;
    let webhooks = request.company.webhooks().list().await?;
    let about = event_cells::subject(request, &event.kind, EventSubject::read(&event.body).as_ref());
    let body = html! {
        p { a href=(request.link("/events")) { "← " (request.pick("Events", "Événements")) } }
        h1 { (event.kind) }
        dl.facts {
            div { dt { (request.pick("About", "Objet")) } dd { (about) } }
            div { dt { (request.pick("When", "Quand")) } dd { (request.clock().show(event.timestamp)) } }
            div { dt { (request.pick("Identifier", "Identifiant")) } dd { code { (id) } } }
        }
        h2 { (request.pick("Deliveries", "Envois")) }
        @if deliveries.is_empty() {
            p { (request.pick("No webhook subscribed to it.", "Aucun webhook n’y était abonné.")) }
        } @else {
            (DELIVERIES.show(request.language, deliveries.iter().map(|delivery| delivered(request, delivery, &webhooks))))
        }
        (event_cells::payload(request, &event.body))
    };
    Ok(PageContent::new(event.kind, Chapter::Events, body))
}

fn delivered(request: &PageRequest<'_>, delivery: &DeliveryRecord, webhooks: &[Webhook]) -> [Markup; 3] {
    let address = format!("/webhooks/{}/deliveries/{}", delivery.webhook, delivery.event);
    let webhook = webhooks.iter().find(|webhook| webhook.id == delivery.webhook);
    [
        html! { @if let Some(webhook) = webhook { a.address href=(request.link(address)) { (webhook.shown_url()) } } @else {
            (request.pick("a removed webhook", "un webhook supprimé")) " " code { (delivery.webhook) }
        } },
        event_cells::state(request, delivery),
        html! { (delivery.attempts) },
    ]
}
