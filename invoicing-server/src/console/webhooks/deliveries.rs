//! The deliveries of a webhook, in pages, by state, kind and time.

use invoicing_core::{DeliveryStatus, Invalid, Timestamp, WebhookId};
use maud::{Markup, html};

use super::done::done;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::event_cells;
use crate::console::layout::{Chapter, PageContent};
use crate::console::paging::{ITEMS, List};
use crate::console::request::PageRequest;
use crate::console::table::{Table, column, figure};
use crate::list_query::DeliveryQuery;
use crate::records::{DeliveryItem, NextAttempt, Webhook};

const DELIVERIES: Table<6> = Table::new(
    ("Newest first", "Du plus récent au plus ancien"),
    [
        column("Event", "Événement"),
        column("About", "Objet"),
        column("Created", "Créé"),
        column("State", "État"),
        figure("Attempts", "Tentatives"),
        column("Next attempt", "Prochaine tentative"),
    ],
);

/// `GET /webhooks/{id}/deliveries`.
pub(in crate::console) async fn deliveries(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: WebhookId = request.id()?;
    let (webhook, page) = request.company.webhooks().with_deliveries(id, &query(request)?, ITEMS).await?;
    let list =
        List { path: format!("/webhooks/{id}/deliveries"), filters: &["status", "kind", "from", "until"] };
    let title = request.pick("Deliveries", "Envois");
    let body = html! {
        p { a href=(request.link(format!("/webhooks/{id}"))) { "← " (webhook.shown_url()) } }
        h1 { (title) }
        (done(request))
        @if request.allows(ConsoleAction::ReplayDeliveries) { (replay_what_failed(request, &webhook)) }
        (list.filter(request, &filters(request)))
        @if page.items.is_empty() {
            (list.nothing(request, page.next.is_some()))
        } @else {
            (DELIVERIES.show(request.language, page.items.iter().map(|item| row(request, item))))
        }
        (list.links(request, page.next))
    };
    Ok(PageContent::new(title, Chapter::Webhooks, body))
}

fn row(request: &PageRequest<'_>, item: &DeliveryItem) -> [Markup; 6] {
    let delivery = &item.delivery;
    let address = format!("/webhooks/{}/deliveries/{}", delivery.webhook, delivery.event);
    [
        html! { a href=(request.link(address)) { (item.kind) } },
        event_cells::subject(request, &item.kind, item.subject.as_ref()),
        request.clock().show(item.timestamp),
        event_cells::state(request, delivery),
        html! { (delivery.attempts) },
        html! { @if let Some(next) = item.next_attempt { (next_attempt(request, next)) } @else { "–" } },
    ]
}

/// The time at which the next attempt is due.
pub(super) fn next_attempt(request: &PageRequest<'_>, next: NextAttempt) -> Markup {
    match next {
        NextAttempt::InFlight => html! { (request.pick("under way", "en cours")) },
        NextAttempt::DueAt(at) => request.clock().show(at),
    }
}

/// The filters of the query.
fn query(request: &PageRequest<'_>) -> Result<DeliveryQuery, Invalid> {
    Ok(DeliveryQuery {
        status: event_cells::chosen(request, "status")?,
        kind: event_cells::chosen(request, "kind")?,
        from: instant(request, "from")?,
        until: instant(request, "until")?,
        before: List::before(request)?,
    })
}

/// The instant in a field.
pub(super) fn instant(request: &PageRequest<'_>, field: &'static str) -> Result<Option<Timestamp>, Invalid> {
    let read = |text: &str| request.clock().read_local(text).map_err(|wrong| wrong.in_field(field));
    request.form.given(field).map(read).transpose()
}

/// The fields that narrow the list.
fn filters(request: &PageRequest<'_>) -> Markup {
    let time = |name: &str, label: &str| {
        html! {
            div {
                label for=(name) { (label) }
                input id=(name) name=(name) type="datetime-local" value=(request.form.text(name))
                    aria-describedby="zone";
            }
        }
    };
    html! {
        div.fields {
            (states(request))
            (event_cells::kinds(request))
            (time("from", request.pick("From", "Depuis")))
            (time("until", request.pick("Before", "Avant")))
        }
        p.hint #zone {
            (request.pick("Times are those of the zone", "Les heures sont celles du fuseau")) " "
            (request.clock().zone()) "."
        }
    }
}

fn states(request: &PageRequest<'_>) -> Markup {
    html! {
        div {
            label for="status" { (request.pick("State", "État")) }
            select #status name="status" {
                option value="" { (request.pick("all", "tous")) }
                @for status in DeliveryStatus::ALL {
                    option value=(status) selected[request.form.text("status") == status.as_str()] {
                        (event_cells::word(request, *status))
                    }
                }
            }
        }
    }
}

/// A link to the replay, or the reason why there is none.
fn replay_what_failed(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    html! {
        @if webhook.disabled.is_none() {
            p.actions {
                a.button.plain href=(request.link(format!("/webhooks/{}/replay", webhook.id))) {
                    (request.pick("Send again what failed since…", "Renvoyer ce qui a échoué depuis…"))
                }
            }
        } @else {
            p.hint { (request.pick(
                "The webhook is disabled. Enable it to send again what failed.",
                "Le webhook est désactivé. Activez-le pour renvoyer ce qui a échoué.",
            )) }
        }
    }
}
