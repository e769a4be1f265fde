//! A follower that is moved by hand: nothing happens between two acts but what an act says.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use uuid::Uuid;

use super::super::KEY;
use super::super::catch_up::world::{CheckedStore, Receiver, Saving};
use super::super::model::{Before, Change, Habits, Model, pause};
use crate::env::Env;
use crate::{CatchUpError, Follow, InvoicingClient, Notice, QuoteItem, Quotes, Resource, Timestamp, Version};

/// Something that happens.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// The follower runs until it has waited so many times.
    Poll(usize),
    /// It runs until it waits for nothing but time or notices.
    Idle,
    Change(Change),
    /// A webhook tells of the record of this number, as it is now.
    Tell(u8),
    /// A webhook tells of a record that the service does not know.
    TellOfNothing,
    Notice(Notice),
    Wait(Duration),
    /// The next request is refused.
    Refuse,
    /// So many of the next requests are answered with 503; a call makes four before it fails.
    Down(u32),
    /// The next record is refused by the handler.
    FailHandler,
    /// The next checkpoint cannot be kept.
    FailSave,
    EndStream,
    /// The future is dropped, and made anew.
    Drop,
    /// The process ends, and another begins.
    Restart,
}

/// What ended a run by itself.
#[derive(Debug)]
pub(super) enum Ending {
    Read,
    Handler,
    Checkpoint,
}

/// Time stands still until an act moves it.
#[derive(Debug)]
struct StageEnv {
    began: Instant,
    passed: Arc<Mutex<Duration>>,
}

impl Env for StageEnv {
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
        // The stage looks again by itself.
        Box::pin(std::future::poll_fn(move |_| {
            if *passed.lock().unwrap() >= until { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

/// Notices on their way.
#[derive(Default, Clone)]
struct Wire(Arc<Mutex<(VecDeque<Notice>, bool)>>);

impl Stream for Wire {
    type Item = Notice;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Notice>> {
        let mut wire = self.0.lock().unwrap();
        match wire.0.pop_front() {
            Some(notice) => Poll::Ready(Some(notice)),
            None if wire.1 => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

pub(super) struct Stage {
    model: Model,
    client: InvoicingClient,
    store: Arc<CheckedStore>,
    receiver: Arc<Mutex<Receiver>>,
    passed: Arc<Mutex<Duration>>,
    wire: Wire,
    handler_fails: Arc<Mutex<bool>>,
    follow: Option<Follow<Quotes>>,
    played: usize,
}

impl Stage {
    pub(super) fn new(habits: Habits) -> Self {
        let (model, receiver) = (Model::new(habits), Arc::<Mutex<Receiver>>::default());
        let passed = Arc::<Mutex<Duration>>::default();
        let env = Arc::new(StageEnv { began: Instant::now(), passed: passed.clone() });
        let client = InvoicingClient::builder("https://service.test", KEY)
            .pacing(false)
            .build_on(Arc::new(model.clone()), env)
            .unwrap();
        let store = Arc::new(CheckedStore::new(model.clone(), receiver.clone(), 0));
        Self {
            model,
            client,
            store,
            receiver,
            passed,
            wire: Wire::default(),
            handler_fails: Arc::default(),
            follow: None,
            played: 0,
        }
    }

    pub(super) fn apply(&self, change: &Change) {
        self.model.state().apply(change);
    }

    /// Versions delivered so far.
    pub(super) fn delivered(&self) -> usize {
        self.receiver.lock().unwrap().acknowledged.len()
    }

    /// Requests for one record so far.
    pub(super) fn details(&self) -> u64 {
        self.model.state().details
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.model.state().requests
    }

    /// Acts played so far, the one included that ended a run.
    pub(super) fn played(&self) -> usize {
        self.played
    }

    /// What a webhook would say of the record of this number.
    pub(super) fn notice(&self, number: u8) -> Notice {
        let Version { updated_at, id } = self.model.state().chosen(number).unwrap();
        Notice { event: "quote.accepted".into(), id, timestamp: updated_at }
    }

    /// Whether the copy is complete, and nothing went wrong on the way.
    pub(super) fn check(&self) -> Result<(), String> {
        let receiver = self.receiver.lock().unwrap();
        for version in &self.model.state().records {
            let copied = receiver.copy.get(&version.id);
            if copied != Some(version) {
                return Err(format!("lost: {version:?}, the copy has {copied:?}"));
            }
        }
        receiver.wrongs.first().map_or(Ok(()), |wrong| Err(wrong.clone()))
    }

    /// Whatever does not move the follower itself.
    fn prepare(&self, act: &Act) {
        match act {
            Act::Change(change) => self.apply(change),
            Act::Tell(number) => self.tell(self.notice(*number)),
            Act::TellOfNothing => self.tell(Notice {
                event: "quote.created".into(),
                id: Uuid::max(),
                timestamp: Timestamp::from_millis(i64::MAX),
            }),
            Act::Notice(notice) => self.tell(notice.clone()),
            Act::Wait(duration) => *self.passed.lock().unwrap() += *duration,
            Act::Refuse => self.model.state().script = [Before { refuse: true, ..Before::default() }].into(),
            Act::Down(requests) => self.model.state().down = *requests,
            Act::FailHandler => *self.handler_fails.lock().unwrap() = true,
            Act::FailSave => *self.store.saving.lock().unwrap() = Saving::Fails,
            Act::EndStream => self.wire.0.lock().unwrap().1 = true,
            Act::Poll(_) | Act::Idle | Act::Drop | Act::Restart => {}
        }
    }

    fn tell(&self, notice: Notice) {
        self.wire.0.lock().unwrap().0.push_back(notice);
    }
}

/// Plays acts with a follower. After the last of them its future is dropped.
pub(super) fn play(stage: &mut Stage, acts: &[Act]) -> Result<(), Ending> {
    let runtime = match tokio::runtime::Handle::try_current() {
        Ok(_) => None,
        Err(_) => Some(tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()),
    };
    let _inside = runtime.as_ref().map(tokio::runtime::Runtime::enter);
    let mut acts = acts.iter().peekable();
    while acts.peek().is_some() {
        run(stage, &mut acts)?;
    }
    Ok(())
}

/// One life of the future.
fn run<'a>(stage: &mut Stage, acts: &mut impl Iterator<Item = &'a Act>) -> Result<(), Ending> {
    let mut follow = stage.follow.take().unwrap_or_else(|| stage.client.quotes().follow(stage.store.clone()));
    let (receiver, handler_fails) = (stage.receiver.clone(), stage.handler_fails.clone());
    let handler = move |quote: QuoteItem| {
        let version = Quotes::version(&quote);
        let (receiver, handler_fails) = (receiver.clone(), handler_fails.clone());
        async move {
            pause().await;
            if std::mem::take(&mut *handler_fails.lock().unwrap()) {
                return Err("told to fail");
            }
            receiver.lock().unwrap().copy.insert(version.id, version);
            pause().await;
            receiver.lock().unwrap().acknowledge(version);
            Ok(())
        }
    };
    let mut restarts = false;
    let ending = {
        let mut future = pin!(follow.run(stage.wire.clone(), handler));
        let mut cx = Context::from_waker(Waker::noop());
        let mut ending = None;
        for act in acts {
            stage.played += 1;
            stage.prepare(act);
            let waits = match act {
                Act::Poll(waits) => *waits,
                // More than any pass of these tests waits.
                Act::Idle => 2_000,
                Act::Drop | Act::Restart => {
                    restarts = matches!(act, Act::Restart);
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
    *stage.store.saving.lock().unwrap() = Saving::Works;
    if restarts {
        stage.receiver.lock().unwrap().restart();
    } else {
        stage.follow = Some(follow);
    }
    match ending {
        None => Ok(()),
        Some(CatchUpError::Handler { source: "told to fail", .. }) => Err(Ending::Handler),
        Some(CatchUpError::Checkpoint(_)) => Err(Ending::Checkpoint),
        Some(CatchUpError::Read(error)) if error.status() == Some(400) => Err(Ending::Read),
        Some(error) => panic!("{error:?}"),
    }
}
