//! Rotation of a secret: with an overlap both secrets sign, so that a receiver can change over at any time during it.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use invoicing_server::{Error, RegisteredWebhook, Secret};
use invoicing_tests::{Database, Received, Receiver, Reply, World, on_each_database, on_postgres};
use webhook_verify::Verifier;

use crate::support::{conflict, dispatch_to_the_end, emit, hook, invalid};

const HOUR: Duration = Duration::from_hours(1);

/// The signature header of the next delivery, and the delivery.
async fn next_signature(world: &World, receiver: &Receiver) -> (String, Received) {
    emit(world, 1).await;
    world.dispatch().await;
    let received = receiver.take().pop().expect("a delivery");
    let header = received.headers["x-service-signature"].to_str().unwrap().to_owned();
    (header, received)
}

/// True if a header matches with a secret, now.
fn matches(world: &World, header: &str, received: &Received, secret: &Secret) -> bool {
    let verifier = Verifier::new(secret.reveal()).unwrap();
    verifier.verify(header, &received.body, world.now().as_seconds()).is_ok()
}

/// The indices of the secrets with which each `v1` of a header was made.
fn signers(world: &World, (header, received): &(String, Received), secrets: &[&Secret]) -> Vec<usize> {
    let (t, v1) = header.split_once(",v1=").unwrap();
    let place = |v1: &str| {
        let header = format!("{t},v1={v1}");
        secrets.iter().position(|secret| matches(world, &header, received, secret)).unwrap()
    };
    v1.split(",v1=").map(place).collect()
}

async fn rotate(world: &World, hook: &RegisteredWebhook, overlap: Duration) -> RegisteredWebhook {
    world.company.webhooks().rotate_with_overlap(hook.webhook.id, overlap).await.unwrap()
}

const KEPT: &str =
    "SELECT count(*) FROM webhook WHERE previous_secret IS NOT NULL OR previous_secret_until IS NOT NULL";

/// Rules: WEBHOOK-4, WEBHOOK-9, WEBHOOK-22
#[on_each_database]
async fn both_secrets_sign_during_an_overlap_and_the_new_one_alone_after_it(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let old = hook(&world, &receiver.url).await;
    let new = rotate(&world, &old, HOUR).await;
    let secrets = [&new.secret, &old.secret];
    assert_eq!(new.webhook.previous_secret_until, Some(world.now().plus_millis(3_600_000)));
    assert_eq!(signers(&world, &next_signature(&world, &receiver).await, &secrets), [0, 1]);
    world.advance(Duration::from_millis(3_599_999));
    // A retry after the end is signed anew.
    receiver.reply_next([Reply::status(500)]);
    emit(&world, 1).await;
    dispatch_to_the_end(&world).await;
    let signed: Vec<_> = receiver
        .take()
        .into_iter()
        .map(|received| received.headers["x-service-signature"].to_str().unwrap().matches("v1=").count())
        .collect();
    assert_eq!(signed, [2, 1], "no sweep has run yet");
    assert_eq!(world.count(KEPT).await, 1);
    assert_eq!(world.invoicing.sweep().await.unwrap().wiped_secrets, 1);
    assert_eq!(world.count(KEPT).await, 0);
    assert_eq!(signers(&world, &next_signature(&world, &receiver).await, &secrets), [0]);
    let webhook = world.company.webhooks().get(new.webhook.id).await.unwrap();
    assert_eq!(webhook.previous_secret_until, None);
}

/// Rules: WEBHOOK-4, WEBHOOK-22
#[on_each_database]
async fn an_overlap_ends_early_by_hand_by_a_rotation_and_by_removal(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let first = hook(&world, &receiver.url).await;
    let second = rotate(&world, &first, HOUR).await;
    assert_eq!(world.invoicing.sweep().await.unwrap().wiped_secrets, 0);
    let ended = webhooks.end_overlap(first.webhook.id).await.unwrap();
    assert_eq!(ended.previous_secret_until, first.webhook.previous_secret_until);
    let third = rotate(&world, &second, 2 * HOUR).await;
    let secrets = [&first.secret, &second.secret, &third.secret];
    assert_eq!(signers(&world, &next_signature(&world, &receiver).await, &secrets), [2, 1]);
    let ended = webhooks.end_overlap(first.webhook.id).await.unwrap();
    assert_eq!(ended.previous_secret_until, first.webhook.previous_secret_until);
    assert_eq!(world.count(KEPT).await, 0);
    assert_eq!(signers(&world, &next_signature(&world, &receiver).await, &secrets), [2]);
    assert_eq!(webhooks.end_overlap(first.webhook.id).await.unwrap(), ended, "again is nothing");
    rotate(&world, &first, HOUR).await;
    let last = webhooks.rotate(first.webhook.id).await.unwrap();
    assert_eq!(world.count(KEPT).await, 0, "a rotation without an overlap keeps no secret");
    assert_eq!(signers(&world, &next_signature(&world, &receiver).await, &[&last.secret]), [0]);
    rotate(&world, &first, HOUR).await;
    webhooks.remove(first.webhook.id).await.unwrap();
    assert_eq!(world.count(KEPT).await, 0);
}

/// Two people press at the same moment: a second overlap would end the secret that the receiver has.
///
/// Rules: WEBHOOK-22
#[on_each_database]
async fn of_simultaneous_rotations_with_an_overlap_one_is_made(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let first = hook(&world, &receiver.url).await;
    let (id, webhooks) = (first.webhook.id, world.company.webhooks());
    let rotated = join_all((0..8).map(|_| webhooks.rotate_with_overlap(id, HOUR))).await;
    let (made, refused): (Vec<_>, Vec<_>) = rotated.into_iter().partition(Result::is_ok);
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Conflict(_)))), "{refused:?}");
    let [Ok(second)] = &made[..] else { panic!("{} rotations", made.len()) };
    let secrets = [&first.secret, &second.secret];
    assert_eq!(signers(&world, &next_signature(&world, &receiver).await, &secrets), [1, 0]);
    world.advance(HOUR.saturating_sub(Duration::from_millis(1)));
    conflict(&world, "another overlap", webhooks.rotate_with_overlap(id, HOUR)).await;
    // No sweep has wiped the old secret yet.
    world.advance(Duration::from_millis(1));
    rotate(&world, &first, HOUR).await;
    // A secret has leaked.
    webhooks.rotate(id).await.unwrap();
    assert_eq!(world.count(KEPT).await, 0);
}

/// A dispatcher's prepared webhook holds the old secret. The dispatcher prepares it anew once the sweep has wiped the
/// stored secret: only then deliveries go to the changed URL.
///
/// Rules: WEBHOOK-22
#[on_each_database]
async fn the_sweep_has_the_old_secret_dropped_from_memory_too(db: Database) {
    let world = World::new(db).await;
    let (first, second) = (Receiver::start().await, Receiver::start().await);
    let old = hook(&world, &first.url).await;
    rotate(&world, &old, HOUR).await;
    next_signature(&world, &first).await;
    world.run("UPDATE webhook SET url = $1", &[second.url.as_str().into()]).await;
    world.advance(HOUR);
    next_signature(&world, &first).await;
    assert_eq!(world.invoicing.sweep().await.unwrap().wiped_secrets, 1);
    next_signature(&world, &second).await;
}

/// Rules: WEBHOOK-22
#[on_postgres]
async fn another_node_signs_with_the_new_secret_alone_after_the_overlap(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let old = hook(&world, &receiver.url).await;
    let new = rotate(&world, &old, HOUR).await;
    let secrets = [&new.secret, &old.secret];
    let other = world.node(world.invoicing.env().clone()).await;
    let signed = async || {
        emit(&world, 1).await;
        other.dispatcher().run_once().await.unwrap();
        let received = receiver.take().pop().expect("a delivery");
        let header = received.headers["x-service-signature"].to_str().unwrap().to_owned();
        signers(&world, &(header, received), &secrets)
    };
    assert_eq!(signed().await, [0, 1]);
    world.company.webhooks().end_overlap(old.webhook.id).await.unwrap();
    let begun = Instant::now();
    // The other node's notification arrives soon; without one it reads the webhook again after 5 s.
    while signed().await != [0] {
        assert!(begun.elapsed() < Duration::from_secs(30), "the old secret still signs");
    }
}

/// Rules: WEBHOOK-22
#[on_each_database]
async fn an_overlap_lasts_at_most_7_days(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let webhooks = world.company.webhooks();
    let week = 7 * 24 * HOUR;
    for overlap in [week + Duration::from_nanos(1), Duration::MAX] {
        invalid(&world, "overlap", webhooks.rotate_with_overlap(id, overlap)).await;
    }
    let rotated = webhooks.rotate_with_overlap(id, week).await.unwrap().webhook;
    assert_eq!(rotated.previous_secret_until, Some(world.now().plus_millis(7 * 86_400_000)));
}

/// Receivers as in the documentation of `rotate_with_overlap`: they accept with the old secret, with the new one,
/// before and after the end.
///
/// Rules: WEBHOOK-22
#[on_each_database]
async fn receivers_see_what_the_documentation_says_of_them(db: Database) {
    type Reader = fn(&str) -> Option<String>;
    let (any, first, last, one): (Reader, Reader, Reader, Reader) = (
        |header| Some(header.to_owned()),
        |header| Some(header.split(',').take(2).collect::<Vec<_>>().join(",")),
        |header| {
            let (t, v1) = (header.split(',').next()?, header.rsplit(',').next()?);
            Some(format!("{t},{v1}"))
        },
        |header| (header.split(',').count() == 2).then(|| header.to_owned()),
    );
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let old = hook(&world, &receiver.url).await;
    let new = rotate(&world, &old, HOUR).await;
    for (is_over, expected) in [
        (false, [(true, true), (false, true), (true, false), (false, false)]),
        (true, [(false, true), (false, true), (false, true), (false, true)]),
    ] {
        let (header, received) = next_signature(&world, &receiver).await;
        for (reads, (with_old, with_new)) in [any, first, last, one].into_iter().zip(expected) {
            let accepts =
                |secret| reads(&header).is_some_and(|header| matches(&world, &header, &received, secret));
            let accepted = (accepts(&old.secret), accepts(&new.secret));
            assert_eq!(accepted, (with_old, with_new), "{header}, after the end: {is_over}");
        }
        world.advance(HOUR);
    }
}
