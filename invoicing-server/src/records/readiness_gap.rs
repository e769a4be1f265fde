//! Data that the issue of an invoice lacks.

use invoicing_core::Invalid;

/// A datum that the issue of an invoice would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadinessGap {
    /// The field to fill in or to change, in its wire spelling (`lines[3].tvaRate`).
    pub field: String,
    /// The rule, such as `BR-FR-10`; `TEXT` for a text that the document cannot show.
    pub rule: &'static str,
    /// The reason as an English sentence.
    pub english: String,
    /// The reason as a French sentence.
    pub french: String,
}

impl ReadinessGap {
    pub(crate) fn new(
        field: impl Into<String>,
        rule: &'static str,
        english: impl Into<String>,
        french: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), rule, english: english.into(), french: french.into() }
    }
}

impl From<Invalid> for ReadinessGap {
    fn from(Invalid { field, rule, .. }: Invalid) -> Self {
        let english = format!("{field} {rule}.");
        let french = "Le document ne peut pas imprimer cette saisie : un caractère manque aux polices, ou le texte est trop long.";
        Self::new(field, "TEXT", english, french)
    }
}
