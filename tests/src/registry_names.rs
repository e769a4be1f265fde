//! No text of the repository leads to the registry under the name of a crate of ours. The crates are not published, and
//! another author has published a `webhook-verify`: a person who follows such a link, or runs such a command, gets that one.
//!
//! A requirement by version is written for the time after the first release. Its line says `once published`, and names the
//! crate as the registry will: the receiver as `invoicing-webhook-verify`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files_below;

/// The crates that a program may depend on, by their names in the repository and in the registry.
const CRATES: [&str; 5] =
    ["invoicing-client", "invoicing-core", "invoicing-server", "invoicing-webhook-verify", ANOTHER_AUTHORS];
/// It is not ours in the registry, and will not be.
const ANOTHER_AUTHORS: &str = "webhook-verify";
/// Sites on which a path or a parameter names a crate.
const SITES: [&str; 6] = ["docs.rs", "crates.io", "lib.rs", "shields.io", "deps.rs", "crates.live"];
/// Folders with data that other programs have made.
const SKIPPED: [&str; 3] = ["data", "vectors", "corpus"];

/// True if the line leads to the registry's crate with this name.
fn leads_to_registry(line: &str, name: &str) -> bool {
    let names = [name.to_owned(), name.replace('-', "_")];
    let is_named =
        |word: &str| names.iter().any(|name| word.split(|c| !is_of_name(c)).any(|part| part == name));
    let by_link = SITES.iter().any(|site| {
        let site = format!("{site}/");
        let addresses = line.match_indices(&site).map(|(at, _)| &line[at..]);
        addresses.filter_map(|address| address.split([' ', ')', '>', '"', '`']).next()).any(is_named)
    });
    let by_command = ["add", "install"].iter().any(|command| {
        let command = format!("cargo {command} ");
        let arguments = line.split(&command).skip(1);
        arguments.filter_map(|arguments| arguments.split('`').next()).any(|arguments| {
            is_named(arguments) && !arguments.contains("--git ") && !arguments.contains("--path ")
        })
    });
    // `webhook-verify = "0.1"`, and the same as a table.
    let by_version =
        line.trim_start_matches([' ', '/', '!', '#', '*']).split_once('=').is_some_and(|(key, value)| {
            let is_version = value.trim_start().starts_with('"') || value.contains("version");
            let package = value.split("package = \"").nth(1).and_then(|package| package.split('"').next());
            let is_later = name != ANOTHER_AUTHORS && line.contains("once published");
            package.unwrap_or(key.trim()) == name
                && is_version
                && !is_later
                && !value.contains("path =")
                && !value.contains("git =")
        });
    by_link || by_command || by_version
}

/// True if the name of a crate may have this character.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// The files that people read or copy from, below a folder.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let is_read = |file: &Path| {
        let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let mut places = file.strip_prefix(folder).expect("a file below it").iter();
        ["md", "rs", "toml", "html", "txt", "yml"].contains(&kind)
            && !places.any(|place| SKIPPED.iter().any(|name| place == *name))
    };
    let mut files = files_below(folder);
    files.retain(|file| is_read(file));
    files
}

#[test]
fn no_text_leads_to_a_crate_of_another_author() {
    let files = documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    assert!(files.len() > 500 && files.iter().any(|file| file.ends_with("webhook-verify/README.md")));
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with(file!())) {
        let Ok(text) = fs::read_to_string(file) else { continue };
        for (number, line) in text.lines().enumerate() {
            if CRATES.iter().any(|name| leads_to_registry(line, name)) {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn links_commands_and_requirements_are_found() {
    for line in [
        "[documentation](https://docs.rs/webhook-verify) describes",
        "<https://docs.rs/webhook-verify/latest/webhook_verify/>",
        "documentation = \"https://docs.rs/webhook_verify\"",
        "[![crate](https://img.shields.io/crates/v/webhook-verify.svg)](https://crates.io/crates/webhook-verify)",
        "$ cargo add webhook-verify",
        "by `cargo add --features axum webhook-verify@0.1`",
        "cargo install webhook-verify",
        "webhook-verify = \"0.1\"",
        "webhook-verify = \"0.1\" # once published",
        "//! webhook-verify = { version = \"0.1\", features = [\"axum\"] }",
        "receiver = { package = \"webhook-verify\", version = \"0.1\" } # once published",
    ] {
        assert!(leads_to_registry(line, "webhook-verify"), "{line}");
    }
    for line in [
        "cargo add invoicing-webhook-verify # once published",
        "invoicing-webhook-verify = \"0.1\"",
        "webhook-verify = { package = \"invoicing-webhook-verify\", version = \"0.1\" }",
    ] {
        assert!(leads_to_registry(line, "invoicing-webhook-verify"), "{line}");
    }
    for line in [
        "[documentation](webhook-verify/src/lib.rs) describes",
        "[`metrics`](https://docs.rs/metrics), which webhook-verify has not",
        "https://docs.rs/webhook-verify-more",
        "cargo test -p webhook-verify",
        "cargo add --git https://example.com/invoicing webhook-verify",
        "webhook-verify = { path = \"webhook-verify\", version = \"0.1.0\" }",
        "webhook-verify = { workspace = true, features = [\"axum\"] }",
        "webhook-verify = { git = \"https://example.com/invoicing\", version = \"0.1\" }",
        "invoicing-webhook-verify = \"0.1\" # once published",
        "webhook-verify = { package = \"invoicing-webhook-verify\", version = \"0.1\" } # once published",
    ] {
        assert!(CRATES.iter().all(|name| !leads_to_registry(line, name)), "{line}");
    }
}
