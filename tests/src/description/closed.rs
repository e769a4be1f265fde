//! Closes the schemas of a description: what readers must tolerate is a fault in the service's own tests.

use serde_json::Value;

/// Forbids undescribed properties in each object schema, and undescribed words in each open set of words.
pub(super) fn close(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(close),
        Value::Object(members) => {
            if let Some(words) = open_words(members.get("anyOf")) {
                *value = words;
                return;
            }
            members.iter_mut().filter(|(name, _)| !is_data(name)).for_each(|(_, value)| close(value));
            if members.get("properties").is_some_and(Value::is_object) {
                members.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        _ => {}
    }
}

/// Examples are values, not schemas.
fn is_data(name: &str) -> bool {
    matches!(name, "example" | "examples")
}

/// The closed half of `anyOf: [{enum}, {type: string}]`.
fn open_words(any_of: Option<&Value>) -> Option<Value> {
    let [words, _] = any_of?.as_array()?.as_slice() else { return None };
    words.get("enum").is_some().then(|| words.clone())
}
