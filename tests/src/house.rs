//! Rules of the repository that no compiler keeps: the length of the README, and that a statement is a text that can be
//! searched for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files_below;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources below a folder, each with its path from there.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut files = files_below(folder);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let named = |file: &PathBuf| {
        let name = file.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(file).unwrap())
    };
    files.iter().map(named).collect()
}

#[test]
fn the_readme_has_at_most_140_lines() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 140, "{lines} lines");
}

/// The type of a statement is `&'static str`. These files alone hand the driver a text of another type: the begin of a transaction
/// is one message with its ids in it, as a message of several statements takes no arguments, and a copy names tables.
const WITHOUT_THAT_TYPE: [&str; 3] = ["copy/source.rs", "copy/target.rs", "store/connection/postgres.rs"];

#[test]
fn statements_are_constants() {
    let mut sources = sources(&root().join("invoicing-server/src"));
    sources.retain(|(name, _)| !name.ends_with("tests.rs"));
    let before_tests = |text: &str| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let assembled = sources.iter().filter(|(_, text)| before_tests(text).contains("AssertSqlSafe"));
    assert_eq!(assembled.map(|(name, _)| &**name).collect::<Vec<_>>(), WITHOUT_THAT_TYPE);
    // No other way makes a static text at run time, but one: the statements of each kind of document, which are made from
    // constants alone, and printed beside.
    let made = sources.iter().filter(|(_, text)| before_tests(text).contains("leak()"));
    assert_eq!(made.map(|(name, _)| &**name).collect::<Vec<_>>(), ["store/documents/statements.rs"]);
}

/// Browsers refuse addresses that they do not know as one, such as `léa@exemple.fr`, before the server sees them.
///
/// Rules: SIGN-16
#[test]
fn no_input_has_the_type_email() {
    for (name, text) in sources(&root().join("invoicing-server/src/console")) {
        assert!(!text.contains("type=\"email\""), "{name}");
    }
}

/// The service names each of its own refusals, so that the pages have words for it. The open one is for hosts.
#[test]
fn no_crate_refuses_by_a_rule_of_the_host() {
    let mut found = Vec::new();
    for krate in ["invoicing-core", "invoicing-client", "invoicing-server", "webhook-verify"] {
        for (name, text) in sources(&root().join(krate).join("src")) {
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let lines = code.lines().filter(|line| line.contains("OfHost(") || line.contains("of_host("));
            found.extend(lines.map(|line| format!("{krate}/{name}: {}", line.trim())));
        }
    }
    found.retain(|line| !line.contains("/tests.rs: "));
    let named = ["invoicing-core/error.rs", "invoicing-core/error.rs", "invoicing-core/refusal.rs"];
    let files: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(files, [&named[..], &["invoicing-server/console/refusals/rules.rs"]].concat(), "{found:#?}");
}
