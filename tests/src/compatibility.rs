//! The gate against breaking changes: compares the description of the API with the one that was released last.
//!
//! Version 1 only grows. What a caller sends must stay acceptable, and what it reads must stay as it was promised. A change that
//! breaks this needs an entry with a reason in `openapi.allowed.json`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Which side writes a value: it may accept more of what callers send, and send less than it did, never the reverse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    ByCaller,
    ByService,
}

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
        if request == Written::ByCaller {
            self.responses(at, &released["responses"], &current["responses"]);
        }
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

    /// Errors are told by their status, which any request may get; successes are promised.
    fn responses(&mut self, at: &str, released: &Value, current: &Value) {
        for (status, response) in members(released) {
            let at = format!("{at} {status}");
            let (response, now) = (resolve(self.released, response), resolve(self.current, &current[status]));
            if now.is_null() {
                if status.starts_with('2') {
                    self.note(&at, "removed");
                }
                continue;
            }
            for (name, header) in members(&response["headers"]) {
                let at = format!("{at} {name}");
                match &now["headers"][name] {
                    Value::Null => self.note(&at, "removed"),
                    now => {
                        let (header, now) = (resolve(self.released, header), resolve(self.current, now));
                        self.presence(
                            &at,
                            header["required"] == true,
                            now["required"] == true,
                            Written::ByService,
                        );
                        self.schema(&at, &header["schema"], &now["schema"], Written::ByService);
                    }
                }
            }
            for (media, content) in members(&response["content"]) {
                match &now["content"][media] {
                    Value::Null => self.note(&at, &format!("{media} removed")),
                    now => self.schema(&at, &content["schema"], &now["schema"], Written::ByService),
                }
            }
        }
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
        if written == Written::ByCaller {
            self.limits(at, released, current);
        }
        if released["format"] != current["format"] {
            self.note(at, "format changed");
        }
        self.properties(at, released, current, written);
        if !released["items"].is_null() {
            self.schema(&format!("{at}[]"), &released["items"], &current["items"], written);
        }
        for name in ["anyOf", "oneOf"] {
            self.choices(at, &released[name], &current[name], written);
        }
    }

    /// What callers may send is not narrowed.
    fn limits(&mut self, at: &str, released: &Value, current: &Value) {
        let narrower = |name: &str, is_narrower: fn(f64, f64) -> bool| match (
            released[name].as_f64(),
            current[name].as_f64(),
        ) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(now)) => is_narrower(before, now),
        };
        let lower = ["minimum", "minLength", "minItems"]
            .into_iter()
            .filter(|name| narrower(name, |before, now| now > before));
        let upper = ["maximum", "maxLength", "maxItems"]
            .into_iter()
            .filter(|name| narrower(name, |before, now| now < before));
        let changed: Vec<_> = lower.chain(upper).collect();
        for name in changed {
            self.note(at, &format!("{name} narrowed"));
        }
        if !current["pattern"].is_null() && released["pattern"] != current["pattern"] {
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

    /// The branches of a choice, in their order.
    fn choices(&mut self, at: &str, released: &Value, current: &Value, written: Written) {
        let (before, now) = (items(released).count(), items(current).count());
        let is_broken = match written {
            Written::ByCaller => now < before,
            Written::ByService => now > before,
        };
        if is_broken {
            self.note(at, "choices changed");
        }
        let pairs: Vec<_> = items(released).cloned().zip(items(current).cloned()).collect();
        for (before, now) in pairs {
            // A set of words that is open to growth is only as good as its other branch, any text.
            if before["enum"].is_null() {
                self.schema(at, &before, &now, written);
            }
        }
    }
}

/// What a reference leads to.
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

/// The types of a schema; `None` where it has no limit.
fn types(schema: &Value) -> Option<BTreeSet<String>> {
    match &schema["type"] {
        Value::Null => None,
        Value::Array(types) => Some(types.iter().map(Value::to_string).collect()),
        one => Some([one.to_string()].into()),
    }
}

/// The words of a schema; `None` where it has no limit.
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
