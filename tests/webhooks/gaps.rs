//! The gaps between the attempts of a delivery while others of its webhook wait for their first. The clock is moved by
//! hand, and an oracle computes the deliveries that have to be under way.
//!
//! Each attempt takes 5 s of that clock and is then answered 500, so attempts queue. The clock goes from one instant at
//! which something happens to the next.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{DeliveryStatus, EventId, EventKind, Plan, Timestamp, WebhookId};
use invoicing_server::{CompanyHandle, Settings};
use invoicing_tests::{Database, Receiver, Reply, RunningDispatcher, World, on_each_database};
use tokio::sync::Semaphore;

use crate::support::{delivery, emit, emit_for, hook_for};

/// Duration of an attempt.
const ATTEMPT_MS: i64 = 5_000;
/// Maximum number of deliveries of a webhook that are under way at once.
const UNDER_WAY: usize = 8;
/// Longest gaps: a tenth is added at most. Events at one instant of this clock take no time.
const GAPS_MS: [i64; 2] = [1_100, 5_500];
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the test waits for deliveries that may not come.
const BRIEFLY: Duration = Duration::from_millis(300);
/// More than the attempts that may be under way.
const MANY: usize = 500;

/// The oracle's state of a delivery that has begun.
#[derive(Debug, Clone, Copy)]
enum Begun {
    /// Attempted since an instant; the answer is held back.
    InFlight(Timestamp),
    /// To be attempted again at an instant, since the last attempt ended.
    Waiting { due: Timestamp, ended: Timestamp },
}

/// A webhook whose receiver takes 5 s, a dispatcher, and the oracle.
struct Scene {
    world: World,
    slow: Receiver,
    webhook: WebhookId,
    running: Option<RunningDispatcher>,
    /// A prompt webhook of another company. Its deliveries wake the dispatcher, which does not wake when the clock is
    /// moved.
    other: (CompanyHandle, Receiver),
    begun: BTreeMap<EventId, (usize, Begun)>,
    /// Semaphores that hold the answers back, for requests that have not come yet.
    answers: VecDeque<Arc<Semaphore>>,
    held: BTreeMap<EventId, Arc<Semaphore>>,
    seen: usize,
    /// Number of events that have happened, and of those that have been attempted.
    emitted: usize,
    attempted: usize,
    woken: usize,
    ended: usize,
    began: Timestamp,
    next_event: Timestamp,
    longest_gaps: [i64; 2],
}

fn settings(settings: &mut Settings) {
    // The timeout runs on the system's clock, on which attempts here take no time.
    settings.dispatch.attempt_timeout_ms = 30_000;
    settings.dispatch.lease_ms = 600_000;
}

impl Scene {
    /// A scene with `waiting` deliveries in the queue.
    async fn new(db: Database, waiting: usize) -> Self {
        let world = World::on(db).settings(settings).open().await;
        let slow = Receiver::start().await;
        let answers: VecDeque<_> = (0..MANY).map(|_| Arc::new(Semaphore::new(0))).collect();
        slow.reply_next(answers.iter().map(|held| Reply::Held(Arc::clone(held), 500)));
        let webhook = hook_for(&world.company, &slow.url, &[EventKind::QuoteCreated]).await.webhook.id;
        emit(&world, waiting).await;
        let prompt = Receiver::start().await;
        let (company, _) = world.another("Autre", Plan::Team).await;
        hook_for(&company, &prompt.url, &[EventKind::QuoteCreated]).await;
        let (now, running) = (world.now(), RunningDispatcher::start(world.invoicing.dispatcher()));
        Self {
            world,
            slow,
            webhook,
            running: Some(running),
            other: (company, prompt),
            begun: BTreeMap::new(),
            answers,
            held: BTreeMap::new(),
            seen: 0,
            emitted: waiting,
            attempted: 0,
            woken: 0,
            ended: 0,
            began: now,
            next_event: now,
            longest_gaps: [0; 2],
        }
    }

    /// Goes on, with an event every `every_ms`, until the webhook is disabled or `limit_ms` has passed since the
    /// beginning. Returns when the webhook was disabled.
    async fn go_on(&mut self, every_ms: i64, limit_ms: i64) -> Option<i64> {
        loop {
            let now = self.world.now();
            let passed = now.as_millis() - self.began.as_millis();
            if passed > limit_ms {
                return None;
            }
            if self.next_event <= now {
                emit(&self.world, 1).await;
                self.emitted += 1;
                self.next_event = self.next_event.plus_millis(every_ms);
            }
            if self.settle().await {
                return Some(passed);
            }
            let next = self.begun.values().map(|(_, begun)| match begun {
                Begun::InFlight(since) => since.plus_millis(ATTEMPT_MS),
                Begun::Waiting { due, .. } => *due,
            });
            let next = next.chain([self.next_event]).min().unwrap_or(self.next_event);
            self.world.clock.set(next.max(self.world.now()));
        }
    }

    /// Carries out everything that is due at this instant. True if the webhook is disabled then.
    async fn settle(&mut self) -> bool {
        let now = self.world.now();
        let ends = |(_, begun): &(usize, Begun)| matches!(begun, Begun::InFlight(since) if since.plus_millis(ATTEMPT_MS) <= now);
        let answered: Vec<EventId> =
            self.begun.iter().filter(|(_, begun)| ends(begun)).map(|(event, _)| *event).collect();
        for event in &answered {
            self.held.remove(event).unwrap().add_permits(1);
        }
        for event in answered {
            self.recorded(event, now).await;
        }
        if self.world.company.webhooks().get(self.webhook).await.unwrap().disabled.is_some() {
            return true;
        }
        self.wake().await;
        // Each retry that is due, at this instant.
        let due = |(_, begun): &&(usize, Begun)| matches!(begun, Begun::Waiting { due, .. } if *due <= now);
        let retries = self.begun.values().filter(due).count();
        assert!(self.slow.wait_for(self.seen + retries, PATIENCE).await, "a retry waits: {:?}", self.begun);
        // First attempts fill the free places under way.
        let may_begin = UNDER_WAY.saturating_sub(self.begun.len()).min(self.emitted - self.attempted);
        self.slow.wait_for(self.seen + retries + may_begin, BRIEFLY).await;
        self.arrived(now);
        let is_late =
            |(_, begun): &(usize, Begun)| matches!(begun, Begun::Waiting { due, .. } if *due <= now);
        assert!(!self.begun.values().any(is_late), "a first attempt came before a retry: {:?}", self.begun);
        assert!(self.begun.len() <= UNDER_WAY, "{} are under way", self.begun.len());
        false
    }

    /// The end of an attempt is on record.
    async fn recorded(&mut self, event: EventId, now: Timestamp) {
        let attempts = self.begun[&event].0;
        let until = std::time::Instant::now() + PATIENCE;
        let delivery = loop {
            let delivery = delivery(&self.world, event, self.webhook).await;
            if usize::try_from(delivery.attempts).unwrap() == attempts {
                break delivery;
            }
            assert!(std::time::Instant::now() < until, "an attempt is not recorded: {delivery:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        if delivery.status == DeliveryStatus::Pending {
            let waiting = Begun::Waiting { due: delivery.due_at, ended: now };
            self.begun.insert(event, (attempts, waiting));
        } else {
            self.begun.remove(&event);
            self.ended += 1;
        }
    }

    async fn wake(&mut self) {
        self.woken += 1;
        emit_for(&self.other.0, 1).await;
        assert!(self.other.1.wait_for(self.woken, PATIENCE).await, "another company's delivery waits");
    }

    /// Records the attempts that have arrived.
    fn arrived(&mut self, now: Timestamp) {
        for received in self.slow.take() {
            self.seen += 1;
            let event = received.headers["x-service-event-id"].to_str().unwrap().parse().unwrap();
            self.held.insert(event, self.answers.pop_front().unwrap());
            let (attempts, before) =
                self.begun.get(&event).map_or((0, None), |(n, begun)| (*n, Some(*begun)));
            self.attempted += usize::from(before.is_none());
            if let Some(Begun::Waiting { ended, .. }) = before {
                let longest = &mut self.longest_gaps[attempts - 1];
                *longest = (*longest).max(now.as_millis() - ended.as_millis());
            }
            self.begun.insert(event, (attempts + 1, Begun::InFlight(now)));
        }
    }

    /// Ends the dispatcher, whose attempts in flight are answered, and starts another.
    async fn restart(&mut self) {
        let mut running = self.running.take().unwrap();
        running.ask_to_stop();
        let in_flight: Vec<EventId> = self.held.keys().copied().collect();
        for event in &in_flight {
            self.held.remove(event).unwrap().add_permits(1);
        }
        running.stop().await;
        for event in in_flight {
            self.recorded(event, self.world.now()).await;
        }
        self.running = Some(RunningDispatcher::start(self.world.invoicing.dispatcher()));
    }

    async fn end(self) {
        self.running.unwrap().kill().await;
        let [first, second] = self.longest_gaps;
        assert!((1_000..=GAPS_MS[0]).contains(&first), "{first} ms");
        assert!((5_000..=GAPS_MS[1]).contains(&second), "{second} ms");
    }
}

/// Rules: ATTEMPT-3, ATTEMPT-10, ISOLATION-2
#[on_each_database]
async fn a_receiver_that_fails_late_is_attempted_in_time_and_soon_disabled(db: Database) {
    for (every_ms, limit_ms) in [(333, 60_000), (10_000, 130_000)] {
        let mut scene = Scene::new(db, 0).await;
        let took = scene.go_on(every_ms, limit_ms).await;
        println!("an event every {every_ms} ms: disabled after {took:?} ms, gaps {:?}", scene.longest_gaps);
        assert!(took.is_some(), "{} ended, {:?}", scene.ended, scene.begun);
        scene.end().await;
    }
}

/// Rules: ATTEMPT-3, ATTEMPT-10
#[on_each_database]
async fn retries_come_first_where_hundreds_waited_when_it_started(db: Database) {
    let mut scene = Scene::new(db, 300).await;
    assert!(scene.go_on(333, 60_000).await.is_some(), "{} ended, {:?}", scene.ended, scene.begun);
    scene.end().await;
}

/// The retries of the run before wait in the table behind hundreds of deliveries that fell due earlier.
///
/// Rules: ATTEMPT-3, ATTEMPT-10
#[on_each_database]
async fn retries_come_first_also_after_a_restart(db: Database) {
    let mut scene = Scene::new(db, 100).await;
    for restart_at in [7_500, 13_000, 20_000] {
        assert_eq!(scene.go_on(500, restart_at).await, None);
        scene.restart().await;
    }
    assert!(scene.go_on(500, 60_000).await.is_some(), "{} ended, {:?}", scene.ended, scene.begun);
    scene.end().await;
}
