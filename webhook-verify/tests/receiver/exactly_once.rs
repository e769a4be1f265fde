//! Each event is handled exactly once, despite faults of the sender and the network and crashes of the receiver.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions};
use tower_service::Service;
use webhook_verify::Verifier;
use webhook_verify::inbox::{Claim, Inbox, InboxService, MemoryInbox, SqliteInbox, Worker};
use webhook_verify::receiver::Receiver;
use webhook_verify::testing::{Attempt, FakeSender, Faults, ManualClock, Report, crash_after, sample_bodies};

use crate::support::{Pieces, runtime};

const NEW: &str = "whsec_new";
const OLD: &str = "whsec_old";

/// How often each body was handled.
#[derive(Default)]
struct Done(RefCell<BTreeMap<Bytes, u32>>);

impl Done {
    fn handle(&self, claim: Claim) -> Result<(), &'static str> {
        claim.event().map_err(|_| "a sample is an event")?;
        *self.0.borrow_mut().entry(claim.body).or_default() += 1;
        Ok(())
    }

    /// Each accepted event exactly once; nothing else but what arrived without an answer.
    fn check(&self, bodies: &[Bytes], report: &Report) {
        let done = self.0.borrow();
        assert!(done.keys().all(|body| bodies.contains(body)), "nothing forged was handled");
        assert!(done.values().all(|times| *times == 1), "nothing was handled twice");
        for event in report.accepted() {
            assert!(done.contains_key(&bodies[event]), "what was answered for is handled: {event}");
        }
    }
}

fn service<I: Inbox>(inbox: &Arc<I>, clock: &ManualClock, secrets: &[&str]) -> InboxService<I> {
    let verifier = Verifier::with_secrets(secrets).unwrap();
    InboxService::new(Receiver::new(verifier).clock(clock.to_clock()), Arc::clone(inbox))
}

async fn answer<I: Inbox + 'static>(mut service: InboxService<I>, attempt: Attempt) -> u16 {
    service.call(attempt.request::<Pieces>()).await.unwrap().status().as_u16()
}

async fn in_memory(seed: u64, faults: Faults, secrets: (&[&str], &[&str])) -> Report {
    let mut sender = FakeSender::rotating(secrets.0, seed).faults(faults);
    let inbox = Arc::new(MemoryInbox::with_clock(sender.clock().to_clock()));
    let service = service(&inbox, &sender.clock(), secrets.1);
    let (worker, done) = (Worker::new(Arc::clone(&inbox)), Done::default());
    let bodies = sample_bodies(seed, 30);
    let report = sender
        .deliver(&bodies, async |attempt| {
            let status = answer(service.clone(), attempt).await;
            worker.run_due(&async |claim| done.handle(claim)).await.unwrap();
            Some(status)
        })
        .await;
    assert_eq!(report.violations, []);
    done.check(&bodies, &report);
    report
}

/// A receiver on a SQLite file: an inbox, and the table that its handler writes, in one database.
struct Shop {
    pool: SqlitePool,
    inbox: Arc<SqliteInbox>,
}

impl Shop {
    async fn open(path: &Path, clock: &ManualClock) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal);
        let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await.unwrap();
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS sales (body BLOB)").execute(&pool).await.unwrap();
        let inbox = SqliteInbox::with_pool(pool.clone()).await.unwrap().clock(clock.to_clock());
        Self { pool, inbox: Arc::new(inbox) }
    }

    /// The work and the mark in one transaction.
    async fn handle(&self, claim: Claim) -> Result<(), Box<dyn Error>> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("INSERT INTO sales VALUES ($1)").bind(&claim.body[..]).execute(&mut *transaction).await?;
        if self.inbox.done_within(&mut transaction, &claim).await? {
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn work(&self) {
        let worker = Worker::new(Arc::clone(&self.inbox));
        worker.run_due(&async |claim| self.handle(claim).await).await.unwrap();
    }

    async fn sales(&self) -> Done {
        let sales: Vec<Vec<u8>> =
            sqlx::query_scalar("SELECT body FROM sales").fetch_all(&self.pool).await.unwrap();
        let done = Done::default();
        for body in sales {
            *done.0.borrow_mut().entry(body.into()).or_default() += 1;
        }
        done
    }
}

/// A receiver that dies at any await, while it receives and while it handles, and is started again: how often it died.
async fn with_crashes(path: &Path, seed: u64, faults: Faults, lifetimes: &[usize]) -> usize {
    let mut sender = FakeSender::new(NEW, seed).faults(faults);
    let clock = sender.clock();
    let shop = RefCell::new(Rc::new(Shop::open(path, &clock).await));
    let (life, crashes) = (Cell::new(0), Cell::new(0));
    let next = || lifetimes[life.replace(life.get() + 1) % lifetimes.len()];
    let bodies = sample_bodies(seed, 8);
    let report = sender
        .deliver(&bodies, async |attempt| {
            let now = Rc::clone(&shop.borrow());
            let status = crash_after(next(), answer(service(&now.inbox, &clock, &[NEW]), attempt)).await;
            let worked = crash_after(next(), now.work()).await;
            let died = usize::from(status.is_none()) + usize::from(worked.is_none());
            if died > 0 {
                crashes.set(crashes.get() + died);
                shop.replace(Rc::new(Shop::open(path, &clock).await));
            }
            status
        })
        .await;
    assert_eq!(report.violations, []);
    // The clock is a day later: every claim that was left behind has run out.
    let shop = Shop::open(path, &clock).await;
    shop.work().await;
    shop.sales().await.check(&bodies, &report);
    assert_eq!(shop.inbox.waiting().await.unwrap(), 0);
    crashes.get()
}

#[tokio::test]
async fn without_mischief_everything_arrives_at_the_first_attempt() {
    let report = in_memory(1, Faults::NONE, (&[NEW], &[NEW])).await;
    assert!(
        report
            .outcomes
            .iter()
            .all(|outcome| outcome.is_delivered && outcome.attempts == 1 && outcome.accepted == 1)
    );
    assert_eq!((report.requests, report.forged), (30, 0));
}

#[tokio::test]
async fn the_attempts_of_an_event_have_one_id_and_each_event_its_own() {
    let mut sender = FakeSender::new(NEW, 5);
    let seen = RefCell::new(BTreeSet::new());
    let report = sender
        .deliver(&sample_bodies(5, 8), async |attempt| {
            let request = attempt.request::<Pieces>();
            let id = request.headers()["x-service-event-id"].to_str().unwrap().to_owned();
            seen.borrow_mut().insert((attempt.event, id));
            Some(500)
        })
        .await;
    assert_eq!(report.requests, 3 * 8);
    let seen = seen.into_inner();
    assert_eq!(seen.len(), 8);
    assert_eq!(seen.into_iter().map(|(_, id)| id).collect::<BTreeSet<_>>().len(), 8);
}

#[tokio::test]
async fn during_a_rotation_either_side_may_be_ahead() {
    for (sender, receiver) in [
        (&[NEW, OLD][..], &[OLD][..]),
        (&[OLD, NEW], &[NEW]),
        (&[NEW], &[OLD, NEW]),
        (&[NEW, OLD], &[NEW, OLD]),
    ] {
        let report = in_memory(7, Faults::FREQUENT, (sender, receiver)).await;
        assert!(report.accepted().count() > 25, "{report:?}");
    }
}

#[tokio::test]
async fn the_sender_does_what_it_is_said_to_do() {
    let (mut accepted, mut requests, mut forged, mut failed, mut twice) = (0, 0, 0, 0, 0);
    for seed in 0..30 {
        let report = in_memory(seed, Faults::FREQUENT, (&[NEW], &[NEW])).await;
        assert_eq!(report, in_memory(seed, Faults::FREQUENT, (&[NEW], &[NEW])).await, "a seed says it all");
        accepted += report.accepted().count();
        requests += report.requests;
        forged += report.forged;
        failed += report.outcomes.iter().filter(|outcome| !outcome.is_delivered).count();
        twice += report.outcomes.iter().filter(|outcome| outcome.accepted > 1).count();
    }
    assert!(accepted > 850 && requests > 2_000 && forged > 500 && failed > 10 && twice > 200);
}

#[tokio::test]
async fn crashes_while_receiving_and_while_handling_lose_and_repeat_nothing() {
    for awaits in 0..16 {
        for lifetimes in [[awaits, usize::MAX], [usize::MAX, awaits]] {
            let directory = tempfile::tempdir().unwrap();
            let crashes = with_crashes(&directory.path().join("shop.db"), 5, Faults::NONE, &lifetimes).await;
            assert!(crashes > 0 || awaits > 3, "it does crash: {lifetimes:?}");
        }
    }
}

#[tokio::test]
async fn a_receiver_that_refuses_is_told_on() {
    let bodies = sample_bodies(3, 10);
    let mut sender = FakeSender::new(NEW, 3).faults(Faults::FREQUENT);
    let accepting = sender.deliver(&bodies, async |_| Some(204)).await;
    assert!(!accepting.violations.is_empty(), "forgeries were let in");
    assert!(accepting.forged > 0 && accepting.violations.len() == accepting.forged);
    let mut sender = FakeSender::new(NEW, 3);
    let refusing = sender.deliver(&bodies, async |_| Some(401)).await;
    assert_eq!(refusing.violations.len(), 10);
    assert!(refusing.outcomes.iter().all(|outcome| outcome.attempts == 1), "a 4xx ends it");
    let busy = sender.deliver(&bodies, async |_| Some(503)).await;
    assert!(busy.violations.is_empty() && busy.outcomes.iter().all(|outcome| outcome.attempts == 3));
    let silent = sender.deliver(&bodies, async |_| None).await;
    assert!(silent.violations.is_empty() && silent.outcomes.iter().all(|outcome| outcome.attempts == 3));
}

#[test]
fn samples_are_events_of_all_kinds_with_keys_of_their_own() {
    let bodies = sample_bodies(9, 200);
    let mut kinds = std::collections::BTreeSet::new();
    let mut keys = std::collections::BTreeSet::new();
    for body in &bodies {
        let event = webhook_verify::events::Event::parse(body).unwrap();
        kinds.insert(event.name().to_owned());
        keys.insert(webhook_verify::events::Envelope::parse(body).unwrap().key().to_string());
    }
    let all = [
        "credit_note.issued",
        "invoice.created",
        "invoice.issued",
        "invoice.paid",
        "ping",
        "project.completed",
        "quote.accepted",
        "quote.created",
        "quote.signed",
        "quote.viewed",
    ];
    assert!(kinds.iter().eq(&all), "{kinds:?}");
    assert_eq!(keys.len(), 200);
}

fn faults() -> impl Strategy<Value = Faults> {
    (0..60_u8, 0..60_u8, 0..90_u8, 0..60_u8, any::<bool>()).prop_map(|(drop, delay, double, lose, wild)| {
        let mut faults = if wild { Faults::FREQUENT } else { Faults::NONE };
        (faults.drop, faults.delay, faults.double, faults.lose_answer) = (drop, delay, double, lose);
        faults
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn each_event_is_handled_once(seed in any::<u64>(), faults in faults()) {
        runtime().block_on(in_memory(seed, faults, (&[NEW], &[NEW])));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(48), failure_persistence: None, ..<_>::default() })]

    #[test]
    fn a_crash_at_any_await_loses_and_repeats_nothing(
        seed in any::<u64>(),
        faults in faults(),
        lifetimes in prop::collection::vec(prop_oneof![0..25_usize, Just(usize::MAX)], 1..20),
    ) {
        let directory = tempfile::tempdir().unwrap();
        runtime().block_on(with_crashes(&directory.path().join("shop.db"), seed, faults, &lifetimes));
    }
}
