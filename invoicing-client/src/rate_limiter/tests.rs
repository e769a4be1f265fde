//! The rate limiter against the service's quota window, in virtual time: clones, random latencies, other users of the key.

mod service;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use proptest::prelude::*;
use service::{Failure, Service};
use tokio::task::JoinSet;

use super::quota_estimate::{QuotaEstimate, RateLimitHeaders};
use super::rate_limit_headers;
use crate::{Error, ErrorKind, InvoicingClient};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}

async fn call(client: &InvoicingClient, number: usize) -> Result<(), Error> {
    let id = format!("019235a0-0000-7000-8000-{number:012}").parse().unwrap();
    client.quotes().unlink(id).await.map(drop)
}

/// Makes calls from clones of the client, `at_once` of them concurrently. Returns the duration.
async fn bulk(client: &InvoicingClient, calls: usize, at_once: usize) -> Duration {
    let started = tokio::time::Instant::now();
    let mut done = stream::iter(0..calls)
        .map(|number| {
            let client = client.clone();
            async move { call(&client, number).await }
        })
        .buffer_unordered(at_once);
    while let Some(result) = done.next().await {
        result.unwrap();
    }
    started.elapsed()
}

#[test]
fn a_burst_is_not_spread_and_the_whole_quota_is_used() {
    run(async {
        let service = Service::new(30, vec![(20, 20)]);
        let client = service.client();
        assert!(bulk(&client, 30, 1).await < 2 * SECOND);
        // 10,000 quotes are 100 pages: three full windows to wait for.
        let took = bulk(&client, 70, 1).await;
        assert!(took < 3 * MINUTE + SECOND, "{took:?}");
        assert_eq!(service.with(|state| state.refused), 0);
    });
}

#[test]
fn a_bulk_job_uses_at_least_29_of_30_requests_per_minute() {
    for at_once in [1, 7, 30] {
        let per_minute = run(async {
            let service = Service::new(30, vec![(15, 25), (40, 10), (5, 5)]);
            let client = service.client();
            bulk(&client, 630, at_once).await;
            assert_eq!(service.with(|state| state.refused), 0);
            // From the first full window to the last: 600 requests.
            let accepted = service.with(|state| state.accepted.clone());
            600.0 * 60.0 / accepted[629].0.saturating_sub(accepted[29].0).as_secs_f64()
        });
        println!("{at_once} at once: {per_minute:.2} requests in 60 s");
        assert!(per_minute >= 29.0, "{per_minute}");
    }
}

#[test]
fn another_limit_of_the_service_is_adopted() {
    run(async {
        for limit in [1, 5, 120] {
            let service = Service::new(limit, vec![(10, 10)]);
            let client = service.client();
            // The limit is known after the first response.
            let per_window = limit as usize;
            let took = bulk(&client, 1 + 2 * per_window, 1).await;
            assert_eq!(service.with(|state| state.refused), 0);
            assert!(took > 2 * MINUTE && took < 2 * MINUTE + 10 * SECOND, "{limit}: {took:?}");
        }
    });
}

#[test]
fn calls_continue_after_any_outcome_of_the_first_request() {
    for failure in [None, Some(Failure::Connect), Some(Failure::Lost), Some(Failure::Unavailable)] {
        run(async {
            let service = Service::new(9, vec![(100, 100)]);
            service.with(|state| state.failures.extend(failure.map(|failure| (1, failure))));
            service.used_by_another(2);
            let client = service.client();
            // Without a failure, the call is dropped before its response.
            let timeout = failure.map_or(Duration::from_millis(150), |_| MINUTE);
            let first = tokio::time::timeout(timeout, call(&client, 0));
            let (first, took) = tokio::join!(first, bulk(&client, 5, 5));
            assert_eq!(first.is_err(), failure.is_none());
            assert!(took < 2 * SECOND, "{failure:?}: {took:?}");
            assert_eq!(service.with(|state| state.refused), 0);
        });
    }
}

#[test]
fn no_call_waits_for_the_first_response_past_its_deadline() {
    run(async {
        let service = Service::new(30, vec![(30_000, 1)]);
        let client = service.client();
        let id = "019235a0-0000-7000-8000-000000000001".parse().unwrap();
        let hurried = async {
            let started = tokio::time::Instant::now();
            let error = client.quotes().unlink(id).deadline(5 * SECOND).await.unwrap_err();
            assert_eq!((error.kind(), started.elapsed()), (ErrorKind::LocalRateLimit, 5 * SECOND));
        };
        let (first, ()) = tokio::join!(call(&client, 0), hurried);
        first.unwrap();
    });
}

#[test]
fn a_service_that_states_no_quota_is_not_paced() {
    run(async {
        let service = Service::new(1_000, vec![(10, 10)]);
        service.with(|state| state.has_headers = false);
        let took = bulk(&service.client(), 300, 3).await;
        assert!(took < 3 * SECOND, "{took:?}");
    });
}

#[test]
fn a_quota_that_is_stated_in_part_is_one_all_the_same() {
    let mut unreadable = http::HeaderMap::new();
    unreadable.insert("ratelimit-limit", http::HeaderValue::from_static("30, 30;w=60"));
    let in_part = RateLimitHeaders { remaining: Some(29), ..RateLimitHeaders::default() };
    for headers in [rate_limit_headers(&unreadable), in_part] {
        let now = Instant::now();
        let mut estimate = QuotaEstimate::new(now);
        let first = estimate.try_send(now).unwrap();
        estimate.answered(first, true, headers, now);
        assert_eq!((0..40).filter(|_| estimate.try_send(now).is_ok()).count(), 29);
    }
}

#[test]
fn without_headers_a_refusal_shows_that_there_is_a_quota() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        service.with(|state| state.has_headers = false);
        bulk(&service.client(), 120, 1).await;
        assert_eq!(service.with(|state| state.refused), 1, "from then on the limit of the contract holds");
    });
}

#[test]
fn calls_are_sent_in_their_order() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        let client = service.build(|builder| builder.deadline(10 * MINUTE));
        let mut calls = JoinSet::new();
        for number in 0..150 {
            let client = client.clone();
            calls.spawn(async move { call(&client, number).await.unwrap() });
        }
        calls.join_all().await;
        let order: Vec<_> =
            service.with(|state| state.accepted.iter().map(|(_, path)| path.clone()).collect());
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!(order.len(), 150);
    });
}

#[test]
fn a_dropped_call_frees_its_place_in_the_queue() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        let client = service.client();
        bulk(&client, 30, 1).await;
        // 30 calls wait for the next window, and are dropped.
        let mut waiting = JoinSet::new();
        for number in 0..30 {
            let client = client.clone();
            waiting.spawn(async move { call(&client, number).await });
        }
        tokio::time::sleep(SECOND).await;
        waiting.shutdown().await;
        assert_eq!(service.with(|state| state.accepted.len()), 30);
        assert!(bulk(&client, 30, 30).await < MINUTE);
        // Calls in flight are different: the service may have accepted them.
        let mut in_flight = JoinSet::new();
        tokio::time::sleep(2 * MINUTE).await;
        for number in 0..30 {
            let client = client.clone();
            in_flight.spawn(async move { call(&client, number).await });
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
        in_flight.shutdown().await;
        bulk(&client, 30, 30).await;
        assert_eq!(service.with(|state| (state.refused, state.accepted.len())), (0, 120));
    });
}

#[test]
fn a_wait_past_the_deadline_fails_at_once_and_states_its_end() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        let client = service.client();
        bulk(&client, 30, 30).await;
        let id = "019235a0-0000-7000-8000-000000000001".parse().unwrap();
        let started = tokio::time::Instant::now();
        let error = client.quotes().unlink(id).deadline(20 * SECOND).await.unwrap_err();
        assert_eq!(started.elapsed(), Duration::ZERO);
        assert_eq!((error.kind(), error.attempts(), error.status()), (ErrorKind::LocalRateLimit, 0, None));
        let after = error.retry_after().unwrap();
        assert!(after > 59 * SECOND && after < 61 * SECOND, "{after:?}");
        tokio::time::sleep(after).await;
        client.quotes().unlink(id).deadline(SECOND).await.unwrap();

        // With capacity for 29 more, a call behind 29 others has to wait for one of them.
        let slow = Service::new(30, vec![(500, 500)]);
        let client = slow.client();
        let mut others = JoinSet::new();
        for number in 0..30 {
            let client = client.clone();
            others.spawn(async move { call(&client, number).await });
        }
        tokio::task::yield_now().await;
        let error = client.quotes().unlink(id).deadline(50 * SECOND).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LocalRateLimit);
        others.join_all().await;
    });
}

#[test]
fn a_refusal_caused_by_other_users_delays_all_clones() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        assert_eq!(service.used_by_another(40), 30);
        tokio::time::sleep(20 * SECOND).await;
        let client = service.client();
        bulk(&client, 60, 10).await;
        let (refused, accepted) = service.with(|state| (state.refused, state.accepted.clone()));
        assert_eq!(refused, 1, "the first; the others wait for its response");
        assert!(accepted[0].0 > MINUTE && accepted[0].0 < 62 * SECOND, "{:?}", accepted[0]);
        assert!(accepted[59].0 < 3 * MINUTE, "{:?}", accepted[59]);
    });
}

#[test]
fn usage_by_others_is_learned_from_the_headers() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        service.used_by_another(20);
        let client = service.client();
        let took = bulk(&client, 40, 1).await;
        // 10 at once, 20 after those of the other user have left the window, then the last 10.
        assert_eq!(service.with(|state| state.refused), 0);
        assert!(took < 2 * MINUTE + 2 * SECOND, "{took:?}");
    });
}

#[test]
fn rate_limiting_can_be_turned_off() {
    run(async {
        let service = Service::new(30, vec![(10, 10)]);
        let client = service.build(|builder| builder.rate_limiting(false));
        stream::iter(0..31)
            .for_each_concurrent(None, |number| {
                let client = &client;
                async move { call(client, number).await.unwrap() }
            })
            .await;
        assert_eq!(service.with(|state| state.refused), 1);
    });
}

#[test]
fn downloads_do_not_count_in_the_quota() {
    run(async {
        let service = Service::new(1_000, vec![(10, 10)]);
        let client = service.client();
        let link = serde_json::from_value(serde_json::json!({
            "url": "/d", "expiresAt": "2026-09-14T09:46:07.123Z", "type": "pdf", "fileName": "f",
            "contentType": "application/pdf", "sizeBytes": 1, "sha256": "00",
        }))
        .unwrap();
        service.with(|state| state.has_headers = false);
        for _ in 0..100 {
            let error = client.quotes().download(&link).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DocumentMismatch);
        }
        assert!(service.with(|state| state.elapsed()) < 5 * SECOND);
    });
}

/// Milliseconds in one direction.
fn latency() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..5_u64, 1 => 0..9_000_u64]
}

fn failures() -> impl Strategy<Value = HashMap<usize, Failure>> {
    let failure = prop_oneof![Just(Failure::Connect), Just(Failure::Lost), Just(Failure::Unavailable)];
    proptest::collection::hash_map(1..150_usize, failure, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn without_other_users_no_request_is_refused(
        // Small limits and short latencies reveal a request that is sent too early.
        limit in prop_oneof![1..6_u32, 1..=60_u32],
        // An earlier process with the same key: pauses and numbers of requests.
        earlier in proptest::collection::vec((0..50_000_u64, 0..60_usize), 0..4),
        latencies in proptest::collection::vec((latency(), latency()), 1..40),
        failures in failures(),
        pauses in proptest::collection::vec((0..90_000_u64, 1..40_usize), 1..6),
        at_once in 1..40_usize,
    ) {
        run(async {
            let service = Service::new(limit, latencies);
            // Requests whose responses are lost before any response has arrived: usage that the client cannot know.
            let unseen = (1..)
                .map_while(|number| failures.get(&number))
                .take_while(|failure| matches!(failure, Failure::Lost | Failure::Connect))
                .filter(|failure| matches!(failure, Failure::Lost))
                .count();
            service.with(|state| state.failures = failures);
            let mut used = 0;
            for (pause, times) in earlier {
                used += service.used_by_another(times);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            let client = service.build(|builder| builder.deadline(300 * MINUTE));
            for (pause, calls) in pauses {
                stream::iter(0..calls).for_each_concurrent(at_once, |number| {
                    let client = client.clone();
                    async move { drop(call(&client, number).await) }
                }).await;
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            // Only before the first response can a request be refused, as the earlier usage is unknown.
            let allowed = usize::from(used + unseen >= limit as usize);
            let refused = service.with(|state| state.refused);
            prop_assert!(refused <= allowed, "{refused} were refused");
            Ok(())
        })?;
    }

    #[test]
    fn with_other_users_every_call_succeeds(
        latencies in proptest::collection::vec((0..200_u64, 0..200_u64), 1..20),
        others in proptest::collection::vec((0..20_000_u64, 1..30_usize), 1..12),
        at_once in 1..30_usize,
    ) {
        run(async {
            let service = Service::new(30, latencies);
            let client = service.build(|builder| builder.deadline(300 * MINUTE));
            let mut competing = JoinSet::new();
            let competitor = service.clone();
            competing.spawn(async move {
                for (pause, times) in others {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    competitor.used_by_another(times);
                }
            });
            let mut refused_for_good = 0;
            let mut calls = stream::iter(0..120)
                .map(|number| {
                    let client = client.clone();
                    async move { call(&client, number).await }
                })
                .buffer_unordered(at_once);
            while let Some(result) = calls.next().await {
                refused_for_good += usize::from(result.is_err());
            }
            let took = service.with(|state| state.elapsed());
            prop_assert_eq!(refused_for_good, 0);
            // 120 requests need three waits. The other user, active for four minutes, can at most double them.
            prop_assert!(took < 9 * MINUTE, "{took:?}");
            Ok(())
        })?;
    }
}
