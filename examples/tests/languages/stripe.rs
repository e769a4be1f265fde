//! Stripe's official libraries on our deliveries: the signature header has the same form, and is made in the same way.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::process::Command;

use serde_json::{Value, json};
use webhook_verify::Signer;

use super::deliveries::{Delivery, Recorded};
use super::tools::{self, succeed_with};

#[test]
fn stripe_for_python_takes_genuine_deliveries_only() {
    let Some(python) = tools::python() else { return };
    let mut library = python.program("python");
    takes_genuine_deliveries_only(library.arg(tools::file("python/stripe_deliveries.py")));
}

#[test]
fn stripe_for_node_takes_genuine_deliveries_only() {
    let Some(node) = tools::node() else { return };
    let mut library = node.script(tools::file("node/stripe_deliveries.mjs"));
    takes_genuine_deliveries_only(library.arg(node.packages().join("package.json")));
}

/// Each delivery as it came, and changed on the way, too old, and signed by another sender.
fn takes_genuine_deliveries_only(library: &mut Command) {
    let Recorded { secret, deliveries } = Recorded::get();
    let mut asked = Vec::new();
    for Delivery { signature, body } in deliveries {
        let body = String::from_utf8(body.clone()).unwrap();
        let old = Signer::new(secret).unwrap().sign(Delivery::now() - 301, body.as_bytes());
        asked.push(json!({"secret": secret, "signature": signature, "body": body}));
        asked.push(json!({"secret": secret, "signature": signature, "body": format!("{body} ")}));
        asked.push(json!({"secret": secret, "signature": old.as_str(), "body": body}));
        asked.push(json!({"secret": "whsec_another", "signature": signature, "body": body}));
    }
    let told = succeed_with(library, Value::from(asked).to_string().as_bytes()).unwrap();
    let taken: Vec<Value> = serde_json::from_str(&told).unwrap();
    let expected: Vec<_> = deliveries
        .iter()
        .flat_map(|it| [it.json()["event"].clone(), Value::Null, Value::Null, Value::Null])
        .collect();
    assert_eq!(taken, expected);
}
