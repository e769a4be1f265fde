//! Catch-up: its guarantees with conforming and other servers, its requests, and its reports.

mod conforming;
mod nonconforming;
pub(crate) mod scenario;
mod schedules;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::service_model::{BeforeRequest, Change, ServerBehavior};
use super::stub_server::{StubServer, json as reply};
use super::{client, client_json, error_json, page_json};
use crate::{
    CatchUp, CatchUpError, Checkpoint, CheckpointStore, Clients, MemoryCheckpoint, Progress, Timestamp,
};
use scenario::{PassPlan, ReaderSettings, Scenario};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Rules: CATCHUP-4
#[tokio::test]
async fn documents_are_read_with_their_lines() {
    let server = StubServer::start(|_, _| reply(200, &page_json(&[], 0, false))).await;
    let (client, _) = client(&server);
    let store = Arc::new(MemoryCheckpoint::new());
    let pass = client.quotes().catch_up(store.clone()).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    assert_eq!(pass.since, "2026-09-14T09:41:07.123Z".parse::<Timestamp>().unwrap());
    client.invoices().catch_up(store.clone()).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    client.credit_notes().catch_up(store.clone()).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    client.quotes().catch_up(store).pass(async |_| Ok::<(), ()>(())).await.unwrap();
    let queries: Vec<_> = server.requests().iter().map(|seen| seen.uri.query().unwrap().to_owned()).collect();
    let first = "include=lines&since=1970-01-01T00%3A00%3A00.000Z&limit=100";
    assert_eq!(queries[..3], [first; 3]);
    assert_eq!(queries[3], "include=lines&since=2026-09-14T09%3A41%3A07.123Z&limit=100");
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Text(&'static str);

/// Rules: CATCHUP-3
#[tokio::test]
async fn the_error_of_a_handler_names_the_record() {
    let server = StubServer::start(|_, _| reply(200, &page_json(&[client_json("Dupont")], 0, false))).await;
    let (client, _) = client(&server);
    let store = Arc::new(MemoryCheckpoint::new());
    let mut catch_up = client.clients().catch_up(store.clone());
    let error = catch_up.pass(async |_| Err(Text("disk full"))).await.unwrap_err();
    assert!(matches!(error, CatchUpError::Handler { source: Text("disk full"), .. }));
    assert_eq!(error.to_string(), format!("the handler failed on {}", super::ID));
    assert_eq!(store.lock_and_load("clients").await.unwrap(), None);
    assert_eq!(catch_up.pass(async |_| Ok::<(), Text>(())).await.unwrap().delivered, 1);
}

#[tokio::test]
async fn a_checkpoint_that_was_moved_back_repeats_deliveries() {
    let server = StubServer::start(|_, _| reply(200, &page_json(&[client_json("Dupont")], 0, false))).await;
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
async fn a_pass_can_run_in_a_spawned_task() {
    let record = json!({"error": {"code": "unauthorized", "message": "no"}});
    let server = StubServer::start(move |_, _| reply(401, &record)).await;
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

#[tokio::test]
async fn progress_is_reported() {
    let reported = Arc::new(Mutex::new(Vec::<Progress>::new()));
    let listener = reported.clone();
    let mut scenario = Scenario::new(ServerBehavior::conforming(2), ReaderSettings::default());
    scenario.apply(&[Change::Create(3)]);
    scenario.catch_up =
        scenario.catch_up.on_progress(move |progress| listener.lock().unwrap().push(progress));
    scenario.pass(&PassPlan::default()).await.unwrap();
    let counts = |reported: &[Progress]| {
        reported
            .iter()
            .map(|reported| (reported.pages, reported.records, reported.delivered))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&reported.lock().unwrap()), [(1, 2, 0), (2, 3, 0), (2, 3, 1), (2, 3, 2), (2, 3, 3)]);
    reported.lock().unwrap().clear();
    // The next pass restarts the counts, and has nothing to deliver.
    scenario.pass(&PassPlan::default()).await.unwrap();
    assert_eq!(counts(&reported.lock().unwrap()).last(), Some(&(2, 0, 0)));
    assert!(reported.lock().unwrap().iter().all(|reported| reported.waiting_for_quota.is_none()));
}

#[tokio::test]
async fn a_wait_for_the_quota_is_reported() {
    let server = StubServer::start(|number, _| match number {
        0 => reply(429, &json!({"code": "TOO_MANY_REQUESTS", "message": "m"})).with("retry-after", "7"),
        1 => reply(503, &error_json("storage_unavailable", "m")).with("retry-after", "3"),
        _ => reply(200, &page_json(&[], 0, false)),
    })
    .await;
    let (client, _) = client(&server);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let listener = reported.clone();
    let mut catch_up = client
        .clients()
        .catch_up(MemoryCheckpoint::new())
        .on_progress(move |progress| listener.lock().unwrap().push(progress.waiting_for_quota));
    catch_up.pass(async |_| Ok::<(), Text>(())).await.unwrap();
    let reported = reported.lock().unwrap();
    // Only the wait for the quota is reported, and it ends with the page.
    assert!(reported[0] >= Some(Duration::from_secs(7)), "{reported:?}");
    assert!(reported.iter().skip_while(|reported| reported.is_some()).all(Option::is_none), "{reported:?}");
    assert_eq!(reported.last(), Some(&None));
}

#[tokio::test]
async fn a_wait_of_a_call_in_the_handler_is_reported() {
    let page = |data: &[Value]| {
        reply(200, &page_json(data, 0, false))
            .with("ratelimit-limit", "1")
            .with("ratelimit-remaining", "0")
            .with("ratelimit-reset", "60")
    };
    let server = StubServer::script([page(&[client_json("Dupont SARL")]), page(&[])]).await;
    let (client, _) = client(&server);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let listener = reported.clone();
    let mut catch_up = client
        .clients()
        .catch_up(MemoryCheckpoint::new())
        .on_progress(move |progress| listener.lock().unwrap().push(progress));
    catch_up.pass(async |_| client.clients().list().send().await.map(drop)).await.unwrap();
    let counts = |progress: &Progress| {
        (progress.pages, progress.records, progress.delivered, progress.waiting_for_quota.is_some())
    };
    let reported: Vec<_> = reported.lock().unwrap().iter().map(counts).collect();
    assert_eq!(reported, [(1, 1, 0, false), (1, 1, 0, true), (1, 1, 1, false)]);
}

#[tokio::test]
async fn a_look_back_reads_again_but_delivers_once() {
    let settings = ReaderSettings { look_back: 10, ..ReaderSettings::default() };
    let mut scenario = Scenario::new(ServerBehavior::conforming(100), settings);
    scenario.apply(&vec![Change::Create(1); 30]);
    assert_eq!(scenario.pass(&PassPlan::default()).await.unwrap().delivered, 30);
    // Late by as much as the look-back, in a new process.
    scenario.apply(&[Change::CreateLate(11), Change::CreateLate(5)]);
    let restarted = PassPlan { restart: true, ..PassPlan::default() };
    assert_eq!(scenario.pass(&restarted).await.unwrap().delivered, 2);
    assert_eq!(scenario.pass(&restarted).await.unwrap().delivered, 0);
    // Later than the look-back: not covered.
    scenario.apply(&[Change::CreateLate(25)]);
    assert_eq!(scenario.pass(&restarted).await.unwrap().delivered, 0);
}

#[tokio::test]
async fn stamps_that_go_backwards_move_the_checkpoint_back() {
    let mut scenario = Scenario::new(ServerBehavior::conforming(100), ReaderSettings::default());
    scenario.apply(&vec![Change::Create(1); 9]);
    scenario.pass(&PassPlan::default()).await.unwrap();
    // The service is restored from a backup with the first five records.
    let restored = Scenario::new(ServerBehavior::conforming(100), ReaderSettings::default());
    restored.apply(&vec![Change::Create(1); 5]);
    std::mem::swap(&mut *scenario.model.state(), &mut *restored.model.state());
    let pass = scenario.pass(&PassPlan::default()).await.unwrap();
    assert_eq!(pass.since, Timestamp::from_millis(5));
    scenario.apply(&[Change::Update(vec![0])]);
    assert_eq!(scenario.pass(&PassPlan::default()).await.unwrap().since, Timestamp::from_millis(6));
    // The record with the stamp of the backup is repeated, and later changes are delivered.
    let changed = scenario.model.state().records[0];
    assert_eq!(scenario.receiver.lock().unwrap().copy[&changed.id], changed);
}

#[tokio::test]
async fn a_refused_page_leaves_the_checkpoint() {
    let mut scenario = Scenario::new(
        ServerBehavior::conforming(2),
        ReaderSettings { unordered: true, ..ReaderSettings::default() },
    );
    scenario.apply(&[Change::Create(5)]);
    let refused = BeforeRequest { refuse: true, ..BeforeRequest::default() };
    let step = PassPlan { requests: vec![BeforeRequest::default(), refused], ..PassPlan::default() };
    assert_eq!(scenario.pass(&step).await, None);
    // The first page was delivered and is not repeated.
    assert_eq!(scenario.pass(&PassPlan::default()).await.unwrap().delivered, 3);
    assert_eq!(scenario.settle().await, Ok(()));
}
