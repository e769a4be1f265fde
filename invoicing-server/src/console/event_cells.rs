//! Shared cells of the event and delivery tables: the kind, the record of the event, the payload,
//! and the state of a delivery.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::str::FromStr;

use invoicing_core::internal::is_bidi_control;
use invoicing_core::{DeliveryStatus, EventKind, Invalid};
use maud::{Markup, html};

use super::layout::entered;
use super::request::PageRequest;
use crate::list_query::RecordedKind;
use crate::records::{DeliveryRecord, EventSubject};
use crate::store::skip_reason::{DISABLED, REMOVED};

/// Maximum number of characters of a payload that are shown.
const PAYLOAD_CHARS: usize = 500;
/// Maximum number of characters of a name that a row shows.
const NAME_CHARS: usize = 100;

/// A filter that was chosen; `None` for all.
pub(super) fn chosen<T: FromStr<Err = Invalid>>(
    request: &PageRequest<'_>,
    name: &'static str,
) -> Result<Option<T>, Invalid> {
    request
        .form
        .given(name)
        .map(|text| text.parse().map_err(|wrong: Invalid| wrong.in_field(name)))
        .transpose()
}

/// A field with the kinds of events.
pub(super) fn kinds(request: &PageRequest<'_>) -> Markup {
    let kinds = EventKind::ALL.iter().map(|kind| RecordedKind::from(*kind)).chain([RecordedKind::Ping]);
    html! {
        div {
            label for="kind" { (request.pick("Event", "Événement")) }
            select #kind name="kind" {
                option value="" { (request.pick("all", "tous")) }
                @for kind in kinds {
                    option value=(kind) selected[request.form.text("kind") == kind.as_str()] { (kind) }
                }
            }
        }
    }
}

/// A name, shortened for a row of a list, so that a page of long names stays small.
pub(super) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}

/// The record of an event, with a link if it has a page.
pub(super) fn subject(request: &PageRequest<'_>, kind: &str, subject: Option<&EventSubject>) -> Markup {
    let Some(subject) = subject else { return Markup::default() };
    if kind == RecordedKind::Ping.as_str() {
        return html! { (request.pick("a test", "un test")) };
    }
    let unnamed = || request.pick("not numbered yet", "pas encore numéroté");
    let name = shortened(subject.name.as_deref().unwrap_or_else(unnamed));
    let pages = [("quote.", "quotes"), ("invoice.", "invoices"), ("credit_note.", "credit-notes")];
    let page = pages.iter().find(|(beginning, _)| kind.starts_with(beginning));
    html! {
        @if let Some((_, page)) = page {
            a href=(request.link(format!("/{page}/{}", subject.id))) { (entered(&name)) }
        } @else { (entered(&name)) }
        @if let Some(client) = &subject.client { " " span.soft { (entered(&shortened(client))) } }
    }
}

/// The beginning of the payload.
pub(super) fn payload(request: &PageRequest<'_>, body: &str) -> Markup {
    let shown = body.char_indices().nth(PAYLOAD_CHARS).map_or(body, |(end, _)| &body[..end]);
    html! {
        h2 { (request.pick("Payload", "Contenu")) }
        @if shown.len() < body.len() {
            p.hint { (request.pick("The first 500 characters.", "Les 500 premiers caractères.")) }
        }
        pre.payload tabindex="0" { code { (with_direction_escaped(shown)) } }
    }
}

/// JSON with the characters that change the direction of text as escapes, which a JSON parser reads
/// as the same.
fn with_direction_escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(is_bidi_control) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_bidi_control(c) {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// The state of a delivery, in words.
pub(super) fn state(request: &PageRequest<'_>, delivery: &DeliveryRecord) -> Markup {
    let class = match delivery.status {
        DeliveryStatus::Delivered => "good",
        DeliveryStatus::Pending => "wait",
        _ => "bad",
    };
    html! {
        span class={ "state " (class) } { (word(request, delivery.status)) }
        @if let Some(reason) = &delivery.reason { " " span.soft { (why_skipped(request, reason)) } }
    }
}

/// A state, in a word.
pub(super) fn word<'t>(request: &PageRequest<'_>, status: DeliveryStatus) -> &'t str {
    match status {
        DeliveryStatus::Pending => request.language.pick("Waiting", "En attente"),
        DeliveryStatus::Delivered => request.language.pick("Delivered", "Livré"),
        DeliveryStatus::Failed => request.language.pick("Failed", "Échec"),
        DeliveryStatus::Skipped => request.language.pick("Not sent", "Non envoyé"),
        other => other.as_str(),
    }
}

fn why_skipped<'t>(request: &PageRequest<'_>, reason: &'t str) -> &'t str {
    match reason {
        DISABLED => request.language.pick("the webhook was disabled", "le webhook était désactivé"),
        REMOVED => request.language.pick("the webhook was removed", "le webhook a été supprimé"),
        other => other,
    }
}
