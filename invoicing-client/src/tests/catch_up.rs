//! The catch-up: its guarantees against servers that keep the contract and others, and what it asks, tells and reports.

mod foreign;
mod ours;
mod schedules;
pub(crate) mod world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::model::{Before, Change, Habits};
use super::server::{Server, json as answer};
use super::{client, client_json, error_json, page_json};
use crate::{
    CatchUp, CatchUpError, Checkpoint, CheckpointStore, Clients, MemoryCheckpoint, Progress, Timestamp,
};
use world::{Means, Step, World};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Rules: CATCHUP-4
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

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Text(&'static str);

/// Rules: CATCHUP-3
#[tokio::test]
async fn a_failing_handler_names_its_record() {
    let server = Server::start(|_, _| answer(200, &page_json(&[client_json("Dupont")], 0, false))).await;
    let (client, _) = client(&server);
    let store = Arc::new(MemoryCheckpoint::new());
    let mut catch_up = client.clients().catch_up(store.clone());
    let error = catch_up.pass(async |_| Err(Text("disk full"))).await.unwrap_err();
    assert!(matches!(error, CatchUpError::Handler { source: Text("disk full"), .. }));
    assert_eq!(error.to_string(), format!("the handler failed on {}", super::ID));
    assert_eq!(store.load("clients").await.unwrap(), None);
    assert_eq!(catch_up.pass(async |_| Ok::<(), Text>(())).await.unwrap().delivered, 1);
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

#[tokio::test]
async fn progress_is_told() {
    let told = Arc::new(Mutex::new(Vec::<Progress>::new()));
    let listener = told.clone();
    let mut world = World::new(Habits::ours(2), Means::default());
    world.apply(&[Change::Create(3)]);
    world.catch_up = world.catch_up.on_progress(move |progress| listener.lock().unwrap().push(progress));
    world.pass(&Step::default()).await.unwrap();
    let counts = |told: &[Progress]| {
        told.iter().map(|told| (told.pages, told.records, told.delivered)).collect::<Vec<_>>()
    };
    assert_eq!(
        counts(&told.lock().unwrap()),
        [(1, 0, 0), (1, 2, 0), (2, 2, 0), (2, 3, 0), (2, 3, 1), (2, 3, 2), (2, 3, 3)]
    );
    told.lock().unwrap().clear();
    // The next pass counts anew; what is known is not to be delivered.
    world.pass(&Step::default()).await.unwrap();
    assert_eq!(counts(&told.lock().unwrap()).last(), Some(&(2, 0, 0)));
    assert!(told.lock().unwrap().iter().all(|told| told.waiting_for_quota.is_none()));
}

#[tokio::test]
async fn a_wait_for_the_quota_is_told() {
    let server = Server::start(|number, _| match number {
        0 => answer(429, &json!({"code": "TOO_MANY_REQUESTS", "message": "m"})).with("retry-after", "7"),
        1 => answer(503, &error_json("storage_unavailable", "m")).with("retry-after", "3"),
        _ => answer(200, &page_json(&[], 0, false)),
    })
    .await;
    let (client, _) = client(&server);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    let mut catch_up = client
        .clients()
        .catch_up(MemoryCheckpoint::new())
        .on_progress(move |progress| listener.lock().unwrap().push(progress.waiting_for_quota));
    catch_up.pass(async |_| Ok::<(), Text>(())).await.unwrap();
    let told = told.lock().unwrap();
    // Only the quota's wait, and it is over with the page.
    assert!(told[0] >= Some(Duration::from_secs(7)), "{told:?}");
    assert!(told.iter().skip_while(|told| told.is_some()).all(Option::is_none), "{told:?}");
    assert_eq!(told.last(), Some(&None));
}

#[tokio::test]
async fn a_window_reads_again_and_delivers_once() {
    let means = Means { look_back: 10, ..Means::default() };
    let mut world = World::new(Habits::ours(100), means);
    world.apply(&vec![Change::Create(1); 30]);
    assert_eq!(world.pass(&Step::default()).await.unwrap().delivered, 30);
    // Late by as much as the window, in another process.
    world.apply(&[Change::CreateLate(11), Change::CreateLate(5)]);
    let restarted = Step { restart: true, ..Step::default() };
    assert_eq!(world.pass(&restarted).await.unwrap().delivered, 2);
    assert_eq!(world.pass(&restarted).await.unwrap().delivered, 0);
    // Later than the window: this is what nothing helps against.
    world.apply(&[Change::CreateLate(25)]);
    assert_eq!(world.pass(&restarted).await.unwrap().delivered, 0);
}

#[tokio::test]
async fn stamps_that_went_back_are_followed() {
    let mut world = World::new(Habits::ours(100), Means::default());
    world.apply(&vec![Change::Create(1); 9]);
    world.pass(&Step::default()).await.unwrap();
    // The service was restored from a copy of the first five, and goes on from there.
    let restored = World::new(Habits::ours(100), Means::default());
    restored.apply(&vec![Change::Create(1); 5]);
    std::mem::swap(&mut *world.model.state(), &mut *restored.model.state());
    let pass = world.pass(&Step::default()).await.unwrap();
    assert_eq!(pass.since, Timestamp::from_millis(5));
    world.apply(&[Change::Update(vec![0])]);
    assert_eq!(world.pass(&Step::default()).await.unwrap().since, Timestamp::from_millis(6));
    // What has the stamp that it went back to comes once more; what changes from now on comes.
    let changed = world.model.state().records[0];
    assert_eq!(world.receiver.lock().unwrap().copy[&changed.id], changed);
}

#[tokio::test]
async fn a_page_that_is_refused_moves_nothing() {
    let mut world = World::new(Habits::ours(2), Means { unordered: true, ..Means::default() });
    world.apply(&[Change::Create(5)]);
    let refused = Before { refuse: true, ..Before::default() };
    let step = Step { requests: vec![Before::default(), refused], ..Step::default() };
    assert_eq!(world.pass(&step).await, None);
    // The first page was delivered already, and is not delivered again.
    assert_eq!(world.pass(&Step::default()).await.unwrap().delivered, 3);
    assert_eq!(world.settle().await, Ok(()));
}
