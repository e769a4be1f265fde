//! What the pages of webhooks show.

use invoicing_core::{DeliveryStatus, EventId, WebhookId};
use maud::{Markup, html};

use super::failure;
use super::fields::Fields;
use crate::Error;
use crate::console::Action;
use crate::console::error::PageError;
use crate::console::layout::{Chapter, Content, notice, problem};
use crate::console::request::PageRequest;
use crate::store::delivery_pages::DeliveryDetail;
use crate::store::webhooks::{DisabledReason, Webhook};

/// Seconds between two looks at a test that is under way.
const TEST_REFRESH: u32 = 2;

/// `GET /`: how to receive a first webhook, in three steps.
pub(in crate::console) async fn home(request: &PageRequest<'_>) -> Result<Content, PageError> {
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
    Ok(Content::new(title, Chapter::Home, body))
}

/// `GET /webhooks`.
pub(in crate::console) async fn list(request: &PageRequest<'_>) -> Result<Content, PageError> {
    let webhooks = request.company.webhooks().list().await?;
    let body = html! {
        h1 { "Webhooks" }
        (done(request))
        @if webhooks.is_empty() {
            p { (request.pick("No webhook is registered yet.", "Aucun webhook n’est enregistré.")) }
        } @else {
            table.cards {
                caption { (request.pick("Receivers of events", "Récepteurs des événements")) }
                thead { tr {
                    th scope="col" { (request.pick("Address", "Adresse")) }
                    th scope="col" { (request.pick("State", "État")) }
                    th scope="col" { (request.pick("Events", "Événements")) }
                } }
                tbody { @for webhook in &webhooks { (row(request, webhook)) } }
            }
        }
        @if request.allows(Action::ManageWebhooks) {
            p.actions {
                a.button href=(request.link("/webhooks/new")) { (request.pick("Register a webhook", "Enregistrer un webhook")) }
            }
        }
    };
    Ok(Content::new("Webhooks", Chapter::Webhooks, body))
}

fn row(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    let events = webhook.events.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    html! {
        tr {
            td data-name=(request.pick("Address", "Adresse")) {
                a href=(request.link(format!("/webhooks/{}", webhook.id))) { (webhook.url) }
            }
            td data-name=(request.pick("State", "État")) { (state(request, webhook)) }
            td data-name=(request.pick("Events", "Événements")) { (events) }
        }
    }
}

/// Whether it is enabled, and why and since when not.
fn state(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
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
    };
    html! {
        span.state.bad { (request.pick("Disabled", "Désactivé")) } " "
        span.soft { (why) ", " (request.clock().show(at)) }
    }
}

/// `GET /webhooks/{id}`.
pub(in crate::console) async fn show(request: &PageRequest<'_>) -> Result<Content, PageError> {
    let id: WebhookId = request.id()?;
    let webhook = request.company.webhooks().get(id).await?;
    let test = tested(request, id).await?;
    let mut content = page(request, &webhook, &Fields::of(&webhook), None);
    if let Some(test) = test {
        content.refresh = (test.item.delivery.status == DeliveryStatus::Pending).then_some(TEST_REFRESH);
        let outcome = outcome(request, &test);
        content.body = html! { (content.body) (outcome) };
    }
    Ok(content)
}

/// The page of a webhook, with the fields of its form.
pub(super) fn page(
    request: &PageRequest<'_>,
    webhook: &Webhook,
    fields: &Fields,
    error: Option<&Error>,
) -> Content {
    let (id, may_manage) = (webhook.id, request.allows(Action::ManageWebhooks));
    let body = html! {
        p { a href=(request.link("/webhooks")) { "← Webhooks" } }
        h1 { (webhook.url) }
        (done(request))
        (problem(error))
        dl.facts {
            div { dt { (request.pick("State", "État")) } dd { (state(request, webhook)) } }
            div { dt { (request.pick("Identifier", "Identifiant")) } dd { code { (id) } } }
            div { dt { (request.pick("Registered", "Enregistré")) } dd { (request.clock().show(webhook.created_at)) } }
            @if let Some(until) = webhook.previous_secret_until {
                div { dt { (request.pick("Old secret signs until", "Ancien secret valable jusqu’au")) } dd { (request.clock().show(until)) } }
            }
        }
        div.actions {
            @if request.allows(Action::TestWebhooks) {
                form method="post" action=(request.link(format!("/webhooks/{id}/test"))) {
                    button { (request.pick("Send a test", "Envoyer un test")) }
                }
            }
            @if may_manage { (switches(request, webhook)) }
        }
        @if may_manage {
            h2 { (request.pick("Change", "Modifier")) }
            form method="post" action=(request.link(format!("/webhooks/{id}"))) {
                (fields.inputs(request))
                button { (request.pick("Save", "Enregistrer")) }
            }
        }
    };
    Content::new(&*webhook.url, Chapter::Webhooks, body)
}

/// Enables or disables, rotates, removes.
fn switches(request: &PageRequest<'_>, webhook: &Webhook) -> Markup {
    let action = |verb: &str| request.link(format!("/webhooks/{}/{verb}", webhook.id));
    html! {
        @if webhook.disabled.is_some() {
            form method="post" action=(action("enable")) {
                label.choice {
                    input type="checkbox" name="replay" value="1" checked;
                    span { (request.pick("and send what it has missed", "et envoyer ce qu’il a manqué")) }
                }
                button { (request.pick("Enable", "Activer")) }
            }
        } @else {
            form method="post" action=(action("disable")) { button.plain { (request.pick("Disable", "Désactiver")) } }
        }
        @if webhook.previous_secret_until.is_some() {
            form method="post" action=(action("end-overlap")) {
                button.plain { (request.pick("End the old secret now", "Révoquer l’ancien secret")) }
            }
        }
        a.button.plain href=(action("rotate")) { (request.pick("Rotate the secret", "Renouveler le secret")) }
        a.button.plain href=(action("remove")) { (request.pick("Remove", "Supprimer")) }
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

/// The outcome of a test, in words.
fn outcome(request: &PageRequest<'_>, test: &DeliveryDetail) -> Markup {
    let (status, last) = (test.item.delivery.status, test.attempts.last());
    let answer = last.map(|attempt| failure::outcome(request.language, attempt)).unwrap_or_default();
    let body = html! {
        h2 #test { (request.pick("Test", "Test")) }
        @match status {
            DeliveryStatus::Delivered => {
                p {
                    span.state.good { (request.pick("Arrived.", "Arrivé.")) } " "
                    (request.pick("The receiver answered", "Le récepteur a répondu")) " " (answer) "."
                }
            }
            DeliveryStatus::Pending => {
                p {
                    span.state.wait { (request.pick("Under way.", "En cours.")) }
                    @if last.is_some() {
                        " " (request.pick("The last attempt failed", "La dernière tentative a échoué")) ": " (answer) "."
                    }
                }
            }
            _ => { p { span.state.bad { (request.pick("Failed.", "Échec.")) } " " (answer) } }
        }
    };
    let kind = if status == DeliveryStatus::Delivered { "done" } else { "info" };
    notice(kind, &body)
}

/// `GET /webhooks/{id}/rotate`.
pub(in crate::console) async fn confirm_rotation(request: &PageRequest<'_>) -> Result<Content, PageError> {
    let webhook = request.company.webhooks().get(request.id()?).await?;
    let title = request.pick("Rotate the secret", "Renouveler le secret");
    let body = html! {
        h1 { (title) }
        p { code { (webhook.url) } }
        p { (request.pick(
            "During the overlap each delivery is signed with both secrets: a receiver that accepts any matching v1 can change \
             over without a refused delivery. Without an overlap the old secret ends at once: for a secret that has leaked.",
            "Pendant le recouvrement, chaque envoi est signé avec les deux secrets : un récepteur qui accepte tout v1 valable \
             peut changer sans refuser d’envoi. Sans recouvrement, l’ancien secret cesse aussitôt : pour un secret qui a fuité.",
        )) }
        form method="post" action=(request.link(format!("/webhooks/{}/rotate", webhook.id))) {
            label for="overlap" { (request.pick("Overlap", "Recouvrement")) }
            select #overlap name="overlap" {
                option value="24" { (request.pick("24 hours", "24 heures")) }
                option value="168" { (request.pick("7 days", "7 jours")) }
                option value="0" { (request.pick("none", "aucun")) }
            }
            p.actions {
                button { (title) }
                a href=(request.link(format!("/webhooks/{}", webhook.id))) { (request.pick("Cancel", "Annuler")) }
            }
        }
    };
    Ok(Content::new(title, Chapter::Webhooks, body))
}

/// `GET /webhooks/{id}/remove`.
pub(in crate::console) async fn confirm_removal(request: &PageRequest<'_>) -> Result<Content, PageError> {
    let webhook = request.company.webhooks().get(request.id()?).await?;
    let title = request.pick("Remove the webhook?", "Supprimer le webhook ?");
    let body = html! {
        h1 { (title) }
        p { code { (webhook.url) } }
        p { (request.pick(
            "It gets no further event, and what waits for it is not sent. This cannot be undone.",
            "Il ne recevra plus d’événement, et ce qui l’attend ne sera pas envoyé. C’est définitif.",
        )) }
        form method="post" action=(request.link(format!("/webhooks/{}/remove", webhook.id))) {
            p.actions {
                button.grave { (request.pick("Remove", "Supprimer")) }
                a href=(request.link(format!("/webhooks/{}", webhook.id))) { (request.pick("Keep it", "Le garder")) }
            }
        }
    };
    Ok(Content::new(title, Chapter::Webhooks, body))
}

/// What the form before this page has done.
fn done(request: &PageRequest<'_>) -> Markup {
    let text = match request.form.text("done") {
        "changed" => request.pick("Saved.", "Enregistré."),
        "disabled" => request.pick(
            "Disabled. Events are kept, and can be sent later.",
            "Désactivé. Les événements sont conservés et pourront être envoyés plus tard.",
        ),
        "enabled" => request.pick("Enabled.", "Activé."),
        "replayed" => request.pick("Enabled. Queued to be sent again:", "Activé. Remis en file d’envoi :"),
        "removed" => request.pick("Removed.", "Supprimé."),
        "overlap-ended" => request.pick("The old secret has ended.", "L’ancien secret est révoqué."),
        _ => return Markup::default(),
    };
    let count = request.form.given("count").and_then(|count| count.parse::<u64>().ok());
    notice("done", &html! { p { (text) @if let Some(count) = count { " " (count) } } })
}
