//! The document of the API under validators and a linter that know nothing of the service.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::tools::{self, succeed};

/// The document as it is checked in. Another test compares it with the one that is served.
pub(crate) fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json")
}

pub(crate) fn read() -> Value {
    serde_json::from_slice(&fs::read(path()).unwrap()).unwrap()
}

/// The verdict of a tool on the document, and on the document with a mistake.
fn accepts_only_the_document(tool: impl Fn(&Path) -> Command, mistake: impl Fn(&mut Value)) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("openapi.json"), folder.path().join("broken.json"));
    let mut document = read();
    fs::write(&whole, document.to_string()).unwrap();
    mistake(&mut document);
    fs::write(&broken, document.to_string()).unwrap();
    succeed(&mut tool(&whole)).unwrap();
    assert!(succeed(&mut tool(&broken)).is_err(), "a mistake passes unseen");
}

fn misspell_a_type(document: &mut Value) {
    document["components"]["schemas"]["Pagination"]["properties"]["limit"]["type"] = json!("intger");
}

#[test]
fn a_validator_in_python_finds_no_fault() {
    let Some(python) = tools::python() else { return };
    let validate = |document: &Path| {
        let mut validator = python.program("openapi-spec-validator");
        validator.arg(document);
        validator
    };
    accepts_only_the_document(validate, misspell_a_type);
}

/// With the published JSON Schema of version 3.1, and its dialect for schemas.
#[test]
fn a_validator_in_javascript_finds_no_fault() {
    let Some(node) = tools::node() else { return };
    let validate = |document: &Path| {
        let mut validator = node.script(tools::file("node/validate.mjs"));
        validator.arg(node.packages().join("package.json")).arg(document);
        validator
    };
    accepts_only_the_document(validate, misspell_a_type);
}

/// Redocly's recommended rules, of which each is an error here. An example is compared with its schema.
#[test]
fn a_linter_finds_no_fault() {
    let Some(node) = tools::node() else { return };
    let lint = |document: &Path| {
        let mut linter = node.program("redocly");
        linter.args(["lint", "--extends=recommended-strict"]).arg(document);
        linter.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
        linter
    };
    accepts_only_the_document(lint, |document| {
        let event =
            &mut document["webhooks"]["quote.created"]["post"]["requestBody"]["content"]["application/json"];
        event["example"]["data"]["totalHT"] = json!("1200");
    });
}
