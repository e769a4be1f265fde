//! The states of a quote, in words.

use invoicing_core::{QuoteStatus, QuoteSummary};
use maud::{Markup, html};

use crate::console::Language;

/// The state of a quote, and the change that led to it.
pub(super) fn state(language: Language, quote: &QuoteSummary) -> Markup {
    let kind = match quote.status {
        QuoteStatus::Accepted => "good",
        QuoteStatus::Rejected => "bad",
        QuoteStatus::Sent => "wait",
        _ => "",
    };
    html! { span class={ "state " (kind) } { (told(language, quote)) } }
}

fn told(language: Language, quote: &QuoteSummary) -> &'static str {
    match quote.status {
        QuoteStatus::Accepted if quote.signed_at.is_some() => language.pick("Signed", "Signé"),
        QuoteStatus::Accepted => language.pick("Accepted", "Accepté"),
        QuoteStatus::Rejected if quote.sent_at.is_none() => language.pick("Discarded", "Abandonné"),
        QuoteStatus::Rejected => language.pick("Declined", "Refusé"),
        status => status_name(language, status),
    }
}

/// A status alone, for a filter.
pub(super) fn status_name(language: Language, status: QuoteStatus) -> &'static str {
    match status {
        QuoteStatus::Draft => language.pick("Draft", "Brouillon"),
        QuoteStatus::Sent => language.pick("Sent", "Envoyé"),
        QuoteStatus::Accepted => language.pick("Accepted or signed", "Accepté ou signé"),
        QuoteStatus::Rejected => language.pick("Declined or discarded", "Refusé ou abandonné"),
        QuoteStatus::Expired => language.pick("Expired", "Expiré"),
        // A status that only a later version has.
        other => other.as_str(),
    }
}
