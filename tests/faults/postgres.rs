//! The faults of a database that several processes use. Each test has a cluster of its own, since it stops it,
//! or would be disturbed by the load of the others.
//!
//! Nodes have short leases here, so that what a killed or paused one holds is free within seconds.

mod batches;
mod callers;
mod commit_messages;
mod commits;
mod crashes;
mod failover;
mod health;
mod in_process;
mod killed;
mod killed_copy;
mod nodes;
mod outage;
mod paused;
mod proxy;
mod replica;
mod restarted;

use std::time::{Duration, Instant};

use invoicing_tests::postgres::Cluster;
use serde_json::{Value, json};

use crate::process::{PATIENCE, Site};

/// How long a node holds what it has claimed: the shortest that this limit of an attempt allows, and two seconds.
const LEASE: Duration = Duration::from_secs(9);
const ATTEMPT: Duration = Duration::from_secs(1);

/// The settings of nodes that are in a hurry.
fn hasty() -> Value {
    let lease = u64::try_from(LEASE.as_millis()).expect("seconds");
    json!({ "dispatch": { "leaseMs": lease, "attemptTimeoutMs": ATTEMPT.as_secs() * 1_000 } })
}

/// Nodes that take as many calls as come.
fn without_quota() -> Value {
    let mut settings = hasty();
    settings["quota"] = 0.into();
    settings
}

async fn on_new_database(cluster: &Cluster, hooks: Vec<String>) -> Site {
    Site::on_postgres(cluster.create_database("invoicing").await, hasty(), hooks)
}

/// Waits for what must become true in a while.
async fn wait_until(what: &str, is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
