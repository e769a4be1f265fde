//! Random operations against a reference model: for any sequence of operations, calls, instants and replies, the
//! service answers, stores, emits and delivers as the contract requires.
//!
//! Runs on each database. `PROPTEST_CASES` sets the number of sequences, `MODEL_STEPS` their length,
//! `PROPTEST_RNG_SEED` repeats a run. A sequence that failed is shrunk, printed step by step, and kept in
//! `regressions.txt`.

mod reference;
mod runner;
mod steps;

use invoicing_tests::{Database, on_each_database};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};

/// Stack of the thread that runs the cases.
const STACK_BYTES: usize = 64 << 20;

fn from_env(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Rules: STATE-1, STATE-2, STATE-3, DELIVERY-1
#[on_each_database]
fn any_sequence_of_operations_does_what_the_contract_says(db: Database) {
    let config = Config {
        cases: from_env("PROPTEST_CASES", db.either(32, 16)),
        max_shrink_iters: 600,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("model/regressions.txt"))),
        ..Config::default()
    };
    let steps = from_env("MODEL_STEPS", 150) as usize;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let case = move |script| runtime.block_on(runner::run(db, &script)).map_err(TestCaseError::fail);
    let all =
        move || TestRunner::new(config).run(&steps::scripts(steps), case).map_err(|error| error.to_string());
    // Futures of an unoptimised build are large.
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(all).expect("a thread");
    if let Err(error) = thread.join().expect("no panic") {
        panic!("{error}");
    }
    println!("{}", runner::tally::text(db));
    for end in [
        "delivery delivered",
        "delivery failed",
        "delivery skipped",
        "event invoice.paid",
        "event credit_note.issued",
        "refused: Conflict",
    ] {
        assert!(runner::tally::of(db, end) > 0, "no case ever came to: {end}");
    }
}
