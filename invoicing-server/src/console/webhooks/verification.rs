//! Code that verifies a delivery, in four languages.

use maud::{Markup, html};

use crate::console::request::PageRequest;
use crate::snippets::LANGUAGES;

/// The languages of the code, by the ids of the snippets.
const SHOWN: [&str; 4] = ["rs", "py", "ts", "php"];

/// Code for a receiver. The secret is no part of it, as code is often kept in places that are not
/// safe for secrets.
pub(super) fn snippets(request: &PageRequest<'_>) -> Markup {
    let languages = SHOWN.iter().filter_map(|id| LANGUAGES.iter().find(|language| language.id == *id));
    html! {
        h2 { (request.pick("Verify what arrives", "Vérifier ce qui arrive")) }
        p {
            (request.pick(
                "Give it the secret from the receiver’s settings, the header",
                "Donnez-lui le secret, tiré de la configuration du récepteur, l’en-tête",
            ))
            " " code { "X-Service-Signature" } " "
            (request.pick(
                "and the body as it came, before any parser.",
                "et le corps tel qu’il est arrivé, avant toute analyse.",
            ))
        }
        @for (language, code) in languages.filter_map(|language| Some((language.name, language.verification()?))) {
            details {
                summary { (language) }
                pre tabindex="0" { code { (code) } }
            }
        }
    }
}
