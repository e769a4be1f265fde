//! Keys, plan and quota.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::{Plan, Timestamp};
use invoicing_tests::{Answer, Database, World, on_each_database};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use crate::support::api::DAY;
use crate::support::proptest_runner::{for_all, runtime};

const LIMIT: usize = 30;
const WINDOW_MS: i64 = 60_000;
const PATH: &str = "/api/v1/quotes?limit=1";

/// Requests that deaths of the process may cost: a block of reserved ones each. PostgreSQL records every request.
fn lost(db: Database, deaths: usize) -> usize {
    deaths * db.either(3, 0)
}

async fn with_key(world: &World, key: &str) -> Answer {
    world.call("GET", PATH, Some(key), &[], Bytes::new()).await
}

/// Sends requests until one is refused. Returns the number accepted before.
async fn use_up(world: &World) -> usize {
    for accepted in 0..=LIMIT {
        match world.get(PATH).await.status.as_u16() {
            200 => {}
            429 => return accepted,
            status => panic!("{status}"),
        }
    }
    panic!("more than the quota was accepted");
}

fn header(answer: &Answer, name: &str) -> i64 {
    let value = answer.headers.get(name).unwrap_or_else(|| panic!("no {name}: {answer:?}"));
    value.to_str().unwrap().parse().unwrap()
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.try_into().unwrap())
}

/// Rules: QUOTA-1, ERROR-12, WIRE-22
#[on_each_database]
async fn thirty_requests_pass_and_the_thirty_first_does_not(db: Database) {
    let world = World::new(db).await;
    for n in 1..=30 {
        let answer = world.get(PATH).await;
        assert_eq!(answer.status, 200, "request {n}");
        assert_eq!(header(&answer, "ratelimit-limit"), 30);
        assert_eq!(header(&answer, "ratelimit-remaining"), 30 - n);
        assert!((0..=61).contains(&header(&answer, "ratelimit-reset")));
    }
    let answer = world.get(PATH).await;
    assert_eq!(answer.status, 429);
    assert_eq!(header(&answer, "ratelimit-limit"), 30);
    assert_eq!(header(&answer, "ratelimit-remaining"), 0);
    assert_eq!(header(&answer, "ratelimit-reset"), header(&answer, "retry-after"));
}

/// Rules: QUOTA-3, WIRE-22
#[on_each_database]
async fn errors_that_come_after_the_quota_count_and_carry_its_headers(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 5).open().await;
    for (method, path, status) in [
        ("GET", "/api/v1/nothing", 404),
        ("DELETE", "/api/v1/quotes", 405),
        ("GET", "/api/v1/quotes?limit=0", 400),
        ("POST", "/api/v1/clients", 400),
        ("HEAD", "/api/v1/quotes", 200),
    ] {
        let answer = world.call(method, path, Some(&world.key), &[], Bytes::new()).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(header(&answer, "ratelimit-limit"), 5);
    }
    assert_eq!(world.get(PATH).await.status, 429);
}

/// Rules: QUOTA-2, QUOTA-4
#[on_each_database]
async fn refused_requests_do_not_count_and_one_passes_after_retry_after(db: Database) {
    let world = World::new(db).await;
    for _ in 0..LIMIT {
        assert_eq!(world.get(PATH).await.status, 200);
        world.advance(Duration::from_millis(700));
    }
    for _ in 0..100 {
        let answer = world.get(PATH).await;
        assert_eq!(answer.status, 429);
        world.advance(Duration::from_millis(50));
    }
    for _ in 0..LIMIT {
        let refused = world.get(PATH).await;
        assert_eq!(refused.status, 429);
        let wait = header(&refused, "retry-after");
        assert!((1..=61).contains(&wait), "{wait}");
        world.advance(seconds(wait));
        assert_eq!(world.get(PATH).await.status, 200, "after waiting {wait} s");
        while world.get(PATH).await.status == 200 {}
    }
}

/// Rules: QUOTA-7
#[on_each_database]
async fn a_clock_that_is_set_back_does_not_open_the_window_again(db: Database) {
    let world = World::new(db).await;
    assert_eq!(use_up(&world).await, LIMIT);
    let now = world.now();
    for back in [1, 60_001, 3_600_000] {
        world.clock.set(now.plus_millis(-back));
        assert_eq!(world.get(PATH).await.status, 429, "{back} ms back");
    }
    // In a file that belongs to one process, the window does not stay shut until the clock has caught up. If nodes
    // share a database, an earlier instant may be that of a node whose clock is behind, and the latest instant counts.
    let wait = header(&world.get(PATH).await, "retry-after");
    let longest = world.database().either(61, 61 + 3_600);
    assert!((1..=longest).contains(&wait), "{wait}");
    world.advance(seconds(wait));
    assert_eq!(use_up(&world).await, LIMIT);
}

/// Rules: QUOTA-1, QUOTA-4
#[on_each_database]
fn the_quota_is_a_sliding_window(db: Database) {
    let step = prop_oneof![3 => Just(0_u64), 2 => 0..50_u64, 2 => 0..5_000_u64, 1 => 59_000..61_500_u64];
    let runtime = runtime();
    let world = runtime.block_on(World::new(db));
    for_all(db, 12, &proptest::collection::vec(step, 1..150), |steps| {
        runtime.block_on(async {
            let key = world.company.keys().issue("one case").await.unwrap().key;
            // The reference keeps every accepted request.
            let mut accepted: Vec<i64> = Vec::new();
            for step in steps {
                world.advance(Duration::from_millis(step));
                let now = world.now().as_millis();
                let inside = accepted.iter().filter(|at| now - **at <= WINDOW_MS).count();
                let answer = with_key(&world, key.reveal()).await;
                if inside < LIMIT {
                    prop_assert_eq!(answer.status.as_u16(), 200, "{} in the window", inside);
                    let remaining = i64::try_from(LIMIT - inside - 1).unwrap();
                    prop_assert_eq!(header(&answer, "ratelimit-remaining"), remaining);
                    accepted.push(now);
                    // Until the oldest request leaves the window, in whole seconds.
                    let leaves = accepted[accepted.len() - 1 - inside] + WINDOW_MS + 1 - now;
                    prop_assert_eq!(header(&answer, "ratelimit-reset"), (leaves + 999) / 1_000);
                } else {
                    prop_assert_eq!(answer.status.as_u16(), 429);
                    let passes = accepted[accepted.len() - LIMIT] + WINDOW_MS + 1 - now;
                    prop_assert_eq!(header(&answer, "retry-after"), (passes + 999) / 1_000);
                }
            }
            never_more_than_the_quota(&accepted)
        })
    });
}

/// A closed window of 60 s has at most 30.
fn never_more_than_the_quota(accepted: &[i64]) -> Result<(), TestCaseError> {
    for some in accepted.windows(LIMIT + 1) {
        prop_assert!(some[LIMIT] - some[0] > WINDOW_MS, "31 requests in {} ms", some[LIMIT] - some[0]);
    }
    Ok(())
}

/// Rules: QUOTA-5
#[on_each_database]
async fn the_quota_is_per_key_and_not_per_company(db: Database) {
    let world = World::new(db).await;
    let second = world.company.keys().issue("second").await.unwrap();
    assert_eq!(use_up(&world).await, LIMIT);
    for _ in 0..LIMIT {
        assert_eq!(with_key(&world, second.key.reveal()).await.status, 200);
    }
    assert_eq!(with_key(&world, second.key.reveal()).await.status, 429);
    let (_, other) = world.another("Other", Plan::Team).await;
    assert_eq!(with_key(&world, &other).await.status, 200);
}

/// Sends `calls` requests at once, each from a task. Returns the number accepted.
async fn at_once(world: &World, calls: usize) -> usize {
    let mut tasks = JoinSet::new();
    for _ in 0..calls {
        let (service, key) = (world.invoicing.service(), world.key.clone());
        tasks.spawn(async move {
            let request = Request::get(PATH).header("authorization", format!("Bearer {key}"));
            service.answer(request.body(Full::new(Bytes::new())).unwrap()).await.status().as_u16()
        });
    }
    let statuses = tasks.join_all().await;
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    statuses.iter().filter(|status| **status == 200).count()
}

/// Rules: QUOTA-1
#[on_each_database(worker_threads = 4)]
async fn of_a_hundred_requests_at_once_exactly_thirty_pass(db: Database) {
    let world = World::new(db).await;
    for _ in 0..5 {
        assert_eq!(at_once(&world, 100).await, LIMIT);
        world.advance(Duration::from_millis(60_001));
    }
}

/// Rules: QUOTA-2, DOCUMENT-4
#[on_each_database]
async fn document_urls_and_requests_without_a_valid_key_are_not_counted(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let link = world.get(&format!("/api/v1/quotes/{}/document", sent.summary.id)).await;
    assert_eq!(header(&link, "ratelimit-remaining"), 29);
    let url = link.json["url"].as_str().unwrap();
    let url = &url[url.find("/api/").unwrap()..];
    for key in [None, Some(&*world.key)] {
        for _ in 0..40 {
            let pdf = world.call("GET", url, key, &[], Bytes::new()).await;
            assert_eq!(pdf.status, 200);
            assert!(!pdf.headers.contains_key("ratelimit-limit"));
            assert_eq!(with_key(&world, "isk_unknown").await.status, 401);
        }
    }
    assert_eq!(use_up(&world).await, LIMIT - 1);
    assert_eq!(world.call("GET", url, None, &[], Bytes::new()).await.status, 200, "also when it is used up");
}

/// Rules: QUOTA-2
#[on_each_database]
async fn a_refusal_for_the_plan_is_not_counted(db: Database) {
    let world = World::new(db).await;
    world.company.set_plan(Plan::Pro).await.unwrap();
    for _ in 0..40 {
        let answer = world.get(PATH).await;
        assert_eq!(answer.status, 403);
        assert_eq!(header(&answer, "ratelimit-limit"), 30);
        assert_eq!(header(&answer, "ratelimit-remaining"), 30);
        assert_eq!(header(&answer, "ratelimit-reset"), 0);
    }
    world.company.set_plan(Plan::Team).await.unwrap();
    assert_eq!(use_up(&world).await, LIMIT);
}

/// Rules: QUOTA-6
#[on_each_database]
async fn the_host_may_set_another_quota_or_none(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 2).open().await;
    assert_eq!(header(&world.get(PATH).await, "ratelimit-limit"), 2);
    assert_eq!(world.get(PATH).await.status, 200);
    assert_eq!(world.get(PATH).await.status, 429);
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    for _ in 0..100 {
        let answer = world.get(PATH).await;
        assert_eq!(answer.status, 200);
        for name in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
            assert!(!answer.headers.contains_key(name), "{name}");
        }
    }
}

/// Rules: QUOTA-7
#[on_each_database]
async fn the_quota_survives_a_clean_restart_exactly(db: Database) {
    for before in [0, 1, 2, 3, 14, 29, 30] {
        let world = World::new(db).await;
        for _ in 0..before {
            assert_eq!(world.get(PATH).await.status, 200);
            world.advance(Duration::from_millis(333));
        }
        world.invoicing.close().await;
        let world = world.reopen().await;
        assert_eq!(before + use_up(&world).await, LIMIT, "{before} before the restart");
        let wait = header(&world.get(PATH).await, "retry-after");
        assert!((1..=61).contains(&wait), "{wait}");
        world.advance(seconds(wait));
        assert_eq!(world.get(PATH).await.status, 200);
    }
}

/// Rules: QUOTA-7
#[on_each_database]
async fn the_quota_survives_the_death_of_the_process(db: Database) {
    for before in [0, 1, 2, 3, 14, 29, 30] {
        let world = World::new(db).await;
        for _ in 0..before {
            assert_eq!(world.get(PATH).await.status, 200);
            world.advance(Duration::from_millis(333));
        }
        let world = world.reopen().await;
        let total = before + use_up(&world).await;
        assert!(total <= LIMIT, "{before} before the restart, {total} in all");
        assert!(total + lost(db, 1) >= LIMIT, "{before} before the restart, only {total} in all");
        world.advance(Duration::from_millis(60_001));
        assert_eq!(use_up(&world).await, LIMIT, "a minute later all is forgotten");
    }
}

/// Rules: QUOTA-7
#[on_each_database(worker_threads = 4)]
async fn a_crowd_before_and_after_a_death_gets_no_more_than_thirty(db: Database) {
    let mut world = World::new(db).await;
    for _ in 0..4 {
        let first = at_once(&world, 17).await;
        assert_eq!(first, 17);
        world = world.reopen().await;
        let total = first + at_once(&world, 60).await;
        assert!((LIMIT - lost(db, 1)..=LIMIT).contains(&total), "{total}");
        world.advance(Duration::from_millis(60_001));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Call(u64),
    Close,
    Die,
}

/// Rules: QUOTA-1, QUOTA-7
#[on_each_database]
fn no_calls_restarts_or_deaths_get_more_than_thirty_in_a_minute(db: Database) {
    let step = prop_oneof![
        30 => prop_oneof![Just(0), 0..2_000_u64, 10_000..40_000_u64].prop_map(Step::Call),
        1 => Just(Step::Close),
        1 => Just(Step::Die),
    ];
    let runtime = runtime();
    for_all(db, 12, &proptest::collection::vec(step, 30..120), |steps| runtime.block_on(restarts(db, steps)));
}

async fn restarts(db: Database, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut world = World::new(db).await;
    let mut accepted: Vec<i64> = Vec::new();
    let mut deaths = 0;
    for step in steps {
        let Step::Call(after) = step else {
            if matches!(step, Step::Close) {
                world.invoicing.close().await;
            }
            world = world.reopen().await;
            deaths += usize::from(matches!(step, Step::Die));
            continue;
        };
        world.advance(Duration::from_millis(after));
        let now = world.now().as_millis();
        let answer = world.get(PATH).await;
        if answer.status == 200 {
            accepted.push(now);
        } else {
            prop_assert_eq!(answer.status.as_u16(), 429);
            // Stored instants are rounded up to 100 ms; lost blocks count from the first call after the loss.
            let inside = accepted.iter().filter(|at| now - **at <= WINDOW_MS + 100).count();
            prop_assert!(inside + lost(db, deaths) >= LIMIT, "refused with {} in the window", inside);
            let wait = header(&answer, "retry-after");
            prop_assert!((1..=61).contains(&wait));
        }
    }
    never_more_than_the_quota(&accepted)
}

/// Rules: KEY-4
#[on_each_database]
async fn a_key_idle_for_more_than_90_days_is_revoked_for_good(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    assert_eq!(world.get(PATH).await.status, 200);
    let used = world.now();
    world.advance(90 * DAY);
    assert_eq!(world.get(PATH).await.status, 200, "90 days are not more than 90 days");
    world.advance(90 * DAY + Duration::from_millis(1));
    assert_eq!(world.get(PATH).await.status, 401);
    let keys = world.company.keys().list().await.unwrap();
    assert_eq!(keys[0].revoked_at, Some(world.now()), "its owner sees that it is revoked");
    world.clock.set(used);
    assert_eq!(world.get(PATH).await.status, 401, "also where the clock is set back");
    let world = world.reopen().await;
    assert_eq!(world.get(PATH).await.status, 401, "also after a restart");
}

/// Rules: KEY-4
#[on_each_database]
async fn a_key_that_was_never_used_is_idle_since_it_was_issued(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let second = world.company.keys().issue("second").await.unwrap();
    world.advance(90 * DAY);
    assert_eq!(with_key(&world, second.key.reveal()).await.status, 200);
    world.advance(Duration::from_millis(1));
    assert_eq!(world.get(PATH).await.status, 401);
    assert_eq!(with_key(&world, second.key.reveal()).await.status, 200);
}

/// Rules: KEY-4
#[on_each_database]
async fn idleness_is_found_after_a_restart_too(db: Database) {
    let world = World::new(db).await;
    assert_eq!(world.get(PATH).await.status, 200);
    world.invoicing.close().await;
    let world = world.reopen().await;
    world.advance(90 * DAY);
    assert_eq!(world.get(PATH).await.status, 200);
    world.invoicing.close().await;
    let world = world.reopen().await;
    world.advance(90 * DAY + Duration::from_millis(1));
    assert_eq!(world.get(PATH).await.status, 401);
}

/// Rules: KEY-4
#[on_each_database]
async fn the_sweep_revokes_idle_keys_and_no_others(db: Database) {
    let world = World::new(db).await;
    let used = world.company.keys().issue("used").await.unwrap();
    world.advance(89 * DAY);
    assert_eq!(with_key(&world, used.key.reveal()).await.status, 200);
    world.advance(DAY);
    assert_eq!(world.invoicing.sweep().await.unwrap().revoked_keys, 0, "90 days are not more than 90 days");
    world.advance(Duration::from_millis(1));
    assert_eq!(world.invoicing.sweep().await.unwrap().revoked_keys, 1);
    assert_eq!(world.invoicing.sweep().await.unwrap().revoked_keys, 0);
    assert_eq!(world.get(PATH).await.status, 401);
    assert_eq!(with_key(&world, used.key.reveal()).await.status, 200);
    let keys = world.company.keys().list().await.unwrap();
    assert_eq!(keys.iter().filter(|key| key.revoked_at.is_some()).count(), 1);
}

/// Rules: KEY-4
#[on_each_database]
async fn the_sweep_spares_a_key_whose_last_use_is_not_stored_yet(db: Database) {
    let world = World::new(db).await;
    assert_eq!(world.get(PATH).await.status, 200);
    world.advance(Duration::from_secs(29));
    assert_eq!(world.get(PATH).await.status, 200);
    // Last used exactly 90 days before.
    world.advance(90 * DAY);
    assert_eq!(world.invoicing.sweep().await.unwrap().revoked_keys, 0);
    assert_eq!(world.get(PATH).await.status, 200);
}

/// Rules: KEY-5
#[on_each_database]
async fn a_refused_request_is_no_use_of_the_key(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    world.company.set_plan(Plan::Pro).await.unwrap();
    world.advance(80 * DAY);
    assert_eq!(world.get(PATH).await.status, 403);
    world.company.set_plan(Plan::Team).await.unwrap();
    world.advance(11 * DAY);
    assert_eq!(world.get(PATH).await.status, 401);
}

/// Rules: KEY-5
#[on_each_database]
async fn a_request_beyond_the_quota_is_no_use_of_the_key(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 1).open().await;
    assert_eq!(world.get(PATH).await.status, 200);
    let used = world.now();
    world.advance(Duration::from_secs(45));
    assert_eq!(world.get(PATH).await.status, 429);
    // A last use that was in memory only is stored.
    world.invoicing.close().await;
    let world = world.reopen().await;
    assert_eq!(world.company.keys().list().await.unwrap()[0].last_used_at, Some(used));
}

/// Rules: KEY-7
#[on_each_database]
async fn a_revoked_key_is_401_at_once_and_its_neighbour_is_not(db: Database) {
    let world = World::new(db).await;
    let second = world.company.keys().issue("second").await.unwrap();
    for key in [&world.key, second.key.reveal()] {
        assert_eq!(with_key(&world, key).await.status, 200);
    }
    world.company.keys().revoke(second.record.id).await.unwrap();
    assert_eq!(with_key(&world, second.key.reveal()).await.status, 401);
    assert_eq!(world.get(PATH).await.status, 200);
    world.company.keys().revoke(second.record.id).await.unwrap();
    let world = world.reopen().await;
    assert_eq!(with_key(&world, second.key.reveal()).await.status, 401, "also after a restart");
}

/// Rules: KEY-7
#[on_each_database(worker_threads = 4)]
async fn a_key_that_is_being_revoked_works_no_longer_once_revoke_has_returned(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    for _ in 0..10 {
        let issued = world.company.keys().issue("racing").await.unwrap();
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let service = world.invoicing.service();
            let bearer = format!("Bearer {}", issued.key.reveal());
            tasks.spawn(async move {
                let request = Request::get(PATH).header("authorization", bearer);
                service.answer(request.body(Full::new(Bytes::new())).unwrap()).await.status().as_u16()
            });
        }
        world.company.keys().revoke(issued.record.id).await.unwrap();
        assert_eq!(with_key(&world, issued.key.reveal()).await.status, 401);
        let statuses = tasks.join_all().await;
        assert!(statuses.iter().all(|status| matches!(status, 200 | 401)), "{statuses:?}");
        assert_eq!(with_key(&world, issued.key.reveal()).await.status, 401);
    }
}

/// Rules: KEY-6
#[on_each_database]
fn last_used_at_lags_by_a_minute_at_most(db: Database) {
    let runtime = runtime();
    let world = runtime.block_on(World::on(db).settings(|settings| settings.quota = 0).open());
    let gap = prop_oneof![0..1_000_u64, 20_000..70_000_u64, Just(59_999), Just(60_000), Just(86_400_000)];
    for_all(db, 12, &proptest::collection::vec(gap, 1..30), |gaps| {
        runtime.block_on(async {
            for gap in gaps {
                world.advance(Duration::from_millis(gap));
                assert_eq!(world.get(PATH).await.status, 200);
                let stored = world.company.keys().list().await.unwrap()[0].last_used_at;
                let lag = stored.map(|at: Timestamp| world.now().as_millis() - at.as_millis());
                prop_assert!(lag.is_some_and(|lag| (0..=60_000).contains(&lag)), "{:?}", lag);
            }
            Ok(())
        })
    });
}

/// Rules: KEY-1, KEY-2
#[on_each_database]
async fn a_key_is_isk_and_43_characters_and_only_its_hash_is_stored(db: Database) {
    let world = World::new(db).await;
    world.advance(Duration::from_millis(1));
    let issued = world.company.keys().issue("CRM").await.unwrap();
    let key = issued.key.reveal();
    let text = key.strip_prefix("isk_").unwrap();
    assert_eq!(text.len(), 43);
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
    assert_ne!(key, world.key);
    assert_eq!(issued.record.last4, key[key.len() - 4..]);
    assert!(!format!("{issued:?}").contains(text), "Debug shows the key");
    assert_eq!(with_key(&world, key).await.status, 200);
    assert_eq!(world.company.keys().list().await.unwrap()[1].last4, key[key.len() - 4..]);

    let place = world.place();
    assert!(place.holds(&Sha256::digest(key.as_bytes())).await, "the hash of the key is what it is found by");
    assert!(place.holds(b"CRM").await);
    for part in [key, text, &text[..20], &text[20..39], &key[..12]] {
        assert!(!place.holds(part.as_bytes()).await, "{part} is in the database");
    }
}

/// Rules: KEY-2
#[on_each_database]
async fn no_answer_repeats_the_key(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    for path in ["/api/v1/quotes", "/api/v1/nothing", "/api/v1/quotes?limit=x"] {
        let answer = world.get(path).await;
        let headers = format!("{:?}", answer.headers);
        assert!(
            !String::from_utf8_lossy(&answer.bytes).contains(&world.key) && !headers.contains(&world.key)
        );
    }
}
