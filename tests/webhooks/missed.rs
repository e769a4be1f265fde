//! Enabling replays by default the deliveries that a webhook has missed: since its last success, or since its
//! registration.

use std::sync::Arc;
use std::time::Duration;

use invoicing_server::DisabledReason;
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};
use tokio::sync::Semaphore;

use crate::support::{DAY, dispatch_to_the_end, emit, hook};

/// The failures that led to disabling were missed as well: they are repaired. Failures before the last success were
/// not.
///
/// Rules: WEBHOOK-21
#[on_each_database]
async fn enabling_replays_by_default_what_failed_since_the_last_success(db: Database) {
    for by_hand in [false, true] {
        let world = World::new(db).await;
        let receiver = Receiver::start().await;
        let webhooks = world.company.webhooks();
        let id = hook(&world, &receiver.url).await.webhook.id;
        // One delivery fails, the next one arrives, and a test arrives later.
        receiver.reply_next([Reply::status(400), Reply::status(200)]);
        for _ in 0..2 {
            emit(&world, 1).await;
            world.dispatch().await;
            world.advance(DAY);
        }
        receiver.reply_always(Reply::status(400));
        let failing_since = world.now();
        let mut missed = Vec::new();
        for _ in 0..9 + u32::from(!by_hand) {
            missed.extend(emit(&world, 1).await);
            world.dispatch().await;
            world.advance(DAY);
        }
        if by_hand {
            // Enabled without a replay, the webhook has missed the same deliveries as before.
            webhooks.disable(id).await.unwrap();
            let enabled = webhooks.enable(id).await.unwrap();
            assert_eq!((enabled.consecutive_failures, enabled.failing_since), (0, Some(failing_since)));
            webhooks.disable(id).await.unwrap();
        }
        let disabled = webhooks.get(id).await.unwrap();
        let reason = if by_hand { DisabledReason::Manual } else { DisabledReason::Failures };
        assert_eq!(disabled.disabled.map(|(_, reason)| reason), Some(reason));
        assert_eq!(disabled.missed_since(), Some(failing_since));
        missed.extend(emit(&world, 1).await);
        receiver.reply_always(Reply::status(200));
        webhooks.ping(id).await.unwrap();
        assert_eq!(world.dispatch().await.delivered, 1);
        receiver.take();

        assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), missed.len() as u64);
        dispatch_to_the_end(&world).await;
        // The deliveries are sent in any order.
        let mut sent: Vec<String> = receiver
            .take()
            .iter()
            .map(|received| received.headers["x-service-event-id"].to_str().unwrap().to_owned())
            .collect();
        sent.sort_unstable();
        assert_eq!(sent, missed.iter().map(ToString::to_string).collect::<Vec<_>>());
        let webhook = webhooks.get(id).await.unwrap();
        assert_eq!((webhook.failing_since, webhook.missed_since()), (None, None));
        world.assert_all_ended().await;
    }
}

/// The clocks of nodes differ: the node that records the first failure may be ahead of the node that records the next,
/// and of the node that disables the webhook.
///
/// Rules: WEBHOOK-21
#[on_each_database]
async fn failures_that_a_slower_clock_dates_are_part_of_the_default_replay(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    for _ in 0..2 {
        emit(&world, 1).await;
        world.dispatch().await;
        world.clock.set(world.now().plus_millis(-3_600_000));
    }
    emit(&world, 1).await;
    webhooks.disable(id).await.unwrap();
    assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), 3);
}

/// A success that was under way when the webhook was disabled hides nothing: the earlier failures still count as
/// missed.
///
/// Rules: WEBHOOK-21
#[on_each_database]
async fn a_success_after_the_disabling_hides_nothing_from_the_replay(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let held = Arc::new(Semaphore::new(0));
    receiver.reply_next([Reply::status(400), Reply::Held(Arc::clone(&held), 200)]);
    emit(&world, 1).await;
    world.dispatch().await;
    emit(&world, 1).await;
    let switch_off = async {
        assert!(receiver.wait_for(2, Duration::from_secs(5)).await);
        webhooks.disable(id).await.unwrap();
        world.advance(DAY);
        held.close();
    };
    let (report, ()) = tokio::join!(world.dispatch(), switch_off);
    assert_eq!(report.delivered, 1);
    emit(&world, 1).await;
    assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), 2, "the failed one and the skipped one");
}
