//! Inputs of forms: with their labels, hints and errors, and the values that they send.

use chrono::NaiveDate;
use invoicing_core::{Invalid, Rule};
use maud::{Markup, html};

use super::figures::{Figures, FormNumber};
use super::form::Form;
use super::layout::{entered, is_about, problem, wrong};
use super::request::PageRequest;
use crate::error::Error;

/// The client's order number, by the name that operations use.
pub(super) const ORDER_NUMBER: &str = "orderNumber";

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    Text,
    /// Several lines of text.
    Long,
    Number,
    Date,
}

/// An input of a form. Its id follows from its name, which is the one that operations use.
pub(super) struct Input<'i> {
    pub(super) kind: InputKind,
    pub(super) name: &'i str,
    pub(super) label: &'i str,
    pub(super) value: &'i str,
    /// Empty if there is none.
    pub(super) hint: &'i str,
}

impl Input<'_> {
    /// The input with its label, its error and its hint.
    pub(super) fn show(&self, request: &PageRequest<'_>, error: Option<&Error>) -> Markup {
        let id = id(self.name);
        let described_by = described_by(&id, is_about(error, self.name), !self.hint.is_empty());
        let invalid = is_about(error, self.name).then_some("true");
        html! {
            label for=(id) { (self.label) }
            @if self.kind == InputKind::Long {
                textarea id=(id) name=(self.name) rows="3" aria-invalid=[invalid] aria-describedby=[described_by] { (self.value) }
            } @else {
                input id=(id) name=(self.name) type=(self.html_type()) inputmode=[self.keyboard()] value=(self.value)
                    autocomplete="off" aria-invalid=[invalid] aria-describedby=[described_by];
            }
            (wrong(request.language, error, self.name, &id))
            @if !self.hint.is_empty() { p.hint id={ (id) "-hint" } { (self.hint) } }
        }
    }

    /// A number is a text, as browsers would refuse a comma or a point by their own language.
    fn html_type(&self) -> &'static str {
        if self.kind == InputKind::Date { "date" } else { "text" }
    }

    fn keyboard(&self) -> Option<&'static str> {
        (self.kind == InputKind::Number).then_some("decimal")
    }
}

/// A choice of one value.
pub(super) struct Choice<'i> {
    pub(super) name: &'i str,
    pub(super) label: &'i str,
    /// The values, each with its words.
    pub(super) options: &'i [(&'i str, &'i str)],
    pub(super) chosen: &'i str,
}

impl Choice<'_> {
    /// The choice with its label and its error.
    pub(super) fn show(&self, request: &PageRequest<'_>, error: Option<&Error>) -> Markup {
        let (id, is_wrong) = (id(self.name), is_about(error, self.name));
        html! {
            label for=(id) { (self.label) }
            select id=(id) name=(self.name) aria-invalid=[is_wrong.then_some("true")]
                aria-describedby=[described_by(&id, is_wrong, false)] {
                @for (value, words) in self.options {
                    option value=(value) selected[self.chosen == *value] { (words) }
                }
            }
            (wrong(request.language, error, self.name, &id))
        }
    }
}

fn order_number_label<'t>(request: &'t PageRequest<'_>) -> &'t str {
    request.pick("The client’s order number", "Numéro de commande du client")
}

/// The client's order number among the facts of a record.
pub(super) fn order_number_fact(request: &PageRequest<'_>, number: Option<&str>) -> Markup {
    html! {
        @if let Some(number) = number { div { dt { (order_number_label(request)) } dd { (entered(number)) } } }
    }
}

/// The input of the client's order number.
pub(super) fn order_number(request: &PageRequest<'_>, stored: &str, error: Option<&Error>) -> Markup {
    let input = Input {
        kind: InputKind::Text,
        name: ORDER_NUMBER,
        label: order_number_label(request),
        value: value(request, ORDER_NUMBER, stored),
        hint: request.pick("If the client has given one", "Si le client en a donné un"),
    };
    input.show(request, error)
}

/// The id of an input: `lines[0].unit` is `lines-0-unit`.
pub(super) fn id(name: &str) -> String {
    name.replace("].", "-").replace(['[', '.'], "-")
}

fn described_by(id: &str, is_wrong: bool, has_hint: bool) -> Option<String> {
    let texts = [is_wrong.then(|| format!("{id}-wrong")), has_hint.then(|| format!("{id}-hint"))];
    let texts: Vec<_> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// The error of a form, above it, with a link to its input if that has one of these names.
pub(super) fn problem_of(request: &PageRequest<'_>, error: Option<&Error>, names: &[&str]) -> Markup {
    let name = names.iter().find(|name| is_about(error, name));
    let (name, id) = name.map_or(("", String::new()), |name| (*name, id(name)));
    problem(request.language, error, &[(name, &id)])
}

/// The value of an input: the entered one if the page comes again, else `shown`.
pub(super) fn value<'r>(request: &'r PageRequest<'_>, name: &str, shown: &'r str) -> &'r str {
    request.entered().map_or(shown, |form| form.text(name))
}

/// A number as the reader writes it.
pub(super) fn written(request: &PageRequest<'_>, number: &impl ToString) -> String {
    request.figures().written(number)
}

/// The date in a field; `None` if it is empty.
pub(super) fn date(form: &Form, name: &'static str) -> Result<Option<NaiveDate>, Invalid> {
    let Some(day) = form.given(name) else { return Ok(None) };
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d");
    day.map(Some).map_err(|_| Invalid::new(name, Rule::Date))
}

/// The number in a field, as its page writes numbers.
pub(super) fn number<T: FormNumber>(figures: Figures<'_>, form: &Form, name: &str) -> Result<T, Invalid> {
    figures.read(form.text(name)).map_err(|invalid| invalid.in_field(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use invoicing_core::{Money, money};

    use super::*;
    use crate::console::Language;

    #[test]
    fn an_error_of_a_number_is_that_of_its_field() {
        let amount = |text: &str| {
            let form = Form::query(&format!("amount={text}"));
            number::<Money>(Figures::new(Language::French, "EUR"), &form, "amount")
        };
        assert_eq!(amount("1 234,50"), Ok(money!(1_234.50)));
        for text in ["", "1.500", "1,005"] {
            assert_eq!(amount(text).unwrap_err().field, "amount", "{text}");
        }
    }

    #[test]
    fn a_date_may_be_left_out() {
        let day = |query: &str| date(&Form::query(query), "dueDate");
        assert_eq!((day(""), day("dueDate=")), (Ok(None), Ok(None)));
        assert_eq!(day("dueDate=2026-09-14"), Ok(NaiveDate::from_ymd_opt(2026, 9, 14)));
        assert!(day("dueDate=14/09/2026").is_err());
    }

    #[test]
    fn an_input_is_described_by_its_error_and_its_hint() {
        assert_eq!(id("lines[0].unit"), "lines-0-unit");
        assert_eq!(id("billingAddress.city"), "billingAddress-city");
        assert_eq!(described_by("a", true, true).as_deref(), Some("a-wrong a-hint"));
        assert_eq!(described_by("a", false, false), None);
    }
}
