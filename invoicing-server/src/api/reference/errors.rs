//! The errors, and the headers of answers.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde_json::Value;

use super::content::ReferencePage;
use super::document::{Document, Operation, members};

static NOTHING: Value = Value::Null;

/// An error that answers may have.
pub(super) struct ErrorCode<'d> {
    pub(super) code: &'d str,
    status: &'d str,
    /// The recorded body.
    body: &'d Value,
    description: &'d str,
}

/// The id of the row of an error.
pub(super) fn id(code: &str) -> String {
    format!("error-{code}")
}

/// Every error of every operation, by status.
pub(super) fn all<'d>(document: &Document<'d>) -> Vec<ErrorCode<'d>> {
    let mut found = BTreeMap::new();
    for operation in document.operations() {
        for answer in operation.answers(document).iter().filter(|answer| answer.is_error()) {
            for (code, body) in answer.codes() {
                let description = describe(document, code, answer.value);
                found.entry((answer.status, code)).or_insert(ErrorCode {
                    code,
                    status: answer.status,
                    body,
                    description,
                });
            }
        }
    }
    // An error of no operation: each path can answer with it.
    let (status, code) = ("405", "method_not_allowed");
    let description = describe(document, code, &NOTHING);
    found.entry((status, code)).or_insert(ErrorCode { code, status, body: &NOTHING, description });
    found.into_values().collect()
}

/// The condition of an error: the condition of its code, or of the answer, which then has a single
/// code.
fn describe<'d>(document: &Document<'d>, code: &str, answer: &'d Value) -> &'d str {
    let words = &document.schema("ErrorCode")["anyOf"][0]["x-enumDescriptions"];
    let of_answer = || answer["description"].as_str().unwrap_or_default();
    words[code].as_str().unwrap_or_else(of_answer)
}

/// The table of the errors.
pub(super) fn codes(page: &ReferencePage<'_>) -> Markup {
    html! {
        div.scroll {
            table.fields {
                thead { tr { th scope="col" { "Code" } th scope="col" { "When" } } }
                tbody {
                    @for error in all(&page.document) {
                        tr id=(id(error.code)) {
                            th scope="row" { code { (error.code) } br; span.status { (error.status) } }
                            td {
                                (page.links.render(error.description))
                                @if error.body.is_object() { p.example { code { (error.body.to_string()) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The errors of an operation.
pub(super) fn of_operation<'d>(page: &ReferencePage<'d>, operation: &Operation<'d>) -> Markup {
    let answers = operation.answers(&page.document);
    html! {
        h4 { "Errors" }
        ul.errors {
            @for answer in answers.iter().filter(|answer| answer.is_error()) {
                li {
                    span.status { (answer.status) }
                    @for (code, _) in answer.codes() { " " a href={ "#" (id(code)) } { code { (code) } } }
                }
            }
        }
    }
}

/// The headers of answers.
pub(super) fn headers(page: &ReferencePage<'_>) -> Markup {
    let document = &page.document;
    let answers = document.operations().flat_map(|operation| operation.answers(document));
    let mut found: Vec<(&str, &Value)> = Vec::new();
    for (name, header) in answers.flat_map(|answer| members(&answer.value["headers"])) {
        let header = document.resolve(header);
        if !found.contains(&(name, header)) {
            found.push((name, header));
        }
    }
    html! {
        div.scroll {
            table {
                thead { tr { th scope="col" { "Header" } th scope="col" { "Meaning" } } }
                tbody {
                    @for (name, header) in found {
                        tr {
                            th scope="row" { code { (name) } }
                            td { (page.links.render_inline(header["description"].as_str().unwrap_or_default())) }
                        }
                    }
                }
            }
        }
    }
}
