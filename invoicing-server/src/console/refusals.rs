//! The reasons why an input or an operation is refused, in the language of the reader and with the
//! names of fields on the pages.
//!
//! Operations word their refusals for programs. Each sentence that a page can lead to has a text
//! for people here, in English and in French. `{}` stands for a part of the sentence.

mod sentences;

use invoicing_core::{Conflict, Invalid};

use self::sentences::{CONFLICTS, FIELDS, PARTS, RULES, Sentence};
use super::Language;
use crate::error::Error;

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
        Some(filled(language, language.pick(english, french), &parts))
    })
}

/// A text with a part in each of its open places. A number is written as in forms.
fn filled(language: Language, template: &str, parts: &[&str]) -> String {
    let (mut pieces, mut parts) = (template.split('{'), parts.iter());
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |filled, piece| {
        let part = parts.next().copied().unwrap_or_default();
        if let Some(rest) = piece.strip_prefix("#}") {
            return filled + &part.replace('.', language.pick(".", ",")) + rest;
        }
        filled + part + piece.strip_prefix('}').unwrap_or(piece)
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

    use invoicing_core::{CreditRest, Invoice, Money, NewCreditNote};

    use super::*;
    use crate::TargetPolicy;
    use crate::console::figures::Figures;

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

    const EMPTY_INVOICE: &str = r#"{
        "id": "018f0000-0000-7000-8000-000000000001", "number": "FAC-2026-0001", "status": "SENT", "type": "STANDARD",
        "quoteId": null, "amountCredited": 0, "amountWrittenOff": 0, "retentionDue": 0, "deductions": [], "creditNotes": [],
        "clientId": "018f0000-0000-7000-8000-000000000002", "clientName": "x", "clientEmail": null,
        "issueDate": "2026-09-14", "dueDate": "2026-10-14", "totalHT": 0, "totalTTC": 0, "tvaRate": 20,
        "currency": "EUR", "retentionRate": 0, "retentionAmount": 0, "amountPaid": 0, "amountDue": 0,
        "amountOverpaid": 0, "paidAt": null, "canceledAt": null, "createdAt": "2026-09-14T09:41:07.000Z",
        "updatedAt": "2026-09-14T09:41:07.000Z", "vatBreakdown": [{"tvaRate": 20, "baseHT": 0, "amountTVA": 0}],
        "lines": [{
            "description": "x", "quantity": 0, "unit": null, "unitPrice": 1, "totalHT": 0, "tvaRate": 20, "lot": null,
            "section": null
        }]
    }"#;

    /// The operations that pages call.
    const OPERATIONS: [&str; 9] = [
        include_str!("../operations/conversion.rs"),
        include_str!("../operations/freezing.rs"),
        include_str!("../operations/invoices/crediting.rs"),
        include_str!("../operations/invoices/payments.rs"),
        include_str!("../operations/keys.rs"),
        include_str!("../operations/webhooks.rs"),
        include_str!("../operations/webhooks/deliveries.rs"),
        include_str!("../operations/quotes/links.rs"),
        include_str!("../store/expected.rs"),
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
        assert!(all.len() >= 8, "{all:?}");
        for text in all {
            for language in BOTH {
                assert!(told(language, CONFLICTS, &text).is_some(), "{text}");
            }
        }
    }

    /// The refusals of numbers.
    fn refused_numbers() -> Vec<Invalid> {
        let texts = ["", "x", "1.2345", "99999999999999"];
        let entered = Figures::new(Language::French, "EUR").read::<Money>("1.500").unwrap_err();
        texts.iter().map(|text| text.parse::<Money>().unwrap_err()).chain([entered]).collect()
    }

    /// The refusals of credit notes on an invoice of which nothing is left.
    fn refused_credits() -> Vec<Invalid> {
        let invoice: Invoice = serde_json::from_str(EMPTY_INVOICE).unwrap();
        let new = || NewCreditNote::new("x");
        let inputs = [
            NewCreditNote::new(""),
            new(),
            NewCreditNote::of_the_rest("x"),
            NewCreditNote::of_the_rest("x").quantity(0, 1),
            new().quantity(0, 1),
            new().quantity(1, 1),
            new().reduction("x", 10, 1),
            new().reduction("x", 20, 0),
            new().reduction("x", 20, 1),
        ];
        inputs.map(|new| CreditRest::of(&invoice).credit(&invoice, &new).unwrap_err()).to_vec()
    }

    #[test]
    fn every_refusal_of_an_amount_or_a_credit_is_told_in_both_languages() {
        for refused in refused_numbers().into_iter().chain(refused_credits()) {
            for language in BOTH {
                assert!(told(language, RULES, &refused.rule).is_some(), "{refused}");
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
