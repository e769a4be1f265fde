//! Processes that are killed, paused and started again, databases that stop, connections that are cut: nothing that was
//! answered is lost, nothing is half done, nothing happens twice.
//!
//! `FAULTS_KILLS` says how often the tests kill, `FAULTS_RESTARTS` how often they restart PostgreSQL, `FAULTS_CUTS` how
//! many commits they cut, `FAULTS_BATCHES` how many batches, `FAULTS_PAUSES` how often they pause a node.

mod checks;
mod crashes;
#[cfg(target_os = "linux")]
mod full_disk;
mod http;
mod postgres;
mod process;
#[cfg(unix)]
mod read_only;
mod receivers;
mod workload;

use std::time::Duration;

use invoicing_tests::tell;

/// The contract's quota and its window.
const QUOTA: usize = 30;
const WINDOW: Duration = Duration::from_mins(1);

/// A number below `limit`.
fn random(limit: u64) -> u64 {
    u64::from_le_bytes(invoicing_server::Env::system().bytes()) % limit
}

/// What the environment says, or else.
fn times(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
