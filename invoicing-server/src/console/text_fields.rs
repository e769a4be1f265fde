//! The texts of a record as inputs of its form.

use maud::{Markup, html};

use super::form::Form;
use super::inputs::{Input, InputKind, value};
use super::layout::notice;
use super::request::PageRequest;
use crate::error::Error;

/// A text in English and in French.
type Words = (&'static str, &'static str);

/// A text of a record, which may be missing.
pub(super) struct TextField<R> {
    /// The name that operations use.
    pub(super) name: &'static str,
    kind: InputKind,
    label: Words,
    hint: Words,
    text: fn(&mut R) -> &mut Option<String>,
}

impl<R> TextField<R> {
    /// A text of one line.
    pub(super) const fn new(
        name: &'static str,
        label: Words,
        text: fn(&mut R) -> &mut Option<String>,
    ) -> Self {
        Self { name, kind: InputKind::Text, label, hint: ("", ""), text }
    }

    /// A text of several lines.
    pub(super) const fn long(mut self) -> Self {
        self.kind = InputKind::Long;
        self
    }

    pub(super) const fn hint(mut self, english: &'static str, french: &'static str) -> Self {
        self.hint = (english, french);
        self
    }

    /// The input with the text of the record, or with the entered one if the page comes again.
    pub(super) fn show(&self, request: &PageRequest<'_>, record: &mut R, error: Option<&Error>) -> Markup {
        let shown = (self.text)(record).as_deref().unwrap_or_default();
        let (label, hint) = (self.label, self.hint);
        let input = Input {
            kind: self.kind,
            name: self.name,
            label: request.pick(label.0, label.1),
            value: value(request, self.name, shown),
            hint: request.pick(hint.0, hint.1),
        };
        html! { div { (input.show(request, error)) } }
    }

    /// Sets the text of the record to the entered one.
    pub(super) fn read(&self, form: &Form, record: &mut R) {
        // Browsers send the line breaks of a text as two characters.
        *(self.text)(record) = form.given(self.name).map(|text| text.replace("\r\n", "\n"));
    }
}

/// Texts of a record as a group of its form.
pub(super) fn fieldset<R>(
    request: &PageRequest<'_>,
    legend: &str,
    fields: &[TextField<R>],
    record: &mut R,
    error: Option<&Error>,
) -> Markup {
    html! {
        fieldset {
            legend { (legend) }
            div.fields { @for field in fields { (field.show(request, record, error)) } }
        }
    }
}

/// The notice of the form that has saved the record of a page.
pub(super) fn saved(request: &PageRequest<'_>) -> Markup {
    match request.form.text("done") {
        "saved" => notice("done", &html! { p { (request.pick("Saved.", "Enregistré.")) } }),
        _ => Markup::default(),
    }
}
