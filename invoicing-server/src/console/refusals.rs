//! The reasons why an input or an operation is refused, in the language of the reader and with the
//! names of fields on the pages.
//!
//! The texts of refusals are for programs. Each has words for people here, in English and in
//! French: a refusal without them does not compile.

mod conflicts;
mod fields;
mod rules;

use invoicing_core::{Conflict, Invalid};

use super::Language;
use crate::error::Error;

/// A text in the language of the reader.
macro_rules! told {
    ($language:expr, $english:literal, $french:literal) => {
        match $language {
            Language::English => format!($english),
            Language::French => format!($french),
        }
    };
}
use told;

/// The reason why a form is refused.
pub(super) fn error(language: Language, error: &Error) -> String {
    match error {
        Error::Invalid(refused) => invalid(language, refused),
        Error::Conflict(refused) => conflict(language, refused),
        error => error.to_string(),
    }
}

/// The name of a field on the pages.
pub(super) fn field(language: Language, name: &str) -> String {
    fields::name(language, name)
}

/// A rule that an input breaks, behind the name of its field.
pub(super) fn invalid(language: Language, Invalid { field, rule, .. }: &Invalid) -> String {
    let (field, colon) = (fields::name(language, field), language.pick(":", " :"));
    format!("{field}{colon} {}.", rules::words(language, rule))
}

/// The reason why the state of a record forbids an operation, as a whole sentence.
pub(super) fn conflict(language: Language, conflict: &Conflict) -> String {
    conflicts::words(language, &conflict.reason)
}

#[cfg(test)]
mod tests {
    use invoicing_core::{Rule, TargetError};

    use super::*;

    fn text(language: Language, field: &'static str, rule: impl Into<Rule>) -> String {
        invalid(language, &Invalid::new(field, rule))
    }

    #[test]
    fn a_field_is_named_as_the_pages_name_it() {
        let long = || Rule::AtMostCharacters { max: 255 };
        assert_eq!(text(Language::English, "label", long()), "Name: must have at most 255 characters.");
        assert_eq!(text(Language::French, "label", long()), "Nom : doit avoir au plus 255 caractères.");
        let glyph = Rule::NoGlyph { sign: "U+E000".to_owned(), position: 2 };
        assert_eq!(
            text(Language::French, "lines[2].unit", glyph),
            "Ligne 3, unité : contient le caractère U+E000 (caractère 2), qui ne s’imprime pas."
        );
        assert_eq!(text(Language::English, "x", Rule::Above0), "x: must be above 0.");
    }

    #[test]
    fn a_number_has_the_decimals_of_the_language() {
        let left = || Rule::MoreThanLeft { left: "12.50".to_owned() };
        assert!(text(Language::English, "items", left()).ends_with("of the invoice, 12.50."));
        assert!(text(Language::French, "items", left()).ends_with("de la facture, 12,50."));
    }

    #[test]
    fn the_rules_of_addresses_name_no_setting_of_the_host() {
        for error in [TargetError::NotHttps, TargetError::PrivateAddress, TargetError::LocalName] {
            assert!(error.to_string().contains("TargetPolicy"));
            for language in [Language::English, Language::French] {
                assert!(!text(language, "url", error).contains("TargetPolicy"), "{error}");
            }
        }
    }
}
