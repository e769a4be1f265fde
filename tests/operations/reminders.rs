//! Warnings about a dispatcher or a sweep that a host forgot to run, and no others.

use std::time::Duration;

use invoicing_server::Invoicing;
use invoicing_tests::{Database, Receiver, World, on_each_database, on_postgres};

use crate::support::warnings::Warnings;
use crate::support::{draft_of, hook};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DISPATCHER: &str = "no dispatcher runs: run `Invoicing::run`, or `Invoicing::dispatcher`";
const SWEEP: &str = "no sweep has run for two hours";

/// Number of warnings with this text by an operation that comes `wait` later.
async fn warned_after(world: &World, warnings: &Warnings, wait: Duration, text: &str) -> usize {
    world.advance(wait);
    world.company.details().await.unwrap();
    warnings.take(text)
}

/// Rules: DELIVERY-7
#[on_each_database]
async fn waiting_deliveries_without_any_dispatcher_warn_after_a_minute(db: Database) {
    let world = World::new(db).await;
    let warnings = Warnings::listen();
    let after = async |wait| warned_after(&world, &warnings, wait, DISPATCHER).await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    assert_eq!(after(HOUR).await, 0, "nothing waits");
    draft_of(&world.company).await;
    assert_eq!(after(MINUTE).await, 0, "no more than a minute");
    assert_eq!(after(MINUTE).await, 1);
    assert_eq!(world.dispatch().await.delivered, 1);
    assert_eq!(after(2 * HOUR).await, 0, "nothing waits any more");
}

/// Rules: DELIVERY-7
#[on_each_database]
async fn waiting_deliveries_an_hour_after_a_dispatcher_warn_once_an_hour(db: Database) {
    let world = World::new(db).await;
    let warnings = Warnings::listen();
    let after = async |wait| warned_after(&world, &warnings, wait, DISPATCHER).await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    world.dispatch().await;
    draft_of(&world.company).await;
    for _ in 0..11 {
        assert_eq!(after(5 * MINUTE).await, 0, "a dispatcher ran within the last hour");
    }
    assert_eq!(after(5 * MINUTE).await, 1);
    assert_eq!(after(59 * MINUTE).await, 0);
    assert_eq!(after(MINUTE).await, 1, "once an hour");
}

/// Rules: STATE-6
#[on_each_database]
async fn two_hours_without_a_sweep_are_warned_of_once_an_hour(db: Database) {
    let world = World::new(db).await;
    let warnings = Warnings::listen();
    let after = async |wait| warned_after(&world, &warnings, wait, SWEEP).await;
    assert_eq!(after(119 * MINUTE).await, 0);
    assert_eq!(after(MINUTE).await, 1);
    assert_eq!(after(59 * MINUTE).await, 0);
    assert_eq!(after(MINUTE).await, 1);
    for _ in 0..3 {
        world.invoicing.sweep().await.unwrap();
        assert_eq!(after(HOUR).await, 0);
    }
    assert_eq!(after(HOUR).await, 1);
}

/// Each opening of the service starts the two hours anew.
#[on_each_database]
async fn what_did_not_run_while_the_service_was_closed_is_not_warned_of(db: Database) {
    let world = World::new(db).await;
    draft_of(&world.company).await;
    world.invoicing.sweep().await.unwrap();
    world.advance(24 * HOUR);
    let world = world.reopen().await;
    let warnings = Warnings::listen();
    assert_eq!(warned_after(&world, &warnings, 119 * MINUTE, SWEEP).await, 0);
    assert_eq!(warned_after(&world, &warnings, MINUTE, SWEEP).await, 1);
}

/// A node that only serves requests gives no warning if another node runs the dispatcher and the sweep.
///
/// Rules: DELIVERY-7, STATE-6
#[on_postgres]
async fn a_node_does_not_warn_of_what_another_node_runs(db: Database) {
    let world = World::new(db).await;
    let other: Invoicing = world.node(world.invoicing.env().clone()).await;
    let warnings = Warnings::listen();
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    // This run stands for a dispatcher that is still busy with other deliveries.
    other.dispatcher().run_once().await.unwrap();
    draft_of(&world.company).await;
    for _ in 0..12 {
        assert_eq!(warned_after(&world, &warnings, 4 * MINUTE, DISPATCHER).await, 0);
    }
    for _ in 0..3 {
        other.sweep().await.unwrap();
        assert_eq!(warned_after(&world, &warnings, HOUR, SWEEP).await, 0);
    }
    assert_eq!(warned_after(&world, &warnings, HOUR, SWEEP).await, 1);
}
