//! The four guarantees of the catch-up, against a service that changes between any two pages, handlers, pages and
//! stores that fail, and processes that end.

use std::collections::HashSet;
use std::future::ready;
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;

use super::model::{Before, Change, Model};
use super::server::{Server, json as answer};
use super::{KEY, ManualEnv, client, client_json, page_json};
use crate::{
    CatchUp, CatchUpError, Checkpoint, CheckpointError, CheckpointStore, Clients, InvoicingClient,
    MemoryCheckpoint, Resource, Timestamp, Version,
};

/// One pass and what befalls it.
#[derive(Debug, Clone)]
struct Step {
    /// The process ends before it: only the store survives.
    restart: bool,
    requests: Vec<Before>,
    /// The handler fails on this record of the pass.
    handler_fails_at: Option<usize>,
    save_fails: bool,
}

/// What the receiver of the records knows.
#[derive(Default)]
struct Receiver {
    /// Every version whose handler returned `Ok`.
    acknowledged: HashSet<Version>,
    /// Those since the last save: after a restart they may come again.
    unsaved: HashSet<Version>,
    may_repeat: HashSet<Version>,
}

/// A store that fails when told, and checks each checkpoint that it is given.
struct CheckedStore {
    inner: MemoryCheckpoint,
    model: Model,
    receiver: Arc<Mutex<Receiver>>,
    fails: Mutex<bool>,
}

impl CheckpointStore for CheckedStore {
    fn load<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Option<Checkpoint>, CheckpointError>> {
        self.inner.load(resource)
    }

    fn save<'a>(
        &'a self,
        resource: &'a str,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        if *self.fails.lock().unwrap() {
            return Box::pin(async { Err(CheckpointError::Store("told to fail".into())) });
        }
        let mut receiver = self.receiver.lock().unwrap();
        // G3: what the checkpoint leaves behind has been acknowledged.
        for record in &self.model.state().records {
            let behind = record.updated_at <= checkpoint.since;
            assert!(!behind || receiver.acknowledged.contains(record), "{record:?} {checkpoint:?}");
        }
        receiver.unsaved.clear();
        receiver.may_repeat.clear();
        self.inner.save(resource, checkpoint)
    }
}

/// A company, its copy, and the process between them.
struct World {
    model: Model,
    client: InvoicingClient,
    store: Arc<CheckedStore>,
    receiver: Arc<Mutex<Receiver>>,
    catch_up: CatchUp<Clients>,
}

impl World {
    fn new() -> Self {
        let (model, receiver) = (Model::default(), Arc::<Mutex<Receiver>>::default());
        let client = InvoicingClient::builder("https://service.test", KEY)
            .build_on(Arc::new(model.clone()), ManualEnv::new())
            .unwrap();
        let store = Arc::new(CheckedStore {
            inner: MemoryCheckpoint::new(),
            model: model.clone(),
            receiver: receiver.clone(),
            fails: Mutex::new(false),
        });
        let catch_up = client.clients().catch_up(store.clone());
        Self { model, client, store, receiver, catch_up }
    }

    fn restart(&mut self) {
        self.catch_up = self.client.clients().catch_up(self.store.clone());
        let mut receiver = self.receiver.lock().unwrap();
        let unsaved = std::mem::take(&mut receiver.unsaved);
        receiver.may_repeat.extend(unsaved);
    }

    /// Makes a pass; `Some` with the number of deliveries where it was complete.
    async fn pass(&mut self, step: &Step) -> Option<usize> {
        if step.restart {
            self.restart();
        }
        self.model.state().script = step.requests.clone().into();
        *self.store.fails.lock().unwrap() = step.save_fails;
        let mut at_start = self.model.state().records.clone();
        let receiver = self.receiver.clone();
        let (mut number, mut last) = (0, None);
        let result = self
            .catch_up
            .pass(|record| {
                let version = Clients::version(&record);
                assert!(last.replace(version) < Some(version), "oldest first");
                number += 1;
                if step.handler_fails_at == Some(number - 1) {
                    return ready(Err("told to fail"));
                }
                let mut receiver = receiver.lock().unwrap();
                // G2: nothing twice, but for what a restart forgot.
                let new = receiver.acknowledged.insert(version);
                assert!(new || receiver.may_repeat.remove(&version), "{version:?} twice");
                receiver.unsaved.insert(version);
                ready(Ok(()))
            })
            .await;
        let pass = result.ok()?;
        // G1: what was there is here, or has changed since and lies ahead of the checkpoint (or is here already).
        let receiver = self.receiver.lock().unwrap();
        let now = self.model.state().records.clone();
        at_start.retain(|version| !receiver.acknowledged.contains(version));
        for missing in at_start {
            let current = now.iter().find(|record| record.id == missing.id).unwrap();
            assert_ne!(*current, missing, "missed");
            assert!(current.updated_at > pass.since || receiver.acknowledged.contains(current));
        }
        Some(pass.delivered)
    }

    /// In the end, with nothing failing and nothing changing, the copy is complete and stays quiet.
    async fn settle(&mut self) {
        let quiet = Step { restart: false, requests: vec![], handler_fails_at: None, save_fails: false };
        self.pass(&quiet).await.unwrap();
        {
            let receiver = self.receiver.lock().unwrap();
            assert!(self.model.state().records.iter().all(|record| receiver.acknowledged.contains(record)));
        }
        assert_eq!(self.pass(&quiet).await, Some(0));
        // A new process delivers nothing again that the checkpoint covers.
        let restarted = Step { restart: true, ..quiet };
        assert_eq!(self.pass(&restarted).await, Some(0));
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0..4_u8).prop_map(Change::Create),
        proptest::collection::vec(any::<u8>(), 1..6).prop_map(Change::Update),
        Just(Change::Elsewhere),
    ];
    proptest::collection::vec(change, 0..4)
}

fn steps() -> impl Strategy<Value = Step> {
    let before =
        (changes(), proptest::bool::weighted(0.03)).prop_map(|(changes, refuse)| Before { changes, refuse });
    (
        proptest::bool::weighted(0.2),
        proptest::collection::vec(before, 0..10),
        proptest::option::weighted(0.3, 0..12_usize),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(restart, requests, handler_fails_at, save_fails)| Step {
            restart,
            requests,
            handler_fails_at,
            save_fails,
        })
}

proptest! {
    #[test]
    fn nothing_is_missed_and_nothing_comes_twice(
        first in proptest::collection::vec(changes(), 0..4),
        steps in proptest::collection::vec(steps(), 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            for change in first.iter().flatten() {
                world.model.state().apply(change);
            }
            for step in &steps {
                world.pass(step).await;
            }
            world.settle().await;
        });
    }
}

#[tokio::test]
async fn ten_thousand_records_are_read_at_first() {
    let mut world = World::new();
    for _ in 0..50 {
        world.model.state().apply(&Change::Create(200));
    }
    let quiet = Step { restart: false, requests: vec![], handler_fails_at: None, save_fails: false };
    assert_eq!(world.pass(&quiet).await, Some(10_000));
    assert_eq!(world.pass(&quiet).await, Some(0));
}

#[tokio::test]
async fn quotes_and_invoices_come_with_their_lines() {
    let server = Server::start(|_, _| answer(200, &page_json(&[], 0, false))).await;
    let (client, _) = client(&server);
    let store = Arc::new(MemoryCheckpoint::new());
    let pass = client.quotes().catch_up(store.clone()).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    assert_eq!(pass.since, "2026-09-14T09:41:07.123Z".parse::<Timestamp>().unwrap());
    client.invoices().catch_up(store.clone()).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    client.quotes().catch_up(store).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    let queries: Vec<_> = server.seen().iter().map(|seen| seen.uri.query().unwrap().to_owned()).collect();
    let first = "include=lines&since=1970-01-01T00%3A00%3A00.000Z&limit=100";
    assert_eq!(queries[..2], [first, first]);
    assert_eq!(queries[2], "include=lines&since=2026-09-14T09%3A41%3A07.123Z&limit=100");
}

#[tokio::test]
async fn a_failing_handler_names_its_record() {
    let server = Server::start(|_, _| answer(200, &page_json(&[client_json("Dupont")], 0, false))).await;
    let (client, _) = client(&server);
    let store = Arc::new(MemoryCheckpoint::new());
    let mut catch_up = client.clients().catch_up(store.clone());
    let error = catch_up.pass(async |_| Err("disk full")).await.unwrap_err();
    assert!(matches!(error, CatchUpError::Handler { source: "disk full", .. }));
    assert!(error_text(&error).contains(super::ID));
    assert_eq!(store.load("clients").await.unwrap(), None);
    assert_eq!(catch_up.pass(async |_| Ok::<(), &str>(())).await.unwrap().delivered, 1);
}

fn error_text(error: &CatchUpError<&str>) -> String {
    match error {
        CatchUpError::Handler { version, source } => format!("{} {source}", version.id),
        CatchUpError::Read(error) => error.to_string(),
        CatchUpError::Checkpoint(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_checkpoint_that_was_taken_back_is_followed() {
    let server = Server::start(|_, _| answer(200, &page_json(&[client_json("Dupont")], 0, false))).await;
    let (client, _) = client(&server);
    let store = Arc::new(MemoryCheckpoint::new());
    let mut catch_up = client.clients().catch_up(store.clone());
    let deliver = async |catch_up: &mut CatchUp<Clients>| {
        catch_up.pass(async |_| Ok::<(), ()>(())).await.unwrap().delivered
    };
    assert_eq!(deliver(&mut catch_up).await, 1);
    assert_eq!(deliver(&mut catch_up).await, 0);
    store.save("clients", &Checkpoint::start()).await.unwrap();
    assert_eq!(deliver(&mut catch_up).await, 1);
}

#[tokio::test]
async fn a_pass_can_be_a_task() {
    let record = json!({"error": {"code": "unauthorized", "message": "no"}});
    let server = Server::start(move |_, _| answer(401, &record)).await;
    let (client, _) = client(&server);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let stored = Mutex::new(Vec::new());
        let mut catch_up = client.clients().catch_up(MemoryCheckpoint::new());
        catch_up
            .pass(async |record| {
                tokio::task::yield_now().await;
                stored.lock().map_err(|_| "poisoned")?.push(record);
                Ok(())
            })
            .await
    });
    let result: Result<_, CatchUpError<&str>> = tasks.join_next().await.unwrap().unwrap();
    assert!(matches!(result, Err(CatchUpError::Read(error)) if error.status() == Some(401)));
}
