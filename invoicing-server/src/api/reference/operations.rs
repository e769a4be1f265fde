//! The chapters of the API: each operation with its parameters, bodies, answers, errors and
//! requests in code.

use maud::{Markup, html};
use serde_json::Value;

use super::content::{ReferencePage, heading};
use super::document::{Operation, RecordedAnswer, example_of, media_type, schema_of};
use super::{code, errors, records};

/// The operations of a chapter, as a table.
pub(super) fn overview(operations: &[Operation<'_>]) -> Markup {
    html! {
        ul.overview {
            @for operation in operations {
                li { a href={ "#" (operation.id()) } { (route(operation)) span { (operation.text("summary")) } } }
            }
        }
    }
}

/// An operation.
pub(super) fn render<'d>(page: &ReferencePage<'d>, operation: &Operation<'d>) -> Markup {
    html! {
        section.operation aria-labelledby=(operation.id()) {
            (heading(operation.id(), operation.text("summary")))
            div.columns {
                div.about {
                    p.route { (route(operation)) }
                    (page.links.render(operation.text("description")))
                    p.access { (access(operation)) }
                    (parameters(page, operation))
                    (request_body(page, operation))
                    (answers(page, operation))
                    (errors::of_operation(page, operation))
                }
                div.examples {
                    (code::snippets("Request", |language| language.request(operation.id())))
                    (examples(page, operation))
                }
            }
        }
    }
}

/// Method and path.
fn route(operation: &Operation<'_>) -> Markup {
    html! {
        span.method.{ (operation.method) } { (operation.method.to_ascii_uppercase()) } " "
        code { (operation.path) }
    }
}

fn access(operation: &Operation<'_>) -> &'static str {
    if operation.needs_key() {
        "Needs a key, and counts in its quota."
    } else {
        "Needs no key, and counts in no quota."
    }
}

fn parameters<'d>(page: &ReferencePage<'d>, operation: &Operation<'d>) -> Markup {
    let parameters = operation.parameters(&page.document);
    if parameters.is_empty() {
        return Markup::default();
    }
    html! {
        h4 { "Parameters" }
        (records::table("Parameter", parameters.iter().map(|parameter| records::FieldRow {
            name: parameter["name"].as_str().unwrap_or_default(),
            schema: &parameter["schema"],
            description: parameter["description"].as_str().unwrap_or_default(),
            remarks: remarks(parameter),
            example: parameter.get("example"),
        }), page))
    }
}

/// The place of a parameter, and whether it is optional.
fn remarks(parameter: &Value) -> Vec<String> {
    let place = parameter["in"].as_str().unwrap_or_default().to_owned();
    let required = if parameter["required"] == true { "required" } else { "optional" };
    vec![place, required.to_owned()]
}

fn request_body<'d>(page: &ReferencePage<'d>, operation: &Operation<'d>) -> Markup {
    let Some(body) = operation.body() else { return Markup::default() };
    html! {
        h4 { "Body" }
        (page.links.render(body["description"].as_str().unwrap_or_default()))
        @if let Some(schema) = schema_of(body) { (records::body(page, schema)) }
    }
}

fn answers<'d>(page: &ReferencePage<'d>, operation: &Operation<'d>) -> Markup {
    html! {
        h4 { "Answers" }
        @for answer in operation.answers(&page.document).iter().filter(|answer| !answer.is_error()) {
            (render_answer(page, answer))
        }
    }
}

fn render_answer<'d>(page: &ReferencePage<'d>, answer: &RecordedAnswer<'d>) -> Markup {
    let is_json = media_type(answer.value) == Some("application/json");
    html! {
        p.answer {
            span.status { (answer.status) } " "
            (page.links.render_inline(answer.value["description"].as_str().unwrap_or_default()))
        }
        @if let Some(schema) = schema_of(answer.value).filter(|_| is_json) {
            details {
                summary { "Fields" span.unseen { " of the answer " (answer.status) } }
                (records::body(page, schema))
            }
        }
    }
}

/// The bodies that were recorded.
fn examples<'d>(page: &ReferencePage<'d>, operation: &Operation<'d>) -> Markup {
    let answers = operation.answers(&page.document);
    let recorded = answers.iter().filter_map(|answer| Some((answer.status, example_of(answer.value)?)));
    html! {
        @if let Some(example) = operation.body().and_then(example_of) {
            (code::json("Body", example))
        }
        @for (status, example) in recorded {
            (code::json(&format!("Answer {status}"), example))
        }
    }
}
