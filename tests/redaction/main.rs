//! No secret is ever printed: not in the logs of any crate at TRACE, not in texts of errors, messages of panics, or
//! `Debug` of a public type.
//!
//! A separate binary, as it takes the process's subscriber and panic hook: its tests run one after the other. The statements
//! that the log names are explained in it, too.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

mod log_capture;
mod plans;
mod postgres;
mod public_types;
mod request_log;
mod scenario;
mod secrets;
mod spans;

use std::sync::{Mutex, PoisonError};

use invoicing_tests::{Database, on_each_database};
use log_capture::LogCapture;
use secrets::Secrets;

/// Held by the test whose log is captured.
static TURN: Mutex<()> = Mutex::new(());

#[on_each_database]
fn nothing_that_is_printed_holds_a_secret(db: Database) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(listen(db, &LogCapture::anew()));
}

async fn listen(db: Database, capture: &LogCapture) {
    let mut secrets = Secrets::default();
    let printed = scenario::play(db, capture, &mut secrets).await;
    public_types::every_public_type_is_listed(db, &printed.types);

    let log = capture.log();
    // An empty log would pass as well, so each source must have logged.
    for speaker in ["invoicing_server", "sqlx", "h2::", "hyper_util", "rustls", log_capture::MEANT] {
        assert!(log.contains(speaker), "{speaker} logged nothing");
    }
    let unsealed = log.matches("no sealing key: secrets of webhooks").count();
    assert_eq!(unsealed, 1, "one start without a key, one warning");

    secrets.assert_absent("the log", &log);
    for (what, text) in printed.errors.iter().chain(&printed.types) {
        secrets.assert_absent(what, text);
    }
    assert!(printed.errors.len() > 20, "{}", printed.errors.len());
    println!(
        "{:?}: {} secrets in {} pieces, {} MB of log, {} errors, {} types",
        db,
        secrets.len(),
        secrets.pieces(),
        log.len() / 1_000_000,
        printed.errors.len(),
        printed.types.len()
    );
}
