//! The list of webhooks, each with its state and the counts of its latest deliveries.

use invoicing_core::DisabledReason;
use maud::{Markup, html};

use super::done::done;
use super::fields::unknown_kinds;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::layout::{Chapter, PageContent};
use crate::console::request::PageRequest;
use crate::console::table::{Table, column, figure};
use crate::records::{DayCounts, Webhook};

const MINUTE_MS: i64 = 60 * 1_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

const WEBHOOKS: Table<5> = Table::new(
    ("Receivers of events", "Récepteurs des événements"),
    [
        column("Address", "Adresse"),
        column("State", "État"),
        figure("Delivered", "Livrés"),
        figure("Failed", "Échecs"),
        column("Events", "Événements"),
    ],
);

/// `GET /webhooks`.
pub(in crate::console) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let webhooks = request.company.webhooks().list().await?;
    let counts = request.company.webhooks().day_counts().await?;
    let body = html! {
        h1 { "Webhooks" }
        (done(request))
        @if webhooks.is_empty() {
            p { (request.pick("No webhook is registered yet.", "Aucun webhook n’est enregistré.")) }
        } @else {
            (WEBHOOKS.show(request.language, webhooks.iter().map(|webhook| row(request, webhook, &counts))))
            (counted(request, &counts))
        }
        @if request.allows(ConsoleAction::ManageWebhooks) {
            p.actions {
                a.button href=(request.link("/webhooks/new")) { (request.pick("Register a webhook", "Enregistrer un webhook")) }
            }
        }
    };
    Ok(PageContent::new("Webhooks", Chapter::Webhooks, body))
}

/// The time from which deliveries are counted.
fn counted(request: &PageRequest<'_>, counts: &DayCounts) -> Markup {
    let is_shorter = counts.since > request.now.plus_millis(MINUTE_MS - DAY_MS);
    html! {
        p.hint {
            (request.pick(
                "Counted is what ended within 24 hours.",
                "Sont comptés les envois terminés depuis 24 heures.",
            ))
            @if is_shorter {
                " " (request.pick("Those delivered are counted since", "Ceux qui ont été livrés le sont depuis le"))
                " " (request.clock().show(counts.since)) "."
            }
        }
    }
}

fn row(request: &PageRequest<'_>, webhook: &Webhook, counts: &DayCounts) -> [Markup; 5] {
    // A webhook that was registered between the two reads has no counts yet.
    let day = counts.webhooks.iter().find(|day| day.webhook == webhook.id);
    let (delivered, failed) = day.map_or((0, 0), |day| (day.delivered, day.failed));
    let has_more = day.is_some_and(|day| day.has_more_failed);
    let failed_ones = request.link(format!("/webhooks/{}/deliveries?status=failed", webhook.id));
    let id = webhook.id.to_string();
    let known = webhook.events.iter().map(|kind| kind.as_str().to_owned());
    let unknown = (webhook.unknown_events > 0).then(|| unknown_kinds(request, webhook.unknown_events));
    let events = known.chain(unknown).collect::<Vec<_>>().join(", ");
    [
        html! { a.address href=(request.link(format!("/webhooks/{}", webhook.id))) { (webhook.shown_url()) }
        // The end of the id, which its page shows too: it distinguishes webhooks of one
        // host.
        " " code.soft.short { "…" (id[id.len() - 4..]) } },
        state(request, webhook),
        html! { (delivered) },
        html! { @if failed == 0 { "0" } @else {
            a href=(failed_ones) { (failed) @if has_more { "+" } }
        } },
        html! { (events) },
    ]
}

/// The state of a webhook: enabled, or disabled with the reason and the time.
pub(super) fn state(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    let Some((at, reason)) = webhook.disabled else {
        return html! {
            span.state.good { (request.pick("Enabled", "Actif")) }
            @if webhook.consecutive_failures > 0 {
                " " span.soft { (webhook.consecutive_failures) " " (request.pick("failures in a row", "échecs de suite")) }
            }
        };
    };
    let why = match reason {
        DisabledReason::Manual => request.pick("by hand", "à la main"),
        DisabledReason::Failures => request.pick("after 10 failures in a row", "après 10 échecs de suite"),
        other => other.as_str(),
    };
    html! {
        span.state.bad { (request.pick("Disabled", "Désactivé")) } " "
        span.soft { (why) ", " (request.clock().show(at)) }
    }
}
