//! A service, a copy of its records, and the process in between, with the invariants of the three.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_core::future::BoxFuture;
use uuid::Uuid;

use super::super::service_model::{BeforeRequest, Change, ServerBehavior, ServiceModel, pause};
use super::super::{KEY, ManualEnv};
use crate::{
    CatchUp, CatchUpError, Checkpoint, CheckpointError, CheckpointStore, Clients, InvoicingClient,
    MemoryCheckpoint, Pass, RecordVersion, Resource,
};

/// Settings of the catch-up under test.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReaderSettings {
    /// In milliseconds.
    pub(super) look_back: i64,
    pub(super) overlap: usize,
    pub(super) unordered: bool,
}

/// The result of saving a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Saving {
    #[default]
    Works,
    /// The old checkpoint remains.
    Fails,
    /// The new checkpoint is stored, and an error is returned.
    FailsAfterwards,
}

/// One pass and its faults.
#[derive(Debug, Clone, Default)]
pub(super) struct PassPlan {
    /// The process restarts before the pass: only the store survives.
    pub(super) restart: bool,
    pub(super) requests: Vec<BeforeRequest>,
    /// Index of the record on which the handler fails.
    pub(super) handler_fails_at: Option<usize>,
    pub(super) saving: Saving,
    /// Number of the await point at which the pass is dropped.
    pub(super) dropped_at: Option<usize>,
}

/// The receiver of the records.
#[derive(Default)]
pub(crate) struct Receiver {
    /// The last version stored of each record.
    pub(crate) copy: HashMap<Uuid, RecordVersion>,
    /// Every version whose handler returned `Ok`.
    pub(crate) acknowledged: HashSet<RecordVersion>,
    /// Versions since the last save, which may be delivered again after a restart.
    unsaved: HashSet<RecordVersion>,
    may_repeat: HashSet<RecordVersion>,
    /// Violated guarantees.
    pub(crate) violations: Vec<String>,
}

impl Receiver {
    pub(crate) fn acknowledge(&mut self, version: RecordVersion) {
        // Guarantee 2 of `CatchUp`: no repetition, except after a restart.
        if !self.acknowledged.insert(version) && !self.may_repeat.remove(&version) {
            self.violations.push(format!("{version:?} was delivered twice"));
        }
        self.unsaved.insert(version);
    }

    pub(crate) fn restart(&mut self) {
        self.may_repeat.extend(std::mem::take(&mut self.unsaved));
    }
}

/// A store that can be made to fail, and that checks each checkpoint.
pub(crate) struct CheckedStore {
    pub(crate) inner: MemoryCheckpoint,
    pub(crate) model: ServiceModel,
    pub(crate) receiver: Arc<Mutex<Receiver>>,
    pub(crate) look_back: i64,
    pub(crate) saving: Mutex<Saving>,
}

impl CheckedStore {
    pub(crate) fn new(model: ServiceModel, receiver: Arc<Mutex<Receiver>>, look_back: i64) -> Self {
        Self { inner: MemoryCheckpoint::new(), model, receiver, look_back, saving: Mutex::default() }
    }
}

impl CheckpointStore for CheckedStore {
    fn lock_and_load<'a>(
        &'a self,
        resource: &'a str,
    ) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        Box::pin(async {
            pause().await;
            let loaded = self.inner.lock_and_load(resource).await;
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
                _ => Err(CheckpointError::Store("injected failure".into())),
            }
        })
    }
}

impl CheckedStore {
    /// Guarantee 3 of `CatchUp`: every version before the checkpoint is acknowledged.
    fn check(&self, checkpoint: &Checkpoint) {
        let mut receiver = self.receiver.lock().unwrap();
        let from = checkpoint.since.plus_millis(-self.look_back);
        for record in &self.model.state().records {
            // Without a look-back, versions with the stamp of the checkpoint are included.
            let behind = record.updated_at < from || (self.look_back == 0 && record.updated_at == from);
            if behind && !receiver.acknowledged.contains(record) {
                receiver
                    .violations
                    .push(format!("{record:?} is before {:?} and not acknowledged", checkpoint.since));
            }
        }
        if let Some(old) = checkpoint.delivered.iter().find(|version| version.updated_at < from) {
            receiver.violations.push(format!("{old:?} is stored without need"));
        }
        receiver.unsaved.clear();
        receiver.may_repeat.clear();
    }
}

pub(super) struct Scenario {
    pub(super) model: ServiceModel,
    pub(super) receiver: Arc<Mutex<Receiver>>,
    pub(super) catch_up: CatchUp<Clients>,
    client: InvoicingClient,
    store: Arc<CheckedStore>,
    settings: ReaderSettings,
}

impl Scenario {
    pub(super) fn new(behavior: ServerBehavior, settings: ReaderSettings) -> Self {
        let (model, receiver) = (ServiceModel::new(behavior), Arc::<Mutex<Receiver>>::default());
        let client = InvoicingClient::builder("https://service.test", KEY)
            .build_on(Arc::new(model.clone()), ManualEnv::new())
            .unwrap();
        let store = Arc::new(CheckedStore::new(model.clone(), receiver.clone(), settings.look_back));
        let catch_up = catch_up(&client, store.clone(), settings);
        Self { model, receiver, catch_up, client, store, settings }
    }

    pub(super) fn apply(&self, changes: &[Change]) {
        let mut state = self.model.state();
        for change in changes {
            state.apply(change);
        }
    }

    /// Makes a pass. `None` if it did not complete.
    pub(super) async fn pass(&mut self, step: &PassPlan) -> Option<Pass> {
        if step.restart {
            self.catch_up = catch_up(&self.client, self.store.clone(), self.settings);
            self.receiver.lock().unwrap().restart();
        }
        self.model.state().script = step.requests.clone().into();
        *self.store.saving.lock().unwrap() = step.saving;
        let at_start = self.model.state().records.clone();
        let pass = self.dropped_or_done(step).await?.ok()?;
        // Guarantee 1 of `CatchUp`: every version at the start is delivered or replaced.
        let mut receiver = self.receiver.lock().unwrap();
        let now = self.model.state().records.clone();
        for missing in at_start {
            if !receiver.acknowledged.contains(&missing) && now.contains(&missing) {
                receiver.violations.push(format!("{missing:?} was missed by a pass"));
            }
        }
        Some(pass)
    }

    async fn dropped_or_done(&mut self, step: &PassPlan) -> Option<Result<Pass, CatchUpError<&'static str>>> {
        let (receiver, unordered) = (self.receiver.clone(), self.settings.unordered);
        let (mut number, mut last) = (0, None);
        let handler = |record| {
            let version = Clients::version(&record);
            let is_oldest_first = unordered || last.replace(version) < Some(version);
            let fails = step.handler_fails_at == Some(number);
            number += 1;
            let receiver = receiver.clone();
            async move {
                if !is_oldest_first {
                    receiver.lock().unwrap().violations.push(format!("{version:?} is out of order"));
                }
                pause().await;
                if fails {
                    return Err("injected failure");
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

    /// Makes passes without faults and changes, and reports the first violation, if any.
    pub(super) async fn settle(&mut self) -> Result<(), String> {
        let quiet = PassPlan::default();
        // With late stamps, the checkpoint of the first pass may be before the last of them.
        self.pass(&quiet).await.ok_or("a quiet pass fails")?;
        if self.settings.look_back > 0 {
            self.pass(&quiet).await.ok_or("a second quiet pass fails")?;
        }
        // A new process does not repeat deliveries that the checkpoint covers.
        let again = self.pass(&PassPlan { restart: true, ..quiet }).await.ok_or("the last pass fails")?;
        if again.delivered > 0 {
            return Err(format!("{} records without a change are delivered again", again.delivered));
        }
        let receiver = self.receiver.lock().unwrap();
        let current: HashMap<_, _> = self.model.state().records.iter().map(|v| (v.id, *v)).collect();
        if let Some(lost) = current.values().find(|version| receiver.copy.get(&version.id) != Some(version)) {
            return Err(format!("lost: {lost:?}, the copy has {:?}", receiver.copy.get(&lost.id)));
        }
        receiver.violations.first().map_or(Ok(()), |wrong| Err(wrong.clone()))
    }
}

fn catch_up(
    client: &InvoicingClient,
    store: Arc<CheckedStore>,
    settings: ReaderSettings,
) -> CatchUp<Clients> {
    let window = Duration::from_millis(settings.look_back.unsigned_abs());
    client.clients().catch_up(store).look_back(window).overlap(settings.overlap)
}

/// Polls a future until it has been pending `waits` times, and then drops it.
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
