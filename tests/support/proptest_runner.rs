//! Properties over random input: few cases, as each runs on a database.

use invoicing_tests::Database;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tokio::runtime::Runtime;

/// Tries a property on a number of cases, a third of them on PostgreSQL, as each takes longer there. `PROPTEST_CASES` raises
/// their number on both databases.
pub(crate) fn for_all<S: Strategy>(
    db: Database,
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = db.either(cases, cases.div_ceil(3));
    let cases = asked.map_or(cases, |asked: u32| asked.max(cases));
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    if let Err(error) = TestRunner::new(config).run(strategy, test) {
        panic!("{error}");
    }
}

/// A runtime for properties, which are not asynchronous themselves.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}
