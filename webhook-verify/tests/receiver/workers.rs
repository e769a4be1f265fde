//! The worker: failures, panics and limits of handlers, an inbox that fails, and stopping.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use tokio::sync::{Notify, oneshot};
use webhook_verify::DedupKey;
use webhook_verify::inbox::{
    Claim, Inbox, InboxError, InboxFuture, InboxService, MemoryInbox, Receipt, Worker, WorkerError,
};
use webhook_verify::testing::ManualClock;

use crate::support::{PING, Shared, call, receiver, request};

async fn with_messages(ids: &[&str], clock: &ManualClock) -> Arc<MemoryInbox> {
    let inbox = Arc::new(MemoryInbox::with_clock(clock.to_clock()));
    for id in ids {
        inbox.receive(DedupKey::recommended("e", id, "t"), &Bytes::from_static(b"{}")).await.unwrap();
        clock.advance(1);
    }
    inbox
}

/// A worker that records its errors.
fn watched<I: Inbox>(inbox: &Arc<I>) -> (Worker<I>, Shared<String>) {
    let errors = Shared::default();
    let recorded = Arc::clone(&errors);
    let worker = Worker::new(Arc::clone(inbox)).on_error(move |error| {
        let text = match error {
            WorkerError::Handler { claim, reason, pause } => format!("{}: {reason}, {pause:?}", claim.key),
            WorkerError::Inbox(error) => std::error::Error::source(error).unwrap().to_string(),
            other => format!("{other:?}"),
        };
        recorded.lock().unwrap().push(text);
    });
    (worker, errors)
}

#[tokio::test]
async fn a_failing_message_delays_no_other_and_is_retried_without_end() {
    let clock = ManualClock::at(0);
    let inbox = with_messages(&["fails", "panics", "hangs", "good"], &clock).await;
    let (worker, errors) = watched(&inbox);
    let worker = worker.handler_limit(Duration::from_millis(20));
    let finished = Shared::<String>::default();
    let handler = async |claim: Claim| {
        match &*claim.key {
            "e fails t" if claim.attempts < 15 => return Err("no such client"),
            "e panics t" if claim.attempts < 2 => panic!("on purpose"),
            "e hangs t" if claim.attempts < 2 => std::future::pending().await,
            _ => finished.lock().unwrap().push(claim.key),
        }
        Ok(())
    };
    assert_eq!(worker.run_due(&handler).await.unwrap(), 4);
    assert_eq!(*finished.lock().unwrap(), ["e good t"]);
    let expected = [
        "e fails t: no such client, 1s",
        "e panics t: the handler panicked, 1s",
        "e hangs t: the handler took more than 20ms, 1s",
    ];
    assert_eq!(*errors.lock().unwrap(), expected);
    clock.advance(1_000);
    assert_eq!(worker.run_due(&handler).await.unwrap(), 3);
    assert_eq!(inbox.waiting().await.unwrap(), 1);
    // 2 s, 4 s, … and from the 13th attempt on an hour: 13 more attempts within 5 hours, and then it works.
    let mut attempts = 0;
    for _ in 0..5 * 3600 {
        clock.advance(1_000);
        attempts += worker.run_due(&handler).await.unwrap();
    }
    assert_eq!((attempts, inbox.waiting().await.unwrap()), (13, 0));
}

#[tokio::test]
async fn a_handler_without_a_limit_keeps_its_claim() {
    let clock = ManualClock::at(0);
    let inbox = with_messages(&["a"], &clock).await;
    let worker = Worker::new(Arc::clone(&inbox)).handler_limit(Duration::MAX);
    let begun = AtomicUsize::new(0);
    let handler = async |_| {
        assert_eq!(begun.fetch_add(1, Ordering::SeqCst), 0, "another worker has the message");
        std::future::pending::<Result<(), &str>>().await
    };
    let another = async {
        // In the end the clock is set back.
        for millis in [0, 11 * 3_600_000, -20 * 3_600_000] {
            clock.advance(millis);
            assert_eq!(worker.run_due(&handler).await.unwrap(), 0);
        }
    };
    tokio::select! {
        biased;
        _ = worker.run_due(&handler) => panic!("it never ends"),
        () = another => {}
    }
}

#[tokio::test]
async fn a_running_worker_is_woken_and_completes_its_message_before_it_stops() {
    let inbox = Arc::new(MemoryInbox::with_clock(ManualClock::at(crate::support::NOW * 1000).to_clock()));
    let mut service = InboxService::new(receiver(), Arc::clone(&inbox));
    let stop = Notify::new();
    let (begun, has_begun) = oneshot::channel();
    let (go, gone) = oneshot::channel::<()>();
    let once = Mutex::new(Some((begun, gone)));
    let ended = AtomicUsize::new(0);
    let worker = Worker::new(inbox.clone());
    let handler = async |claim: Claim| {
        let (begun, gone) = once.lock().unwrap().take().unwrap();
        begun.send(claim.attempts).unwrap();
        gone.await.unwrap();
        ended.fetch_add(1, Ordering::SeqCst);
        Ok::<(), &str>(())
    };
    let run = worker.run(handler, stop.notified());
    let deliver = async {
        tokio::task::yield_now().await;
        assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request(PING)).await, 204);
        assert_eq!(has_begun.await.unwrap(), 1);
        stop.notify_one();
        tokio::task::yield_now().await;
        assert_eq!(ended.load(Ordering::SeqCst), 0);
        go.send(()).unwrap();
    };
    tokio::join!(run, deliver);
    assert_eq!((ended.load(Ordering::SeqCst), inbox.waiting().await.unwrap()), (1, 0));
}

/// Fails the first times it is asked.
struct Failing {
    inner: MemoryInbox,
    failures: AtomicUsize,
}

impl Failing {
    fn fails<T: 'static>(&self) -> Option<InboxFuture<'_, T>> {
        let left = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.is_ok().then(|| -> InboxFuture<'_, T> { Box::pin(async { Err(InboxError::new("disk full")) }) })
    }
}

impl Inbox for Failing {
    fn receive<'a>(&'a self, key: DedupKey<'a>, body: &'a Bytes) -> InboxFuture<'a, Receipt> {
        self.fails().unwrap_or_else(|| self.inner.receive(key, body))
    }

    fn claim(&self, lease: Duration) -> InboxFuture<'_, Option<Claim>> {
        self.fails().unwrap_or_else(|| self.inner.claim(lease))
    }

    fn done<'a>(&'a self, claim: &'a Claim) -> InboxFuture<'a, bool> {
        self.fails().unwrap_or_else(|| self.inner.done(claim))
    }

    fn postpone<'a>(&'a self, claim: &'a Claim, pause: Duration, reason: &'a str) -> InboxFuture<'a, bool> {
        self.fails().unwrap_or_else(|| self.inner.postpone(claim, pause, reason))
    }

    fn prune(&self, memory: Duration) -> InboxFuture<'_, u64> {
        self.fails().unwrap_or_else(|| self.inner.prune(memory))
    }

    fn waiting(&self) -> InboxFuture<'_, u64> {
        self.inner.waiting()
    }

    fn arrived(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.inner.arrived()
    }
}

#[tokio::test]
async fn a_failing_inbox_is_503_and_does_not_end_the_worker() {
    let inbox = Arc::new(Failing { inner: MemoryInbox::new(), failures: AtomicUsize::new(1) });
    let mut service = InboxService::new(receiver(), Arc::clone(&inbox));
    assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request(PING)).await, 503);
    assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request(PING)).await, 204);
    let (worker, errors) = watched(&inbox);
    // The first claim and the first pruning fail; the worker looks again after a second.
    inbox.failures.store(2, Ordering::SeqCst);
    let stop = Notify::new();
    let handler = async |_| {
        stop.notify_one();
        Ok::<(), &str>(())
    };
    worker.run(handler, stop.notified()).await;
    assert_eq!(*errors.lock().unwrap(), ["disk full", "disk full"]);
    assert_eq!(inbox.waiting().await.unwrap(), 0);
}

#[tokio::test]
async fn a_worker_can_be_spawned() {
    let inbox: Arc<dyn Inbox> = with_messages(&["a"], &ManualClock::at(0)).await;
    let worker = Worker::new(inbox.clone());
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let handler = async |claim: Claim| claim.event().map(drop).or(Ok::<(), &str>(()));
        worker.run(handler, stopped.notified()).await;
    });
    while inbox.waiting().await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
    stop.notify_one();
    tasks.join_all().await;
}

#[test]
fn errors_go_into_a_box_and_to_another_thread() {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<webhook_verify::events::EventError>();
    is_error::<webhook_verify::receiver::Rejection>();
    is_error::<InboxError>();
    is_error::<WorkerError<'static>>();
}
