//! Holds answers and deliveries against the description of the API, with closed schemas: a property, a word, a header or a
//! status that it does not name is a fault.

mod closed;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use http::{HeaderMap, StatusCode};
use invoicing_server::ROUTES;
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use crate::world::Answer;

/// The description that is checked in, with closed schemas.
static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::closed(checked_in()));

/// The description that is checked in. Read and not compiled in, so that it can be written anew without another build.
fn checked_in() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let document = std::fs::read_to_string(path).expect("the description is checked in");
    serde_json::from_str(&document).expect("the description is JSON")
}

/// Headers that belong to HTTP and not to the API. In OpenAPI, the body describes `Content-Type`.
const OF_HTTP: [&str; 4] = ["content-type", "content-length", "connection", "host"];

/// A description, and the validators that were needed so far.
pub struct Description {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// Panics if an answer differs from the description.
pub fn check_answer(method: &str, path: &str, answer: &Answer) {
    if let Err(fault) = DESCRIPTION.answer(method, path, answer) {
        panic!("{method} {path}: {fault}: {} {:?} {}", answer.status, answer.headers, answer.json);
    }
}

/// Panics if the body of an error differs from the description. For answers whose request is not known: a server in
/// front of the API refuses some with an empty body, which is `null` here.
pub fn check_error(status: StatusCode, body: &Value) {
    if body.is_null() {
        return;
    }
    if let Err(fault) = DESCRIPTION.any_error(status, body) {
        panic!("{fault}: {status} {body}");
    }
}

/// How a delivery differs from the description.
pub fn check_delivery(headers: &HeaderMap, body: &Value) -> Result<(), String> {
    DESCRIPTION.delivery(headers, body)
}

impl Description {
    /// A description with closed schemas.
    pub fn closed(mut document: Value) -> Self {
        closed::close(&mut document);
        Self { document, validators: Mutex::default() }
    }

    /// Checks an answer to a request.
    pub fn answer(&self, method: &str, path: &str, answer: &Answer) -> Result<(), String> {
        let template = template(path);
        if method == "OPTIONS" && template.is_some() {
            let allows = answer.headers.contains_key("allow");
            return if answer.status == 204 && allows {
                Ok(())
            } else {
                Err("204 with Allow is due".to_owned())
            };
        }
        let routed = if method == "HEAD" { "GET" } else { method };
        let route = ROUTES.iter().find(|route| Some(route.path) == template && route.method == routed);
        let Some(route) = route else {
            return if method == "HEAD" && answer.bytes.is_empty() {
                refusal(answer.status)
            } else {
                self.any_error(answer.status, &answer.json)
            };
        };
        let operation = &self.document["paths"][route.path][routed.to_ascii_lowercase()];
        if operation.is_null() {
            return Err("the operation is not described".to_owned());
        }
        let response = self.resolved(&operation["responses"][answer.status.as_str()]);
        if response.is_null() {
            return Err("the status is not described".to_owned());
        }
        self.headers(&response["headers"], &answer.headers)?;
        let Some(content) = response.get("content") else {
            return if answer.bytes.is_empty() { Ok(()) } else { Err("no body is described".to_owned()) };
        };
        match content.get("application/json") {
            None => Ok(()),
            Some(_) if method == "HEAD" => Ok(()),
            Some(content) => self.body(&with_codes(content), &answer.json),
        }
    }

    /// Checks the body of an error.
    fn any_error(&self, status: StatusCode, body: &Value) -> Result<(), String> {
        refusal(status)?;
        let name = if status == StatusCode::TOO_MANY_REQUESTS { "TooManyRequests" } else { "Error" };
        self.body(&json!({"$ref": format!("#/components/schemas/{name}")}), body)
    }

    /// Checks the headers and the body of a delivery. The brand is that of its user agent.
    pub fn delivery(&self, headers: &HeaderMap, body: &Value) -> Result<(), String> {
        let event = body["event"].as_str().ok_or("no event")?;
        let operation = &self.document["webhooks"][event]["post"];
        if operation.is_null() {
            return Err(format!("the event {event} is not described"));
        }
        let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let brand = agent.strip_suffix("-Webhook/1.0").ok_or_else(|| format!("the user agent is {agent}"))?;
        let mut described = vec!["user-agent".to_owned()];
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default();
            if name != "User-Agent" {
                let name = name.replace("Service", brand);
                self.header(&name, parameter, headers)?;
                described.push(name);
            }
        }
        only_described(described.iter().map(String::as_str), headers)?;
        self.body(&operation["requestBody"]["content"]["application/json"]["schema"], body)
    }

    fn headers(&self, described: &Value, sent: &HeaderMap) -> Result<(), String> {
        let described = || described.as_object().into_iter().flatten();
        only_described(described().map(|(name, _)| &**name), sent)?;
        described().try_for_each(|(name, header)| self.header(name, self.resolved(header), sent))
    }

    fn header(&self, name: &str, described: &Value, sent: &HeaderMap) -> Result<(), String> {
        let Some(value) = sent.get(name) else {
            let required = described["required"] == true;
            return if required { Err(format!("the header {name} is missing")) } else { Ok(()) };
        };
        let text = value.to_str().map_err(|_| format!("the header {name} is no text"))?;
        let is_integer = described["schema"]["type"] == "integer";
        let value =
            if is_integer { text.parse::<u64>().map_or(text.into(), Value::from) } else { text.into() };
        self.body(&described["schema"], &value).map_err(|fault| format!("the header {name}: {fault}"))
    }

    fn body(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let validator = self.validator(schema);
        validator.validate(value).map_err(|error| format!("{error} at {}", error.instance_path()))
    }

    /// The validator of a schema, compiled once.
    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().expect("no panic");
        let compile = || {
            let mut schema = schema.clone();
            schema["components"] = json!({"schemas": self.document["components"]["schemas"]});
            let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
            Arc::new(options.build(&schema).expect("a schema"))
        };
        Arc::clone(validators.entry(schema.to_string()).or_insert_with(compile))
    }

    fn resolved<'d>(&'d self, value: &'d Value) -> &'d Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                self.document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null)
            }
            None => value,
        }
    }
}

/// A header that is sent has a description, or belongs to HTTP.
fn only_described<'n>(described: impl Iterator<Item = &'n str>, sent: &HeaderMap) -> Result<(), String> {
    let known: Vec<_> = described.chain(OF_HTTP).collect();
    let unknown =
        sent.keys().find(|name| !known.iter().any(|known| known.eq_ignore_ascii_case(name.as_str())));
    unknown.map_or(Ok(()), |name| Err(format!("the header {name} is not described")))
}

/// A request to no endpoint can only be refused.
fn refusal(status: StatusCode) -> Result<(), String> {
    let refused = status.is_client_error() || status.is_server_error();
    if refused { Ok(()) } else { Err("the route is not described".to_owned()) }
}

/// The schema of an error response, with exactly the codes that it has examples of.
fn with_codes(content: &Value) -> Value {
    let mut schema = content["schema"].clone();
    if let Some(examples) = content["examples"].as_object() {
        let codes: Vec<_> = examples.keys().collect();
        let code = json!({"properties": {"code": {"enum": codes}}});
        schema["properties"] = json!({"error": code, "code": code["properties"]["code"]});
    }
    schema
}

/// The path of a route that a request target leads to.
fn template(target: &str) -> Option<&'static str> {
    let path = target.split('?').next().unwrap_or_default();
    let fits = |template: &str| {
        let same = |(segment, given): (&str, &str)| {
            segment == given || (segment.starts_with('{') && !given.is_empty())
        };
        let (template, path) = (template.split('/'), path.split('/'));
        template.clone().count() == path.clone().count() && template.zip(path).all(same)
    };
    ROUTES.iter().map(|route| route.path).find(|template| fits(template))
}

#[cfg(test)]
mod tests;
