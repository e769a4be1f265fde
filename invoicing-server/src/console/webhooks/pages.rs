//! The content of the overview and of the pages of one webhook.

use invoicing_core::{DeliveryStatus, EventId, WebhookId};
use maud::{Markup, html};

use super::delivery::attempts;
use super::done::done;
use super::fields::WebhookFields;
use super::list::state;
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::layout::{Chapter, PageContent, notice, problem};
use crate::console::request::{Again, PageRequest};
use crate::error::Error;
use crate::records::{DeliveryDetail, Webhook};

/// Seconds until the page of a test that is under way is loaded again.
const TEST_REFRESH: u32 = 2;
/// Time after a test until its page is no longer loaded again: without a dispatcher that would go
/// on for ever.
const TEST_REFRESH_ENDS_MS: i64 = 60_000;

/// `GET /`: how to receive a first webhook, in three steps.
pub(in crate::console) async fn home(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let webhooks = request.company.webhooks().list().await?;
    let title = request.pick("Overview", "Aperçu");
    let first = webhooks.first().map(|webhook| request.link(format!("/webhooks/{}", webhook.id)));
    let body = html! {
        h1 { (request.pick("Receive your first webhook", "Recevez votre premier webhook")) }
        ol.steps {
            li {
                strong { (request.pick("Register your receiver.", "Enregistrez votre récepteur.")) } " "
                (request.pick("Give its address and choose its events.", "Indiquez son adresse et choisissez ses événements.")) " "
                a href=(request.link("/webhooks/new")) { (request.pick("Register a webhook", "Enregistrer un webhook")) }
            }
            li {
                strong { (request.pick("Keep the secret.", "Conservez le secret.")) } " "
                (request.pick(
                    "It is shown once. With it the receiver verifies that a delivery comes from here.",
                    "Il n’est affiché qu’une fois. Il permet au récepteur de vérifier l’origine d’un envoi.",
                ))
            }
            li {
                strong { (request.pick("Send a test.", "Envoyez un test.")) } " "
                (request.pick(
                    "Its outcome appears on the page of the webhook, in words.",
                    "Son résultat s’affiche sur la page du webhook, en toutes lettres.",
                )) " "
                @if let Some(first) = first { a href=(first) { (request.pick("Open the webhook", "Ouvrir le webhook")) } }
            }
        }
    };
    Ok(PageContent::new(title, Chapter::Home, body))
}

/// `GET /webhooks/{id}`.
pub(in crate::console) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: WebhookId = request.id()?;
    let webhook = request.company.webhooks().get(id).await?;
    let test = tested(request, id).await?;
    let entered = request.entered().filter(|form| form.given("url").is_some());
    let fields = entered.map_or_else(|| WebhookFields::of(&webhook), WebhookFields::read);
    let mut content = page(request, &webhook, &fields, None);
    if entered.is_some() && request.again == Some(Again::Changed) {
        content.body = html! { (stored(request, &webhook)) (content.body) };
    }
    if let Some(test) = test {
        let is_new = request.now < test.item.timestamp.plus_millis(TEST_REFRESH_ENDS_MS);
        let is_under_way = test.item.delivery.status == DeliveryStatus::Pending;
        content.refresh = (is_under_way && is_new).then_some(TEST_REFRESH);
        let outcome = outcome(request, &test);
        content.body = html! { (content.body) (outcome) };
    }
    Ok(content)
}

/// The page of a webhook, with the fields of its form.
pub(super) fn page(
    request: &PageRequest<'_>,
    webhook: &Webhook,
    fields: &WebhookFields,
    error: Option<&Error>,
) -> PageContent {
    let (id, may_manage) = (webhook.id, request.allows(ConsoleAction::ManageWebhooks));
    let body = html! {
        p { a href=(request.link("/webhooks")) { "← Webhooks" } }
        h1.address { (webhook.shown_url()) }
        (done(request))
        (problem(request.language, error, WebhookFields::INPUTS))
        dl.facts {
            div { dt { (request.pick("State", "État")) } dd { (state(request, webhook)) } }
            div { dt { (request.pick("Identifier", "Identifiant")) } dd { code { (id) } } }
            div { dt { (request.pick("Registered", "Enregistré")) } dd { (request.clock().show(webhook.created_at)) } }
            @if let Some(until) = webhook.previous_secret_until {
                div { dt { (request.pick("Old secret signs until", "Ancien secret valable jusqu’au")) } dd { (request.clock().show(until)) } }
            }
        }
        div.actions {
            @if request.allows(ConsoleAction::TestWebhooks) {
                (request.form(format!("/webhooks/{id}/test"), &html! {
                    button { (request.pick("Send a test", "Envoyer un test")) }
                }))
            }
            a.button.plain href=(request.link(format!("/webhooks/{id}/deliveries"))) {
                (request.pick("Deliveries", "Envois"))
            }
            a.button.plain href=(request.link(format!("/history?record={id}"))) {
                (request.pick("History", "Historique"))
            }
            @if may_manage { (switches(request, webhook)) }
        }
        @if may_manage {
            h2 { (request.pick("Change", "Modifier")) }
            (request.form_about(format!("/webhooks/{id}"), webhook, &html! {
                (fields.inputs(request, webhook.unknown_events, error))
                button { (request.pick("Save", "Enregistrer")) }
            }))
        }
    };
    PageContent::new(webhook.shown_url(), Chapter::Webhooks, body)
}

/// The stored target, above a form that holds another one.
fn stored(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    let events = webhook.events.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    notice(
        "info",
        &html! {
            dl.facts {
                div { dt { (request.pick("Address of the receiver", "Adresse du récepteur")) } dd { code { (webhook.url) } } }
                div { dt { (request.pick("Events", "Événements")) } dd { (events) } }
            }
            p { (request.pick(
                "The form below holds what you entered. Saving it replaces what is stored.",
                "Le formulaire ci-dessous contient votre saisie. L’enregistrer remplacera l’état actuel.",
            )) }
        },
    )
}

/// The buttons that enable or disable, rotate and remove.
fn switches(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    let action = |verb: &str| format!("/webhooks/{}/{verb}", webhook.id);
    // The box keeps its state if the form comes again.
    let replays = !request.path.ends_with("/enable") || request.form.given("replay").is_some();
    html! {
        @if webhook.disabled.is_some() {
            (request.form_about(action("enable"), webhook, &html! {
                @if request.allows(ConsoleAction::ReplayDeliveries) {
                    label.choice {
                        input type="checkbox" name="replay" value="1" checked[replays];
                        span {
                            (request.pick("and send what it has missed", "et envoyer ce qu’il a manqué"))
                            @if let Some(since) = webhook.missed_since() {
                                " " span.soft { (request.pick("since", "depuis le")) " " (request.clock().show(since)) }
                            }
                        }
                    }
                }
                button { (request.pick("Enable", "Activer")) }
            }))
        } @else {
            (request.form_about(action("disable"), webhook, &html! { button.plain { (request.pick("Disable", "Désactiver")) } }))
        }
        @if webhook.previous_secret_until.is_some() {
            (request.form_about(action("end-overlap"), webhook, &html! {
                button.plain { (request.pick("End the old secret now", "Révoquer l’ancien secret")) }
            }))
        }
        a.button.plain href=(request.link(action("rotate"))) { (request.pick("Rotate the secret", "Renouveler le secret")) }
        a.button.plain href=(request.link(action("remove"))) { (request.pick("Remove", "Supprimer")) }
    }
}

/// The test that the query names.
async fn tested(request: &PageRequest<'_>, id: WebhookId) -> Result<Option<DeliveryDetail>, PageError> {
    let Some(event) = request.form.given("test").and_then(|event| event.parse::<EventId>().ok()) else {
        return Ok(None);
    };
    match request.company.webhooks().delivery(id, event).await {
        Ok(test) => Ok(Some(test)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The outcome of a test: in words, and its attempts.
fn outcome(request: &PageRequest<'_>, test: &DeliveryDetail) -> Markup {
    let delivery = &test.item.delivery;
    let (kind, class, state) = match delivery.status {
        DeliveryStatus::Delivered => ("done", "good", request.pick("Arrived.", "Arrivé.")),
        DeliveryStatus::Pending => ("info", "wait", request.pick("Under way.", "En cours.")),
        _ => ("info", "bad", request.pick("Failed.", "Échec.")),
    };
    let address = format!("/webhooks/{}/deliveries/{}", delivery.webhook, delivery.event);
    html! {
        h2 #test { (request.pick("Test", "Test")) }
        (notice(kind, &html! { p { span class={ "state " (class) } { (state) } } }))
        @if delivery.status == DeliveryStatus::Pending {
            p {
                a href=(request.link(format!("/webhooks/{}?test={}", delivery.webhook, delivery.event))) {
                    (request.pick("Look again", "Actualiser"))
                }
            }
        }
        (attempts(request, test))
        p { a href=(request.link(address)) { (request.pick("What was sent", "Ce qui a été envoyé")) } }
    }
}

/// `GET /webhooks/{id}/rotate`.
pub(in crate::console) async fn confirm_rotation(
    request: &PageRequest<'_>,
) -> Result<PageContent, PageError> {
    let webhook = request.company.webhooks().get(request.id()?).await?;
    let title = request.pick("Rotate the secret", "Renouveler le secret");
    let is_entered = |hours: &str| request.entered().is_some_and(|form| form.text("overlap") == hours);
    let body = html! {
        h1 { (title) }
        p { code { (webhook.shown_url()) } }
        p { (request.pick(
            "Without an overlap the old secret ends at once, and each delivery has one signature.",
            "Sans chevauchement, l’ancien secret cesse aussitôt et chaque envoi porte une seule signature.",
        )) }
        (request.form_about(format!("/webhooks/{}/rotate", webhook.id), &webhook, &html! {
            label for="overlap" { (request.pick("Overlap", "Chevauchement")) }
            select #overlap name="overlap" aria-describedby="overlap-hint" {
                option value="0" selected[!is_entered("24") && !is_entered("168")] { (request.pick("none", "aucun")) }
                option value="24" selected[is_entered("24")] { (request.pick("24 hours", "24 heures")) }
                option value="168" selected[is_entered("168")] { (request.pick("7 days", "7 jours")) }
            }
            p.hint #overlap-hint { (request.pick(
                "During an overlap each delivery has two v1 signatures, by the new secret and by the old one, and a receiver \
                 must accept a delivery of which either one matches.",
                "Pendant un chevauchement, chaque envoi porte deux signatures v1, celles du nouveau secret et de l’ancien, et le \
                 récepteur doit accepter un envoi dont l’une des deux est valable.",
            )) }
            p.actions {
                button { (title) }
                a href=(request.link(format!("/webhooks/{}", webhook.id))) { (request.pick("Cancel", "Annuler")) }
            }
        }))
    };
    Ok(PageContent::new(title, Chapter::Webhooks, body))
}

/// `GET /webhooks/{id}/remove`.
pub(in crate::console) async fn confirm_removal(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let webhook = request.company.webhooks().get(request.id()?).await?;
    let title = request.pick("Remove the webhook?", "Supprimer le webhook ?");
    let body = html! {
        h1 { (title) }
        p { code { (webhook.shown_url()) } }
        p { (request.pick(
            "It gets no further event, and what waits for it is not sent. This cannot be undone.",
            "Il ne recevra plus d’événement, et ce qui l’attend ne sera pas envoyé. C’est définitif.",
        )) }
        (request.form_about(format!("/webhooks/{}/remove", webhook.id), &webhook, &html! {
            p.actions {
                button.grave { (request.pick("Remove", "Supprimer")) }
                a href=(request.link(format!("/webhooks/{}", webhook.id))) { (request.pick("Keep it", "Le garder")) }
            }
        }))
    };
    Ok(PageContent::new(title, Chapter::Webhooks, body))
}
