//! Data that a document lacks.

use invoicing_core::{Invalid, Rule};

/// A datum of a document that the law or the platforms ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadinessGap {
    /// The field to fill in or to change, in its wire spelling (`lines[3].tvaRate`).
    pub field: String,
    /// The article of law, or the rule of the platforms, such as `BR-FR-10`; `TEXT` for a text that
    /// the document cannot show.
    pub rule: &'static str,
    /// Refused or advised.
    pub level: GapLevel,
    /// The record that has the field.
    pub place: GapPlace,
    /// The reason as an English sentence.
    pub english: String,
    /// The reason as a French sentence.
    pub french: String,
}

/// The weight of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapLevel {
    /// The document is refused.
    Refused,
    /// The document is made all the same.
    Advised,
}

/// The record in which a gap is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapPlace {
    /// The company's legal data.
    Company,
    /// The client.
    Client,
    /// The quote, the invoice or the credit note.
    Document,
}

impl GapPlace {
    /// The record of a field of a document.
    pub(crate) fn of(field: &str) -> Self {
        match field {
            field if field.starts_with("company.") => Self::Company,
            field if field.starts_with("client") => Self::Client,
            _ => Self::Document,
        }
    }
}

impl ReadinessGap {
    /// A gap of a text that was entered.
    pub(crate) fn of_text(invalid: Invalid, rule: &'static str, english: String, french: &str) -> Self {
        let (level, place) = (GapLevel::Refused, GapPlace::of(&invalid.field));
        Self { field: invalid.field.into_owned(), rule, level, place, english, french: french.to_owned() }
    }
}

impl From<Invalid> for ReadinessGap {
    fn from(invalid: Invalid) -> Self {
        let english = format!("{} {}.", invalid.field, invalid.rule);
        let french = "Le document ne peut pas imprimer cette saisie : un caractère manque aux polices, ou le texte est trop long.";
        Self::of_text(invalid, "TEXT", english, french)
    }
}

impl From<ReadinessGap> for Invalid {
    fn from(gap: ReadinessGap) -> Self {
        // The rule of a refusal is the end of a sentence.
        let words = |text: &str| text.trim_end_matches('.').to_owned();
        let rule = Rule::Law { article: gap.rule, english: words(&gap.english), french: words(&gap.french) };
        Self::new(gap.field, rule)
    }
}
