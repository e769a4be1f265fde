//! Texts that are no keys: what they cost, and what they delay.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::sha256_hex;
use invoicing_server::Invoicing;
use invoicing_tests::{World, on_each_database};
use tokio::task::JoinSet;

/// More than there are places for requests.
const AT_ONCE: usize = 1_000;
const PATH: &str = "/api/v1/quotes?limit=1";

/// A text that is a key by its form.
fn unknown(n: usize) -> String {
    format!("isk_{n:043}")
}

async fn ask(invoicing: Invoicing, key: String) -> (u16, Duration) {
    let begun = Instant::now();
    let request = Request::get(PATH).header("authorization", format!("Bearer {key}"));
    let answer = invoicing.service().answer(request.body(Full::new(Bytes::new())).unwrap()).await;
    (answer.status().as_u16(), begun.elapsed())
}

async fn status(world: &World, key: &str) -> u16 {
    ask(world.invoicing.clone(), key.to_owned()).await.0
}

/// Rules: KEY-8
#[on_each_database(worker_threads = 2)]
async fn a_valid_key_is_answered_beside_a_thousand_unknown_ones_at_once() {
    let world = World::new().await;
    let mut others = JoinSet::new();
    for n in 0..AT_ONCE {
        others.spawn(ask(world.invoicing.clone(), unknown(n)));
    }
    let (answered, took) = ask(world.invoicing.clone(), world.key.clone()).await;
    assert_eq!(answered, 200);
    assert!(took < Duration::from_secs(1), "{took:?}");
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
async fn a_text_that_cannot_be_a_key_is_not_looked_up() {
    let world = World::new().await;
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
async fn an_unknown_key_that_was_just_refused_is_not_looked_up_again() {
    let world = World::new().await;
    // A node that begins to listen to others forgets once what it remembers.
    for n in 0..100 {
        let text = unknown(n);
        assert_eq!(status(&world, &text).await, 401);
        plant(&world, &text).await;
        if status(&world, &text).await == 401 {
            return;
        }
    }
    panic!("each was looked up again");
}

/// Rules: KEY-8
#[on_each_database]
async fn a_key_works_as_soon_as_one_is_issued_although_it_was_just_refused() {
    let world = World::new().await;
    let text = unknown(1);
    assert_eq!(status(&world, &text).await, 401);
    // As if this text were issued, which cannot be guessed before.
    plant(&world, &text).await;
    world.company.keys().issue("new").await.unwrap();
    assert_eq!(status(&world, &text).await, 200);
}
