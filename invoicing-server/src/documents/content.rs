//! The texts of a document in French, in reading order, each with the field that it was entered in.
//!
//! `view` is the data of a document of any kind. The PDF sets these texts in type and the signing
//! page shows them as HTML, so both have the same texts. `header`, `line_table`, `totals`,
//! `payment`, `legal_notices` and `signature` hold the texts of the parts, `french` writes numbers
//! and dates, and `sanitize` decides which characters are printed. This module has neither fonts
//! nor markup.

#[cfg(test)]
#[cfg(feature = "pdf")]
pub(crate) mod fixtures;
pub(crate) mod french;
pub(crate) mod header;
pub(crate) mod legal_notices;
pub(crate) mod line_groups;
pub(crate) mod line_table;
pub(crate) mod payment;
pub(in crate::documents) mod sanitize;
pub(crate) mod signature;
pub(crate) mod totals;
pub(crate) mod vat_display;
pub(crate) mod view;

use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "console")]
pub(crate) use self::sanitize::visible;
use self::view::DocumentView;

/// The field that a text was entered in, for error messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    /// No field: the text is part of the template.
    Own,
    /// A field of the quote, the company or the client.
    Named(&'static str),
    /// A field, behind a label of the template.
    Labelled(&'static str, &'static str),
    /// A field of this line.
    Line(usize, &'static str),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("document"),
            Self::Named(name) | Self::Labelled(name, _) => f.write_str(name),
            Self::Line(index, name) => write!(f, "lines[{index}].{name}"),
        }
    }
}

impl Field {
    /// The part of a text that was entered.
    pub(in crate::documents) fn entered(self, text: &str) -> &str {
        match self {
            Self::Labelled(_, label) => text.strip_prefix(label).unwrap_or(text),
            _ => text,
        }
    }
}

/// A text of a document.
#[derive(Debug, Clone)]
pub(crate) struct Text<'a> {
    pub(in crate::documents) field: Field,
    pub(crate) text: Cow<'a, str>,
}

impl<'a> Text<'a> {
    /// A text of the template.
    fn own(text: impl Into<Cow<'a, str>>) -> Self {
        Self { field: Field::Own, text: text.into() }
    }

    /// A text that was entered in a field.
    fn of(name: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { field: Field::Named(name), text: text.into() }
    }

    /// A label, and the text that was entered in a field.
    fn labelled(name: &'static str, label: &'static str, value: &str) -> Self {
        Self { field: Field::Labelled(name, label), text: format!("{label}{value}").into() }
    }

    /// A text that was entered in a field of a line.
    fn of_line(line: usize, name: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { field: Field::Line(line, name), text: text.into() }
    }

    /// The field and the text, for the renderer.
    pub(in crate::documents) fn entry(&self) -> (Field, &str) {
        (self.field, &self.text)
    }
}

/// `Devis DEV-2026-0042 — Atelier Léa Martin`: the footer of every page, and the head of every page
/// but the first.
pub(crate) fn running_title(view: &DocumentView<'_>) -> String {
    format!("{} — {}", header::title(view), view.company.name)
}
