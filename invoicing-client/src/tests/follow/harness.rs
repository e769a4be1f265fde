//! Drives a [`Follow`] by explicit actions. Nothing happens between two actions.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use uuid::Uuid;

use super::super::KEY;
use super::super::catch_up::scenario::{CheckedStore, Receiver, Saving};
use super::super::service_model::{BeforeRequest, Change, ServerBehavior, ServiceModel, pause};
use crate::env::Env;
use crate::{
    CatchUpError, ChangeEvent, Follow, InvoicingClient, QuoteItem, Quotes, RecordVersion, Resource, Timestamp,
};

/// A step of a test.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// Polls the future this many times.
    Poll(usize),
    /// Polls the future until it waits only for time or events.
    Idle,
    Change(Change),
    /// Sends an event about the current version of the record with this number.
    Announce(u8),
    /// Sends an event about an unknown record.
    AnnounceUnknown,
    Deliver(ChangeEvent),
    Wait(Duration),
    /// Refuses the next request.
    Refuse,
    /// Answers this many requests with 503. A call fails after four.
    Down(u32),
    /// Lets the handler fail on the next record.
    FailHandler,
    /// Lets the next save of a checkpoint fail.
    FailSave,
    EndStream,
    /// Drops the future and creates another.
    Drop,
    /// Restarts the process.
    Restart,
}

/// The error that ended a run.
#[derive(Debug)]
pub(super) enum Ending {
    Read,
    Handler,
    Checkpoint,
}

/// A clock that only actions advance.
#[derive(Debug)]
struct ManualClock {
    began: Instant,
    passed: Arc<Mutex<Duration>>,
}

impl Env for ManualClock {
    fn now(&self) -> Instant {
        self.began + *self.passed.lock().unwrap()
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn random(&self) -> u64 {
        0
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (passed, until) = (self.passed.clone(), *self.passed.lock().unwrap() + duration);
        // No waker is needed: the harness polls again.
        Box::pin(std::future::poll_fn(move |_| {
            if *passed.lock().unwrap() >= until { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

/// The stream of events.
#[derive(Default, Clone)]
struct EventStream(Arc<Mutex<(VecDeque<ChangeEvent>, bool)>>);

impl Stream for EventStream {
    type Item = ChangeEvent;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ChangeEvent>> {
        let mut stream = self.0.lock().unwrap();
        match stream.0.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if stream.1 => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

pub(super) struct FollowHarness {
    model: ServiceModel,
    client: InvoicingClient,
    store: Arc<CheckedStore>,
    receiver: Arc<Mutex<Receiver>>,
    passed: Arc<Mutex<Duration>>,
    events: EventStream,
    handler_fails: Arc<Mutex<bool>>,
    follow: Option<Follow<Quotes>>,
    failures: Arc<Mutex<Vec<String>>>,
    performed: usize,
}

impl FollowHarness {
    pub(super) fn new(behavior: ServerBehavior) -> Self {
        let (model, receiver) = (ServiceModel::new(behavior), Arc::<Mutex<Receiver>>::default());
        let passed = Arc::<Mutex<Duration>>::default();
        let env = Arc::new(ManualClock { began: Instant::now(), passed: passed.clone() });
        let client = InvoicingClient::builder("https://service.test", KEY)
            .rate_limiting(false)
            .build_on(Arc::new(model.clone()), env)
            .unwrap();
        let store = Arc::new(CheckedStore::new(model.clone(), receiver.clone(), 0));
        Self {
            model,
            client,
            store,
            receiver,
            passed,
            events: EventStream::default(),
            handler_fails: Arc::default(),
            follow: None,
            failures: Arc::default(),
            performed: 0,
        }
    }

    pub(super) fn apply(&self, change: &Change) {
        self.model.state().apply(change);
    }

    /// Number of versions delivered so far.
    pub(super) fn delivered(&self) -> usize {
        self.receiver.lock().unwrap().acknowledged.len()
    }

    /// Number of requests for a single record so far.
    pub(super) fn details(&self) -> u64 {
        self.model.state().details
    }

    /// Number of requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.model.state().requests
    }

    /// The failed passes that were reported since the last call.
    pub(super) fn failures(&self) -> Vec<String> {
        std::mem::take(&mut *self.failures.lock().unwrap())
    }

    /// A new process.
    fn start(&self) -> Follow<Quotes> {
        let failures = self.failures.clone();
        let follow = self.client.quotes().follow(self.store.clone());
        follow.on_error(move |failed| failures.lock().unwrap().push(failed.to_string()))
    }

    /// Number of actions performed so far, including one that ended a run.
    pub(super) fn performed(&self) -> usize {
        self.performed
    }

    /// The event about the current version of the record with this number.
    pub(super) fn event(&self, number: u8) -> ChangeEvent {
        let RecordVersion { updated_at, id } = self.model.state().chosen(number).unwrap();
        ChangeEvent { kind: "quote.accepted".into(), id, timestamp: updated_at }
    }

    /// Checks that the copy is complete and that no guarantee was violated.
    pub(super) fn check(&self) -> Result<(), String> {
        let receiver = self.receiver.lock().unwrap();
        for version in &self.model.state().records {
            let copied = receiver.copy.get(&version.id);
            if copied != Some(version) {
                return Err(format!("lost: {version:?}, the copy has {copied:?}"));
            }
        }
        receiver.violations.first().map_or(Ok(()), |wrong| Err(wrong.clone()))
    }

    /// Performs the part of an action that does not poll the future.
    fn prepare(&self, action: &Action) {
        match action {
            Action::Change(change) => self.apply(change),
            Action::Announce(number) => self.send(self.event(*number)),
            Action::AnnounceUnknown => self.send(ChangeEvent {
                kind: "quote.created".into(),
                id: Uuid::max(),
                timestamp: Timestamp::from_millis(i64::MAX),
            }),
            Action::Deliver(event) => self.send(event.clone()),
            Action::Wait(duration) => *self.passed.lock().unwrap() += *duration,
            Action::Refuse => {
                self.model.state().script =
                    [BeforeRequest { refuse: true, ..BeforeRequest::default() }].into();
            }
            Action::Down(requests) => self.model.state().down = *requests,
            Action::FailHandler => *self.handler_fails.lock().unwrap() = true,
            Action::FailSave => *self.store.saving.lock().unwrap() = Saving::Fails,
            Action::EndStream => self.events.0.lock().unwrap().1 = true,
            Action::Poll(_) | Action::Idle | Action::Drop | Action::Restart => {}
        }
    }

    fn send(&self, event: ChangeEvent) {
        self.events.0.lock().unwrap().0.push_back(event);
    }
}

/// Performs actions, and drops the future after the last one.
pub(super) fn perform(harness: &mut FollowHarness, actions: &[Action]) -> Result<(), Ending> {
    let runtime = match tokio::runtime::Handle::try_current() {
        Ok(_) => None,
        Err(_) => Some(tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()),
    };
    let _inside = runtime.as_ref().map(tokio::runtime::Runtime::enter);
    let mut actions = actions.iter().peekable();
    while actions.peek().is_some() {
        run(harness, &mut actions)?;
    }
    Ok(())
}

/// Performs actions until the future ends or is dropped.
fn run<'a>(
    harness: &mut FollowHarness,
    actions: &mut impl Iterator<Item = &'a Action>,
) -> Result<(), Ending> {
    let mut follow = harness.follow.take().unwrap_or_else(|| harness.start());
    let (receiver, handler_fails) = (harness.receiver.clone(), harness.handler_fails.clone());
    let handler = move |quote: QuoteItem| {
        let version = Quotes::version(&quote);
        let (receiver, handler_fails) = (receiver.clone(), handler_fails.clone());
        async move {
            pause().await;
            if std::mem::take(&mut *handler_fails.lock().unwrap()) {
                return Err("injected failure");
            }
            receiver.lock().unwrap().copy.insert(version.id, version);
            pause().await;
            receiver.lock().unwrap().acknowledge(version);
            Ok(())
        }
    };
    let mut restarts = false;
    let ending = {
        let mut future = pin!(follow.run(harness.events.clone(), handler));
        let mut cx = Context::from_waker(Waker::noop());
        let mut ending = None;
        for action in actions {
            harness.performed += 1;
            harness.prepare(action);
            let waits = match action {
                Action::Poll(waits) => *waits,
                // More than any pass of these tests needs.
                Action::Idle => 2_000,
                Action::Drop | Action::Restart => {
                    restarts = matches!(action, Action::Restart);
                    break;
                }
                _ => 0,
            };
            ending = (0..waits).find_map(|_| match future.as_mut().poll(&mut cx) {
                Poll::Ready(Err(error)) => Some(error),
                Poll::Ready(Ok(never)) => match never {},
                Poll::Pending => None,
            });
            if ending.is_some() {
                break;
            }
        }
        ending
    };
    *harness.store.saving.lock().unwrap() = Saving::Works;
    if restarts {
        harness.receiver.lock().unwrap().restart();
    } else {
        harness.follow = Some(follow);
    }
    match ending {
        None => Ok(()),
        Some(CatchUpError::Handler { source: "injected failure", .. }) => Err(Ending::Handler),
        Some(CatchUpError::Checkpoint(_)) => Err(Ending::Checkpoint),
        Some(CatchUpError::Read(error)) if error.status() == Some(400) => Err(Ending::Read),
        Some(error) => panic!("{error:?}"),
    }
}
