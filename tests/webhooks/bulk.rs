//! Changes of a webhook that concern many deliveries: they hold at once, and are carried out in batches that any
//! dispatcher takes up.

use std::time::{Duration, Instant};

use invoicing_core::{DeliveryStatus, EventId, WebhookId};
use invoicing_server::Error;
use invoicing_tests::{Database, Receiver, Reply, RunningDispatcher, World, on_each_database, on_postgres};
use proptest::prelude::*;
use uuid::Uuid;

use crate::support::proptest_runner::{for_all, runtime};
use crate::support::{delivery, emit, hook, numbered};

/// Maximum number of deliveries that one transaction changes.
const BATCH: i64 = 1_000;

/// Inserts `count` deliveries of events before all others: copies of the first delivery and its event. No dispatcher
/// may run. The events are numbered from 1.
async fn fill(world: &World, count: i64) {
    let event = "company_id, kind, timestamp, body";
    let delivery = "company_id, webhook_id, status, reason, due_at, held_until, claim, claims, attempts,
        claims_in_all, attempts_in_all, ended_at";
    let (numbers, id) = numbered(world);
    for statement in [
        format!(
            "INSERT INTO event (id, {event}) SELECT {id}, {event} FROM {numbers} n, (SELECT * FROM event LIMIT 1) e"
        ),
        format!(
            "INSERT INTO delivery (id, event_id, {delivery})
             SELECT 1000000000 + i, {id}, {delivery} FROM {numbers} n, (SELECT * FROM delivery LIMIT 1) d"
        ),
    ] {
        assert_eq!(world.run(&statement, &[count.into()]).await, u64::try_from(count).unwrap());
    }
}

/// The event number `number` of [`fill`].
fn filled(number: i64) -> EventId {
    EventId(Uuid::from_u128(number.try_into().unwrap()))
}

/// A webhook with `count` waiting deliveries, and four of their events: at both ends and in the middle.
async fn waiting(world: &World, url: &str, count: i64) -> (WebhookId, [EventId; 4]) {
    let id = hook(world, url).await.webhook.id;
    let last = emit(world, 1).await[0];
    fill(world, count - 1).await;
    (id, [filled(1), filled(count / 2), filled(count - 1), last])
}

/// An enabled webhook with `count` deliveries that were skipped while it was disabled.
async fn skipped(world: &World, url: &str, count: i64) -> WebhookId {
    let (id, _) = waiting(world, url, count).await;
    let webhooks = world.company.webhooks();
    webhooks.disable(id).await.unwrap();
    webhooks.enable(id).await.unwrap();
    id
}

/// Fails unless the pages show the deliveries of these events with this status.
async fn assert_shown(
    world: &World,
    webhook: WebhookId,
    events: &[EventId],
    expected: (DeliveryStatus, Option<&str>),
) {
    for event in events {
        let shown = delivery(world, *event, webhook).await;
        assert_eq!((shown.status, shown.reason.as_deref()), expected, "{event}");
        assert_eq!(shown.ended_at.is_some(), expected.0 != DeliveryStatus::Pending, "{event}");
    }
}

const PENDING: (DeliveryStatus, Option<&str>) = (DeliveryStatus::Pending, None);
const DISABLED: (DeliveryStatus, Option<&str>) = (DeliveryStatus::Skipped, Some("webhook_disabled"));
const REMOVED: (DeliveryStatus, Option<&str>) = (DeliveryStatus::Skipped, Some("webhook_removed"));
const NOTED: &str = "SELECT count(*) FROM bulk_change";
const PENDING_ROWS: &str = "SELECT count(*) FROM delivery WHERE status = 'pending'";

/// The process ends after the first batch, and another process carries the rest out.
///
/// Rules: WEBHOOK-7, WEBHOOK-16, WEBHOOK-18
#[on_each_database]
async fn waiting_deliveries_are_skipped_at_once_and_rows_follow_in_batches(db: Database) {
    for (remove, expected) in [(false, DISABLED), (true, REMOVED)] {
        let mut world = World::new(db).await;
        let receiver = Receiver::start().await;
        let (id, events) = waiting(&world, &receiver.url, 2 * BATCH + 1).await;
        if remove {
            world.company.webhooks().remove(id).await.unwrap();
        } else {
            world.company.webhooks().disable(id).await.unwrap();
        }
        assert_eq!(world.count(PENDING_ROWS).await, BATCH + 1, "one batch is part of the change");
        assert_shown(&world, id, &events, expected).await;
        world = world.reopen().await;
        assert_shown(&world, id, &events, expected).await;
        assert_eq!(world.dispatch().await.attempts, 0);
        assert_shown(&world, id, &events, expected).await;
        world.assert_all_ended().await;
        assert_eq!(world.count(NOTED).await, 0);
        assert!(receiver.received().is_empty());
    }
}

/// Rules: WEBHOOK-18
#[on_postgres]
async fn what_one_node_has_left_another_one_takes_up(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let (id, events) = waiting(&world, &receiver.url, 2 * BATCH + 1).await;
    world.company.webhooks().disable(id).await.unwrap();
    let other = world.node(world.invoicing.env().clone()).await;
    assert_eq!(other.dispatcher().run_once().await.unwrap().attempts, 0);
    world.assert_all_ended().await;
    assert_shown(&world, id, &events, DISABLED).await;
}

/// Rules: WEBHOOK-17, WEBHOOK-18
#[on_each_database]
async fn a_replay_counts_what_it_queues_and_rows_follow_in_batches(db: Database) {
    let mut world = World::new(db).await;
    let receiver = Receiver::start().await;
    let (id, events) = waiting(&world, &receiver.url, BATCH + 300).await;
    world.company.webhooks().disable(id).await.unwrap();
    world.company.webhooks().enable(id).await.unwrap();
    assert_shown(&world, id, &events, DISABLED).await;
    assert_eq!(world.company.webhooks().replay(id, None).await.unwrap(), 1_300);
    assert_eq!(world.count(PENDING_ROWS).await, BATCH, "one batch is part of the change");
    assert_shown(&world, id, &events, PENDING).await;
    assert_eq!(world.company.webhooks().replay(id, None).await.unwrap(), 0, "queued already");
    world = world.reopen().await;
    assert_shown(&world, id, &events, PENDING).await;
    assert_eq!(world.dispatch().await.delivered, 1_300);
    world.assert_all_ended().await;
    assert_eq!(world.count(NOTED).await, 0);
}

/// Rules: WEBHOOK-11, WEBHOOK-16, WEBHOOK-18
#[on_each_database]
async fn failures_that_disable_a_webhook_skip_what_waits_in_batches(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let (id, events) = waiting(&world, &receiver.url, 2 * BATCH).await;
    let report = world.dispatch().await;
    assert!((10..400).contains(&report.attempts), "{report:?}");
    assert!(world.company.webhooks().get(id).await.unwrap().disabled.is_some());
    assert_shown(&world, id, &events[1..3], DISABLED).await;
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-16
#[on_each_database]
async fn claims_of_a_dropped_dispatcher_are_skipped_with_the_rest(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    let id = hook(&world, &receiver.url).await.webhook.id;
    let dispatcher = RunningDispatcher::start(world.invoicing.dispatcher());
    let event = emit(&world, 1).await[0];
    assert!(receiver.wait_for(1, Duration::from_secs(5)).await);
    dispatcher.kill().await;
    world.company.webhooks().disable(id).await.unwrap();
    // PostgreSQL: a dropped dispatcher looks like a slow one until its lease has ended.
    world.advance(world.database().either(Duration::ZERO, Duration::from_hours(1)));
    assert_shown(&world, id, &[event], DISABLED).await;
    world.company.webhooks().enable(id).await.unwrap();
    assert_shown(&world, id, &[event], DISABLED).await;
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-16, WEBHOOK-20
#[on_each_database]
async fn a_ping_to_a_disabled_webhook_is_sent_as_soon_as_the_rest_is_skipped(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let (id, _) = waiting(&world, &receiver.url, BATCH + 201).await;
    let webhooks = world.company.webhooks();
    webhooks.disable(id).await.unwrap();
    let ping = webhooks.ping(id).await.unwrap();
    assert_eq!(world.dispatch().await.delivered, 1);
    assert_eq!(delivery(&world, ping, id).await.status, DeliveryStatus::Delivered);
    world.assert_all_ended().await;
}

/// A change, in any order with others.
#[derive(Debug, Clone, Copy)]
enum Step {
    Disable,
    Enable,
    EnableAndReplay,
    Replay,
    Emit,
    Ping,
    Dispatch,
}

/// The expected state of a webhook whose receiver accepts every delivery.
#[derive(Debug)]
struct Expected {
    disabled: bool,
    deliveries: Vec<(EventId, DeliveryStatus)>,
    pings: Vec<(EventId, DeliveryStatus)>,
    /// The number of deliveries for which the first of the list stands.
    filled: u64,
}

impl Expected {
    fn replace(&mut self, from: DeliveryStatus, to: DeliveryStatus) -> u64 {
        let mut changed = 0;
        for (n, (_, status)) in self.deliveries.iter_mut().enumerate() {
            if *status == from {
                *status = to;
                changed += if n == 0 { self.filled } else { 1 };
            }
        }
        changed
    }

    async fn step(&mut self, world: &World, id: WebhookId, step: Step) {
        use DeliveryStatus::{Delivered, Pending, Skipped};
        let webhooks = world.company.webhooks();
        match step {
            Step::Disable => {
                webhooks.disable(id).await.unwrap();
                self.disabled = true;
                self.replace(Pending, Skipped);
            }
            Step::Enable => {
                webhooks.enable(id).await.unwrap();
                self.disabled = false;
            }
            Step::EnableAndReplay => {
                // The clock stands still: every skipped delivery was skipped since the webhook was disabled.
                let expected = if self.disabled { self.replace(Skipped, Pending) } else { 0 };
                assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), expected);
                self.disabled = false;
            }
            Step::Replay if self.disabled => {
                assert!(matches!(webhooks.replay(id, None).await, Err(Error::Conflict(_))));
            }
            Step::Replay => {
                assert_eq!(webhooks.replay(id, None).await.unwrap(), self.replace(Skipped, Pending));
            }
            Step::Emit => {
                let status = if self.disabled { Skipped } else { Pending };
                self.deliveries.push((emit(world, 1).await[0], status));
            }
            // Disabled webhooks are pinged too. A ping that is under way stands for a second one.
            Step::Ping => {
                let ping = (webhooks.ping(id).await.unwrap(), Pending);
                if self.pings.last() != Some(&ping) {
                    self.pings.push(ping);
                }
            }
            Step::Dispatch => {
                let mut delivered = self.replace(Pending, Delivered);
                for (_, status) in self.pings.iter_mut().filter(|(_, status)| *status == Pending) {
                    *status = Delivered;
                    delivered += 1;
                }
                assert_eq!(world.dispatch().await.delivered, delivered);
                world.assert_all_ended().await;
            }
        }
    }

    async fn check(&self, world: &World, id: WebhookId, after: Step) {
        // The filled ones change together: deliveries at both ends of the first batches stand for all.
        let (first, others) = self.deliveries.split_first().unwrap();
        let filled = [1, BATCH, self.filled.try_into().unwrap()].map(|n| (filled(n), first.1));
        for (event, status) in filled.iter().chain(others).chain(&self.pings) {
            assert_eq!(delivery(world, *event, id).await.status, *status, "{event} after {after:?}");
        }
    }
}

/// Rules: WEBHOOK-14, WEBHOOK-15, WEBHOOK-16, WEBHOOK-17, WEBHOOK-18, WEBHOOK-20, WEBHOOK-21
#[on_each_database]
fn changes_that_meet_the_batches_of_others_hold_in_any_order(db: Database) {
    let step = prop_oneof![
        3 => Just(Step::Disable), 3 => Just(Step::Enable), 3 => Just(Step::Replay), 2 => Just(Step::EnableAndReplay),
        2 => Just(Step::Emit),
        1 => Just(Step::Ping), 1 => Just(Step::Dispatch),
    ];
    let runtime = runtime();
    for_all(db, 6, &prop::collection::vec(step, 4..14), |steps| {
        runtime.block_on(async {
            let world = World::new(db).await;
            let receiver = Receiver::start().await;
            let (id, [.., last]) = waiting(&world, &receiver.url, BATCH + 201).await;
            let deliveries = [filled(1), last].map(|event| (event, DeliveryStatus::Pending)).to_vec();
            let mut expected = Expected { disabled: false, deliveries, pings: Vec::new(), filled: 1_200 };
            for step in steps.into_iter().chain([Step::Dispatch]) {
                expected.step(&world, id, step).await;
                expected.check(&world, id, step).await;
            }
        });
        Ok(())
    });
}

/// Lets at most `count` deliveries change to a status. A transaction that goes beyond changes nothing.
async fn limit(world: &World, status: &str, count: i64) {
    let is_beyond = format!(
        "NEW.status = '{status}' AND (SELECT count(*) FROM delivery WHERE status = '{status}') >= {count}"
    );
    let statements = world.database().either(
        [
            "DROP TRIGGER IF EXISTS stop".to_owned(),
            format!(
                "CREATE TRIGGER stop BEFORE UPDATE OF status ON delivery WHEN {is_beyond}
                 BEGIN SELECT RAISE(ABORT, 'no more'); END"
            ),
        ],
        [
            format!(
                "CREATE OR REPLACE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF {is_beyond} THEN RAISE EXCEPTION 'no more'; END IF; RETURN NEW; END $$"
            ),
            "CREATE OR REPLACE TRIGGER stop BEFORE UPDATE OF status ON delivery
             FOR EACH ROW EXECUTE FUNCTION stop()"
                .to_owned(),
        ],
    );
    for statement in statements {
        world.run(&statement, &[]).await;
    }
}

/// Rules: WEBHOOK-21
#[on_each_database]
async fn a_webhook_whose_replay_fails_stays_disabled(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "https://example.com/hook").await.webhook.id;
    let webhooks = world.company.webhooks();
    webhooks.disable(id).await.unwrap();
    emit(&world, 3).await;
    let disabled = webhooks.get(id).await.unwrap();
    assert!(disabled.disabled.is_some());
    limit(&world, "pending", 0).await;
    webhooks.enable_and_replay(id, None).await.unwrap_err();
    assert_eq!(webhooks.get(id).await.unwrap(), disabled, "enabled without the replay");
    limit(&world, "pending", BATCH).await;
    assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), 3);
}

/// Rules: WEBHOOK-18
#[on_each_database]
async fn no_transaction_changes_more_than_a_batch(db: Database) {
    const SKIPPED_ROWS: &str = "SELECT count(*) FROM delivery WHERE status = 'skipped'";
    let world = World::new(db).await;
    let (id, _) = waiting(&world, "https://example.com/hook", 2 * BATCH + 1).await;
    let webhooks = world.company.webhooks();
    limit(&world, "skipped", BATCH).await;
    webhooks.disable(id).await.unwrap();
    assert_eq!(world.count(SKIPPED_ROWS).await, BATCH);
    // Enabling carries out the rest: here one batch, and the next one fails.
    limit(&world, "skipped", 2 * BATCH).await;
    webhooks.enable(id).await.unwrap_err();
    assert_eq!(world.count(SKIPPED_ROWS).await, 2 * BATCH);
    limit(&world, "pending", BATCH).await;
    webhooks.enable(id).await.unwrap();
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 2_001);
    assert_eq!(world.count(PENDING_ROWS).await, BATCH);
    limit(&world, "pending", 2 * BATCH).await;
    webhooks.enable(id).await.unwrap_err();
    assert_eq!(world.count(PENDING_ROWS).await, 2 * BATCH);
    limit(&world, "pending", 3 * BATCH).await;
    webhooks.enable(id).await.unwrap();
    assert_eq!(world.count(PENDING_ROWS).await, 2 * BATCH + 1);
}

/// Rules: WEBHOOK-17, WEBHOOK-18
#[on_each_database]
async fn a_replay_queues_each_delivery_that_had_ended_by_then_once(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = skipped(&world, &receiver.url, BATCH + 300).await;
    let webhooks = world.company.webhooks();
    let waits = emit(&world, 1).await[0];
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 1_300);
    assert_eq!(webhooks.replay(id, Some(filled(BATCH + 200))).await.unwrap(), 0, "its batch follows");
    // The delivery that still waited fails before the last batch.
    let fails = "UPDATE delivery SET status = 'failed', ended_at = $1 WHERE event_id = $2";
    let later = world.now().plus_millis(1).as_millis();
    assert_eq!(world.run(fails, &[later.into(), waits.0.into()]).await, 1);
    assert_eq!(delivery(&world, waits, id).await.status, DeliveryStatus::Failed);
    assert_eq!(world.dispatch().await.delivered, 1_300);
    assert_eq!(delivery(&world, waits, id).await.status, DeliveryStatus::Failed);
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 1, "also with an end after now");
    assert_eq!(world.dispatch().await.delivered, 1);
}

/// Rules: WEBHOOK-18
#[on_each_database]
async fn batches_of_a_replay_are_due_at_once_by_a_clock_that_was_set_back(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = skipped(&world, &receiver.url, BATCH + 300).await;
    let webhooks = world.company.webhooks();
    webhooks.replay(id, None).await.unwrap();
    world.clock.set(world.now().plus_millis(-3_600_000));
    webhooks.enable(id).await.unwrap();
    assert_eq!(world.count(NOTED).await, 0);
    assert_eq!(delivery(&world, filled(BATCH + 200), id).await.due_at, world.now());
}

/// Rules: WEBHOOK-15, WEBHOOK-17
#[on_postgres]
async fn a_replay_that_meets_failures_that_disable_the_webhook_is_a_conflict(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    for event in [None, Some(emit(&world, 1).await[0])] {
        // A dispatcher of another node records failures in this way.
        let mut other = world.behind().await;
        other.run("BEGIN", &[]).await;
        other.run("SELECT 1 FROM webhook FOR UPDATE", &[]).await;
        let webhooks = world.company.webhooks();
        let replay = webhooks.replay(id, event);
        let disable = async {
            is_waiting_for_a_lock(&world).await;
            other
                .run("UPDATE webhook SET disabled_at = 1, disabled_reason = 'consecutive_failures'", &[])
                .await;
            other.run("COMMIT", &[]).await;
        };
        let (replayed, ()) = tokio::join!(replay, disable);
        assert!(matches!(replayed, Err(Error::Conflict(_))), "{replayed:?}");
        webhooks.enable(id).await.unwrap();
    }
}

/// Returns as soon as a statement waits for a lock in the world's database.
async fn is_waiting_for_a_lock(world: &World) {
    const WAITING: &str = "
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut behind = world.behind().await;
    let begun = Instant::now();
    while behind.one::<i64>(WAITING, &[]).await == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing waits");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Rules: WEBHOOK-12
#[on_postgres]
async fn a_recording_locks_webhooks_before_deliveries(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    world.run("UPDATE webhook SET failures = 1", &[]).await;
    // A recording or a batch of another node takes these locks.
    let mut other = world.behind().await;
    other.run("BEGIN", &[]).await;
    other.run("SELECT 1 FROM webhook FOR UPDATE", &[]).await;
    let then_deliveries = async {
        is_waiting_for_a_lock(&world).await;
        other.run("SET LOCAL lock_timeout = '500ms'", &[]).await;
        assert_eq!(other.run("UPDATE delivery SET reason = reason", &[]).await, 1);
        other.run("COMMIT", &[]).await;
    };
    let (report, ()) = tokio::join!(world.dispatch(), then_deliveries);
    assert_eq!(report.delivered, 1);
    assert_eq!(delivery(&world, event, id).await.status, DeliveryStatus::Delivered);
    assert_eq!(world.company.webhooks().get(id).await.unwrap().consecutive_failures, 0);
}

/// A recording that disables a webhook locks in the same order, so the two cannot wait for each other.
///
/// Rules: WEBHOOK-21
#[on_postgres]
async fn enabling_locks_the_webhook_before_it_notes_what_is_left(db: Database) {
    const NOTE: &str = "
        INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
        SELECT company_id, id, 1, $1, $1, 1, 1 FROM webhook";
    let world = World::new(db).await;
    let id = hook(&world, "https://example.com/hook").await.webhook.id;
    let webhooks = world.company.webhooks();
    webhooks.disable(id).await.unwrap();
    let mut other = world.behind().await;
    other.run("BEGIN", &[]).await;
    other.run("SELECT 1 FROM webhook FOR UPDATE", &[]).await;
    let then_notes = async {
        is_waiting_for_a_lock(&world).await;
        other.run("SET LOCAL lock_timeout = '500ms'", &[]).await;
        assert_eq!(other.run(NOTE, &[Uuid::nil().into()]).await, 1);
        other.run("COMMIT", &[]).await;
    };
    let (enabled, ()) = tokio::join!(webhooks.enable(id), then_notes);
    assert_eq!(enabled.unwrap().disabled, None);
    assert_eq!(world.count(NOTED).await, 0);
}

/// Rules: WEBHOOK-16, WEBHOOK-18, WEBHOOK-21
#[on_each_database]
async fn enabling_beside_a_dispatcher_replays_each_skipped_delivery_once(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let (id, _) = waiting(&world, &receiver.url, BATCH + 201).await;
    let dispatcher = RunningDispatcher::start(world.invoicing.dispatcher());
    let webhooks = world.company.webhooks();
    for _ in 0..3 {
        webhooks.disable(id).await.unwrap();
        let (_, queued) = tokio::join!(emit(&world, 5), webhooks.enable_and_replay(id, None));
        queued.unwrap();
    }
    let begun = Instant::now();
    while world.count("SELECT count(*) FROM delivery WHERE status <> 'delivered'").await > 0 {
        assert!(begun.elapsed() < Duration::from_mins(1), "not all are delivered");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    dispatcher.stop().await;
    assert_eq!(world.count("SELECT count(*) FROM attempt").await, BATCH + 216);
    assert_eq!(world.count(NOTED).await, 0);
}
