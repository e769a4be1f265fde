//! The databases of tests: on which one a test runs, and PostgreSQL servers; the programs that tests need. Without the
//! service, so that tests within its crate have them too.

#![expect(clippy::missing_panics_doc, reason = "a helper that panics fails its test, which is its purpose")]

pub mod postgres;
pub mod tool;

use futures_util::future::LocalBoxFuture;
pub use invoicing_tests_macros::{on_each_database, on_postgres};

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// A file of one process.
    Sqlite,
    /// A server for many.
    Postgres,
}

impl Database {
    /// Runs a test on this database, with a runtime of its own; prints so if there is no such database.
    pub fn run<F: Future<Output = ()>>(self, worker_threads: Option<usize>, test: fn(Self) -> F) {
        // Boxed, so that the runtime's code is compiled once, and not for each test.
        self.run_boxed(worker_threads, Box::pin(async move { test(self).await }));
    }

    fn run_boxed(self, worker_threads: Option<usize>, test: LocalBoxFuture<'_, ()>) {
        if !self.is_available() {
            return;
        }
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        if let Some(count) = worker_threads {
            runtime.worker_threads(count);
        }
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(test);
    }

    /// Runs a test on this database that brings its own runtime; prints so if there is no such database.
    pub fn run_sync(self, test: fn(Self)) {
        if self.is_available() {
            test(self);
        }
    }

    fn is_available(self) -> bool {
        self == Self::Sqlite || postgres::is_available()
    }

    /// One of two things.
    pub fn either<T>(self, sqlite: T, postgres: T) -> T {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}
