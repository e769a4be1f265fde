//! Programs that some tests need. Without one, its tests do not run, and a line on standard error says so.

use std::io::Write as _;
use std::sync::Once;

/// A program, or several that belong together.
#[derive(Debug)]
pub struct Tool {
    name: &'static str,
    enables: &'static str,
    /// The environment variable that makes its absence a failure, if it is `1`.
    required_by: &'static str,
    printed: Once,
}

/// The server programs.
pub static POSTGRES: Tool =
    Tool::new("PostgreSQL 15 or later", "the PostgreSQL half of the tests", "REQUIRE_POSTGRES");
/// A pooler that keeps prepared statements.
pub static PGBOUNCER: Tool =
    Tool::new("PgBouncer 1.21 or later", "the tests behind a pooler", "REQUIRE_PGBOUNCER");
/// The shell of SQLite.
pub static SQLITE3: Tool = Tool::new("sqlite3", "backups of SQLite", "REQUIRE_SQLITE3");
/// Python 3 and the packages that the tests install.
pub static PYTHON: Tool =
    Tool::new("Python 3 with venv", "the clients and receivers in Python", "REQUIRE_PYTHON");
/// Node and the packages that the tests install.
pub static NODE: Tool =
    Tool::new("Python 3 with venv", "the clients and receivers in Node, which comes with it", "REQUIRE_NODE");
/// PHP with the extensions of the receiver.
pub static PHP: Tool = Tool::new("PHP with curl and pdo_sqlite", "the receiver in PHP", "REQUIRE_PHP");
/// The tools of the shell's requests.
pub static CURL: Tool = Tool::new("curl and openssl", "the requests in the shell", "REQUIRE_CURL");
/// A browser and the packages that drive it.
pub static BROWSER: Tool =
    Tool::new("Chromium, and Python 3 with venv", "the pages in a browser", "REQUIRE_BROWSER");
/// The readers of documents.
pub static PDF_TOOLS: Tool = Tool::new("poppler and qpdf", "reading the documents back", "REQUIRE_PDF_TOOLS");
/// Mounts that only a process and its children see.
pub static MOUNTS: Tool = Tool::new(
    "unshare and mount, and the right to mount",
    "databases below mounts of their process",
    "REQUIRE_MOUNTS",
);

impl Tool {
    const fn new(name: &'static str, enables: &'static str, required_by: &'static str) -> Self {
        Self { name, enables, required_by, printed: Once::new() }
    }

    /// Prints, once and past the capture of the test harness, that the tests of this tool do not run.
    ///
    /// # Panics
    /// If the environment requires the tool.
    pub fn is_missing(&self, why: &str) {
        let Self { name, enables, required_by, printed } = self;
        let is_required = std::env::var_os(required_by).is_some_and(|value| value == "1");
        assert!(!is_required, "{required_by}=1, but {name} cannot be used: {why}");
        printed.call_once(|| {
            let why = why.lines().next().unwrap_or_default();
            // A closed standard error is no failure.
            let _ = writeln!(std::io::stderr().lock(), "DID NOT RUN: {enables}; needs {name} ({why})");
        });
    }
}
