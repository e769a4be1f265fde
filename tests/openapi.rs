//! The description of the API: that it is served, that its examples are real, and that the service keeps to it.

mod document;
mod examples;
mod provoked;

use std::path::{Path, PathBuf};

/// A file of the workspace.
fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Compares a text with a file of the workspace, or writes it there.
fn compare(path: &str, text: &str) {
    let file = workspace(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    let differs = text.lines().zip(expected.lines()).find(|(is, expected)| is != expected);
    assert!(
        text == expected,
        "{path} differs, first in {differs:?}; if that is meant, UPDATE_GOLDEN=1 writes it anew"
    );
}
