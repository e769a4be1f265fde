//! The operations of the paths.

use serde_json::{Map, Value, json};

use super::endpoints::{AnswerSpec, ContentSpec, Description, Link, describe};
use super::headers::{self, Header};
use super::schema::component;
use super::{errors, examples, parameters};
use crate::api::routes::{Endpoint, Route};

/// The operation of a route.
pub(super) fn operation(route: &Route) -> Value {
    let endpoint = route.endpoint;
    let Description { id, tag, summary, text, body, answers, links } = describe(endpoint);
    let mut responses: Map<_, _> = answers
        .iter()
        .map(|answer| (answer.status.as_str().to_owned(), answer.response(endpoint, id)))
        .collect();
    for response in responses.values_mut().filter(|_| !links.is_empty()) {
        response["links"] =
            links.iter().map(|link| (link.to.to_owned(), link.object())).collect::<Map<_, _>>().into();
    }
    responses.extend(errors::responses(endpoint));
    let mut operation = json!({
        "operationId": id,
        "tags": [tag.name()],
        "summary": summary,
        "description": text,
        "security": if endpoint.needs_key() { json!([{"apiKey": []}]) } else { json!([]) },
        "parameters": parameters::of(route),
    });
    if let Some(schema) = body {
        operation["requestBody"] = request_body(id, schema);
    }
    operation["responses"] = responses.into();
    operation
}

fn request_body(id: &str, schema: &str) -> Value {
    let content = json!({"schema": component("schemas", schema), "example": examples::request(id)});
    json!({
        "required": true,
        "description": "JSON in UTF-8, at most {{body_kib}} KiB.",
        "content": {"application/json": content},
    })
}

impl Link {
    fn object(&self) -> Value {
        let (parameter, value) = self.parameter;
        json!({"operationId": self.to, "parameters": {parameter: value}})
    }
}

impl AnswerSpec {
    fn response(&self, endpoint: Endpoint, id: &str) -> Value {
        let cache = if matches!(endpoint, Endpoint::OpenApi | Endpoint::Docs) {
            Header::NoCache
        } else {
            Header::NoStore
        };
        let mut response = json!({"description": self.text, "headers": headers::of(self.headers, cache)});
        let content = match self.content {
            ContentSpec::None => return response,
            ContentSpec::Json(schema) => {
                let example = examples::response(id, self.status.as_u16());
                json!({"application/json": {"schema": component("schemas", schema), "example": example}})
            }
            ContentSpec::AnyJson => json!({"application/json": {"schema": {"type": "object"}}}),
            ContentSpec::Html => json!({"text/html": {"schema": {"type": "string"}}}),
            ContentSpec::Pdf => {
                json!({"application/pdf": {"schema": {"type": "string", "format": "binary"}}})
            }
        };
        response["content"] = content;
        response
    }
}
