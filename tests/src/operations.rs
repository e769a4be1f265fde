//! Holds the operations against the tests of older databases: each one is called there.

use std::fs;
use std::path::Path;

/// Whose methods a file of operations holds, by the names that callers give them.
const CALLERS: [(&str, &[&str]); 12] = [
    ("clients", &["clients"]),
    ("closing", &["company"]),
    ("companies", &["companies", "company"]),
    ("credit_notes", &["credit_notes"]),
    ("events", &["events"]),
    ("history", &["history"]),
    ("invoices", &["invoices"]),
    ("keys", &["keys"]),
    ("projects", &["projects"]),
    ("quotes", &["quotes"]),
    ("signing", &["signing_links"]),
    ("webhooks", &["webhooks"]),
];

/// The sources of a file or folder, one text.
fn text(path: &Path) -> String {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
        return entries.map(|path| text(&path)).collect();
    }
    fs::read_to_string(path).expect("a source")
}

#[test]
fn every_operation_is_called_on_a_database_of_an_earlier_version() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let operations = tests.with_file_name("invoicing-server").join("src/operations");
    let mut calls = text(&tests.join("released/operations.rs"));
    calls.retain(|character| !character.is_whitespace());
    for (file, callers) in CALLERS {
        let mut source = text(&operations.join(file).with_extension("rs"));
        if operations.join(file).is_dir() {
            source += &text(&operations.join(file));
        }
        let names = source.lines().filter_map(|line| line.strip_prefix("    pub async fn "));
        for name in names.map(|rest| &rest[..rest.find('(').expect("arguments")]) {
            let is_called = |caller: &&str| calls.contains(&format!("{caller}.{name}("));
            assert!(callers.iter().any(is_called), "released/operations.rs does not call {file}::{name}");
        }
    }
}
