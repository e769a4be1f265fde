//! Sends again the deliveries that have failed since an instant: chosen, counted and confirmed,
//! then sent.

use invoicing_core::{Invalid, ParseTimestampError, Rule, Timestamp, WebhookId};
use maud::{Markup, html};

use super::deliveries::instant;
use crate::console::error::PageError;
use crate::console::form::Form;
use crate::console::layout::{Chapter, PageContent, notice};
use crate::console::refusals;
use crate::console::request::{Outcome, PageRequest};
use crate::records::Webhook;

const HOUR_MS: i64 = 60 * 60 * 1_000;
/// The periods to choose from, in hours.
const CHOICES: [(i64, &str, &str); 3] =
    [(1, "the last hour", "une heure"), (24, "24 hours", "24 heures"), (24 * 7, "7 days", "7 jours")];

/// `GET /webhooks/{id}/replay`: the choice of the instant, or the number of deliveries since then.
pub(in crate::console) async fn confirm_replay(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let webhook = request.company.webhooks().get(request.id()?).await?;
    let title = request.pick("Send again what failed", "Renvoyer ce qui a échoué");
    let question = match since(request) {
        Ok(Some(since)) => {
            let count = request.company.webhooks().count_replayable(webhook.id, since).await?;
            confirmation(request, &webhook, since, count)
        }
        Ok(None) => choice(request, &webhook, None),
        Err(wrong) => choice(request, &webhook, Some(&wrong)),
    };
    let body = html! {
        p {
            a href=(request.link(format!("/webhooks/{}/deliveries", webhook.id))) {
                "← " (request.pick("Deliveries", "Envois"))
            }
        }
        h1 { (title) }
        p { code { (webhook.shown_url()) } }
        (question)
    };
    Ok(PageContent::new(title, Chapter::Webhooks, body))
}

/// `POST /webhooks/{id}/replay`. `since`: the instant that was confirmed.
pub(in crate::console) async fn replay(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    let since = confirmed(&request.form)?;
    let queued = request.company.webhooks().replay_since(id, since).await?;
    Ok(Outcome::See(format!("/webhooks/{id}/deliveries?done=queued&count={queued}")))
}

/// The instant that was confirmed.
fn confirmed(form: &Form) -> Result<Timestamp, Invalid> {
    form.text("since").parse().map_err(|wrong: ParseTimestampError| Invalid::new("since", wrong))
}

/// The chosen instant; `None` before it was chosen.
fn since(request: &PageRequest<'_>) -> Result<Option<Timestamp>, Invalid> {
    if let Some(form) = request.entered() {
        return confirmed(form).map(Some);
    }
    if let Some(since) = instant(request, "since")? {
        return Ok(Some(since));
    }
    let Some(last) = request.form.given("last") else { return Ok(None) };
    let hours = CHOICES.iter().map(|choice| choice.0).find(|hours| hours.to_string() == last);
    let hours = hours.ok_or_else(|| Invalid::new("last", Rule::Choice))?;
    Ok(Some(request.now.plus_millis(-hours * HOUR_MS)))
}

fn choice(request: &PageRequest<'_>, webhook: &Webhook, wrong: Option<&Invalid>) -> Markup {
    html! {
        @if let Some(wrong) = wrong {
            (notice("error", &html! { p { (refusals::invalid(request.language, wrong)) } }))
        }
        form method="get" action=(request.link(format!("/webhooks/{}/replay", webhook.id))) {
            fieldset {
                legend { (request.pick("What failed or was not sent within", "Ce qui n’a pas abouti depuis")) }
                @for (hours, english, french) in CHOICES {
                    label.choice {
                        input type="radio" name="last" value=(hours) checked[hours == 24];
                        span { (request.pick(english, french)) }
                    }
                }
                label for="since" { (request.pick("or since", "ou depuis le")) }
                input #since name="since" type="datetime-local" value=(request.form.text("since"))
                    aria-describedby="zone";
                p.hint #zone {
                    (request.pick(
                        "Where it is filled in, it counts. In the zone",
                        "Si une date est indiquée, c’est elle qui compte. Dans le fuseau",
                    )) " " (request.clock().zone()) "."
                }
            }
            p.actions {
                button { (request.pick("Count them", "Compter")) }
                (cancel(request, webhook))
            }
        }
    }
}

/// The number of deliveries that would be sent, and the button.
fn confirmation(request: &PageRequest<'_>, webhook: &Webhook, since: Timestamp, count: u64) -> Markup {
    let path = format!("/webhooks/{}/replay", webhook.id);
    html! {
        p { strong { (counted(request, count)) " " (request.clock().show(since)) "." } }
        @if webhook.disabled.is_some() {
            p { (request.pick(
                "The webhook is disabled. Enable it first.",
                "Le webhook est désactivé. Activez-le d’abord.",
            )) }
        } @else if count > 0 {
            p { (request.pick(
                "Each is sent with the same bytes and the same id, signed anew.",
                "Chacun est renvoyé à l’identique, sous le même identifiant, avec une nouvelle signature.",
            )) }
            (request.form(&path, &html! {
                input type="hidden" name="since" value=(since);
                p.actions {
                    button { (request.pick("Send again:", "Renvoyer :")) " " (count) }
                    (cancel(request, webhook))
                }
            }))
        }
        p { a href=(request.link(&path)) { (request.pick("Choose another time", "Choisir une autre date")) } }
    }
}

fn counted(request: &PageRequest<'_>, count: u64) -> String {
    let text = match count {
        0 => request.pick("No delivery has failed or was not sent since", "Aucun envoi n’a échoué depuis le"),
        1 => request.pick("1 delivery has failed or was not sent since", "1 envoi n’a pas abouti depuis le"),
        _ => {
            let text = request
                .pick("deliveries have failed or were not sent since", "envois n’ont pas abouti depuis le");
            return format!("{count} {text}");
        }
    };
    text.to_owned()
}

fn cancel(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    html! {
        a href=(request.link(format!("/webhooks/{}/deliveries", webhook.id))) { (request.pick("Cancel", "Annuler")) }
    }
}
