//! Processes that are killed, paused and started again, databases that stop, connections that are cut: nothing that was
//! answered is lost, nothing is half done, nothing happens twice.
//!
//! `FAULTS_KILLS` is the number of kills, `FAULTS_RESTARTS` that of restarts of PostgreSQL, `FAULTS_CUTS` that of the
//! commits that are cut, `FAULTS_BATCHES` that of the batches, `FAULTS_PAUSES` that of the pauses of a node.

mod checks;
mod crashes;
#[cfg(target_os = "linux")]
mod full_disk;
mod http;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(unix)]
mod paths;
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

/// The number in the environment, or the default.
fn times(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
