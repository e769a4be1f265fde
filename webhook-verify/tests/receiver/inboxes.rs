//! The promises of an inbox, tested on each kind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use webhook_verify::DedupKey;
use webhook_verify::inbox::{Inbox, InboxError, MIN_RETENTION, MemoryInbox, Receipt, SqliteInbox};
use webhook_verify::testing::ManualClock;

use crate::support::runtime;

const LEASE: Duration = Duration::from_mins(1);

async fn sqlite(path: &Path, clock: &ManualClock) -> Arc<SqliteInbox> {
    Arc::new(SqliteInbox::open(path).await.unwrap().clock(clock.to_clock()))
}

/// Each kind of inbox, with the clock that it goes by.
async fn each(check: impl AsyncFn(Arc<dyn Inbox>, ManualClock)) {
    let clock = ManualClock::at(1_000);
    check(Arc::new(MemoryInbox::with_clock(clock.to_clock())), clock).await;
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000);
    check(sqlite(&directory.path().join("inbox.db"), &clock).await, clock).await;
}

fn key(id: &str) -> DedupKey<'_> {
    DedupKey::recommended("ping", id, "t")
}

async fn receive(inbox: &dyn Inbox, id: &str) -> Receipt {
    inbox.receive(key(id), &Bytes::from(format!("body of {id}"))).await.unwrap()
}

#[tokio::test]
async fn a_message_goes_from_received_to_done() {
    each(async |inbox, clock| {
        assert!(inbox.claim(LEASE).await.unwrap().is_none());
        assert_eq!(receive(&*inbox, "a").await, Receipt::New);
        assert_eq!(receive(&*inbox, "a").await, Receipt::Duplicate);
        clock.advance(1);
        assert_eq!(receive(&*inbox, "b").await, Receipt::New);
        let claim = inbox.claim(LEASE).await.unwrap().unwrap();
        assert_eq!((&*claim.key, &*claim.body), ("ping a t", &b"body of a"[..]));
        assert_eq!((claim.received_at_millis, claim.attempts), (1_000, 1));
        assert!(!format!("{claim:?}").contains("body of"));
        assert_eq!(inbox.waiting().await.unwrap(), 2);
        assert!(inbox.done(&claim).await.unwrap());
        assert!(!inbox.done(&claim).await.unwrap(), "twice");
        assert!(!inbox.postpone(&claim, LEASE, "late").await.unwrap(), "done is done");
        assert_eq!(receive(&*inbox, "a").await, Receipt::Duplicate, "also after it was handled");
        assert_eq!(inbox.claim(LEASE).await.unwrap().unwrap().key, "ping b t");
        assert!(inbox.claim(LEASE).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_ran_out_settles_nothing() {
    each(async |inbox, clock| {
        receive(&*inbox, "a").await;
        let first = inbox.claim(LEASE).await.unwrap().unwrap();
        clock.advance(59_999);
        assert!(inbox.claim(LEASE).await.unwrap().is_none(), "the lease holds");
        clock.advance(1);
        let second = inbox.claim(LEASE).await.unwrap().unwrap();
        assert_eq!(second.attempts, 2);
        assert!(!inbox.done(&first).await.unwrap());
        assert!(!inbox.postpone(&first, Duration::ZERO, "late").await.unwrap());
        assert!(inbox.postpone(&second, Duration::from_secs(5), "busy").await.unwrap());
        clock.advance(4_999);
        assert!(inbox.claim(LEASE).await.unwrap().is_none(), "a pause is not shortened");
        clock.advance(1);
        let third = inbox.claim(LEASE).await.unwrap().unwrap();
        assert_eq!((third.attempts, &*third.body), (3, &b"body of a"[..]));
        assert!(inbox.done(&third).await.unwrap());
        assert_eq!(inbox.waiting().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_lease_holds_for_a_day_and_no_longer() {
    each(async |inbox, clock| {
        receive(&*inbox, "a").await;
        assert!(inbox.claim(Duration::MAX).await.unwrap().is_some());
        assert!(inbox.claim(Duration::MAX).await.unwrap().is_none(), "it is held");
        clock.advance(24 * 3_600_000 - 1);
        assert!(inbox.claim(LEASE).await.unwrap().is_none(), "it is held");
        clock.advance(1);
        assert_eq!(inbox.claim(LEASE).await.unwrap().unwrap().attempts, 2);
    })
    .await;
}

#[tokio::test]
async fn keys_are_forgotten_late_and_only_of_what_is_done() {
    each(async |inbox, clock| {
        receive(&*inbox, "done").await;
        let claim = inbox.claim(LEASE).await.unwrap().unwrap();
        inbox.done(&claim).await.unwrap();
        receive(&*inbox, "waiting").await;
        let horizon = i64::try_from(MIN_RETENTION.as_millis()).unwrap();
        clock.advance(horizon);
        assert_eq!(inbox.prune(Duration::ZERO).await.unwrap(), 0, "not within the shortest memory");
        clock.advance(1);
        assert_eq!(inbox.prune(MIN_RETENTION * 2).await.unwrap(), 0, "not within what is asked for");
        assert_eq!(inbox.prune(Duration::MAX).await.unwrap(), 0);
        assert_eq!(inbox.prune(Duration::ZERO).await.unwrap(), 1);
        assert_eq!(receive(&*inbox, "done").await, Receipt::New, "it was forgotten");
        assert_eq!(receive(&*inbox, "waiting").await, Receipt::Duplicate);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_is_new_and_one_is_claimed() {
    each(async |inbox, _| {
        for round in 0..20 {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let inbox = Arc::clone(&inbox);
                tasks.spawn(async move { receive(&*inbox, &round.to_string()).await == Receipt::New });
            }
            assert_eq!(tasks.join_all().await.into_iter().filter(|new| *new).count(), 1);
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let inbox = Arc::clone(&inbox);
                tasks.spawn(async move { inbox.claim(LEASE).await.unwrap().is_some() });
            }
            assert_eq!(tasks.join_all().await.into_iter().filter(|claimed| *claimed).count(), 1);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_share_a_file_share_its_messages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let clock = ManualClock::at(1_000);
    let inboxes = [sqlite(&path, &clock).await, sqlite(&path, &clock).await];
    for round in 0..30 {
        let id = round.to_string();
        let (a, b) = tokio::join!(receive(&*inboxes[0], &id), receive(&*inboxes[1], &id));
        assert_ne!(a, b, "one of them is new");
        let (a, b) = tokio::join!(inboxes[0].claim(LEASE), inboxes[1].claim(LEASE));
        assert!(a.unwrap().is_some() != b.unwrap().is_some(), "one of them has it");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_and_its_log_are_for_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let inbox = SqliteInbox::open(folder.path().join("inbox.db")).await.unwrap();
    inbox.waiting().await.unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", entry.path().display());
    }
}

/// Rules: VERIFY-8
#[tokio::test]
async fn receivers_that_share_an_inbox_each_get_the_event() {
    let inbox = MemoryInbox::new();
    let key = DedupKey::recommended("ping", "1", "2026-09-14T09:41:07.123Z");
    let body = Bytes::from_static(b"{}");
    for name in ["crm", "books"] {
        assert_eq!(inbox.receive(key.of_receiver(name), &body).await.unwrap(), Receipt::New, "{name}");
        assert_eq!(inbox.receive(key.of_receiver(name), &body).await.unwrap(), Receipt::Duplicate, "{name}");
    }
    assert_eq!(inbox.receive(key, &body).await.unwrap(), Receipt::New);
    let mut keys = Vec::new();
    while let Some(claim) = inbox.claim(LEASE).await.unwrap() {
        keys.push(claim.key);
    }
    keys.sort();
    let of_event = |receiver| format!("{receiver}ping 1 2026-09-14T09:41:07.123Z");
    assert_eq!(keys, ["\\@books ", "\\@crm ", ""].map(of_event));
}

#[tokio::test]
async fn a_file_remembers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let clock = ManualClock::at(1_000);
    let inbox = sqlite(&path, &clock).await;
    receive(&*inbox, "done").await;
    let claim = inbox.claim(LEASE).await.unwrap().unwrap();
    inbox.done(&claim).await.unwrap();
    receive(&*inbox, "claimed").await;
    inbox.claim(LEASE).await.unwrap().unwrap();
    receive(&*inbox, "waiting").await;
    inbox.close().await;
    clock.advance(60_000);
    let inbox = sqlite(&path, &clock).await;
    assert_eq!(receive(&*inbox, "done").await, Receipt::Duplicate);
    let mut left = vec![];
    while let Some(claim) = inbox.claim(LEASE).await.unwrap() {
        left.push((claim.key, claim.attempts));
    }
    left.sort();
    assert_eq!(left, [("ping claimed t".to_owned(), 2), ("ping waiting t".to_owned(), 1)]);
}

#[tokio::test]
async fn the_work_and_the_mark_are_one_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000);
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(directory.path().join("crm.db"))
        .create_if_missing(true);
    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
    sqlx::raw_sql("CREATE TABLE sales (key TEXT)").execute(&pool).await.unwrap();
    let inbox = SqliteInbox::with_pool(pool.clone()).await.unwrap().clock(clock.to_clock());
    receive(&inbox, "a").await;
    let first = inbox.claim(LEASE).await.unwrap().unwrap();
    clock.advance(60_000);
    let second = inbox.claim(LEASE).await.unwrap().unwrap();
    // Both work on it; the one whose claim has run out is told to roll back.
    for (claim, is_mine) in [(&first, false), (&second, true), (&second, false)] {
        let mut transaction = pool.begin().await.unwrap();
        sqlx::query("INSERT INTO sales VALUES ($1)")
            .bind(&claim.key)
            .execute(&mut *transaction)
            .await
            .unwrap();
        let done = inbox.done_within(&mut transaction, claim).await.unwrap();
        assert_eq!(done, is_mine);
        if done {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
    }
    let sales: i64 = sqlx::query_scalar("SELECT count(*) FROM sales").fetch_one(&pool).await.unwrap();
    assert_eq!((sales, inbox.waiting().await.unwrap()), (1, 0));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_an_error_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    std::fs::write(
        &path,
        "this is a text and no database, and long enough to be looked at as one".repeat(20),
    )
    .unwrap();
    let error: InboxError = SqliteInbox::open(&path).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("not a database"), "{cause}");
}

/// The calls of an inbox, which may come in any order.
#[derive(Clone, Debug)]
enum Ask {
    Receive(u8),
    Claim,
    Done(usize),
    Postpone(usize, u64),
    Prune,
    Wait(i64),
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        4 => (0..6_u8).prop_map(Ask::Receive),
        4 => Just(Ask::Claim),
        2 => any::<usize>().prop_map(Ask::Done),
        2 => (any::<usize>(), 0..100_000_u64).prop_map(|(index, pause)| Ask::Postpone(index, pause)),
        1 => Just(Ask::Prune),
        2 => prop_oneof![0..100_000_i64, 3_500_000..4_000_000_i64].prop_map(Ask::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(64), failure_persistence: None, ..<_>::default() })]

    /// The two inboxes are written in different ways, and must give the same answers.
    #[test]
    fn both_inboxes_answer_alike(asks in prop::collection::vec(ask(), 1..60)) {
        runtime().block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let clock = ManualClock::at(1_000);
            let file = sqlite(&directory.path().join("inbox.db"), &clock).await;
            let memory = MemoryInbox::with_clock(clock.to_clock());
            let mut claims = vec![];
            for ask in asks {
                // No two messages are due at the same time, so that the order in which they are claimed is fixed.
                clock.advance(1);
                match ask {
                    Ask::Receive(id) => {
                        let id = id.to_string();
                        prop_assert_eq!(receive(&memory, &id).await, receive(&*file, &id).await);
                    }
                    Ask::Claim => {
                        let claim = memory.claim(LEASE).await.unwrap();
                        prop_assert_eq!(&claim, &file.claim(LEASE).await.unwrap());
                        claims.extend(claim);
                    }
                    Ask::Done(index) if !claims.is_empty() => {
                        let claim = &claims[index % claims.len()];
                        prop_assert_eq!(memory.done(claim).await.unwrap(), file.done(claim).await.unwrap());
                    }
                    Ask::Postpone(index, pause) if !claims.is_empty() => {
                        let (claim, pause) = (&claims[index % claims.len()], Duration::from_millis(pause));
                        prop_assert_eq!(
                            memory.postpone(claim, pause, "why").await.unwrap(),
                            file.postpone(claim, pause, "why").await.unwrap()
                        );
                    }
                    Ask::Prune => {
                        let pruned = memory.prune(Duration::ZERO).await.unwrap();
                        prop_assert_eq!(pruned, file.prune(Duration::ZERO).await.unwrap());
                    }
                    Ask::Wait(millis) => clock.advance(millis),
                    Ask::Done(_) | Ask::Postpone(..) => {}
                }
                prop_assert_eq!(memory.waiting().await.unwrap(), file.waiting().await.unwrap());
            }
            Ok(())
        })?;
    }
}
