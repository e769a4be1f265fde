//! The description of the API in `OpenAPI` 3.1: composed once, from the route table, the parsers'
//! parameters, the error codes and the event kinds, and served as bytes.
//!
//! [`endpoints`] describes each endpoint, [`parameters`], [`headers`] and [`errors`] their shared
//! parts, [`records`] and [`events`] the bodies, `guide.md` the rules in an integrator's words.
//! [`limits`] fills in the numbers. The composed document is checked in as `openapi.json`.

mod endpoints;
mod errors;
mod events;
mod examples;
mod headers;
mod invoices;
mod limits;
mod operations;
mod parameters;
mod records;
mod schema;

use http::{HeaderMap, header};
use serde_json::{Map, Value, json};

use self::endpoints::Tag;
use self::limits::fill;

use super::routes::ROUTES;
use crate::config::Settings;
use crate::http::fixed_response::FixedResponse;
use crate::http::response::JSON;

/// The document of a service with these settings, as it is served.
pub(super) fn render(settings: &Settings) -> FixedResponse {
    FixedResponse::new(text(&compose(settings)), HeaderMap::from_iter([(header::CONTENT_TYPE, JSON)]))
}

/// The text of a document, as it is served and checked in.
fn text(document: &Value) -> String {
    let text = serde_json::to_string_pretty(document).expect("a value of JSON is written to memory");
    text + "\n"
}

/// The document of a service with these settings.
pub(crate) fn compose(settings: &Settings) -> Value {
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "{{brand}} API",
            "version": "1.0.0",
            "summary": "Quotes, invoices, clients and signed webhooks for tradespeople.",
            "description": include_str!("openapi/guide.md"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "{{base_url}}", "description": "The service."}],
        "security": [{"apiKey": []}],
        "tags": tags(),
        "paths": paths(),
        "webhooks": events::webhooks(),
        "components": components(),
    });
    fill(&mut document, settings);
    document
}

fn tags() -> Vec<Value> {
    let webhooks = json!({
        "name": "Webhooks",
        "description": "What the service sends to you. The introduction says how to verify, answer and deduplicate.",
    });
    Tag::ALL.iter().map(|tag| tag.object()).chain([webhooks]).collect()
}

fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for route in ROUTES {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.as_str().to_ascii_lowercase()] = operations::operation(route);
    }
    paths
}

fn components() -> Value {
    let mut schemas = records::schemas();
    schemas.extend(invoices::schemas());
    schemas.extend(events::schemas());
    schemas.extend(errors::schemas());
    json!({
        "securitySchemes": {
            "apiKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "The key of a company, `isk_` and 43 characters: `Authorization: Bearer isk_…`. The scheme is read in any \
                                case.",
            },
        },
        "schemas": schemas,
        "responses": errors::components(),
        "headers": headers::components(),
    })
}
