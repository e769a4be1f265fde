//! The pages of webhooks: the list, one webhook with its deliveries, and its forms.

mod deliveries;
mod delivery;
mod done;
mod failure;
mod fields;
mod list;
mod pages;
mod replay;
mod verification;

use std::time::Duration;

use http::StatusCode;
use invoicing_core::{EventId, Invalid, Rule, WebhookId};
use maud::html;

pub(super) use self::deliveries::deliveries;
pub(super) use self::delivery::{delivery, replay_delivery};
pub(super) use self::list::list;
pub(super) use self::pages::{confirm_removal, confirm_rotation, home, show};
pub(super) use self::replay::{confirm_replay, replay};
use super::ConsoleAction;
use super::error::PageError;
use super::layout::{Chapter, PageContent, problem, secret};
use super::request::{Outcome, PageRequest};
use crate::error::Error;
use crate::operations::{NewWebhook, RegisteredWebhook, WebhookChange};
use fields::WebhookFields;

/// `GET /webhooks/new`.
pub(super) fn new(request: &PageRequest<'_>) -> PageContent {
    let fields = request.entered().map(WebhookFields::read).unwrap_or_default();
    registration(request, &fields, None)
}

/// `POST /webhooks`.
pub(super) async fn register(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let fields = WebhookFields::read(&request.form);
    let registered = match fields.events() {
        Ok(events) => request.company.webhooks().register(&NewWebhook::new(&fields.url, events)).await,
        Err(invalid) => Err(invalid.into()),
    };
    match registered {
        Ok(registered) => {
            Ok(once(request, &registered, request.pick("Webhook registered", "Webhook enregistré")))
        }
        Err(error) => Outcome::refused(error, |error| registration(request, &fields, Some(error))),
    }
}

/// `POST /webhooks/{id}`.
pub(super) async fn change(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    let fields = WebhookFields::read(&request.form);
    let changed = match fields.events() {
        Ok(events) => {
            let change = WebhookChange::default().url(&fields.url).events(events);
            request.company.webhooks().change(id, &change).await
        }
        Err(invalid) => Err(invalid.into()),
    };
    match changed {
        Ok(_) => Ok(Outcome::See(format!("/webhooks/{id}?done=changed"))),
        Err(error) => {
            let webhook = request.company.webhooks().get(id).await?;
            Outcome::refused(error, |error| pages::page(request, &webhook, &fields, Some(error)))
        }
    }
}

/// `POST /webhooks/{id}/test`.
pub(super) async fn test(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    let EventId(ping) = request.company.webhooks().ping(id).await?;
    Ok(Outcome::See(format!("/webhooks/{id}?test={ping}#test")))
}

/// `POST /webhooks/{id}/disable`.
pub(super) async fn disable(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    request.company.webhooks().disable(id).await?;
    Ok(Outcome::See(format!("/webhooks/{id}?done=disabled")))
}

/// `POST /webhooks/{id}/enable`. If the box is checked, sends the deliveries that were skipped or
/// have failed since.
pub(super) async fn enable(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    let webhooks = request.company.webhooks();
    if request.form.given("replay").is_some() {
        if !request.allows(ConsoleAction::ReplayDeliveries) {
            return Err(PageError::Forbidden);
        }
        let queued = webhooks.enable_and_replay(id, None).await?;
        return Ok(Outcome::See(format!("/webhooks/{id}?done=replayed&count={queued}")));
    }
    webhooks.enable(id).await?;
    Ok(Outcome::See(format!("/webhooks/{id}?done=enabled")))
}

/// `POST /webhooks/{id}/rotate`. `overlap`: the number of hours for which both secrets sign.
pub(super) async fn rotate(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    let hours = request.form.text("overlap").parse().ok().filter(|hours| *hours <= 24 * 7);
    let hours: u64 = hours.ok_or_else(|| Invalid::new("overlap", Rule::Hours { max: 168 }))?;
    let rotated = request.company.webhooks().rotate_with_overlap(id, Duration::from_hours(hours)).await?;
    Ok(once(request, &rotated, request.pick("New secret", "Nouveau secret")))
}

/// `POST /webhooks/{id}/end-overlap`.
pub(super) async fn end_overlap(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: WebhookId = request.id()?;
    request.company.webhooks().end_overlap(id).await?;
    Ok(Outcome::See(format!("/webhooks/{id}?done=overlap-ended")))
}

/// `POST /webhooks/{id}/remove`.
pub(super) async fn remove(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    request.company.webhooks().remove(request.id()?).await?;
    Ok(Outcome::See("/webhooks?done=removed".to_owned()))
}

/// The page of a new secret, which is shown this once.
fn once(request: &PageRequest<'_>, registered: &RegisteredWebhook, title: &str) -> Outcome {
    let id = registered.webhook.id;
    let body = html! {
        h1 { (title) }
        p { (request.pick(
            "Copy the secret into the receiver now. It is shown this once.",
            "Copiez maintenant le secret dans votre récepteur. Il n’est affiché qu’une fois.",
        )) }
        (secret(request.language, "secret", registered.secret.reveal()))
        p.actions {
            a.button href=(request.link(format!("/webhooks/{id}"))) {
                (request.pick("I have kept it", "Je l’ai conservé"))
            }
        }
        (verification::snippets(request))
    };
    Outcome::Page(StatusCode::OK, PageContent::new(title, Chapter::Webhooks, body))
}

fn registration(request: &PageRequest<'_>, fields: &WebhookFields, error: Option<&Error>) -> PageContent {
    let title = request.pick("New webhook", "Nouveau webhook");
    let body = html! {
        h1 { (title) }
        (problem(request.language, error, WebhookFields::INPUTS))
        (request.form("/webhooks", &html! {
            (fields.inputs(request, 0, error))
            p.actions {
                button { (request.pick("Register", "Enregistrer")) }
                a href=(request.link("/webhooks")) { (request.pick("Cancel", "Annuler")) }
            }
        }))
    };
    PageContent::new(title, Chapter::Webhooks, body)
}
