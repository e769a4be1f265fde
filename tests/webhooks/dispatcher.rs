//! `Dispatcher::run`: woken by the commit, stopped gracefully, killed, restarted; dead endpoints delay no other.
//!
//! These run on the system's clock, as a host does. Each wait has a bound.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_core::{DeliveryStatus, EventKind, Plan, WebhookId};
use invoicing_server::{CompanyHandle, DispatchReport, Error};
use invoicing_tests::{Database, Receiver, Reply, RunningDispatcher, World, on_each_database};
use tokio::sync::Semaphore;

use crate::support::{delivery, emit, emit_for, hook, hook_for};

/// Sooner than a poll, which comes after 5 s.
const SOON: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_mins(1);

/// Rules: DELIVERY-5
#[on_each_database]
async fn a_commit_wakes_the_dispatcher(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    for n in 1..=20 {
        emit(&world, 1).await;
        assert!(receiver.wait_for(n, SOON).await, "delivery {n} waited for a poll");
    }
    assert_eq!(running.stop().await.delivered, 20);
    world.assert_all_ended().await;
}

/// Rules: DELIVERY-5
#[on_each_database]
async fn pings_replays_and_enabling_wake_the_dispatcher_too(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    webhooks.disable(id).await.unwrap();
    emit(&world, 3).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    webhooks.enable(id).await.unwrap();
    webhooks.ping(id).await.unwrap();
    assert!(receiver.wait_for(1, SOON).await, "the ping");
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 3);
    assert!(receiver.wait_for(4, SOON).await, "what was replayed");
    running.stop().await;
    world.assert_all_ended().await;
}

/// Rules: DELIVERY-5
#[on_each_database]
async fn enabling_wakes_the_dispatcher_of_a_webhook_that_waited_for_retries(db: Database) {
    let alone = |settings: &mut invoicing_server::Settings| settings.dispatch.in_flight_per_webhook = 1;
    let world = World::on(db).settings(alone).system_clock().open().await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    receiver.reply_next([Reply::Status(503, vec![("retry-after", "30".to_owned())])]);
    emit(&world, 3).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(receiver.wait_for(1, SOON).await, "the one that is repeated");
    webhooks.disable(id).await.unwrap();
    let is_skipped =
        async || world.count("SELECT count(*) FROM delivery WHERE status = 'skipped'").await == 3;
    assert!(comes_true(is_skipped).await);
    assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), 3);
    assert!(receiver.wait_for(4, SOON).await, "{} came", receiver.received().len());
    running.stop().await;
    world.assert_all_ended().await;
}

/// Rules: ATTEMPT-3
#[on_each_database]
async fn a_failed_attempt_is_repeated_in_its_time_without_another_wake_up(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    receiver.reply_next([Reply::status(500)]);
    hook(&world, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&world, 1).await;
    assert!(receiver.wait_for(2, 3 * SOON).await);
    let received = receiver.received();
    let gap = received[1].at - received[0].at;
    // Counted from the end of the attempt, 1.1 s at most on an idle machine. A poll would come after 5 s.
    assert!((1_000..4_000).contains(&gap.as_millis()), "{gap:?}");
    running.stop().await;
    world.assert_all_ended().await;
}

/// Rules: DELIVERY-2
#[on_each_database]
async fn what_was_committed_while_no_dispatcher_ran_is_delivered_at_the_start(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    emit(&world, 30).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(receiver.wait_for(30, 5 * SOON).await);
    assert_eq!(running.stop().await.delivered, 30);
    world.assert_all_ended().await;
}

/// Rules: DELIVERY-6
#[on_each_database]
async fn stopping_lets_attempts_in_flight_end_and_records_them(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Slow(Duration::from_millis(400), 200));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    let event = emit(&world, 1).await[0];
    assert!(receiver.wait_for(1, SOON).await);
    assert_eq!(running.stop().await.delivered, 1);
    assert_eq!(delivery(&world, event, id).await.status, DeliveryStatus::Delivered);
    world.assert_all_ended().await;
}

/// Rules: DELIVERY-6
#[on_each_database]
async fn deliveries_not_begun_at_a_stop_are_delivered_once_by_the_next_run(db: Database) {
    let world = World::on(db)
        .settings(|settings| settings.dispatch.in_flight_per_webhook = 1)
        .system_clock()
        .open()
        .await;
    let receiver = Receiver::start().await;
    // This receiver holds the dispatcher until everything is committed.
    let release = Arc::new(Semaphore::new(0));
    receiver.reply_next([Reply::Held(Arc::clone(&release), 200)]);
    let id = hook(&world, &receiver.url).await.webhook.id;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    let all = emit(&world, 100).await;
    assert!(receiver.wait_for(1, SOON).await);
    release.close();
    let report = running.stop().await;
    assert!((1..100).contains(&report.delivered), "{report:?}");
    let mut pending = 0;
    for event in &all {
        pending += u64::from(delivery(&world, *event, id).await.status == DeliveryStatus::Pending);
    }
    assert_eq!(pending + report.delivered, 100);
    assert_eq!(
        world.count("SELECT count(*) FROM delivery WHERE claim <> 0").await,
        0,
        "nothing stays claimed"
    );
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(receiver.wait_for(100, 5 * SOON).await);
    running.stop().await;
    assert_eq!(receiver.received().len(), 100, "a graceful stop repeats nothing");
    world.assert_all_ended().await;
}

#[on_each_database]
async fn a_second_dispatcher_is_refused_and_does_not_disturb_the_first(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&world, 1).await;
    assert!(receiver.wait_for(1, SOON).await);
    for _ in 0..3 {
        let second = world.invoicing.dispatcher().run_once().await;
        assert!(matches!(second, Err(Error::Conflict(_))), "{second:?}");
        let second = world.invoicing.dispatcher().run(std::future::ready(())).await;
        assert!(matches!(second, Err(Error::Conflict(_))), "{second:?}");
    }
    emit(&world, 1).await;
    assert!(receiver.wait_for(2, SOON).await, "the first one is still handed what is committed");
    running.stop().await;
    assert_eq!(world.invoicing.dispatcher().run_once().await.unwrap().attempts, 0);
    world.assert_all_ended().await;
}

/// A dispatcher that is ending must leave its successor's hand-off alone.
#[on_each_database]
async fn a_dispatcher_that_starts_while_another_one_ends_is_woken_by_commits(db: Database) {
    for _ in 0..10 {
        let world = World::on(db)
            .settings(|settings| settings.dispatch.in_flight_per_webhook = 1)
            .system_clock()
            .open()
            .await;
        let receiver = Receiver::start().await;
        receiver.reply_next([Reply::Slow(Duration::from_millis(50), 200)]);
        hook(&world, &receiver.url).await;
        let mut ending = RunningDispatcher::start(world.invoicing.dispatcher());
        emit(&world, 60).await;
        assert!(receiver.wait_for(1, SOON).await);
        ending.ask_to_stop();
        // The second dispatcher tries to start as fast as it can.
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut stopped = std::pin::pin!(async move {
            let _ = stopped.await;
        });
        let dispatcher = world.invoicing.dispatcher();
        let next = async {
            loop {
                match dispatcher.run(&mut stopped).await {
                    Err(Error::Conflict(_)) => tokio::task::yield_now().await,
                    ended => break ended.unwrap(),
                }
            }
        };
        let test = async {
            ending.stop().await;
            assert!(receiver.wait_for(60, LONG).await);
            for n in 61..=65 {
                emit(&world, 1).await;
                assert!(receiver.wait_for(n, SOON).await, "delivery {n} waited for a poll");
            }
            drop(stop);
        };
        tokio::join!(next, test);
        world.assert_all_ended().await;
    }
}

/// Rules: DELIVERY-2, DELIVERY-3
#[on_each_database]
async fn a_dispatcher_dropped_in_the_middle_forgets_nothing(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    hook(&world, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&world, 8).await;
    assert!(receiver.wait_for(8, SOON).await);
    // These wait in memory, and need no claim that could be under way at the end.
    emit(&world, 4).await;
    running.kill().await;
    emit(&world, 88).await;
    receiver.reply_always(Reply::status(200));
    receiver.take();
    // Commits before a dispatcher runs again are delivered too.
    emit(&world, 10).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(receiver.wait_for(8 + 110, 5 * SOON).await);
    emit(&world, 1).await;
    assert!(receiver.wait_for(8 + 111, SOON).await);
    running.stop().await;
    world.assert_all_ended().await;
    let mut bodies: Vec<_> = receiver.received().into_iter().map(|received| received.body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 111);
}

/// Rules: DELIVERY-2
#[on_each_database]
async fn killed_again_and_again_at_any_moment_it_delivers_every_event(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    let mut made = 0;
    for round in 0..15_u64 {
        let running = RunningDispatcher::start(world.invoicing.dispatcher());
        made += emit(&world, 20).await.len();
        tokio::time::sleep(Duration::from_millis(round * 3 % 20)).await;
        running.kill().await;
        made += emit(&world, 1).await.len();
    }
    outlive_claims(&world);
    let report = world.invoicing.dispatcher().run_once().await.unwrap();
    world.assert_all_ended().await;
    let mut bodies: Vec<_> = receiver.received().into_iter().map(|received| received.body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), made, "{report:?}");
}

/// Short runs begin and end while operations commit: a delivery that is planned in one run and committed in the next
/// must be neither lost nor recorded twice. The clock stands still, so two attempts have the same time.
///
/// Rules: DELIVERY-1
#[on_each_database]
async fn runs_that_begin_and_end_while_operations_commit_record_every_attempt(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    let done = std::sync::atomic::AtomicBool::new(false);
    let work = async {
        futures_util::future::join_all((0..4).map(|_| async {
            for _ in 0..60 {
                emit_one(&world).await;
            }
        }))
        .await;
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    };
    let runs = async {
        let dispatcher = world.invoicing.dispatcher();
        while !done.load(std::sync::atomic::Ordering::SeqCst) {
            // Now and then the future is dropped at any of its await points.
            let _ = tokio::time::timeout(Duration::from_micros(1_500), dispatcher.run_once()).await;
            dispatcher.run_once().await.unwrap();
        }
    };
    tokio::time::timeout(LONG, async { tokio::join!(work, runs) }).await.expect("the dispatcher is stuck");
    outlive_claims(&world);
    tokio::time::timeout(LONG, world.dispatch()).await.expect("the dispatcher is stuck");
    world.assert_all_ended().await;
    let mut bodies: Vec<_> = receiver.received().into_iter().map(|received| received.body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 240);
}

async fn emit_one(world: &World) {
    let new = crate::support::quote_at(crate::support::client_of(&world.company).await, "1");
    world.company.quotes().create(&new).await.unwrap();
}

/// A file belongs to this process: when a dispatcher starts, no other can hold a claim. On a server, the claims of
/// another process, or those of a future that was dropped while it claimed, stand until the lease is over.
fn outlive_claims(world: &World) {
    if world.database() == Database::Postgres {
        world.advance(Duration::from_millis(world.invoicing.settings().dispatch.lease_ms + 1));
    }
}

/// Rules: DELIVERY-4
#[on_each_database]
async fn claims_of_a_process_that_died_are_taken_over(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Hang);
    hook(&world, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&world, 50).await;
    assert!(receiver.wait_for(8, SOON).await);
    // As many as are held for a new webhook, of which none ends: no further claim is under way.
    let claimed = "SELECT count(*) FROM delivery WHERE claim <> 0";
    assert!(comes_true(async || world.count(claimed).await == 16).await, "{}", world.count(claimed).await);
    running.kill().await;
    let unclaimed = world.count("SELECT count(*) FROM delivery WHERE claim = 0").await;
    assert!(unclaimed < 50, "nothing to recover");
    let world = world.reopen().await;
    receiver.reply_always(Reply::status(200));
    if world.database() == Database::Postgres {
        let attempts = i64::try_from(world.dispatch().await.attempts).unwrap();
        assert_eq!(attempts, unclaimed, "the claimant may be alive");
    }
    outlive_claims(&world);
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(receiver.wait_for(8 + 50, 5 * SOON).await);
    running.stop().await;
    world.assert_all_ended().await;
}

/// An attempt may take 5 s, and its recording 5 s more. If less of the 60 s lease remained, another node could take the
/// delivery over during the attempt.
///
/// Rules: DELIVERY-4
#[on_each_database]
async fn a_delivery_with_a_nearly_spent_lease_waits_for_the_next_claim(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.in_flight_per_webhook = 1).open().await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    let mut received = 0;
    for (waited, is_released) in [(50_000, false), (50_001, true)] {
        let release = Arc::new(Semaphore::new(0));
        receiver.reply_next([Reply::Held(Arc::clone(&release), 200)]);
        emit(&world, 2).await;
        received += 1;
        assert!(receiver.wait_for(received, SOON).await);
        // The first delivery is in flight, and the second one waits for it.
        world.advance(Duration::from_millis(waited));
        release.close();
        let released = "SELECT count(*) FROM delivery WHERE status = 'pending' AND claim = 0";
        if is_released {
            assert!(comes_true(async || world.count(released).await == 1).await, "it is not released");
            world.advance(Duration::from_secs(1));
        }
        received += 1;
        assert!(receiver.wait_for(received, 3 * SOON).await, "it is not attempted after {waited} ms");
        let pending = "SELECT count(*) FROM delivery WHERE status = 'pending'";
        assert!(comes_true(async || world.count(pending).await == 0).await, "it is not recorded");
    }
    assert_eq!(running.stop().await.delivered, 4);
    let claimed_twice = "SELECT count(*) FROM delivery WHERE claims > 1";
    assert_eq!(world.count(claimed_twice).await, 0, "a claim that is given back does not count");
    world.assert_all_ended().await;
}

/// Waits a few seconds for a condition. True if it came true.
async fn comes_true(mut condition: impl AsyncFnMut() -> bool) -> bool {
    let until = Instant::now() + 5 * SOON;
    while Instant::now() < until {
        if condition().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Rules: DELIVERY-2, ATTEMPT-3
#[on_each_database]
async fn retries_and_counts_survive_a_restart(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    world.dispatch().await;
    let world = world.reopen().await;
    world.advance(Duration::from_millis(999));
    assert_eq!(world.dispatch().await.attempts, 0, "a restart does not shorten a gap");
    world.advance(Duration::from_millis(101));
    assert_eq!(world.dispatch().await.retried, 1);
    let world = world.reopen().await;
    world.advance(Duration::from_millis(5_500));
    assert_eq!(world.dispatch().await.failed, 1);
    assert_eq!(delivery(&world, event, id).await.attempts, 3);
    let world = world.reopen().await;
    assert_eq!(world.company.webhooks().get(id).await.unwrap().consecutive_failures, 1);
    world.assert_all_ended().await;
}

/// The retries that wait, half a minute from now, take every place under way of the webhook.
///
/// Rules: ATTEMPT-10, WEBHOOK-14
#[on_each_database]
async fn retries_that_were_skipped_hold_nothing_back_once_it_is_enabled(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Status(503, vec![("retry-after", "30".to_owned())]));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&world, 9).await;
    assert!(receiver.wait_for(8, 5 * SOON).await);
    let waiting = "SELECT count(*) FROM delivery WHERE attempts = 1 AND claim = 0";
    assert!(comes_true(async || world.count(waiting).await == 8).await, "they are not put back");
    assert!(!receiver.wait_for(9, SOON / 4).await, "more are under way than may be");
    webhooks.disable(id).await.unwrap();
    // The ninth delivery is in memory.
    let pending = "SELECT count(*) FROM delivery WHERE status = 'pending'";
    assert!(comes_true(async || world.count(pending).await == 0).await, "they are not skipped");
    webhooks.enable(id).await.unwrap();
    receiver.reply_always(Reply::status(200));
    emit(&world, 1).await;
    assert!(receiver.wait_for(9, SOON).await, "it waits for what was skipped");
    // After the second failure they wait a second, and not until their earlier due time.
    receiver.reply_next((0..8).map(|_| Reply::status(500)));
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 9);
    assert!(comes_true(async || world.count(pending).await == 0).await, "{}", receiver.received().len());
    running.stop().await;
    world.assert_all_ended().await;
}

/// Rules: ISOLATION-1
#[on_each_database]
async fn a_hanging_endpoint_does_not_delay_the_others(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let hanging = Receiver::start().await;
    hanging.reply_always(Reply::Hang);
    hook(&world, &hanging.url).await;
    let mut good = Vec::new();
    for _ in 0..3 {
        let receiver = Receiver::start().await;
        hook(&world, &receiver.url).await;
        good.push(receiver);
    }
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    for round in 1..=20 {
        emit(&world, 1).await;
        for receiver in &good {
            assert!(receiver.wait_for(round, SOON).await, "round {round}");
        }
    }
    running.kill().await;
}

/// An attempt that takes this long makes a webhook slow, if it is its first one.
const PROMPT_MS: u32 = 250;

/// A company with a webhook that answers promptly.
struct Bystander {
    company: CompanyHandle,
    webhook: WebhookId,
    receiver: Receiver,
}

impl Bystander {
    async fn of(world: &World) -> Self {
        let (company, _) = world.another("Autre", Plan::Pro).await;
        let receiver = Receiver::start().await;
        let webhook = hook_for(&company, &receiver.url, &[EventKind::QuoteCreated]).await.webhook.id;
        Self { company, webhook, receiver }
    }

    /// Emits `events` events; each is delivered soon. A first attempt that the machine makes late makes the webhook slow
    /// by right: then another company takes its place.
    async fn is_served(&mut self, world: &World, events: usize) {
        while !self.is_served_promptly().await {
            *self = Self::of(world).await;
        }
        for n in 2..=events {
            emit_for(&self.company, 1).await;
            assert!(self.receiver.wait_for(n, SOON).await, "delivery {n}");
        }
    }

    async fn is_served_promptly(&self) -> bool {
        emit_for(&self.company, 1).await;
        assert!(self.receiver.wait_for(1, SOON).await, "the first delivery");
        let log = async || self.company.webhooks().log(self.webhook, 1).await.unwrap();
        assert!(comes_true(async || !log().await.is_empty()).await, "it is not recorded");
        log().await[0].duration_ms < PROMPT_MS
    }
}

/// Rules: ISOLATION-1
#[on_each_database]
async fn dead_endpoints_with_a_backlog_of_500_do_not_delay_another_company(db: Database) {
    let world = World::on(db)
        // Few slots, so that the dead endpoints could fill all of them.
        .settings(|settings| settings.dispatch.in_flight = 16)
        .system_clock()
        .open()
        .await;
    let hanging = Receiver::start().await;
    hanging.reply_always(Reply::Hang);
    for _ in 0..2 {
        hook(&world, &hanging.url).await;
    }
    emit(&world, 500).await;
    let mut bystander = Bystander::of(&world).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(hanging.wait_for(2, SOON).await);
    bystander.is_served(&world, 20).await;
    assert_eq!(bystander.company.events().list(None, 100).await.unwrap().len(), 20);
    running.kill().await;
    let counted = world.count("SELECT count(*) FROM delivery WHERE status = 'pending'").await;
    assert!(counted >= 950, "{counted} of 1000 left");
}

/// Late, but in time: such an answer is a success.
const LATE_AFTER: Duration = Duration::from_millis(4_900);
const LATE: Reply = Reply::Slow(LATE_AFTER, 200);

/// Gives two companies the most webhooks they may have, all to `crowd` and with a backlog. Once `crowd` has received
/// `scarce` deliveries, so that slots are scarce, another company's webhook is still served promptly.
async fn assert_forty_webhooks_delay_no_other(db: Database, crowd: &Receiver, scarce: usize) {
    let world = World::on(db).system_clock().open().await;
    let (second, _) = world.another("Deuxième", Plan::Team).await;
    for company in [&world.company, &second] {
        for _ in 0..20 {
            hook_for(company, &crowd.url, &[EventKind::QuoteCreated]).await;
        }
        emit_for(company, 16).await;
    }
    let mut bystander = Bystander::of(&world).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    assert!(crowd.wait_for(scarce, LONG).await, "{} came", crowd.received().len());
    bystander.is_served(&world, 20).await;
    running.kill().await;
}

/// Rules: ISOLATION-1
#[on_each_database]
async fn endpoints_that_answer_late_do_not_delay_another_company(db: Database) {
    let crowd = Receiver::start().await;
    crowd.reply_always(LATE);
    assert_forty_webhooks_delay_no_other(db, &crowd, 160).await;
}

/// Rules: ISOLATION-1
#[on_each_database]
async fn endpoints_late_every_other_time_do_not_delay_another_company(db: Database) {
    let crowd = Receiver::start().await;
    crowd.reply_next((0..640).map(|n| if n % 2 == 0 { LATE } else { Reply::status(200) }));
    assert_forty_webhooks_delay_no_other(db, &crowd, 320).await;
}

/// 12 webhooks compete for 8 slots. Once they have been late they get half of the slots.
///
/// Rules: ISOLATION-1
#[on_each_database]
async fn endpoints_that_were_late_leave_slots_to_others(db: Database) {
    let world =
        World::on(db).settings(|settings| settings.dispatch.in_flight = 8).system_clock().open().await;
    let late = Receiver::start().await;
    late.reply_always(Reply::Slow(Duration::from_millis(2_500), 200));
    for _ in 0..12 {
        hook(&world, &late.url).await;
    }
    emit(&world, 10).await;
    let mut bystander = Bystander::of(&world).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    // 17 deliveries: each webhook has answered at least once, so the dispatcher counts all of them as late.
    assert!(late.wait_for(17, LONG).await);
    bystander.is_served(&world, 10).await;
    running.kill().await;
}

/// With one attempt at a time there are memory slots for the deliveries of two webhooks that are not prompt.
///
/// Rules: ISOLATION-1
#[on_each_database]
async fn endpoints_that_wait_for_retries_leave_memory_slots_to_others(db: Database) {
    let alone = |settings: &mut invoicing_server::Settings| {
        (settings.dispatch.in_flight, settings.dispatch.in_flight_per_webhook) = (1, 1);
    };
    let world = World::on(db).settings(alone).open().await;
    let late = |status| Reply::Slow(Duration::from_millis(400), status);
    let mut receivers = Vec::new();
    for status in [500, 500, 200] {
        let receiver = Receiver::start().await;
        receiver.reply_always(late(status));
        hook(&world, &receiver.url).await;
        receivers.push(receiver);
    }
    emit(&world, 4).await;
    // The clock stands still: no retry falls due.
    world.dispatch().await;
    let received: Vec<_> = receivers.iter().map(|receiver| receiver.received().len()).collect();
    assert_eq!(received, [1, 1, 4]);
}

/// 100 webhooks without earlier attempts, more than there are slots, get one delivery each at the same time. The prompt
/// webhook has a record of an earlier run.
///
/// Rules: ISOLATION-1, ISOLATION-3
#[on_each_database]
async fn new_slow_endpoints_leave_slots_to_a_prompt_one_after_a_start_too(db: Database) {
    let world =
        World::on(db).settings(|settings| settings.dispatch.in_flight = 64).system_clock().open().await;
    let crowd = Receiver::start().await;
    crowd.reply_always(LATE);
    let mut companies = Vec::new();
    for n in 0..5 {
        let (company, _) = world.another(&format!("Foule {n}"), Plan::Team).await;
        for _ in 0..20 {
            hook_for(&company, &crowd.url, &[EventKind::QuoteCreated]).await;
        }
        companies.push(company);
    }
    let mut bystander = Bystander::of(&world).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    bystander.is_served(&world, 1).await;
    running.stop().await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    for company in &companies {
        emit_for(company, 1).await;
    }
    // Before the first ones are answered.
    assert!(crowd.wait_for(40, Duration::from_secs(3)).await, "{} came", crowd.received().len());
    let mut slowest = Duration::ZERO;
    for n in 2..=20 {
        emit_for(&bystander.company, 1).await;
        let begun = Instant::now();
        assert!(bystander.receiver.wait_for(n, LATE_AFTER).await, "delivery {n}");
        slowest = slowest.max(begun.elapsed());
    }
    println!("slowest of 19 deliveries beside 100 slow endpoints: {slowest:?}");
    assert!(slowest < LATE_AFTER / 2, "{slowest:?}: they waited for the others");
    running.kill().await;
}

/// Records of earlier attempts help the first deliveries of a run, and are not needed.
#[on_each_database]
async fn a_dispatcher_starts_where_earlier_attempts_cannot_be_read(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    world.run("ALTER TABLE attempt RENAME TO attempt_elsewhere", &[]).await;
    assert_eq!(world.invoicing.dispatcher().run_once().await.unwrap(), DispatchReport::default());
    world.run("ALTER TABLE attempt_elsewhere RENAME TO attempt", &[]).await;
    emit(&world, 1).await;
    assert_eq!(world.dispatch().await.delivered, 1);
    world.assert_all_ended().await;
}

#[on_each_database]
async fn stopping_waits_no_longer_than_an_attempt_may_take(db: Database) {
    let world = World::on(db)
        .settings(|settings| settings.dispatch.attempt_timeout_ms = 500)
        .system_clock()
        .open()
        .await;
    let hanging = Receiver::start().await;
    hanging.reply_always(Reply::Hang);
    hook(&world, &hanging.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&world, 100).await;
    assert!(hanging.wait_for(8, SOON).await);
    let begun = Instant::now();
    let report = running.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(report.retried >= 8, "{report:?}");
    assert_eq!(world.count("SELECT count(*) FROM delivery WHERE claim <> 0").await, 0);
    world.assert_ledger().await;
}

/// Rules: DELIVERY-2
#[on_each_database]
async fn operations_go_on_while_the_dispatcher_works_and_everything_arrives(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let mut receivers = Vec::new();
    for _ in 0..4 {
        let receiver = Receiver::start().await;
        hook(&world, &receiver.url).await;
        receivers.push(receiver);
    }
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    let emitted = futures_util::future::join_all((0..8).map(|_| async {
        for _ in 0..5 {
            world.accepted().await;
        }
    }));
    emitted.await;
    for receiver in &receivers {
        assert!(receiver.wait_for(80, LONG).await, "{}", receiver.received().len());
    }
    assert_eq!(running.stop().await.delivered, 320);
    world.assert_all_ended().await;
}

#[on_each_database]
async fn operations_and_dispatcher_find_no_storage_after_closing(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    emit(&world, 1).await;
    world.invoicing.close().await;
    let dispatched = world.invoicing.dispatcher().run_once().await;
    assert!(matches!(dispatched, Err(Error::StorageUnavailable(_))), "{dispatched:?}");
    let created = world.company.clients().create(&invoicing_core::NewClient::named("x")).await;
    assert!(matches!(created, Err(Error::StorageUnavailable(_))), "{created:?}");
    let world = world.reopen().await;
    assert_eq!(world.dispatch().await.delivered, 1);
    world.assert_all_ended().await;
}
