//! Reads an OpenAPI 3.1 document: its operations, events, components, and an example of each field.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

/// The methods of a path, in the order in which they are shown.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// A document, and the examples in it.
pub(super) struct Document<'d> {
    root: &'d Value,
    /// A value of each field of each component that is not `null`, by the names of both.
    examples: HashMap<(&'d str, &'d str), &'d Value>,
}

/// An operation, or the delivery of an event.
#[derive(Clone, Copy)]
pub(super) struct Operation<'d> {
    /// The method in upper case.
    pub(super) method: &'static str,
    /// The path of an operation, the name of an event.
    pub(super) path: &'d str,
    value: &'d Value,
}

/// A response of an operation.
pub(super) struct RecordedAnswer<'d> {
    pub(super) status: &'d str,
    pub(super) value: &'d Value,
}

impl<'d> Document<'d> {
    pub(super) fn new(root: &'d Value) -> Self {
        let mut document = Self { root, examples: HashMap::new() };
        let bodies: Vec<_> = document.operations().chain(document.events()).collect();
        for operation in bodies {
            let answers = operation.answers(&document).into_iter().map(|answer| answer.value);
            for body in operation.body().into_iter().chain(answers) {
                if let (Some(schema), Some(example)) = (schema_of(body), example_of(body)) {
                    document.learn(schema, example);
                }
            }
        }
        document
    }

    /// Keeps the example of each field.
    fn learn(&mut self, schema: &'d Value, example: &'d Value) {
        for alternative in ["oneOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
            self.learn(alternative, example);
        }
        for item in example.as_array().into_iter().flatten() {
            self.learn(&schema["items"], item);
        }
        let Some(name) = component_name(schema) else { return };
        for (field, of) in self.fields(name) {
            if let Some(value) = example.get(field).filter(|value| !value.is_null()) {
                self.examples.entry((name, field)).or_insert(value);
                self.learn(of, value);
            }
        }
    }

    /// An example of a field, if the field is a plain value.
    pub(super) fn example(&self, component: &str, field: &str) -> Option<&'d Value> {
        let example = self.examples.get(&(component, field)).copied();
        example.filter(|value| !value.is_object() && !value.is_array())
    }

    /// A text of the document: `["info", "title"]`.
    pub(super) fn text(&self, path: &[&str]) -> &'d str {
        path.iter().fold(self.root, |value, key| &value[key]).as_str().unwrap_or_default()
    }

    /// The URL of the service.
    pub(super) fn base_url(&self) -> &'d str {
        self.root["servers"][0]["url"].as_str().unwrap_or_default()
    }

    /// The target of a reference, or the value itself.
    pub(super) fn resolve(&self, value: &'d Value) -> &'d Value {
        let target = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        target.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(value)
    }

    /// The tags that operations are grouped by.
    pub(super) fn tags(&self) -> impl Iterator<Item = &'d Value> {
        self.root["tags"].as_array().into_iter().flatten()
    }

    pub(super) fn operations(&self) -> impl Iterator<Item = Operation<'d>> + use<'d> {
        operations(&self.root["paths"])
    }

    pub(super) fn events(&self) -> impl Iterator<Item = Operation<'d>> + use<'d> {
        operations(&self.root["webhooks"])
    }

    /// The components of a section, by name.
    pub(super) fn components(&self, section: &str) -> impl Iterator<Item = (&'d str, &'d Value)> + use<'d> {
        members(&self.root["components"][section])
    }

    /// The schema of this name.
    pub(super) fn schema(&self, name: &str) -> &'d Value {
        &self.root["components"]["schemas"][name]
    }

    /// The fields of a component.
    pub(super) fn fields(&self, component: &str) -> impl Iterator<Item = (&'d str, &'d Value)> + use<'d> {
        members(&self.schema(component)["properties"])
    }

    /// The schemas that other schemas refer to.
    pub(super) fn nested_schemas(&self) -> impl Iterator<Item = (&'d str, &'d Value)> + use<'d> {
        let mut names = BTreeSet::new();
        self.components("schemas").for_each(|(_, schema)| collect_names(schema, &mut names));
        self.components("schemas").filter(move |(name, _)| names.contains(name))
    }
}

impl<'d> Operation<'d> {
    pub(super) fn text(&self, key: &str) -> &'d str {
        self.value[key].as_str().unwrap_or_default()
    }

    pub(super) fn id(&self) -> &'d str {
        self.text("operationId")
    }

    pub(super) fn has_tag(&self, tag: &str) -> bool {
        self.value["tags"].as_array().into_iter().flatten().any(|name| name == tag)
    }

    /// True if a request needs a key.
    pub(super) fn needs_key(&self) -> bool {
        self.value["security"].as_array().is_some_and(|schemes| !schemes.is_empty())
    }

    pub(super) fn parameters(&self, document: &Document<'d>) -> Vec<&'d Value> {
        let parameters = self.value["parameters"].as_array().into_iter().flatten();
        parameters.map(|parameter| document.resolve(parameter)).collect()
    }

    /// The body that is sent.
    pub(super) fn body(&self) -> Option<&'d Value> {
        self.value.get("requestBody")
    }

    pub(super) fn answers(&self, document: &Document<'d>) -> Vec<RecordedAnswer<'d>> {
        let answers = members(&self.value["responses"]);
        answers.map(|(status, value)| RecordedAnswer { status, value: document.resolve(value) }).collect()
    }
}

impl<'d> RecordedAnswer<'d> {
    /// True if the response is an error. A class of statuses, such as `4XX`, is none.
    pub(super) fn is_error(&self) -> bool {
        self.status.parse().is_ok_and(|status: u16| status >= 400)
    }

    /// The error codes that the response may have, with an example of each.
    pub(super) fn codes(&self) -> impl Iterator<Item = (&'d str, &'d Value)> + use<'d> {
        let examples = content_of(self.value).map(|content| members(&content["examples"]));
        examples.into_iter().flatten().map(|(code, example)| (code, &example["value"]))
    }
}

fn operations(paths: &Value) -> impl Iterator<Item = Operation<'_>> {
    members(paths).flat_map(|(path, item)| {
        let operation = move |method: &'static str| item.get(method).map(|value| (method, value));
        METHODS.into_iter().filter_map(operation).map(move |(method, value)| Operation {
            method,
            path,
            value,
        })
    })
}

/// The members of an object; none of another value.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

/// The first content of a body.
fn content_of(body: &Value) -> Option<&Value> {
    members(&body["content"]).map(|(_, content)| content).next()
}

/// The media type of a body.
pub(super) fn media_type(body: &Value) -> Option<&str> {
    members(&body["content"]).map(|(media_type, _)| media_type).next()
}

pub(super) fn schema_of(body: &Value) -> Option<&Value> {
    content_of(body)?.get("schema")
}

/// The recorded example of a body.
pub(super) fn example_of(body: &Value) -> Option<&Value> {
    content_of(body)?.get("example").filter(|example| !example.is_null())
}

/// The name of the schema that a reference names.
pub(super) fn component_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

fn collect_names<'d>(value: &'d Value, names: &mut BTreeSet<&'d str>) {
    names.extend(component_name(value));
    let below = value.as_object().into_iter().flat_map(Map::values);
    below.chain(value.as_array().into_iter().flatten()).for_each(|value| collect_names(value, names));
}
