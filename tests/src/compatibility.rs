//! The gate against breaking changes: compares the description of the API with the one that was released last.
//!
//! Version 1 only grows. Requests of callers must stay acceptable, and answers must stay as they were promised. A change that
//! breaks this needs an entry with a reason in `openapi.allowed.json`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Which side writes a value: it may accept more of what callers send, and send less than it did, never the reverse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    ByCaller,
    ByService,
}

/// Keywords of a schema that only let through what is not below, and what is not above.
const LOWER: [&str; 3] = ["minimum", "minLength", "minItems"];
const UPPER: [&str; 3] = ["maximum", "maxLength", "maxItems"];
/// Keywords that combine schemas.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Two documents, and the breaking changes from one to the other.
struct Comparison<'d> {
    released: &'d Value,
    current: &'d Value,
    changes: Vec<String>,
}

/// Each breaking change from a released description to the current one, as one line.
fn breaking_changes(released: &Value, current: &Value) -> Vec<String> {
    let mut comparison = Comparison { released, current, changes: Vec::new() };
    for (section, written) in [("paths", Written::ByCaller), ("webhooks", Written::ByService)] {
        for (name, item) in members(&released[section]) {
            for (method, operation) in members(item) {
                let at = format!("{} {name}", method.to_uppercase());
                comparison.operation(&at, operation, &current[section][name][method], written);
            }
        }
    }
    comparison.changes
}

impl Comparison<'_> {
    fn note(&mut self, at: &str, change: &str) {
        self.changes.push(format!("{at}: {change}"));
    }

    /// An operation, whose requests are written by this side.
    fn operation(&mut self, at: &str, released: &Value, current: &Value, request: Written) {
        if current.is_null() {
            return self.note(at, "removed");
        }
        for name in ["operationId", "security"] {
            if released[name] != current[name] {
                self.note(at, &format!("{name} changed"));
            }
        }
        self.parameters(at, released, current, request);
        self.request_body(at, &released["requestBody"], &current["requestBody"], request);
        self.responses(at, &released["responses"], &current["responses"]);
    }

    fn parameters(&mut self, at: &str, released: &Value, current: &Value, written: Written) {
        let key = |parameter: &Value| (parameter["in"].clone(), parameter["name"].clone());
        let find = |all: &'_ Value, wanted: &Value| items(all).find(|one| key(one) == key(wanted)).cloned();
        for parameter in items(&released["parameters"]) {
            let at = format!("{at} {}", text(&parameter["name"]));
            match find(&current["parameters"], parameter) {
                None => self.note(&at, "removed"),
                Some(now) => {
                    self.schema(&at, &parameter["schema"], &now["schema"], written);
                    self.presence(&at, parameter["required"] == true, now["required"] == true, written);
                }
            }
        }
        for parameter in items(&current["parameters"]) {
            let is_new = find(&released["parameters"], parameter).is_none();
            if is_new && written == Written::ByCaller && parameter["required"] == true {
                self.note(&format!("{at} {}", text(&parameter["name"])), "newly required");
            }
        }
    }

    /// Whether something is always there.
    fn presence(&mut self, at: &str, released: bool, current: bool, written: Written) {
        match (written, released, current) {
            (Written::ByCaller, false, true) => self.note(at, "newly required"),
            (Written::ByService, true, false) => self.note(at, "newly optional"),
            _ => {}
        }
    }

    fn request_body(&mut self, at: &str, released: &Value, current: &Value, written: Written) {
        self.presence(
            &format!("{at} body"),
            released["required"] == true,
            current["required"] == true,
            written,
        );
        for (media, content) in members(&released["content"]) {
            let at = format!("{at} body");
            match &current["content"][media] {
                Value::Null => self.note(&at, &format!("{media} removed")),
                now => self.schema(&at, &content["schema"], &now["schema"], written),
            }
        }
    }

    /// A caller may have a way of its own for each status, and for each code of an error.
    fn responses(&mut self, at: &str, released: &Value, current: &Value) {
        for (status, response) in members(released) {
            let at = format!("{at} {status}");
            let (response, now) = (resolve(self.released, response), resolve(self.current, &current[status]));
            if now.is_null() {
                self.note(&at, "removed");
                continue;
            }
            for (name, header) in members(&response["headers"]) {
                self.response_header(&format!("{at} {name}"), header, &now["headers"][name]);
            }
            for (media, content) in members(&response["content"]) {
                self.response_content(&at, media, content, &now["content"][media]);
            }
        }
    }

    fn response_header(&mut self, at: &str, released: &Value, current: &Value) {
        if current.is_null() {
            return self.note(at, "removed");
        }
        let (released, current) = (resolve(self.released, released), resolve(self.current, current));
        self.presence(at, released["required"] == true, current["required"] == true, Written::ByService);
        self.schema(at, &released["schema"], &current["schema"], Written::ByService);
    }

    /// The examples of an error are named by its codes.
    fn response_content(&mut self, at: &str, media: &str, released: &Value, current: &Value) {
        if current.is_null() {
            return self.note(at, &format!("{media} removed"));
        }
        for (code, _) in members(&released["examples"]) {
            if current["examples"][code].is_null() {
                self.note(at, &format!("{code} removed"));
            }
        }
        self.schema(at, &released["schema"], &current["schema"], Written::ByService);
    }

    fn schema(&mut self, at: &str, released: &Value, current: &Value, written: Written) {
        let (released, current) = (resolve(self.released, released), resolve(self.current, current));
        // The side that must accept all that the other one writes.
        let (written_before, accepted_now) = match written {
            Written::ByCaller => (released, current),
            Written::ByService => (current, released),
        };
        if !is_within(types(written_before), types(accepted_now)) {
            self.note(at, "type changed");
        }
        if !is_within(words(written_before), words(accepted_now)) {
            self.note(at, "words changed");
        }
        self.limits(at, written_before, accepted_now);
        self.properties(at, released, current, written);
        if !released["items"].is_null() {
            self.schema(&format!("{at}[]"), &released["items"], &current["items"], written);
        }
        for name in CHOICES {
            self.choices(at, name, (&released[name], &current[name]), written);
        }
        let names: BTreeSet<_> = members(released).chain(members(current)).map(|(name, _)| name).collect();
        for name in names {
            if !is_compared(name) && released[name] != current[name] {
                self.note(at, &format!("{name} changed"));
            }
        }
    }

    /// One side accepts at least all values that the other one writes.
    fn limits(&mut self, at: &str, written: &Value, accepted: &Value) {
        let is_broken = |name: &str, is_beyond: fn(f64, f64) -> bool| match (
            written[name].as_f64(),
            accepted[name].as_f64(),
        ) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(written), Some(accepted)) => is_beyond(written, accepted),
        };
        let lower = LOWER.into_iter().filter(|name| is_broken(name, |written, accepted| written < accepted));
        let upper = UPPER.into_iter().filter(|name| is_broken(name, |written, accepted| written > accepted));
        for name in lower.chain(upper) {
            self.note(at, &format!("{name} changed"));
        }
        if !accepted["pattern"].is_null() && written["pattern"] != accepted["pattern"] {
            self.note(at, "pattern changed");
        }
    }

    fn properties(&mut self, at: &str, released: &Value, current: &Value, written: Written) {
        let required =
            |schema: &Value, name: &str| items(&schema["required"]).any(|required| required == name);
        for (name, property) in members(&released["properties"]) {
            let at = format!("{at}.{name}");
            match &current["properties"][name] {
                Value::Null => self.note(&at, "removed"),
                now => {
                    self.schema(&at, property, now, written);
                    self.presence(&at, required(released, name), required(current, name), written);
                }
            }
        }
        for (name, _) in members(&current["properties"]) {
            let is_new = released["properties"][name].is_null();
            if is_new && written == Written::ByCaller && required(current, name) {
                self.note(&format!("{at}.{name}"), "newly required");
            }
        }
    }

    /// The branches of a choice, before and now, in their order.
    fn choices(&mut self, at: &str, name: &str, (released, current): (&Value, &Value), written: Written) {
        if items(released).count() != items(current).count() {
            return self.note(at, &format!("{name} changed"));
        }
        // Beside any text, words are a promise of those that are there: it may grow.
        let is_open = items(released).any(|branch| *branch == json!({"type": "string"}));
        for (before, now) in items(released).zip(items(current)) {
            if is_open && !before["enum"].is_null() {
                self.open_words(at, before, now);
            } else {
                self.schema(at, before, now, written);
            }
        }
    }

    fn open_words(&mut self, at: &str, released: &Value, current: &Value) {
        if released["type"] != current["type"] {
            self.note(at, "type changed");
        }
        for word in items(&released["enum"]).filter(|word| !items(&current["enum"]).any(|now| now == *word)) {
            self.note(at, &format!("{} removed", text(word)));
        }
    }
}

/// Whether a keyword of a schema has a rule of its own, or is for humans. Any other may not change.
fn is_compared(name: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "type",
        "const",
        "enum",
        "pattern",
        "items",
        "properties",
        "required",
        "description",
        "example",
        "examples",
        "x-enumDescriptions",
    ];
    [&LOWER[..], &UPPER, &CHOICES, &OTHERS].concat().contains(&name)
}

/// The target of a reference.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
        None => value,
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The types of a schema; `None` if it has no limit.
fn types(schema: &Value) -> Option<BTreeSet<String>> {
    match &schema["type"] {
        Value::Null => None,
        Value::Array(types) => Some(types.iter().map(Value::to_string).collect()),
        one => Some([one.to_string()].into()),
    }
}

/// The words of a schema; `None` if it has no limit.
fn words(schema: &Value) -> Option<BTreeSet<String>> {
    match (&schema["const"], &schema["enum"]) {
        (Value::Null, Value::Null) => None,
        (Value::Null, words) => Some(items(words).map(Value::to_string).collect()),
        (word, _) => Some([word.to_string()].into()),
    }
}

/// Whether each written value is accepted. Without a limit, it is anything.
fn is_within(written: Option<BTreeSet<String>>, accepted: Option<BTreeSet<String>>) -> bool {
    match (written, accepted) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(written), Some(accepted)) => written.is_subset(&accepted),
    }
}

mod tests;
