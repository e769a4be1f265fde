//! Schemas as tables: the fields of a record with type, meaning and example, and the words of a
//! state.

use maud::{Markup, html};
use serde_json::Value;

use super::content::ReferencePage;
use super::document::{component_name, members};

/// The id of the section of a schema.
pub(super) fn id(name: &str) -> String {
    format!("record-{name}")
}

/// A row of a table of fields or parameters.
pub(super) struct FieldRow<'d> {
    pub(super) name: &'d str,
    pub(super) schema: &'d Value,
    pub(super) description: &'d str,
    /// Remarks beside the type.
    pub(super) remarks: Vec<String>,
    pub(super) example: Option<&'d Value>,
}

/// A schema of this name, with its description.
pub(super) fn schema<'d>(page: &ReferencePage<'d>, name: &'d str) -> Markup {
    let schema = page.document.schema(name);
    html! {
        (page.links.render(schema["description"].as_str().unwrap_or_default()))
        @if schema["properties"].is_object() { (fields(page, name)) }
        @else { (words(page, schema)) }
    }
}

/// The fields of a body; empty if the body is no record.
pub(super) fn fields_of<'d>(page: &ReferencePage<'d>, body: &'d Value) -> Markup {
    component_name(body).map_or_else(Markup::default, |name| fields(page, name))
}

/// The schema of a body: its fields if it is a record.
pub(super) fn body<'d>(page: &ReferencePage<'d>, body: &'d Value) -> Markup {
    match component_name(body) {
        Some(name) => schema(page, name),
        None => Markup::default(),
    }
}

fn fields<'d>(page: &ReferencePage<'d>, name: &'d str) -> Markup {
    let required = &page.document.schema(name)["required"];
    let is_required = |field| required.as_array().is_some_and(|names| names.iter().any(|it| it == field));
    let rows = page.document.fields(name).map(|(field, of)| FieldRow {
        name: field,
        schema: of,
        description: of["description"].as_str().unwrap_or_default(),
        remarks: if is_required(field) { Vec::new() } else { vec!["may be left out".to_owned()] },
        // A constant is its own example.
        example: page.document.example(name, field).filter(|_| of.get("const").is_none()),
    });
    table("Field", rows, page)
}

/// A table of fields or parameters.
pub(super) fn table<'d>(
    what: &str,
    rows: impl Iterator<Item = FieldRow<'d>>,
    page: &ReferencePage<'d>,
) -> Markup {
    html! {
        div.scroll {
            table.fields {
                thead { tr { th scope="col" { (what) } th scope="col" { "Meaning" } } }
                tbody { @for row in rows { (row.render(page)) } }
            }
        }
    }
}

impl<'d> FieldRow<'d> {
    fn render(&self, page: &ReferencePage<'d>) -> Markup {
        let remarks: Vec<_> = self.remarks.iter().cloned().chain(limits(self.schema)).collect();
        html! {
            tr {
                th scope="row" {
                    code { (self.name) }
                    span.type { (type_of(self.schema)) }
                    @if !remarks.is_empty() { span.remark { (remarks.join(", ")) } }
                }
                td {
                    (page.links.render(self.description))
                    (inline_words(self.schema))
                    @if let Some(example) = self.example { p.example { "Example: " code { (shown(example)) } } }
                }
            }
        }
    }
}

/// A value in JSON.
fn shown(value: &Value) -> String {
    value.to_string()
}

/// The type of a value, in words.
fn type_of(schema: &Value) -> Markup {
    if let Some(name) = component_name(schema) {
        return html! { a href={ "#" (id(name)) } { (name) } };
    }
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array());
    if let Some(alternatives) = alternatives {
        return joined(alternatives.iter().map(type_of));
    }
    if let Some(constant) = schema.get("const") {
        return html! { code { (shown(constant)) } };
    }
    match &schema["type"] {
        Value::Array(names) => joined(names.iter().map(|name| named_type(name, schema))),
        name => named_type(name, schema),
    }
}

fn joined(types: impl Iterator<Item = Markup>) -> Markup {
    html! { @for (index, of) in types.enumerate() { @if index > 0 { " or " } (of) } }
}

fn named_type(name: &Value, schema: &Value) -> Markup {
    let format = schema["format"].as_str();
    match (name.as_str().unwrap_or_default(), format) {
        ("array", _) => html! { "list of " (type_of(&schema["items"])) },
        ("string", Some("date-time")) => html! { "instant" },
        ("string", Some(format @ ("date" | "uuid"))) => html! { (format) },
        ("string", _) => html! { "text" },
        (other, _) => html! { (other) },
    }
}

/// The limits of a value, in words.
fn limits(schema: &Value) -> Vec<String> {
    // The largest number of a type limits nothing in practice.
    let number = |key: &str| schema[key].as_i64().filter(|number| *number < i64::MAX);
    let characters = number("maxLength")
        .map(|max| format!("{} to {max} characters", number("minLength").unwrap_or_default()));
    let range = match (number("minimum"), number("maximum")) {
        (Some(least), Some(max)) => Some(format!("{least} to {max}")),
        (Some(least), None) if least != 0 => Some(format!("at least {least}")),
        _ => None,
    };
    let default = schema.get("default").map(|value| format!("default {}", word_of(value)));
    [characters, range, default].into_iter().flatten().collect()
}

/// The words of a value, if they are few and have no section.
fn inline_words(schema: &Value) -> Markup {
    let Some(words) = schema["enum"].as_array() else { return Markup::default() };
    html! {
        p.words {
            "One of "
            @for (index, word) in words.iter().enumerate() { @if index > 0 { ", " } code { (word_of(word)) } }
            "."
        }
    }
}

/// A word as it is written in a query; an empty one and `null` as in JSON.
fn word_of(word: &Value) -> String {
    match word.as_str() {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => shown(word),
    }
}

/// The words of a state, with their meanings.
fn words<'d>(page: &ReferencePage<'d>, schema: &'d Value) -> Markup {
    let described = schema["anyOf"].as_array().and_then(|alternatives| alternatives.first());
    let Some(words) = described.map(|words| &words["x-enumDescriptions"]).filter(|words| words.is_object())
    else {
        return inline_words(schema);
    };
    html! {
        div.scroll {
            table {
                thead { tr { th scope="col" { "Word" } th scope="col" { "Meaning" } } }
                tbody {
                    @for (word, text) in members(words) {
                        tr {
                            th scope="row" { code { (word) } }
                            td { (page.links.render_inline(text.as_str().unwrap_or_default())) }
                        }
                    }
                }
            }
        }
    }
}
