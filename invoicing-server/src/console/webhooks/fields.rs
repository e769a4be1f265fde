//! The fields of a webhook: its address and its events.

use invoicing_core::{EventKind, Invalid};
use maud::{Markup, html};

use crate::console::form::Form;
use crate::console::layout::{described_by, is_about, wrong};
use crate::console::request::PageRequest;
use crate::error::Error;
use crate::records::Webhook;

/// The fields as they were entered.
#[derive(Debug, Clone, Default)]
pub(super) struct WebhookFields {
    pub(super) url: String,
    events: Vec<String>,
}

impl WebhookFields {
    pub(super) fn of(webhook: &Webhook) -> Self {
        let events = webhook.events.iter().map(|kind| kind.as_str().to_owned()).collect();
        Self { url: webhook.url.clone(), events }
    }

    pub(super) fn read(form: &Form) -> Self {
        let events = form.values("events").map(str::to_owned).collect();
        Self { url: form.text("url").to_owned(), events }
    }

    /// The kinds that are checked.
    pub(super) fn events(&self) -> Result<Vec<EventKind>, Invalid> {
        self.events
            .iter()
            .map(|kind| kind.parse().map_err(|wrong: Invalid| wrong.in_field("events")))
            .collect()
    }

    /// The fields by the names that operations use, and their inputs.
    pub(super) const INPUTS: &[(&str, &str)] = &[("url", "url"), ("events", "events")];

    /// The fields as inputs. `unknown`: the number of kinds of a newer version that the webhook
    /// has. `error`: the error of the fields.
    pub(super) fn inputs(&self, request: &PageRequest<'_>, unknown: u32, error: Option<&Error>) -> Markup {
        let language = request.language;
        html! {
            label for="url" { (request.pick("Address of the receiver", "Adresse du récepteur")) }
            input #url name="url" type="url" required value=(self.url) placeholder="https://example.com/hook"
                aria-invalid=[is_about(error, "url").then_some("true")] aria-describedby=(described_by(error, "url", "url"));
            (wrong(language, error, "url", "url"))
            p.hint #url-hint { (request.pick(
                "Each event is sent there as a signed POST.",
                "Chaque événement y est envoyé par un POST signé.",
            )) }
            fieldset #events tabindex="-1" aria-describedby=[is_about(error, "events").then_some("events-wrong")] {
                legend { (request.pick("Events", "Événements")) }
                (wrong(language, error, "events", "events"))
                @for kind in EventKind::ALL {
                    label.choice {
                        input type="checkbox" name="events" value=(kind.as_str())
                            checked[self.events.iter().any(|checked| checked == kind.as_str())];
                        span { code { (kind.as_str()) } " " span.soft { (sentence(request, *kind)) } }
                    }
                }
                @if unknown > 0 {
                    label.choice {
                        input type="checkbox" checked disabled;
                        span { (unknown_kinds(request, unknown)) " " span.soft { (request.pick(
                            "A newer version of the service has added them. They stay.",
                            "Une version plus récente du service les a ajoutés. Ils restent.",
                        )) } }
                    }
                }
            }
        }
    }
}

/// `2 further kinds`.
pub(super) fn unknown_kinds(request: &PageRequest<'_>, count: u32) -> String {
    let text = match count {
        1 => request.pick("further kind", "autre type"),
        _ => request.pick("further kinds", "autres types"),
    };
    format!("{count} {text}")
}

/// The sentence with the moment at which an event of this kind is sent.
fn sentence<'t>(request: &PageRequest<'_>, kind: EventKind) -> &'t str {
    let language = request.language;
    match kind {
        EventKind::QuoteCreated => language
            .pick("A quote was saved, also as a draft.", "Un devis a été enregistré, même en brouillon."),
        EventKind::QuoteSigned => language
            .pick("A client signed a quote through its link.", "Un client a signé un devis par son lien."),
        EventKind::QuoteAccepted => language.pick(
            "A quote was accepted, by signature or by hand.",
            "Un devis a été accepté, par signature ou à la main.",
        ),
        EventKind::InvoiceCreated => {
            language.pick("A quote became an invoice.", "Un devis est devenu une facture.")
        }
        EventKind::InvoiceIssued => language.pick(
            "An invoice got its number and its document.",
            "Une facture a reçu son numéro et son document.",
        ),
        EventKind::CreditNoteIssued => language.pick("A credit note was issued.", "Un avoir a été émis."),
        EventKind::InvoicePaid => {
            language.pick("An invoice was paid in full.", "Une facture a été payée en totalité.")
        }
        EventKind::ProjectCompleted => language.pick("A project was completed.", "Un chantier a été achevé."),
        // A kind of a later version can be chosen without a sentence.
        _ => "",
    }
}
