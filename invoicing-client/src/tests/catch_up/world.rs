//! A service, its copy, and the process between them; and what must always hold of the three.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_core::future::BoxFuture;
use uuid::Uuid;

use super::super::model::{Before, Change, Habits, Model, pause};
use super::super::{KEY, ManualEnv};
use crate::{
    CatchUp, CatchUpError, Checkpoint, CheckpointError, CheckpointStore, Clients, InvoicingClient,
    MemoryCheckpoint, Pass, Resource, Version,
};

/// How a reader makes up for what a server does not promise.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Means {
    /// In milliseconds.
    pub(super) look_back: i64,
    pub(super) overlap: usize,
    pub(super) unordered: bool,
}

/// What befalls saving a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Saving {
    #[default]
    Works,
    /// The old one stays.
    Fails,
    /// The new one is kept, and an error is reported.
    FailsAfterwards,
}

/// One pass and what befalls it.
#[derive(Debug, Clone, Default)]
pub(super) struct Step {
    /// The process ends before it: only the store survives.
    pub(super) restart: bool,
    pub(super) requests: Vec<Before>,
    /// The handler fails on this record of the pass.
    pub(super) handler_fails_at: Option<usize>,
    pub(super) saving: Saving,
    /// It is dropped where it waits for the so-many-th time.
    pub(super) dropped_at: Option<usize>,
}

/// What the receiver of the records knows.
#[derive(Default)]
pub(crate) struct Receiver {
    /// The last version stored of each record.
    pub(crate) copy: HashMap<Uuid, Version>,
    /// Every version whose handler returned `Ok`.
    pub(crate) acknowledged: HashSet<Version>,
    /// Those since the last save: after a restart they may come again.
    unsaved: HashSet<Version>,
    may_repeat: HashSet<Version>,
    /// What should not have happened.
    pub(crate) wrongs: Vec<String>,
}

impl Receiver {
    pub(crate) fn acknowledge(&mut self, version: Version) {
        // G2: nothing twice, but for what a restart forgot.
        if !self.acknowledged.insert(version) && !self.may_repeat.remove(&version) {
            self.wrongs.push(format!("{version:?} twice"));
        }
        self.unsaved.insert(version);
    }

    pub(crate) fn restart(&mut self) {
        self.may_repeat.extend(std::mem::take(&mut self.unsaved));
    }
}

/// A store that fails when told, and checks each checkpoint that it is given.
pub(crate) struct CheckedStore {
    pub(crate) inner: MemoryCheckpoint,
    pub(crate) model: Model,
    pub(crate) receiver: Arc<Mutex<Receiver>>,
    pub(crate) look_back: i64,
    pub(crate) saving: Mutex<Saving>,
}

impl CheckedStore {
    pub(crate) fn new(model: Model, receiver: Arc<Mutex<Receiver>>, look_back: i64) -> Self {
        Self { inner: MemoryCheckpoint::new(), model, receiver, look_back, saving: Mutex::default() }
    }
}

impl CheckpointStore for CheckedStore {
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        Box::pin(async {
            pause().await;
            let loaded = self.inner.load(resource).await;
            pause().await;
            loaded
        })
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        Box::pin(async {
            pause().await;
            let saving = *self.saving.lock().unwrap();
            if saving != Saving::Fails {
                self.check(checkpoint);
                self.inner.save(resource, checkpoint).await?;
            }
            pause().await;
            match saving {
                Saving::Works => Ok(()),
                _ => Err(CheckpointError::Store("told to fail".into())),
            }
        })
    }
}

impl CheckedStore {
    /// G3: what the checkpoint leaves behind has been acknowledged.
    fn check(&self, checkpoint: &Checkpoint) {
        let mut receiver = self.receiver.lock().unwrap();
        let from = checkpoint.since.plus_millis(-self.look_back);
        for record in &self.model.state().records {
            // Without a window, even what has the checkpoint's own stamp.
            let behind = record.updated_at < from || (self.look_back == 0 && record.updated_at == from);
            if behind && !receiver.acknowledged.contains(record) {
                receiver.wrongs.push(format!("{record:?} is left behind by {:?}", checkpoint.since));
            }
        }
        if let Some(old) = checkpoint.delivered.iter().find(|version| version.updated_at < from) {
            receiver.wrongs.push(format!("{old:?} is kept for nothing"));
        }
        receiver.unsaved.clear();
        receiver.may_repeat.clear();
    }
}

pub(super) struct World {
    pub(super) model: Model,
    pub(super) receiver: Arc<Mutex<Receiver>>,
    pub(super) catch_up: CatchUp<Clients>,
    client: InvoicingClient,
    store: Arc<CheckedStore>,
    means: Means,
}

impl World {
    pub(super) fn new(habits: Habits, means: Means) -> Self {
        let (model, receiver) = (Model::new(habits), Arc::<Mutex<Receiver>>::default());
        let client = InvoicingClient::builder("https://service.test", KEY)
            .build_on(Arc::new(model.clone()), ManualEnv::new())
            .unwrap();
        let store = Arc::new(CheckedStore::new(model.clone(), receiver.clone(), means.look_back));
        let catch_up = catch_up(&client, store.clone(), means);
        Self { model, receiver, catch_up, client, store, means }
    }

    pub(super) fn apply(&self, changes: &[Change]) {
        let mut state = self.model.state();
        for change in changes {
            state.apply(change);
        }
    }

    /// Makes a pass; `Some` where it was complete.
    pub(super) async fn pass(&mut self, step: &Step) -> Option<Pass> {
        if step.restart {
            self.catch_up = catch_up(&self.client, self.store.clone(), self.means);
            self.receiver.lock().unwrap().restart();
        }
        self.model.state().script = step.requests.clone().into();
        *self.store.saving.lock().unwrap() = step.saving;
        let at_start = self.model.state().records.clone();
        let pass = self.dropped_or_done(step).await?.ok()?;
        // G1: what was there is here, or is no more.
        let mut receiver = self.receiver.lock().unwrap();
        let now = self.model.state().records.clone();
        for missing in at_start {
            if !receiver.acknowledged.contains(&missing) && now.contains(&missing) {
                receiver.wrongs.push(format!("{missing:?} was missed by a pass"));
            }
        }
        Some(pass)
    }

    async fn dropped_or_done(&mut self, step: &Step) -> Option<Result<Pass, CatchUpError<&'static str>>> {
        let (receiver, unordered) = (self.receiver.clone(), self.means.unordered);
        let (mut number, mut last) = (0, None);
        let handler = |record| {
            let version = Clients::version(&record);
            let is_oldest_first = unordered || last.replace(version) < Some(version);
            let fails = step.handler_fails_at == Some(number);
            number += 1;
            let receiver = receiver.clone();
            async move {
                if !is_oldest_first {
                    receiver.lock().unwrap().wrongs.push(format!("{version:?} is out of order"));
                }
                pause().await;
                if fails {
                    return Err("told to fail");
                }
                receiver.lock().unwrap().copy.insert(version.id, version);
                pause().await;
                receiver.lock().unwrap().acknowledge(version);
                Ok(())
            }
        };
        let limit = step.dropped_at.unwrap_or(usize::MAX);
        if unordered {
            within(limit, self.catch_up.pass_unordered(handler)).await
        } else {
            within(limit, self.catch_up.pass(handler)).await
        }
    }

    /// In the end, with nothing failing and nothing changing: what is wrong with the copy, if anything.
    pub(super) async fn settle(&mut self) -> Result<(), String> {
        let quiet = Step::default();
        // Where the stamps are late, the first may leave its checkpoint behind the last of them.
        self.pass(&quiet).await.ok_or("a quiet pass fails")?;
        if self.means.look_back > 0 {
            self.pass(&quiet).await.ok_or("a second quiet pass fails")?;
        }
        // A new process delivers nothing again that the checkpoint covers.
        let again = self.pass(&Step { restart: true, ..quiet }).await.ok_or("the last pass fails")?;
        if again.delivered > 0 {
            return Err(format!("a quiet list brings {} again", again.delivered));
        }
        let receiver = self.receiver.lock().unwrap();
        let current: HashMap<_, _> = self.model.state().records.iter().map(|v| (v.id, *v)).collect();
        if let Some(lost) = current.values().find(|version| receiver.copy.get(&version.id) != Some(version)) {
            return Err(format!("lost: {lost:?}, the copy has {:?}", receiver.copy.get(&lost.id)));
        }
        receiver.wrongs.first().map_or(Ok(()), |wrong| Err(wrong.clone()))
    }
}

fn catch_up(client: &InvoicingClient, store: Arc<CheckedStore>, means: Means) -> CatchUp<Clients> {
    let window = Duration::from_millis(means.look_back.unsigned_abs());
    client.clients().catch_up(store).look_back(window).overlap(means.overlap)
}

/// Drives a future until it waits for the so-many-th time, and then drops it.
pub(crate) async fn within<F: Future>(waits: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut waited = 0;
    poll_fn(move |cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if waited == waits => Poll::Ready(None),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
    })
    .await
}
