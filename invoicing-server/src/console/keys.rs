//! The pages of API keys: the list, issuing, revoking.

use std::cmp::Reverse;

use http::StatusCode;
use invoicing_core::KeyId;
use invoicing_core::internal::SHORT_TEXT;
use maud::{Markup, html};

use super::ConsoleAction;
use super::error::PageError;
use super::layout::{
    Chapter, PageContent, described_by, entered, is_about, notice, problem, revealed, wrong,
};
use super::request::{Outcome, PageRequest};
use super::table::{Table, column, short};
use crate::documents::content::visible;
use crate::error::Error;
use crate::operations::{IssuedKey, KeyUsage};
use crate::records::KeyRecord;

/// Maximum number of keys that the list shows: usable keys first.
const SHOWN: usize = 100;

const KEYS: Table<6> = Table::new(
    ("Each accepted request counts for 60 seconds", "Chaque requête acceptée compte pendant 60 secondes"),
    [
        column("Name", "Nom"),
        short("Ends in", "Se termine par"),
        column("Issued", "Émise"),
        column("Last use", "Dernière utilisation"),
        column("Quota used now", "Quota utilisé"),
        column("State", "État"),
    ],
);

/// `GET /keys`.
pub(super) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let mut keys = request.company.keys().usage().await?;
    keys.sort_by_key(|key| (key.record.revoked_at.is_some(), Reverse(key.record.created_at)));
    let left_out = keys.len().saturating_sub(SHOWN);
    let may_manage = request.allows(ConsoleAction::ManageKeys);
    let title = request.pick("API keys", "Clés d’API");
    let body = html! {
        h1 { (title) }
        (done(request))
        @if !request.record.plan.has_api() {
            (notice("info", &html! { p { (request.pick(
                "Keys can be used with the team plan only.",
                "Les clés ne sont utilisables qu’avec la formule Team.",
            )) } }))
        }
        @if keys.is_empty() {
            p { (request.pick("No key has been issued yet.", "Aucune clé n’a été émise.")) }
        } @else {
            (KEYS.show(request.language, keys.iter().take(SHOWN).map(|key| row(request, key, may_manage))))
        }
        @if left_out > 0 {
            p.soft { (request.pick("Older keys that are not shown:", "Clés plus anciennes non affichées :")) " " (left_out) }
        }
        @if may_manage {
            p.actions { a.button href=(request.link("/keys/new")) { (request.pick("Issue a key", "Émettre une clé")) } }
        }
    };
    Ok(PageContent::new(title, Chapter::Keys, body))
}

fn row(request: &PageRequest<'_>, key: &KeyUsage, may_manage: bool) -> [Markup; 6] {
    let (record, clock) = (&key.record, request.clock());
    [
        entered(&record.label),
        html! { code { "…" (record.last4) } },
        clock.show(record.created_at),
        html! { @match record.last_used_at {
            Some(at) => (clock.show(at)),
            None => span.soft { (request.pick("never", "jamais")) },
        } },
        quota(request, key),
        html! { @match record.revoked_at {
            Some(at) => {
                span.state.bad { (request.pick("Revoked", "Révoquée")) } " " span.soft { (clock.show(at)) }
            }
            None => {
                span.state.good { (request.pick("Active", "Active")) } " "
                @if may_manage {
                    a href=(request.link(format!("/keys/{}/revoke", record.id)))
                        aria-label={ (request.pick("Revoke", "Révoquer")) " " (visible(&record.label)) " …" (record.last4) } {
                        (request.pick("Revoke", "Révoquer"))
                    }
                }
            }
        } },
    ]
}

/// `3 of 30`, and the time at which the oldest request stops to count. A revoked key has no quota.
fn quota(request: &PageRequest<'_>, key: &KeyUsage) -> Markup {
    if key.record.revoked_at.is_some() {
        return html! { span.soft { "–" } };
    }
    let Some(limit) = key.limit else {
        return html! { span.soft { (request.pick("unlimited", "illimité")) } };
    };
    html! {
        (key.used) " " (request.pick("of", "sur")) " " (limit)
        @if let Some(until) = key.oldest_until {
            " " span.soft {
                (request.pick("the oldest counts until", "la plus ancienne compte jusqu’au")) " " (request.clock().show(until))
            }
        }
    }
}

/// `GET /keys/new`.
pub(super) fn new(request: &PageRequest<'_>) -> PageContent {
    issuing(request, request.entered().map_or("", |form| form.text("label")), None)
}

/// `POST /keys`.
pub(super) async fn issue(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let label = request.form.text("label");
    match request.company.keys().issue(label).await {
        Ok(issued) => Ok(Outcome::Page(StatusCode::OK, once(request, &issued))),
        Err(error) => Outcome::refused(error, |error| issuing(request, label, Some(error))),
    }
}

fn issuing(request: &PageRequest<'_>, label: &str, error: Option<&Error>) -> PageContent {
    let title = request.pick("New API key", "Nouvelle clé d’API");
    let body = html! {
        h1 { (title) }
        (problem(request.language, error, &[("label", "label")]))
        (request.form("/keys", &html! {
            label for="label" { (request.pick("Name", "Nom")) }
            input #label name="label" type="text" required maxlength=(SHORT_TEXT) value=(label) autocomplete="off"
                aria-invalid=[is_about(error, "label").then_some("true")] aria-describedby=(described_by(error, "label", "label"));
            (wrong(request.language, error, "label", "label"))
            p.hint #label-hint { (request.pick(
                "Where the key is used, such as the name of a program. It can be told from others by it.",
                "Où la clé est utilisée, par exemple le nom d’un logiciel. Il permet de la distinguer des autres.",
            )) }
            p.actions {
                button { (request.pick("Issue the key", "Émettre la clé")) }
                a href=(request.link("/keys")) { (request.pick("Cancel", "Annuler")) }
            }
        }))
    };
    PageContent::new(title, Chapter::Keys, body)
}

/// The page of a new key, which is shown this once, with a request that tries it.
fn once(request: &PageRequest<'_>, issued: &IssuedKey) -> PageContent {
    let title = request.pick("Key issued", "Clé émise");
    let attempt = format!(
        "curl -H 'Authorization: Bearer <API_KEY>' '{}/api/v1/quotes?limit=1'",
        request.elsewhere.service
    );
    let body = html! {
        h1 { (title) }
        p { (request.pick(
            "Copy the key into the program that is to use it. It is shown this once.",
            "Copiez la clé dans le logiciel qui l’utilisera. Elle n’est affichée qu’une fois.",
        )) }
        (revealed(request.language, "key", request.pick("Show the key", "Afficher la clé"), issued.key.reveal()))
        h2 { (request.pick("Try it", "Essayez-la")) }
        p { (request.pick("With the key in place of", "Avec la clé à la place de")) " " code { "<API_KEY>" } "." }
        pre tabindex="0" { code { (attempt) } }
        p.actions {
            a.button href=(request.link("/keys")) { (request.pick("I have kept it", "Je l’ai conservée")) }
        }
    };
    PageContent::new(title, Chapter::Keys, body)
}

/// `GET /keys/{id}/revoke`. A key that was revoked is answered like an unknown one.
pub(super) async fn confirm_revocation(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: KeyId = request.id()?;
    let is_asked_for = |key: &KeyRecord| key.id == id && key.revoked_at.is_none();
    let key = request.company.keys().list().await?.into_iter().find(is_asked_for);
    let key = key.ok_or(PageError::NOT_FOUND)?;
    let title = request.pick("Revoke the key?", "Révoquer la clé ?");
    let body = html! {
        h1 { (title) }
        p { (entered(&key.label)) " " code { "…" (key.last4) } }
        p { (request.pick(
            "Requests with it are refused from now on. This cannot be undone.",
            "Les requêtes qui l’utilisent seront refusées dès maintenant. C’est définitif.",
        )) }
        (request.form_about(format!("/keys/{id}/revoke"), &key, &html! {
            p.actions {
                button.grave { (request.pick("Revoke", "Révoquer")) }
                a href=(request.link("/keys")) { (request.pick("Keep it", "La garder")) }
            }
        }))
    };
    Ok(PageContent::new(title, Chapter::Keys, body))
}

/// `POST /keys/{id}/revoke`.
pub(super) async fn revoke(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    request.company.keys().revoke(request.id()?).await?;
    Ok(Outcome::See("/keys?done=revoked".to_owned()))
}

/// The notice of the form before this page.
fn done(request: &PageRequest<'_>) -> Markup {
    match request.form.text("done") {
        "revoked" => notice("done", &html! { p { (request.pick("Revoked.", "Révoquée.")) } }),
        _ => Markup::default(),
    }
}
