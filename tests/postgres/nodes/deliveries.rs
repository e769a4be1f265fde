//! Webhooks: dispatchers on several nodes share the due deliveries, and follow the decisions of other nodes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_core::{DeliveryStatus, EventKind, WebhookId};
use invoicing_server::{Secret, WebhookChange};
use invoicing_tests::{Database, Received, Receiver, Reply, RunningDispatcher, World, on_postgres};
use sqlx::{Connection, Executor, PgConnection};
use tokio::sync::Semaphore;
use webhook_verify::Verifier;

use super::{MINUTE, Nodes, TOLD, WAITING, comes_to, comes_within};
use crate::support::{delivery, emit_for, hook, hook_for};

const PENDING: &str = "SELECT count(*) FROM delivery WHERE status = 'pending'";
/// Longest wait of any test here.
const LONG: Duration = Duration::from_secs(30);

async fn nodes(db: Database) -> Nodes {
    Nodes::on_system_clock(World::on(db).system_clock().open().await).await
}

fn run_all(nodes: &Nodes) -> Vec<RunningDispatcher> {
    nodes.all.iter().map(|node| RunningDispatcher::start(node.dispatcher())).collect()
}

/// Each body came once.
fn assert_once(receiver: &Receiver, count: usize) {
    let mut bodies: Vec<_> = receiver.received().into_iter().map(|received| received.body).collect();
    assert_eq!(bodies.len(), count, "attempts");
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), count, "bodies");
}

/// Stops the dispatchers. Each receiver has had `each` deliveries, each of them once.
async fn ends_once(nodes: &Nodes, running: Vec<RunningDispatcher>, receivers: &[Receiver], each: usize) {
    let mut delivered = Vec::new();
    for running in running {
        delivered.push(running.stop().await.delivered);
    }
    assert_eq!(delivered.iter().sum::<u64>(), (each * receivers.len()) as u64, "{delivered:?}");
    for receiver in receivers {
        assert_once(receiver, each);
    }
    nodes.world.assert_all_ended().await;
}

/// Rules: DELIVERY-4
#[on_postgres(worker_threads = 4)]
async fn what_is_committed_on_any_node_is_delivered_once_by_dispatchers_on_all(db: Database) {
    let nodes = nodes(db).await;
    let receivers = [Receiver::start().await, Receiver::start().await];
    for receiver in &receivers {
        hook(&nodes.world, &receiver.url).await;
    }
    let running = run_all(&nodes);
    for round in 0..10 {
        for node in 0..3 {
            emit_for(&nodes.company(node), 5).await;
        }
        let come = (round + 1) * 15;
        for receiver in &receivers {
            assert!(receiver.wait_for(come, TOLD).await, "round {round}: {}", receiver.received().len());
        }
    }
    ends_once(&nodes, running, &receivers, 150).await;
}

/// Rules: DELIVERY-4
#[on_postgres(worker_threads = 4)]
async fn a_backlog_is_shared_by_dispatchers_that_start_together(db: Database) {
    let nodes = nodes(db).await;
    let receivers = [Receiver::start().await, Receiver::start().await, Receiver::start().await];
    for receiver in &receivers {
        hook(&nodes.world, &receiver.url).await;
    }
    for node in 0..3 {
        emit_for(&nodes.company(node), 100).await;
    }
    let running = run_all(&nodes);
    for receiver in &receivers {
        assert!(receiver.wait_for(300, LONG).await, "{}", receiver.received().len());
    }
    ends_once(&nodes, running, &receivers, 300).await;
}

/// Rules: DELIVERY-5
#[on_postgres(worker_threads = 4)]
async fn what_is_committed_where_no_dispatcher_runs_wakes_one_that_does(db: Database) {
    let nodes = nodes(db).await;
    let receiver = Receiver::start().await;
    hook(&nodes.world, &receiver.url).await;
    let running = RunningDispatcher::start(nodes.all[2].dispatcher());
    for n in 1..=10 {
        emit_for(&nodes.company(n % 2), 1).await;
        assert!(receiver.wait_for(n, TOLD).await, "delivery {n} waited for a poll");
    }
    assert_eq!(running.stop().await.delivered, 10);
    nodes.world.assert_all_ended().await;
}

/// This delivery's transaction is committed very late: the claims of the run have passed its instant.
#[on_postgres(worker_threads = 4)]
async fn a_delivery_due_before_the_claimed_ones_is_found_by_the_next_poll(db: Database) {
    let nodes = nodes(db).await;
    let receiver = Receiver::start().await;
    hook(&nodes.world, &receiver.url).await;
    let event = emit_for(&nodes.company(0), 10).await[0];
    let running = RunningDispatcher::start(nodes.all[1].dispatcher());
    assert!(receiver.wait_for(10, LONG).await);
    // The run claims deliveries of another node.
    emit_for(&nodes.company(2), 10).await;
    assert!(receiver.wait_for(20, TOLD).await);
    comes_within(LONG, "their end", async || nodes.world.count(PENDING).await == 0).await;
    let late = "UPDATE delivery SET status = 'pending', ended_at = NULL, due_at = 1 WHERE event_id = $1";
    assert_eq!(nodes.world.run(late, &[event.0.into()]).await, 1);
    emit_for(&nodes.company(2), 1).await;
    assert!(receiver.wait_for(22, LONG).await, "{}", receiver.received().len());
    assert_eq!(running.stop().await.delivered, 22);
    nodes.world.assert_all_ended().await;
}

/// Between two attempts a poll finds a delivery that is not due yet.
///
/// Rules: DELIVERY-5
#[on_postgres(worker_threads = 4)]
async fn deliveries_of_another_node_do_not_wait_for_a_polled_retry(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    hook(&nodes.world, &receiver.url).await;
    let attempts = async || nodes.world.count("SELECT count(*) FROM attempt").await;
    let running = RunningDispatcher::start(nodes.all[1].dispatcher());
    emit_for(&nodes.company(1), 1).await;
    comes_within(LONG, "the first attempt", async || attempts().await == 1).await;
    nodes.world.advance(Duration::from_millis(1_300));
    comes_within(LONG, "the second attempt", async || attempts().await == 2).await;
    receiver.reply_always(Reply::status(200));
    // The next poll is due, the third attempt is not. A delivery of the same node wakes the dispatcher for both.
    nodes.world.advance(Duration::from_secs(4));
    emit_for(&nodes.company(1), 1).await;
    for others in 1..=5 {
        emit_for(&nodes.company(0), 1).await;
        assert!(receiver.wait_for(3 + others, TOLD).await, "{others}");
    }
    running.stop().await;
    assert_eq!(nodes.world.count(PENDING).await, 1);
}

/// Rules: DELIVERY-4
#[on_postgres(worker_threads = 4)]
async fn a_run_on_each_node_at_once_attempts_each_delivery_once(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Slow(Duration::from_millis(3), 200));
    hook(&nodes.world, &receiver.url).await;
    let mut made = 0;
    for round in 0..8 {
        made += emit_for(&nodes.company(round), 30).await.len();
        let runs = nodes.all.iter().map(|node| async { node.dispatcher().run_once().await.unwrap() });
        let reports = futures_util::future::join_all(runs).await;
        let delivered: u64 = reports.iter().map(|report| report.delivered).sum();
        assert_eq!(delivered, 30, "{reports:?}");
    }
    assert_once(&receiver, made);
    nodes.world.assert_all_ended().await;
}

/// A dead node looks like a slow one: its claimed deliveries fall due when its lease runs out.
///
/// Rules: DELIVERY-4
#[on_postgres(worker_threads = 4)]
async fn the_claims_of_a_node_that_died_fall_due_with_its_lease(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    hook(&nodes.world, &receiver.url).await;
    let dying = RunningDispatcher::start(nodes.all[1].dispatcher());
    emit_for(&nodes.company(1), 8).await;
    assert!(receiver.wait_for(8, LONG).await);
    // No claim is under way: there is nothing more to claim until it is dead.
    dying.kill().await;
    emit_for(&nodes.company(1), 12).await;
    receiver.reply_always(Reply::status(200));
    receiver.take();
    nodes.world.advance(Duration::from_secs(50));
    let early = nodes.all[2].dispatcher().run_once().await.unwrap();
    assert_eq!(early.delivered, 12, "the lease is not over");
    nodes.world.advance(Duration::from_secs(11));
    let late = nodes.all[2].dispatcher().run_once().await.unwrap();
    assert_eq!(late.delivered, 8);
    assert_once(&receiver, 20);
    nodes.world.assert_all_ended().await;
}

/// One node has lost its claim without a sign of it, the other node has it now, and both record their attempts at the
/// same time.
#[on_postgres(worker_threads = 4)]
async fn attempts_that_two_nodes_record_at_once_have_a_number_each(db: Database) {
    let patient =
        World::on(db).settings(|settings| settings.dispatch.attempt_timeout_ms = 30_000).open().await;
    let nodes = Nodes::of_one_clock(patient).await;
    let receiver = Receiver::start().await;
    let release = Arc::new(Semaphore::new(0));
    receiver.reply_always(Reply::Held(Arc::clone(&release), 200));
    let id = hook(&nodes.world, &receiver.url).await.webhook.id;
    let slow = RunningDispatcher::start(nodes.all[1].dispatcher());
    emit_for(&nodes.company(1), 1).await;
    assert!(receiver.wait_for(1, LONG).await);
    // The lease alone ends, and not by the clock, at which the first node would claim the delivery again.
    let mut between = PgConnection::connect(nodes.world.place().url()).await.unwrap();
    between.execute("UPDATE delivery SET held_until = 0").await.unwrap();
    let heir = RunningDispatcher::start(nodes.all[2].dispatcher());
    assert!(receiver.wait_for(2, LONG).await);
    between.execute("BEGIN; SELECT FROM delivery FOR UPDATE").await.unwrap();
    release.close();
    comes_within(LONG, "two that record", async || nodes.world.count(WAITING).await == 2).await;
    between.close().await.unwrap();
    assert_eq!(slow.stop().await.attempts + heir.stop().await.attempts, 2);
    let log = nodes.world.company.webhooks().log(id, 10).await.unwrap();
    let numbers: HashSet<u32> = log.iter().map(|attempt| attempt.number).collect();
    assert_eq!((log.len(), numbers), (2, HashSet::from([1, 2])), "{log:?}");
    nodes.world.assert_all_ended().await;
}

fn is_signed(received: &Received, secret: &Secret) -> bool {
    let verifier = Verifier::new(secret.reveal()).unwrap();
    verifier.verify_now(received.headers["x-service-signature"].as_bytes(), &received.body).is_ok()
}

/// A change reaches another node a moment after its commit, and holds there from then on.
///
/// Rules: WEBHOOK-4
#[on_postgres(worker_threads = 4)]
async fn a_secret_that_one_node_rotates_signs_what_another_delivers(db: Database) {
    let nodes = nodes(db).await;
    let receiver = Receiver::start().await;
    let registered = hook(&nodes.world, &receiver.url).await;
    let (id, mut secret) = (registered.webhook.id, registered.secret);
    let running = RunningDispatcher::start(nodes.all[1].dispatcher());
    let mut come = 0;
    let mut is_signed_with = async |secret: &Secret| {
        emit_for(&nodes.company(2), 1).await;
        come += 1;
        assert!(receiver.wait_for(come, TOLD).await, "delivery {come}");
        is_signed(&receiver.take()[0], secret)
    };
    for _ in 0..5 {
        let begun = Instant::now();
        while !is_signed_with(&secret).await {
            assert!(begun.elapsed() < TOLD, "signed with a secret that was rotated");
        }
        for _ in 0..5 {
            assert!(is_signed_with(&secret).await, "signed with the old secret again");
        }
        secret = nodes.company(0).webhooks().rotate(id).await.unwrap().secret;
    }
    running.stop().await;
}

#[on_postgres(worker_threads = 4)]
async fn a_webhook_that_one_node_sends_elsewhere_is_delivered_there_by_another(db: Database) {
    let nodes = nodes(db).await;
    let receivers = [Receiver::start().await, Receiver::start().await];
    let id = hook(&nodes.world, &receivers[0].url).await.webhook.id;
    let running = RunningDispatcher::start(nodes.all[1].dispatcher());
    let mut come = 0;
    let mut reaches = async |receiver: &Receiver| {
        let before = receiver.received().len();
        emit_for(&nodes.company(2), 1).await;
        come += 1;
        let both = || receivers.iter().map(|receiver| receiver.received().len()).sum::<usize>();
        comes_to("a delivery", || async { both() == come }).await;
        receiver.received().len() > before
    };
    for n in 0..6 {
        let (begun, receiver) = (Instant::now(), &receivers[n % 2]);
        while !reaches(receiver).await {
            assert!(begun.elapsed() < TOLD, "delivered to the old place");
        }
        for _ in 0..5 {
            assert!(reaches(receiver).await, "delivered to the old place again");
        }
        let change = WebhookChange { url: Some(receivers[(n + 1) % 2].url.clone()), events: None };
        nodes.company(0).webhooks().change(id, &change).await.unwrap();
    }
    running.stop().await;
}

/// Rules: WEBHOOK-16
#[on_postgres(worker_threads = 4)]
async fn a_webhook_that_one_node_disables_is_skipped_by_another(db: Database) {
    let nodes = nodes(db).await;
    let (receiver, witness) = (Receiver::start().await, Receiver::start().await);
    let id = hook(&nodes.world, &receiver.url).await.webhook.id;
    hook(&nodes.world, &witness.url).await;
    let running = RunningDispatcher::start(nodes.all[1].dispatcher());
    let mut come = 0;
    for round in 0..5 {
        emit_for(&nodes.company(2), 1).await;
        come += 1;
        assert!(receiver.wait_for(come, TOLD).await, "round {round}");
        nodes.company(0).webhooks().disable(id).await.unwrap();
        let event = emit_for(&nodes.company(2), 1).await[0];
        assert!(witness.wait_for(2 * round + 2, TOLD).await, "round {round}");
        assert_eq!(delivery(&nodes.world, event, id).await.status, DeliveryStatus::Skipped);
        nodes.company(0).webhooks().enable(id).await.unwrap();
    }
    running.stop().await;
    assert_eq!(receiver.received().len(), come, "what was disabled got something");
}

/// Failures are counted in the database: the tenth in a row disables, on any of the nodes.
///
/// Rules: WEBHOOK-11
#[on_postgres(worker_threads = 4)]
async fn failures_in_a_row_are_counted_over_nodes(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(404));
    let id: WebhookId =
        hook_for(&nodes.world.company, &receiver.url, &[EventKind::QuoteCreated]).await.webhook.id;
    for n in 0..10 {
        assert!(
            nodes.world.company.webhooks().get(id).await.unwrap().disabled.is_none(),
            "after {n} failures"
        );
        emit_for(&nodes.company(n), 1).await;
        assert_eq!(nodes.all[n % 3].dispatcher().run_once().await.unwrap().failed, 1);
    }
    assert!(nodes.company(1).webhooks().get(id).await.unwrap().disabled.is_some());
    emit_for(&nodes.company(2), 1).await;
    nodes.world.advance(MINUTE);
    for node in &nodes.all {
        assert_eq!(node.dispatcher().run_once().await.unwrap().attempts, 0);
    }
    assert_eq!(receiver.received().len(), 10);
}

/// A node reads the state of a disabled webhook again before it skips deliveries, even if no notification arrives.
#[on_postgres(worker_threads = 4)]
async fn a_node_without_news_of_an_enabled_webhook_sends_its_new_events(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let deaf = world.node_from(world.place().builder_without_listener()).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    let hook = hook(&world, &receiver.url).await.webhook.id;
    let running = RunningDispatcher::start(deaf.dispatcher());
    let company = deaf.company(world.company.id());
    emit_for(&company, 20).await;
    assert!(receiver.wait_for(8, LONG).await);
    world.company.webhooks().disable(hook).await.unwrap();
    // Once the attempts time out, the node without a listener skips the deliveries that it holds.
    let pending = "SELECT count(*) FROM delivery WHERE status = 'pending'";
    let begun = Instant::now();
    while world.count(pending).await > 0 {
        assert!(begun.elapsed() < LONG, "still pending");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    receiver.reply_always(Reply::status(200));
    let hung = receiver.received().len();
    world.company.webhooks().enable(hook).await.unwrap();
    let event = emit_for(&company, 1).await[0];
    assert!(receiver.wait_for(hung + 1, TOLD).await, "{:?}", delivery(&world, event, hook).await);
    running.stop().await;
    assert_eq!(delivery(&world, event, hook).await.status, DeliveryStatus::Delivered);
}

/// Each node has the most deliveries under way, and hundreds wait. One of the nodes is stopped meanwhile: the next poll
/// of another node finds the deliveries that it had begun.
///
/// Rules: ATTEMPT-3, ATTEMPT-10, DELIVERY-4
#[on_postgres(worker_threads = 4)]
async fn gaps_are_kept_by_several_nodes_though_hundreds_of_events_wait(db: Database) {
    const SPARE_MS: i64 = 2_500;
    const POLL_MS: i64 = 5_000;
    let world = World::on(db)
        .settings(|settings| settings.dispatch.attempt_timeout_ms = 1_000)
        .system_clock()
        .open()
        .await;
    let nodes = Nodes::on_system_clock(world).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    let webhook = hook(&nodes.world, &receiver.url).await.webhook.id;
    emit_for(&nodes.world.company, 300).await;
    let mut running = run_all(&nodes);
    assert!(receiver.wait_for(8 * nodes.all.len(), LONG).await);
    running.pop().unwrap().stop().await;
    let webhooks = nodes.world.company.webhooks();
    comes_within(LONG, "its end", async || webhooks.get(webhook).await.unwrap().disabled.is_some()).await;
    for running in running {
        running.stop().await;
    }
    let mut of_event = HashMap::<_, Vec<_>>::new();
    for attempt in webhooks.log(webhook, 10_000).await.unwrap() {
        of_event.entry(attempt.event).or_default().push(attempt);
    }
    let (mut longest, mut late) = ([0; 2], 0);
    for attempts in of_event.values_mut() {
        attempts.sort_unstable_by_key(|attempt| attempt.number);
        for (n, pair) in attempts.windows(2).enumerate() {
            let gap = pair[1].at.as_millis() - pair[0].at.as_millis() - i64::from(pair[0].duration_ms);
            let max = [1_100, 5_500][n] + SPARE_MS;
            assert!(gap >= [990, 4_990][n] && gap <= max + POLL_MS, "gap {n}: {gap} ms");
            late += usize::from(gap > max);
            longest[n] = longest[n].max(gap);
        }
    }
    println!("several nodes: longest gaps {longest:?} ms, {late} until a poll");
    assert!(late <= 8, "{late} were late, and 8 were under way on the node that was stopped");
}

/// Each delivery, and the page of the table with its row.
async fn pages(connection: &mut PgConnection) -> HashMap<i64, i64> {
    let pages = "SELECT id, (ctid::text::point)[0]::bigint FROM delivery WHERE status = 'pending'";
    let rows: Vec<(i64, i64)> = sqlx::query_as(pages).fetch_all(connection).await.unwrap();
    rows.into_iter().collect()
}

/// A row that moves to another page costs an entry in each index, and the old ones have to be cleared away.
#[on_postgres(worker_threads = 4)]
async fn a_claim_leaves_every_row_where_it_is(db: Database) {
    const EVENTS: usize = 120;
    // Places for all deliveries, even if the first answer comes soon.
    let world = World::on(db)
        .settings(|settings| settings.dispatch.in_flight_per_webhook = EVENTS)
        .system_clock()
        .open()
        .await;
    let receiver = Receiver::start().await;
    // The first answer shows that the receiver is prompt. No other attempt ends before the rows have been compared.
    receiver.reply_always(Reply::Slow(Duration::from_secs(4), 200));
    receiver.reply_next([Reply::status(200)]);
    hook(&world, &receiver.url).await;
    emit_for(&world.company, EVENTS).await;
    let mut connection = PgConnection::connect(world.place().url()).await.unwrap();
    let before = pages(&mut connection).await;
    assert_eq!(before.len(), EVENTS);
    assert!(before.values().collect::<HashSet<_>>().len() > 2, "more than fit on two pages");

    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    let claimed = "SELECT count(*) FROM delivery WHERE claim <> 0 AND status = 'pending'";
    comes_to("all are claimed", async || usize::try_from(world.count(claimed).await) == Ok(EVENTS - 1)).await;
    let moved = pages(&mut connection).await.into_iter().filter(|(id, page)| before[id] != *page);
    // A row beside the delivery that has ended, which has two more versions on its page, may find no room.
    assert!(moved.count() <= 1);
    running.stop().await;
    connection.close().await.unwrap();
}
