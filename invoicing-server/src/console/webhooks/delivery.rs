//! One delivery with its attempts, and its replay.

use invoicing_core::{DeliveryStatus, EventId, WebhookId};
use maud::{Markup, html};

use super::deliveries::next_attempt;
use super::done::done;
use super::failure;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::event_cells;
use crate::console::layout::{Chapter, PageContent};
use crate::console::request::{Outcome, PageRequest};
use crate::console::table::{Table, column, figure};
use crate::records::{AttemptRecord, DeliveryDetail, NextAttempt};

const ATTEMPTS: Table<4> = Table::new(
    ("Oldest first", "De la plus ancienne à la plus récente"),
    [
        figure("Number", "Numéro"),
        column("When", "Quand"),
        column("Outcome", "Résultat"),
        figure("Duration", "Durée"),
    ],
);

/// `GET /webhooks/{id}/deliveries/{event}`.
pub(in crate::console) async fn delivery(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let (id, event): (WebhookId, EventId) = (request.id()?, request.param("event")?);
    let webhook = request.company.webhooks().get(id).await?;
    let detail = request.company.webhooks().delivery(id, event).await?;
    let (item, delivery) = (&detail.item, &detail.item.delivery);
    let about = event_cells::subject(request, &item.kind, item.subject.as_ref());
    let title = format!("{} {}", request.pick("Delivery of", "Envoi de"), item.kind);
    let can_be_sent_again = matches!(delivery.status, DeliveryStatus::Failed | DeliveryStatus::Skipped)
        && webhook.disabled.is_none()
        && request.allows(ConsoleAction::ReplayDeliveries);
    let body = html! {
        p {
            a href=(request.link(format!("/webhooks/{id}/deliveries"))) {
                "← " (request.pick("Deliveries", "Envois"))
            }
        }
        h1 { (title) }
        (done(request))
        dl.facts {
            div { dt { (request.pick("State", "État")) } dd { (event_cells::state(request, delivery)) } }
            div { dt { (request.pick("About", "Objet")) } dd { (about) } }
            div { dt { (request.pick("Created", "Créé")) } dd { (request.clock().show(item.timestamp)) } }
            div { dt { (request.pick("Receiver", "Récepteur")) } dd.address { (webhook.shown_url()) } }
            div {
                dt { (request.pick("Event", "Événement")) }
                dd { a href=(request.link(format!("/events/{event}"))) { code { (event) } } }
            }
        }
        @if can_be_sent_again {
            div.actions {
                (request.form(format!("/webhooks/{id}/deliveries/{event}/replay"), &html! {
                    button { (request.pick("Send it again", "Renvoyer")) }
                }))
            }
        }
        h2 { (request.pick("Attempts", "Tentatives")) }
        (attempts(request, &detail))
        (event_cells::payload(request, &detail.body))
    };
    Ok(PageContent::new(title, Chapter::Webhooks, body))
}

/// `POST /webhooks/{id}/deliveries/{event}/replay`.
pub(in crate::console) async fn replay_delivery(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let (id, event): (WebhookId, EventId) = (request.id()?, request.param("event")?);
    let webhooks = request.company.webhooks();
    // Read first, so that an unknown delivery is not found, rather than nothing to send.
    webhooks.delivery(id, event).await?;
    let queued = webhooks.replay(id, Some(event)).await?;
    Ok(Outcome::See(format!("/webhooks/{id}/deliveries/{event}?done=queued&count={queued}")))
}

/// The attempts of a delivery, and when the next one is due.
pub(super) fn attempts(request: &PageRequest<'_>, detail: &DeliveryDetail) -> Markup {
    let next = detail.item.next_attempt;
    if detail.attempts.is_empty() && next.is_none() {
        let text = if detail.item.delivery.attempts == 0 {
            request.pick("There was none.", "Il n’y en a pas eu.")
        } else {
            request.pick("Attempts are kept for 30 days.", "Les tentatives sont conservées 30 jours.")
        };
        return html! { p { (text) } };
    }
    let made = detail.attempts.iter().map(|attempt| made(request, attempt));
    ATTEMPTS.show(request.language, made.chain(next.map(|next| to_come(request, next))))
}

fn made(request: &PageRequest<'_>, attempt: &AttemptRecord) -> [Markup; 4] {
    let went_well = attempt.status.is_some_and(|status| (200..300).contains(&status));
    let class = if went_well { "good" } else { "bad" };
    [
        html! { (attempt.number) },
        request.clock().show(attempt.at),
        html! { span class={ "outcome " (class) } { (failure::outcome(request, attempt)) }
        @if let Some(advice) = failure::advice(request, attempt) { p.hint { (advice) } } },
        html! { (attempt.duration_ms) " ms" },
    ]
}

/// The attempt that a pending delivery waits for.
fn to_come(request: &PageRequest<'_>, next: NextAttempt) -> [Markup; 4] {
    let outcome = match next {
        NextAttempt::InFlight => Markup::default(),
        NextAttempt::DueAt(_) => html! { span.soft { (request.pick("due", "prévue")) } },
    };
    [html! { (request.pick("next", "prochaine")) }, next_attempt(request, next), outcome, html! {}]
}
