//! Changes of a webhook that concern many deliveries: they hold at once, and are carried out in batches that any
//! dispatcher takes up.

use std::time::{Duration, Instant};

use invoicing_core::{DeliveryStatus, EventId, Plan, WebhookId};
use invoicing_server::{Env, Error};
use invoicing_tests::{Receiver, Reply, RunningDispatcher, World, on_each_database, on_postgres};
use proptest::prelude::*;
use uuid::Uuid;

use crate::support::proptest_runner::{for_all, runtime};
use crate::support::{client_of, delivery, emit, hook, quote_at};

/// Most deliveries that a transaction changes.
const BATCH: i64 = 1_000;

/// Deliveries of events before all others: copies of the first delivery and its event, as they stand. No dispatcher may
/// run. The events are numbered from 1.
async fn fill(world: &World, count: i64) {
    let event = "company_id, kind, timestamp, body";
    let delivery = "company_id, webhook_id, status, reason, due_at, held_until, claim, claims, attempts,
        claims_in_all, attempts_in_all, ended_at";
    let numbers = world.database().either(
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n)",
        "(SELECT generate_series(1, $1) AS i)",
    );
    let id = world.database().either("unhex(printf('%032x', i))", "lpad(to_hex(i), 32, '0')::uuid");
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

/// An event of [`fill`].
fn filled(number: i64) -> EventId {
    EventId(Uuid::from_u128(number.try_into().unwrap()))
}

/// A webhook to which so many deliveries wait, and some of their events: at both ends and in the middle.
async fn waiting(world: &World, url: &str, count: i64) -> (WebhookId, [EventId; 4]) {
    let id = hook(world, url).await.webhook.id;
    let last = emit(world, 1).await[0];
    fill(world, count - 1).await;
    (id, [filled(1), filled(count / 2), filled(count - 1), last])
}

/// That the deliveries of some events are shown so.
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

/// The process ends after the first batch, and another one goes on.
///
/// Rules: WEBHOOK-7, WEBHOOK-16, WEBHOOK-18
#[on_each_database]
async fn what_waits_is_skipped_at_once_and_its_rows_follow_in_batches_after_a_restart_too() {
    for (remove, expected) in [(false, DISABLED), (true, REMOVED)] {
        let mut world = World::new().await;
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
async fn what_one_node_has_left_another_one_takes_up() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let (id, events) = waiting(&world, &receiver.url, 2 * BATCH + 1).await;
    world.company.webhooks().disable(id).await.unwrap();
    let other = world.node(Env::system().with_clock(world.clock.clone())).await;
    assert_eq!(other.dispatcher().run_once().await.unwrap().attempts, 0);
    world.assert_all_ended().await;
    assert_shown(&world, id, &events, DISABLED).await;
}

/// Rules: WEBHOOK-17, WEBHOOK-18
#[on_each_database]
async fn a_replay_answers_how_many_it_queues_and_its_rows_follow_in_batches_after_a_restart_too() {
    let mut world = World::new().await;
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
async fn failures_that_disable_a_webhook_skip_what_waits_in_batches() {
    let world = World::new().await;
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
async fn claims_of_a_dropped_dispatcher_are_skipped_with_the_rest() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    let id = hook(&world, &receiver.url).await.webhook.id;
    let dispatcher = RunningDispatcher::start(world.invoicing.dispatcher());
    let event = emit(&world, 1).await[0];
    assert!(receiver.wait_for(1, Duration::from_secs(5)).await);
    dispatcher.kill().await;
    world.company.webhooks().disable(id).await.unwrap();
    // A node of PostgreSQL cannot tell a dropped dispatcher from a slow one before the lease has ended.
    world.advance(world.database().either(Duration::ZERO, Duration::from_hours(1)));
    assert_shown(&world, id, &[event], DISABLED).await;
    world.company.webhooks().enable(id).await.unwrap();
    assert_shown(&world, id, &[event], DISABLED).await;
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

/// What is expected of a webhook whose receiver takes everything.
#[derive(Debug)]
struct Expected {
    disabled: bool,
    deliveries: Vec<(EventId, DeliveryStatus)>,
    pings: Vec<(EventId, DeliveryStatus)>,
    /// How many deliveries the first of the list stands for.
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
                // The clock stands still: all that was skipped was so since it was disabled.
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
            // Disabled or not.
            Step::Ping => self.pings.push((webhooks.ping(id).await.unwrap(), Pending)),
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
        // The filled ones change together: those at both ends of the first batches tell.
        let (first, others) = self.deliveries.split_first().unwrap();
        let filled = [1, BATCH, self.filled.try_into().unwrap()].map(|n| (filled(n), first.1));
        for (event, status) in filled.iter().chain(others).chain(&self.pings) {
            assert_eq!(delivery(world, *event, id).await.status, *status, "{event} after {after:?}");
        }
    }
}

/// Rules: WEBHOOK-14, WEBHOOK-15, WEBHOOK-16, WEBHOOK-17, WEBHOOK-18, WEBHOOK-20, WEBHOOK-21
#[on_each_database]
fn changes_that_meet_the_batches_of_others_hold_in_any_order() {
    let step = prop_oneof![
        3 => Just(Step::Disable), 3 => Just(Step::Enable), 3 => Just(Step::Replay), 2 => Just(Step::EnableAndReplay),
        2 => Just(Step::Emit),
        1 => Just(Step::Ping), 1 => Just(Step::Dispatch),
    ];
    let runtime = runtime();
    for_all(6, &prop::collection::vec(step, 4..14), |steps| {
        runtime.block_on(async {
            let world = World::new().await;
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

/// Deliveries of the changed webhook; 500,000 for the figures that are quoted.
fn rows() -> i64 {
    std::env::var("BULK_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(20_000)
}

/// How long a change takes until its batches are done, and the longest time that a write of another company takes
/// meanwhile.
async fn longest_wait(world: &World, change: impl Future<Output = ()>) -> (Duration, Duration) {
    let (other, _) = world.another("Autre", Plan::Team).await;
    let quote = quote_at(client_of(&other).await, "1");
    let quotes = other.quotes();
    let begun = Instant::now();
    let mut changing = std::pin::pin!(async {
        change.await;
        while world.count(NOTED).await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut longest = Duration::ZERO;
    loop {
        let at = Instant::now();
        let write = quotes.create(&quote);
        tokio::select! {
            biased;
            () = &mut changing => return (begun.elapsed(), longest.max(at.elapsed())),
            written = write => {
                written.unwrap();
                longest = longest.max(at.elapsed());
            }
        }
    }
}

/// Rules: WEBHOOK-18
#[on_each_database]
async fn another_company_does_not_wait_for_all_deliveries_of_a_webhook() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    // Some of what is replayed disables the webhook again.
    receiver.reply_always(Reply::status(400));
    let (id, _) = waiting(&world, &receiver.url, rows()).await;
    let hooks = world.company.webhooks();
    let (mut longest, mut dispatcher) = (Duration::ZERO, None);
    for change in ["disable", "enable", "replay", "remove"] {
        let changing = async {
            match change {
                "disable" => drop(hooks.disable(id).await.unwrap()),
                "enable" => drop(hooks.enable(id).await.unwrap()),
                "replay" => assert_eq!(hooks.replay(id, None).await.unwrap(), rows().unsigned_abs()),
                _ => hooks.remove(id).await.unwrap(),
            }
            dispatcher.get_or_insert_with(|| RunningDispatcher::start(world.invoicing.dispatcher()));
        };
        let (took, waited) = Box::pin(longest_wait(&world, changing)).await;
        let database = world.database();
        println!("{database:?} {} rows: {change} {took:?}, another company waits {waited:?}", rows());
        longest = longest.max(waited);
    }
    dispatcher.unwrap().stop().await;
    world.assert_all_ended().await;
    // A statement about all rows takes 180 ms for 20,000 of them, and 4 s for 500,000.
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}
