//! The blocks of code of the book.
//!
//! Rust is compiled as a doctest. [`HELD`] names for each page and other language the file of the test that reads the block
//! from the page, and runs or compares it. [`PARTS`] are copied from a program that the tests run. A command is held by a
//! test that runs it in another form, for instance on a free port: [`COMMANDS`] names the file and a text in it.

use std::fs;
use std::path::Path;

use super::page::{Block, Page};

/// Page, language, and the file that names the page.
const HELD: [(&str, &str, &str); 8] = [
    // The names in diagrams and arrows.
    ("docs/design.md", "mermaid", "tests/src/architecture/tests.rs"),
    ("docs/design.md", "arrows", "tests/src/arrows/tests.rs"),
    ("docs/integrate.md", "python", "tests/interop/check_sandbox.py"),
    ("docs/receive.md", "python", "tests/interop/check_sandbox.py"),
    ("docs/operate.md", "json", "tests/health.rs"),
    ("docs/operate.md", "sh", "tests/operations/book.rs"),
    ("docs/operate-postgresql.md", "sql", "tests/operations/book.rs"),
    ("docs/operate-reports.md", "sql", "tests/reports/documented.rs"),
];
/// Page, language, and the program that the tests run: the block is a part of it, but for the indentation.
const PARTS: [(&str, &str, &str); 1] =
    [("docs/integrate.md", "sh", "invoicing-server/reference/requests.sh")];
/// The beginning of a command, the file of the test that runs it, and a text of this file.
const COMMANDS: [(&str, &str, &str); 8] = [
    ("cargo run --example quickstart", ".ci/run", "cargo run --example quickstart"),
    // The tests start the program that it installs.
    (
        "cargo install --locked --git https://github.com/invoicing-rs/invoicing invoicing-sandbox",
        "examples/sandbox/Cargo.toml",
        "name = \"invoicing-sandbox\"\npath = \"main.rs\"",
    ),
    ("invoicing-sandbox --db ", "examples/tests/postgres.rs", "Sandbox::start(&[\"--db\""),
    // Without an engine `.ci/image` makes the same root, and starts the program there.
    ("docker build --tag invoicing-sandbox .", ".ci/image", "\"Dockerfile\""),
    (
        "docker run --rm --publish 127.0.0.1:8080:8080 --volume sandbox:/data ",
        "Dockerfile",
        "VOLUME /data\nEXPOSE 8080",
    ),
    ("backup.sh save ", "tests/operations/backup.rs", "[\"save\", "),
    ("backup.sh check ", "tests/operations/backup.rs", "[\"check\", "),
    ("backup.sh restore ", "tests/operations/backup.rs", "[\"restore\", "),
];
/// The doctests of the book.
const DOCTESTS: &str = "tests/src/lib.rs";

/// Every block of the book that no test holds, and every block of Rust in the repository that is not compiled.
pub(super) fn faults(root: &Path, pages: &[Page]) -> Vec<String> {
    let mut faults = Vec::new();
    for page in pages {
        for block in &page.blocks {
            let fault = fault(root, page, block);
            faults.extend(fault.map(|fault| format!("{}: {fault}:\n{}", page.path, block.text)));
        }
    }
    faults
}

fn fault(root: &Path, page: &Page, block: &Block) -> Option<String> {
    let names = |file: &str, text: &str| fs::read_to_string(root.join(file)).unwrap().contains(text);
    let language = block.language();
    if language.is_empty() {
        return Some("a block without a language, which rustdoc would compile".to_owned());
    }
    if block.info.contains("ignore") {
        return Some("a block that is not compiled".to_owned());
    }
    if !page.path.starts_with("docs/") {
        return None;
    }
    let file_name = page.path.rsplit('/').next().unwrap_or_default();
    if language == "rust" {
        return (!names(DOCTESTS, &format!("../../{}\")", page.path)))
            .then(|| format!("{DOCTESTS} lacks the page"));
    }
    if let Some((.., holder)) = HELD.iter().find(|(path, of, _)| page.path == *path && language == *of) {
        return (!names(holder, file_name)).then(|| format!("{holder} does not read the page"));
    }
    if let Some((.., program)) = PARTS.iter().find(|(path, of, _)| page.path == *path && language == *of) {
        let program_text = fs::read_to_string(root.join(program)).unwrap();
        let is_part = without_indentation(&program_text).contains(&without_indentation(&block.text));
        return (!is_part).then(|| format!("no part of {program}"));
    }
    if language != "console" && language != "sh" {
        return Some(format!("no test reads a block of {language} on this page"));
    }
    let lines = block.text.lines().filter_map(|line| match language {
        "console" => line.strip_prefix("$ "),
        _ => Some(line),
    });
    let is_held = |command: &str| {
        let row = COMMANDS.iter().find(|(beginning, ..)| command.starts_with(beginning));
        row.is_some_and(|(_, file, text)| names(file, text))
    };
    let unheld = lines.into_iter().find(|command| !is_held(command));
    unheld.map(|command| format!("no test runs `{command}`"))
}

fn without_indentation(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
