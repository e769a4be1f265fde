//! Texts that are no keys: their cost, and the requests that they delay.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::sha256_hex;
use invoicing_server::Invoicing;
use invoicing_tests::{Database, World, ask, on_each_database, on_postgres};
use tokio::task::JoinSet;

/// More than the places for requests; callers with unknown keys have more places.
const AT_ONCE: usize = 1_000;
const PATH: &str = "/api/v1/quotes?limit=1";

/// A text in the form of a key.
fn unknown(n: usize) -> String {
    format!("isk_{n:043}")
}

async fn list(invoicing: Invoicing, key: String) -> (u16, Duration) {
    let begun = Instant::now();
    let request = Request::get(PATH).header("authorization", format!("Bearer {key}"));
    let answer = ask(&invoicing, request.body(Full::new(Bytes::new())).unwrap()).await;
    (answer.status.as_u16(), begun.elapsed())
}

async fn status(world: &World, key: &str) -> u16 {
    list(world.invoicing.clone(), key.to_owned()).await.0
}

/// Rules: KEY-8
#[on_each_database(worker_threads = 2)]
async fn a_valid_key_is_answered_beside_a_thousand_unknown_ones_at_once(db: Database) {
    let world = World::new(db).await;
    let mut others = JoinSet::new();
    for n in 0..AT_ONCE {
        others.spawn(list(world.invoicing.clone(), unknown(n)));
    }
    let (answered, took) = list(world.invoicing.clone(), world.key.clone()).await;
    assert_eq!(answered, 200);
    // A separate server, in `tests/load`, holds the figure of the contract.
    assert!(took < Duration::from_secs(10), "{took:?}");
    let refused = others.join_all().await.iter().filter(|(status, _)| *status == 401).count();
    assert_eq!(refused, AT_ONCE, "the others are 503");
}

/// Makes a text the key of the world's company behind the service's back: a look-up would find it.
async fn plant(world: &World, text: &str) {
    let hash = sha256_hex(text.as_bytes());
    let hash = world.database().either(format!("X'{hash}'"), format!("'\\x{hash}'"));
    assert_eq!(world.run(&format!("UPDATE api_key SET hash = {hash}"), &[]).await, 1);
}

/// Rules: KEY-8
#[on_each_database]
async fn a_text_that_cannot_be_a_key_is_not_looked_up(db: Database) {
    let world = World::new(db).await;
    let (short, long) = (unknown(1)[..46].to_owned(), unknown(1) + "0");
    for text in ["x", "isk_", &short, &long, "sgn_0000000000000000000000000000000000000000000"] {
        plant(&world, text).await;
        assert_eq!(status(&world, text).await, 401, "{text}");
    }
    let key = unknown(1);
    plant(&world, &key).await;
    assert_eq!(status(&world, &key).await, 200);
}

/// Rules: KEY-8
#[on_each_database]
async fn an_unknown_key_that_was_just_refused_is_not_looked_up_again(db: Database) {
    const ASKED: usize = 20;
    let world = World::new(db).await;
    let mut remembered = 0;
    for n in 0..ASKED {
        let text = unknown(n);
        assert_eq!(status(&world, &text).await, 401);
        plant(&world, &text).await;
        remembered += usize::from(status(&world, &text).await == 401);
    }
    // The cache of refused keys is cleared when a node begins to listen to others, and a busy machine may take seconds.
    assert!(remembered >= ASKED / 2, "{remembered}");
}

/// Rules: KEY-8
#[on_postgres(worker_threads = 2)]
async fn a_reread_key_is_not_refused_while_unknown_ones_fill_their_places(db: Database) {
    /// Callers that one read has taken already, and those that wait for the next one.
    const PLACES: usize = 2 * 1_024;
    let world = World::new(db).await;
    assert_eq!(status(&world, &world.key).await, 200);
    // The key's cached row is outdated by then, also if the node has just begun to listen and may have missed a change.
    tokio::time::sleep(Duration::from_millis(5_100)).await;
    let mut behind = world.behind().await;
    behind.run("BEGIN", &[]).await;
    behind.run("LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE", &[]).await;
    let mut others = JoinSet::new();
    for n in 0..=PLACES {
        others.spawn(list(world.invoicing.clone(), unknown(n)));
    }
    let (first, _) = others.join_next().await.unwrap().unwrap();
    assert_eq!(first, 503, "all of their places are taken");
    let known = status(&world, &world.key);
    let (known, ()) = tokio::join!(known, async {
        tokio::task::yield_now().await;
        behind.run("COMMIT", &[]).await;
    });
    assert_eq!(known, 200);
    let refused = others.join_all().await.iter().filter(|(status, _)| *status == 401).count();
    assert!(refused >= PLACES / 2, "{refused}");
}

/// Rules: KEY-8
#[on_each_database]
async fn a_key_works_as_soon_as_one_is_issued_although_it_was_just_refused(db: Database) {
    let world = World::new(db).await;
    let text = unknown(1);
    assert_eq!(status(&world, &text).await, 401);
    // The row stands for an issued key whose text was sent before.
    plant(&world, &text).await;
    world.company.keys().issue("new").await.unwrap();
    assert_eq!(status(&world, &text).await, 200);
}
