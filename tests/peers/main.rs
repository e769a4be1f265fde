//! The tables that compare this project's crates with others (`# Compared with` in the documentation of webhook-verify
//! and invoicing-client). Each row is made here, of what the crates do when they are called, and must stand in the
//! documentation word for word: a crate that changes takes its row with it.
//!
//! It calls the crates of the versions in `Cargo.lock`, which the head of each table names. It says nothing of what the
//! others' services, other versions or other features do, and compares no speed: `benches/verify` does.

mod client;
mod verification;

const LOCK: &str = include_str!("../../Cargo.lock");

/// The documentation that holds a table.
#[derive(Clone, Copy)]
struct Docs(&'static str);

impl Docs {
    /// Fails unless this row stands in it.
    #[track_caller]
    fn state(self, case: &str, cells: &[impl AsRef<str>]) {
        let cells: Vec<_> = cells.iter().map(AsRef::as_ref).collect();
        let row = format!("//! | {case} | {} |\n", cells.join(" | "));
        assert!(self.0.contains(&row), "the documentation lacks the row\n{row}");
    }
}

/// A crate's name with the version that these tests call.
fn named(name: &str) -> String {
    let version = LOCK.split("[[package]]").find_map(|package| {
        package.trim().strip_prefix(&format!("name = \"{name}\"\nversion = \""))?.split('"').next()
    });
    format!("{name} {}", version.expect("a package of the lock file"))
}
