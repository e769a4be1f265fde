//! The chapter of the events: each with its headers, its payload, and the delivery as it arrives.

use chrono::DateTime;
use maud::{Markup, html};
use serde_json::Value;
use webhook_verify::Signer;

use super::content::{ReferencePage, heading};
use super::document::{Operation, example_of, schema_of};
use super::{code, records};
use crate::snippets::Language;

/// The secret that signs the deliveries of this page. Made up: it has signed no other delivery.
const SECRET: &str = "whsec_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// The id of the section of an event.
pub(super) fn id(event: &str) -> String {
    format!("event-{event}")
}

/// The list of the events, with their summaries.
pub(super) fn overview(events: &[Operation<'_>]) -> Markup {
    html! {
        p { "What the service sends to a webhook. " a href="#webhooks" { "Webhooks" } " says how to receive it." }
        ul.overview {
            @for event in events {
                li { a href={ "#" (id(event.path)) } { code { (event.path) } span { (event.text("summary")) } } }
            }
        }
    }
}

/// An event.
pub(super) fn render<'d>(page: &ReferencePage<'d>, event: &Operation<'d>) -> Markup {
    let example = event.body().and_then(example_of);
    html! {
        section.operation aria-labelledby=(id(event.path)) {
            (heading(&id(event.path), event.path))
            div.columns {
                div.about {
                    p.lead { (event.text("summary")) }
                    (page.links.render(event.text("description")))
                    (fields(page, event))
                    (headers(page, event))
                    (answers(page, event))
                }
                div.examples {
                    @if let Some(example) = example {
                        (code::json("Payload", example))
                        (as_it_arrives(page, event, example))
                    }
                    (code::snippets("Verify it", Language::verification))
                }
            }
        }
    }
}

fn fields<'d>(page: &ReferencePage<'d>, event: &Operation<'d>) -> Markup {
    html! {
        h4 { "Body" }
        @if let Some(schema) = event.body().and_then(schema_of) { (records::fields_of(page, schema)) }
    }
}

fn headers<'d>(page: &ReferencePage<'d>, event: &Operation<'d>) -> Markup {
    let headers = event.parameters(&page.document);
    let rows = headers.iter().map(|header| records::FieldRow {
        name: header["name"].as_str().unwrap_or_default(),
        schema: &header["schema"],
        description: header["description"].as_str().unwrap_or_default(),
        remarks: Vec::new(),
        example: None,
    });
    html! {
        details {
            summary { "Headers" span.unseen { " of " (event.path) } }
            (records::table("Header", rows, page))
        }
    }
}

/// The answers of a receiver.
fn answers<'d>(page: &ReferencePage<'d>, event: &Operation<'d>) -> Markup {
    html! {
        h4 { "Your answer" }
        @for answer in event.answers(&page.document) {
            p.answer {
                span.status { (answer.status) } " "
                (page.links.render_inline(answer.value["description"].as_str().unwrap_or_default()))
            }
        }
    }
}

/// The delivery, byte for byte, with a signature that can be computed again.
fn as_it_arrives<'d>(page: &ReferencePage<'d>, event: &Operation<'d>, example: &Value) -> Markup {
    let body = example.to_string();
    let sent_at = example["timestamp"].as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    let signer = Signer::new(SECRET).expect("the secret is not empty");
    let signature = signer.sign(sent_at.map_or(0, |at| at.timestamp()), body.as_bytes());
    let headers = event.parameters(&page.document);
    let headers = headers.iter().filter_map(|header| {
        let name = header["name"].as_str()?;
        let is_signature = name.ends_with("-Signature");
        let value = if is_signature { signature.as_str() } else { header["example"].as_str()? };
        Some(format!("{name}: {value}\n"))
    });
    let headers: String = headers.collect();
    html! {
        details {
            summary { "As it arrives" span.unseen { ": " (event.path) } }
            p { "Signed with the secret " code { (SECRET) } ", so that you can compute the signature again." }
            (code::plain("Delivery", &format!("POST /hook HTTP/1.1\nContent-Type: application/json\n{headers}\n{body}")))
        }
    }
}
