//! The notice of the form before a page, which the address of the page names.

use maud::{Markup, html};

use crate::console::layout::notice;
use crate::console::request::PageRequest;

/// The notice of the form before this page.
pub(super) fn done(request: &PageRequest<'_>) -> Markup {
    let text = match request.form.text("done") {
        "changed" => request.pick("Saved.", "Enregistré."),
        "disabled" => request.pick(
            "Disabled. Events are kept, and can be sent later.",
            "Désactivé. Les événements sont conservés et pourront être envoyés plus tard.",
        ),
        "enabled" => request.pick("Enabled.", "Activé."),
        "replayed" => request.pick("Enabled. Queued to be sent again:", "Activé. Remis en file d’envoi :"),
        "queued" => request.pick("Queued to be sent again:", "Remis en file d’envoi :"),
        "removed" => request.pick("Removed.", "Supprimé."),
        "overlap-ended" => request.pick("The old secret has ended.", "L’ancien secret est révoqué."),
        _ => return Markup::default(),
    };
    let count = request.form.given("count").and_then(|count| count.parse::<u64>().ok());
    notice("done", &html! { p { (text) @if let Some(count) = count { " " (count) } } })
}
