//! Examples that the tests record from a running service with a fixed clock and seed.

use std::sync::LazyLock;

use invoicing_core::ErrorCode;
use serde_json::Value;

static RECORDED: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("examples.json")).expect("the recorded examples are JSON")
});

/// The body of a response of an operation.
pub(super) fn response(operation: &str, status: u16) -> Value {
    recorded(&["responses", operation, &status.to_string()])
}

/// The body of a request of an operation.
pub(super) fn request(operation: &str) -> Value {
    recorded(&["requests", operation])
}

/// The body of an error.
pub(super) fn error(code: &ErrorCode) -> Value {
    recorded(&["errors", code.as_str()])
}

/// The body of a delivery.
pub(super) fn event(event: &str) -> Value {
    recorded(&["events", event, "body"])
}

/// A header of a delivery.
pub(super) fn event_header(event: &str, name: &str) -> Value {
    recorded(&["events", event, "headers", name])
}

/// The recorded value at a path. `null` if none was recorded; then a test fails.
fn recorded(path: &[&str]) -> Value {
    path.iter().fold(&*RECORDED, |value, name| &value[name]).clone()
}
