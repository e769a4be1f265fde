//! The reasons why an input or an operation is refused, in the language of the reader and with the
//! names of fields on the pages.
//!
//! Operations word their refusals for programs. Each sentence that a page can lead to has a text
//! for people here, in English and in French. `{}` stands for a part that is taken over unchanged.

use invoicing_core::{Conflict, Invalid};

use super::Language;
use crate::Error;

/// A sentence of an operation, and its text for the reader in English and in French.
type Sentence = (&'static str, &'static str, &'static str);

/// The names of fields, by the names that operations use.
const FIELDS: &[Sentence] = &[
    ("url", "Address of the receiver", "Adresse du récepteur"),
    ("events", "Events", "Événements"),
    ("label", "Name", "Nom"),
    ("overlap", "Overlap", "Chevauchement"),
    ("since", "Since", "Depuis le"),
    ("last", "Period", "Période"),
    ("from", "From", "Depuis"),
    ("until", "Before", "Avant"),
    ("status", "State", "État"),
    ("kind", "Event", "Événement"),
    ("before", "Page", "Page"),
    ("q", "Search", "Recherche"),
    ("record", "Record", "Enregistrement"),
    ("validUntil", "Valid until", "Valable jusqu’au"),
    ("lines", "Lines", "Lignes"),
];

/// The parts of a line.
const PARTS: &[Sentence] = &[
    ("description", "description", "désignation"),
    ("unit", "unit", "unité"),
    ("lot", "lot", "lot"),
    ("section", "section", "section"),
];

/// The rules of fields.
const RULES: &[Sentence] = &[
    (
        "must have at most {} characters",
        "must have at most {} characters",
        "doit avoir au plus {} caractères",
    ),
    ("must have 1 to {} characters", "must have 1 to {} characters", "doit avoir de 1 à {} caractères"),
    (
        "must not contain {} (character {})",
        "must not contain {} (character {})",
        "ne doit pas contenir {} (caractère {})",
    ),
    (
        "must be an absolute URL such as https://example.com/hooks",
        "must be a whole address, such as https://example.com/hooks",
        "doit être une adresse complète, par exemple https://example.com/hooks",
    ),
    ("must start with https://{}", "must begin with https://", "doit commencer par https://"),
    (
        "must name a host, as in https://example.com/hooks",
        "must name a server, as in https://example.com/hooks",
        "doit nommer un serveur, comme dans https://example.com/hooks",
    ),
    (
        "must not contain a user name or password; {}",
        "must not contain a user name or a password",
        "ne doit contenir ni nom d’utilisateur ni mot de passe",
    ),
    (
        "must not contain a fragment {}",
        "must not contain a part behind #",
        "ne doit pas contenir de partie derrière #",
    ),
    (
        "must not use port {}, which {}",
        "must not use port {}, which is not one of the web",
        "ne doit pas utiliser le port {}, qui n’est pas un port du web",
    ),
    (
        "must lead to a public address, {}",
        "must lead to a public address, not to a private or local one",
        "doit mener à une adresse publique, et non privée ou locale",
    ),
    (
        "must name a host on the public internet, {}",
        "must name a server on the public internet, not a local one",
        "doit nommer un serveur public d’Internet, et non un serveur local",
    ),
    ("must name at least one event", "choose at least one", "choisissez-en au moins un"),
    ("must be one of {}", "is none of the choices", "ne figure pas parmi les choix"),
    ("must be 0 to 168 hours", "must be 0 to 168 hours", "doit être de 0 à 168 heures"),
    ("must be at most 7 days", "must be at most 7 days", "doit être de 7 jours au plus"),
    (
        "must be an instant with {}",
        "must be a date and a time, as the page before has sent it",
        "doit être une date et une heure, telles que la page précédente les a envoyées",
    ),
    (
        "must be such as 2026-09-14T09:41",
        "must be a date and a time, such as 2026-09-14T09:41",
        "doit être une date et une heure, par exemple 2026-09-14T09:41",
    ),
    (
        "must be what the page before has named",
        "must be reached from the page before",
        "doit être atteinte depuis la page précédente",
    ),
    ("must be an identifier", "must be an identifier", "doit être un identifiant"),
    (
        "must be a date such as 2026-09-14",
        "must be a date such as 2026-09-14",
        "doit être une date, par exemple 2026-09-14",
    ),
    ("must not be in the past", "must not be in the past", "ne doit pas être passé"),
    (
        "has {}, which no font of the document has",
        "has the character {}, which cannot be printed",
        "contient le caractère {}, qui ne s’imprime pas",
    ),
    ("take too long to print", "take too long to print", "sont trop longues à imprimer"),
    ("fill more than {} pages", "fill more than {} pages", "remplissent plus de {} pages"),
];

/// The reasons why the state of a record forbids an operation.
const CONFLICTS: &[Sentence] = &[
    (
        "the form was already carried out",
        "The form was sent before, and was carried out.",
        "Le formulaire a déjà été envoyé et traité.",
    ),
    (
        "a company has at most {} webhooks",
        "There are {} webhooks already, which is the most. Remove one first.",
        "Il y a déjà {} webhooks, ce qui est le maximum. Supprimez-en un d’abord.",
    ),
    (
        "the webhook is disabled; enable it first",
        "The webhook is disabled. Enable it first.",
        "Le webhook est désactivé. Activez-le d’abord.",
    ),
    (
        "an overlap is under way already; end it first",
        "The secret was just rotated, and the one before it still signs. End that one first.",
        "Le secret vient d’être renouvelé et le précédent signe encore. Révoquez d’abord celui-ci.",
    ),
    (
        "a webhook gets at most {} tests a minute; try again soon",
        "The webhook got {} tests within a minute, which is the most. Wait a moment, then send another one.",
        "Le webhook a reçu {} tests en une minute, ce qui est le maximum. Patientez un instant avant le suivant.",
    ),
    (
        "a company has at most {} active keys; revoke one first",
        "There are {} active keys already, which is the most. Revoke one first.",
        "Il y a déjà {} clés actives, ce qui est le maximum. Révoquez-en une d’abord.",
    ),
    (
        "a quote has at most {} good signing links; revoke one first",
        "The quote has {} good links already, which is the most. Revoke one first.",
        "Le devis a déjà {} liens valables, ce qui est le maximum. Révoquez-en un d’abord.",
    ),
    (
        "a quote without a document has no signing link; send it first",
        "The quote was not sent yet. Send it first, then make a link.",
        "Le devis n’est pas encore envoyé. Envoyez-le d’abord, puis créez un lien.",
    ),
    (
        "the signing links of the quote have ended",
        "The quote can no longer be signed, so no link can be made.",
        "Le devis ne peut plus être signé : aucun lien ne peut être créé.",
    ),
    (
        "a quote without lines cannot be sent",
        "The quote has no line yet. Add one, then send it.",
        "Le devis n’a pas encore de ligne. Ajoutez-en une, puis envoyez-le.",
    ),
    (
        "the quote's validity has ended",
        "The validity of the quote has ended.",
        "La validité du devis est dépassée.",
    ),
    (
        "a quote in {} cannot be {}",
        "The quote has changed meanwhile, and its state no longer allows this.",
        "Le devis a changé entre-temps, et son état ne le permet plus.",
    ),
    (
        "the quote was sent again since its document was shown",
        "The quote was sent again meanwhile. Open it again.",
        "Le devis a été renvoyé entre-temps. Rouvrez-le.",
    ),
    (
        "the webhook was changed meanwhile",
        "The webhook was changed meanwhile. Open it again.",
        "Le webhook a été modifié entre-temps. Rouvrez-le.",
    ),
    (
        "the quote was changed meanwhile",
        "The quote was changed meanwhile. Open it again.",
        "Le devis a été modifié entre-temps. Rouvrez-le.",
    ),
    (
        "the record keeps changing; try again",
        "The quote is being changed at this moment. Try again.",
        "Le devis est en cours de modification. Réessayez.",
    ),
];

/// The reason why a form is refused.
pub(super) fn error(language: Language, error: &Error) -> String {
    match error {
        Error::Invalid(refused) => invalid(language, refused),
        Error::Conflict(refused) => conflict(language, refused),
        error => error.to_string(),
    }
}

/// A rule that an input breaks, behind the name of its field.
pub(super) fn invalid(language: Language, invalid: &Invalid) -> String {
    let rule = told(language, RULES, &invalid.rule).unwrap_or_else(|| {
        language.pick(&invalid.rule, "n’est pas acceptable ; corrigez la saisie").to_owned()
    });
    format!("{}{} {rule}.", field(language, &invalid.field), language.pick(":", " :"))
}

/// The reason why the state of a record forbids an operation, as a whole sentence.
pub(super) fn conflict(language: Language, conflict: &Conflict) -> String {
    told(language, CONFLICTS, &conflict.message).unwrap_or_else(|| match language {
        Language::English => format!("{}.", conflict.message),
        Language::French => "L’état actuel ne le permet pas. Rouvrez la page, puis réessayez.".to_owned(),
    })
}

/// The name of a field, as the pages have it: `lines[2].unit` is the unit of line 3.
fn field(language: Language, field: &str) -> String {
    if let Some(name) = told(language, FIELDS, field) {
        return name;
    }
    let of_line = || {
        let (index, part) = field.strip_prefix("lines[")?.split_once("].")?;
        let number = index.parse::<usize>().ok()? + 1;
        let part = told(language, PARTS, part)?;
        Some(format!("{} {number}, {part}", language.pick("Line", "Ligne")))
    };
    of_line().unwrap_or_else(|| field.to_owned())
}

/// The sentence of a table for a text; `None` if the table lacks it.
fn told(language: Language, table: &[Sentence], text: &str) -> Option<String> {
    table.iter().find_map(|(pattern, english, french)| {
        let parts = parts(pattern, text)?;
        let template = language.pick(english, french);
        Some(parts.iter().fold(template.to_owned(), |filled, part| filled.replacen("{}", part, 1)))
    })
}

/// The part of a text in the place of each `{}` of a pattern; `None` if the text does not match.
fn parts<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut fixed = pattern.split("{}");
    let mut rest = text.strip_prefix(fixed.next()?)?;
    let mut parts = Vec::new();
    for next in fixed {
        let at = if next.is_empty() { rest.len() } else { rest.find(next)? };
        parts.push(&rest[..at]);
        rest = &rest[at + next.len()..];
    }
    rest.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::TargetPolicy;

    const BOTH: [Language; 2] = [Language::English, Language::French];

    #[test]
    fn a_pattern_takes_over_what_stands_for_its_holes() {
        assert_eq!(parts("at most {} lines", "at most 3 lines"), Some(vec!["3"]));
        assert_eq!(parts("{} of {}", "3 of a b"), Some(vec!["3", "a b"]));
        assert_eq!(parts("none", "none"), Some(vec![]));
        for (pattern, text) in [("none", "nones"), ("at most {} lines", "at most 3 line"), ("a {} b", "c")] {
            assert_eq!(parts(pattern, text), None, "{pattern} {text}");
        }
    }

    #[test]
    fn a_field_is_named_as_the_pages_name_it() {
        let text = |language, name: &str, rule: &str| {
            invalid(language, &Invalid::new(name.to_owned(), rule.to_owned()))
        };
        let long = "must have at most 255 characters";
        assert_eq!(text(Language::English, "label", long), "Name: must have at most 255 characters.");
        assert_eq!(text(Language::French, "label", long), "Nom : doit avoir au plus 255 caractères.");
        let glyph = "has U+E000, which no font of the document has";
        assert_eq!(
            text(Language::French, "lines[2].unit", glyph),
            "Ligne 3, unité : contient le caractère U+E000, qui ne s’imprime pas."
        );
    }

    #[test]
    fn no_sentence_of_a_table_is_hidden_by_one_before_it() {
        for table in [FIELDS, PARTS, RULES, CONFLICTS] {
            for (at, (pattern, ..)) in table.iter().enumerate() {
                let text = pattern.replace("{}", "7");
                assert_eq!(
                    table.iter().position(|(other, ..)| parts(other, &text).is_some()),
                    Some(at),
                    "{text}"
                );
            }
        }
    }

    /// The operations that pages call.
    const OPERATIONS: [&str; 5] = [
        include_str!("../operations/keys.rs"),
        include_str!("../operations/webhooks.rs"),
        include_str!("../operations/webhooks/deliveries.rs"),
        include_str!("../operations/quotes/freezing.rs"),
        include_str!("../operations/quotes/links.rs"),
    ];

    /// The texts of a source that begin behind a word, with `7` in each open place.
    fn texts(source: &str, word: &str) -> Vec<String> {
        let texts = source.split(word).skip(1).filter_map(|rest| {
            let (before, rest) = rest.split_once('"')?;
            let is_first = before.trim_start_matches("format!(").trim().is_empty();
            is_first.then(|| rest.split('"').next()).flatten()
        });
        let closed = |text: &str| {
            let mut pieces = text.split('{');
            let first = pieces.next().unwrap_or_default().to_owned();
            pieces.fold(first, |closed, piece| {
                closed + "7" + piece.split_once('}').map_or("", |(_, rest)| rest)
            })
        };
        texts.map(closed).collect()
    }

    #[test]
    fn every_conflict_of_an_operation_is_told_in_both_languages() {
        let all: Vec<_> = OPERATIONS.iter().flat_map(|source| texts(source, "Conflict::new(")).collect();
        assert!(all.len() >= 4, "{all:?}");
        for text in all {
            for language in BOTH {
                assert!(told(language, CONFLICTS, &text).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn every_refusal_of_an_address_is_told_in_both_languages() {
        let long = format!("https://example.com/{}", "x".repeat(3_000));
        let urls = [
            &*long,
            "",
            "x y",
            "ftp://example.com/",
            "https://",
            "https://a:b@example.com/",
            "https://example.com/#x",
            "https://example.com:25/",
            "https://127.0.0.1/",
            "https://localhost/",
            "https://intern/",
        ];
        let mut told = BTreeSet::new();
        for policy in [TargetPolicy::default(), TargetPolicy { allow_http: true, ..TargetPolicy::default() }]
        {
            for url in urls {
                let Err(error) = policy.parse(url) else { panic!("{url}") };
                let refused = Invalid::new("url", error.to_string());
                assert!(super::told(Language::French, RULES, &refused.rule).is_some(), "{refused}");
                for language in BOTH {
                    let text = invalid(language, &refused);
                    assert!(!text.contains("TargetPolicy") && !text.contains("url:"), "{text}");
                    told.insert(text);
                }
            }
        }
        assert!(told.len() >= 16, "{told:?}");
    }
}
