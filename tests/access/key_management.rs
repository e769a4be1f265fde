//! API keys as the host manages them, plans, and the quota that a host may set.

use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::Plan;
use invoicing_server::{ContentHash, Error, KeyUsage};
use invoicing_tests::{Database, World, on_each_database};
use uuid::Uuid;

use crate::support::{conflict, invalid, not_found};

async fn status(world: &World, key: &str) -> u16 {
    world.call("GET", "/api/v1/quotes", Some(key), &[], bytes::Bytes::new()).await.status.as_u16()
}

/// Rules: KEY-1, KEY-2
#[on_each_database]
async fn a_key_has_32_random_bytes_stored_as_hash_and_last_4_characters(db: Database) {
    let world = World::new(db).await;
    let issued = world.company.keys().issue("CRM").await.unwrap();
    let key = issued.key.reveal();
    let random = key.strip_prefix("isk_").unwrap();
    assert_eq!(random.len(), 43);
    assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    assert_eq!(issued.record.last4, key[key.len() - 4..]);
    assert_ne!(key, world.key);
    world.invoicing.close().await;
    let place = world.place();
    for part in [key, random] {
        assert!(!place.holds(part.as_bytes()).await, "the key is in the database");
    }
    assert!(place.holds(ContentHash::of(key.as_bytes()).as_bytes()).await, "its hash is");
    assert!(!format!("{issued:?}").contains(random));
}

/// Rules: KEY-7
#[on_each_database]
async fn a_revoked_key_is_refused_at_once_and_for_good(db: Database) {
    let world = World::new(db).await;
    let keys = world.company.keys();
    assert_eq!(status(&world, &world.key).await, 200);
    let id = keys.list().await.unwrap()[0].id;
    let (other, other_key) = world.another("Autre", Plan::Team).await;
    not_found(&world, "another company's key", other.keys().revoke(id)).await;
    not_found(&world, "no key", keys.revoke(invoicing_core::KeyId(Uuid::nil()))).await;
    keys.revoke(id).await.unwrap();
    assert_eq!(status(&world, &world.key).await, 401);
    assert_eq!(status(&world, &other_key).await, 200);
    assert!(keys.list().await.unwrap()[0].revoked_at.is_some());
    let key = world.key.clone();
    drop(other);
    let world = world.reopen().await;
    assert_eq!(status(&world, &key).await, 401);
}

/// Rules: PLAN-1
#[on_each_database]
async fn only_the_team_plan_may_use_the_api_from_the_moment_of_the_change(db: Database) {
    let world = World::new(db).await;
    for plan in Plan::ALL {
        let (company, key) = world.another("x", *plan).await;
        let expected = if *plan == Plan::Team { 200 } else { 403 };
        assert_eq!(status(&world, &key).await, expected, "{plan}");
        for (next, expected) in [(Plan::Team, 200), (Plan::Pro, 403), (Plan::Team, 200), (Plan::Starter, 403)]
        {
            company.set_plan(next).await.unwrap();
            assert_eq!(company.details().await.unwrap().plan, next);
            assert_eq!(status(&world, &key).await, expected, "{plan} to {next}");
        }
    }
}

/// Rules: KEY-10
#[on_each_database]
async fn a_company_has_at_most_100_active_keys_also_if_many_are_issued_at_once(db: Database) {
    let world = World::new(db).await;
    let keys = world.company.keys();
    let issued = join_all((0..110).map(|_| keys.issue("one of many"))).await;
    assert_eq!(issued.iter().filter(|issued| issued.is_ok()).count(), 99, "there was one before");
    assert!(issued.iter().all(|issued| matches!(issued, Ok(_) | Err(Error::Conflict(_)))));
    conflict(&world, "a 101st", keys.issue("x")).await;
    // A revoked key frees a place, and another company has a limit for itself.
    keys.revoke(keys.list().await.unwrap()[0].id).await.unwrap();
    keys.issue("x").await.unwrap();
    conflict(&world, "a 101st", keys.issue("x")).await;
    world.another("Autre", Plan::Team).await;
}

#[on_each_database]
async fn a_label_is_a_name(db: Database) {
    let world = World::new(db).await;
    for label in ["", "  ", "a\nb", &"x".repeat(256)] {
        invalid(&world, "label", world.company.keys().issue(label)).await;
    }
    let absent = world.invoicing.company(invoicing_core::CompanyId(Uuid::nil()));
    let issued = absent.keys().issue("x").await;
    assert!(matches!(issued, Err(Error::NotFound)), "{issued:?}");
}

/// Rules: QUOTA-6
#[on_each_database]
async fn a_host_may_set_another_quota(db: Database) {
    for quota in [1_u32, 3, 31] {
        let world = World::on(db).settings(|settings| settings.quota = quota).open().await;
        for _ in 0..quota {
            assert_eq!(status(&world, &world.key).await, 200);
        }
        assert_eq!(status(&world, &world.key).await, 429);
        world.advance(std::time::Duration::from_millis(59_900));
        assert_eq!(status(&world, &world.key).await, 429, "{quota}: the window is 60 s");
        world.advance(std::time::Duration::from_millis(300));
        assert_eq!(status(&world, &world.key).await, 200);
    }
}

/// Rules: KEY-9
#[on_each_database]
async fn the_usage_of_keys_shows_their_quota_and_counts_nothing_itself(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 5).open().await;
    let keys = world.company.keys();
    let idle = keys.issue("idle").await.unwrap().record.id;
    let used = async || {
        let usage = world.company.keys().usage().await.unwrap();
        assert!(
            usage.iter().all(|usage| usage.limit == Some(5) && (usage.record.id != idle || usage.used == 0))
        );
        usage.iter().map(|usage| usage.used).sum::<u32>()
    };
    assert_eq!(used().await, 0);
    for accepted in 1..=5 {
        assert_eq!(world.get("/api/v1/quotes").await.status, 200);
        assert_eq!((used().await, used().await), (accepted, accepted));
    }
    assert_eq!(world.get("/api/v1/quotes").await.status, 429);
    assert_eq!(used().await, 5);
    let until = |usage: &KeyUsage| usage.oldest_until;
    let ends: Vec<_> = keys.usage().await.unwrap().iter().filter_map(until).collect();
    assert_eq!(ends, [world.now().plus_millis(60_001)]);
    world.advance(Duration::from_mins(1));
    assert_eq!(used().await, 5);
    world.advance(Duration::from_millis(1));
    assert_eq!(used().await, 0);
    assert_eq!(world.get("/api/v1/quotes").await.headers["ratelimit-remaining"], "4");
    let unlimited = World::on(db).settings(|settings| settings.quota = 0).open().await;
    unlimited.get("/api/v1/quotes").await;
    let usage = &unlimited.company.keys().usage().await.unwrap()[0];
    assert_eq!((usage.used, usage.limit, usage.oldest_until), (0, None, None));
}

/// Rules: KEY-9
#[on_each_database]
async fn the_usage_of_keys_outlives_a_restart(db: Database) {
    let world = World::new(db).await;
    for _ in 0..3 {
        world.get("/api/v1/quotes").await;
    }
    world.invoicing.close().await;
    let world = world.reopen().await;
    assert_eq!(world.company.keys().usage().await.unwrap()[0].used, 3);
}

/// Rules: KEY-9
#[on_each_database]
async fn what_a_dead_process_had_reserved_is_no_use_of_a_key(db: Database) {
    let world = World::new(db).await;
    assert_eq!(world.get("/api/v1/quotes").await.status, 200);
    // The process ends without an orderly close.
    let world = world.reopen().await;
    let opened_at = world.now();
    let usage = async || world.company.keys().usage().await.unwrap().remove(0);
    let is_known = world.database().either(0, 1);
    for _ in 0..3 {
        let usage = usage().await;
        assert_eq!(usage.used, is_known);
        assert_eq!(usage.oldest_until, (is_known > 0).then(|| opened_at.plus_millis(60_001)));
        world.advance(Duration::from_secs(10));
    }
    // Used again, the key has all requests that the quota counts, and reading its usage moves no instant.
    assert_eq!(world.get("/api/v1/quotes").await.status, 200);
    for _ in 0..3 {
        let usage = usage().await;
        assert_eq!(usage.used, world.database().either(3, 1) + 1);
        assert_eq!(usage.oldest_until, Some(opened_at.plus_millis(60_001)));
        world.advance(Duration::from_secs(5));
    }
    world.advance(Duration::from_secs(16));
    assert_eq!(usage().await.used, 1);
}

/// Rules: KEY-9
#[on_each_database]
async fn a_revoked_key_has_no_quota(db: Database) {
    let world = World::new(db).await;
    assert_eq!(world.get("/api/v1/quotes").await.status, 200);
    let keys = world.company.keys();
    keys.revoke(keys.list().await.unwrap()[0].id).await.unwrap();
    let usage = &keys.usage().await.unwrap()[0];
    assert_eq!((usage.used, usage.limit, usage.oldest_until), (0, None, None));
}
