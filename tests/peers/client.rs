//! Clients against one loopback server: invoicing-client, octocrab and async-stripe, each as it comes and, if that
//! makes a difference, with its own settings for the case.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Response};
use invoicing_client::testing::{FakeServer, Fault};
use invoicing_client::{ErrorKind, NewClient, OpenEnum, QuoteStatus};
use octocrab::models::IssueState;
use octocrab::service::middleware::cache::mem::InMemoryCache;
use octocrab::service::middleware::retry::{NoOpRateLimitMetrics, RetryConfig};
use octocrab::{DefaultOctocrabBuilderConfig, NoAuth, NoSvc, NotLayerReady, Octocrab, OctocrabBuilder};
use stripe::RequestStrategy;
use stripe_client_core::{CustomizableStripeRequest, RequestBuilder, StripeMethod};
use stripe_shared::ChargeStatus;

use crate::{Docs, named};

const DOCS: Docs = Docs(include_str!("../../invoicing-client/src/lib.rs"));
const QUOTES: &str = "/api/v1/quotes";
/// Long enough for a request to arrive on a busy machine.
const SHORT: Duration = Duration::from_millis(750);

fn octocrab(
    server: &FakeServer,
) -> OctocrabBuilder<NoSvc, DefaultOctocrabBuilderConfig, NoAuth, NotLayerReady> {
    Octocrab::builder().base_uri(server.url()).expect("an address").personal_token(FakeServer::KEY)
}

fn stripe(server: &FakeServer) -> stripe::ClientBuilder {
    stripe::ClientBuilder::new(FakeServer::KEY).url(format!("{}/api/", server.url()))
}

fn stripe_request(method: StripeMethod, path: &str) -> CustomizableStripeRequest<ChargeStatus> {
    RequestBuilder::new(method, path).customize()
}

fn always(fault: Fault) -> FakeServer {
    let server = FakeServer::start();
    server.chaos(0, [(1.0, fault)]);
    server
}

#[test]
fn the_head_names_the_versions() {
    DOCS.state("Case", &["invoicing-client", &named("octocrab"), &named("async-stripe")]);
}

/// The whole seconds between the first two requests of a call whose first is answered with 429 and `Retry-After: 2`.
async fn pause(call: impl AsyncFnOnce(&FakeServer)) -> Option<u64> {
    let server = FakeServer::start();
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let arrived = arrivals.clone();
    server.before_each(move |_, _| arrived.lock().expect("no panic").push(Instant::now()));
    server.script([Fault::too_many_requests(2)]);
    call(&server).await;
    let arrivals = arrivals.lock().expect("no panic");
    Some((*arrivals.get(1)? - arrivals[0]).as_secs())
}

#[tokio::test]
async fn too_many_requests() {
    let ours =
        pause(async |server| drop(server.client().build().unwrap().quotes().list().send().await)).await;
    let crab = async |retry: Option<RetryConfig>| {
        pause(async |server| {
            let builder = octocrab(server);
            let builder = retry.into_iter().fold(builder, OctocrabBuilder::add_retry_config);
            drop(builder.build().unwrap()._get(QUOTES).await);
        })
        .await
    };
    let metrics = Arc::new(NoOpRateLimitMetrics);
    let heeding = RetryConfig::HandleRateLimits {
        metrics,
        max_retries: 3,
        min_wait_seconds: 60,
        retry_on_forbidden: false,
    };
    let with = async |strategy: RequestStrategy| {
        pause(async |server| {
            let client = stripe(server).request_strategy(strategy).build().unwrap();
            drop(stripe_request(StripeMethod::Get, "/quotes").send(&client).await);
        })
        .await
    };
    assert_eq!(ours, Some(2));
    assert_eq!((crab(None).await, crab(Some(heeding)).await), (Some(0), Some(2)));
    let backoff = RequestStrategy::ExponentialBackoff(3);
    assert_eq!((with(RequestStrategy::Once).await, with(backoff).await), (None, Some(1)));
    DOCS.state(
        "The next attempt after 429 with `Retry-After: 2`",
        &[
            "after 2 s",
            "at once; with `HandleRateLimits` after 2 s",
            "none; with `ExponentialBackoff` after 1 s",
        ],
    );
}

#[tokio::test]
async fn creating_without_a_key() {
    let unavailable = || always(Fault::status(503));
    let server = unavailable();
    let client = server.client().build().unwrap();
    assert!(client.clients().create(&NewClient::named("Dupont SARL")).await.is_err());
    let ours = server.requests().len();
    let keyed = NewClient { external_id: Some("crm-42".into()), ..NewClient::named("Dupont SARL") };
    assert!(client.clients().create(&keyed).await.is_err());
    let ours_keyed = server.requests().len() - ours;

    let server = unavailable();
    let crab = octocrab(&server).build().unwrap();
    drop(crab._post("/api/v1/clients", Some("{}")).await);
    let crab = server.requests().len();

    let server = unavailable();
    let client = stripe(&server).build().unwrap();
    drop(stripe_request(StripeMethod::Post, "/clients").send(&client).await);
    let once = server.requests().len();
    let retry = stripe_request(StripeMethod::Post, "/clients").request_strategy(RequestStrategy::Retry(4));
    drop(retry.send(&client).await);
    let requests = server.requests();
    // Without its feature `uuid` it makes no key, with any strategy.
    assert!(requests.iter().all(|request| !request.headers.contains_key("idempotency-key")));
    let retried = requests.len() - once;
    DOCS.state(
        "Attempts of a `POST` without an idempotency key, each answered 503 `storage_unavailable`",
        &[
            format!("{ours}; with an `externalId` {ours_keyed}"),
            crab.to_string(),
            format!("{once}; with `Retry(4)` {retried}"),
        ],
    );
}

#[tokio::test]
async fn unknown_values() {
    let server = FakeServer::start();
    let id = server.store(|store| store.add_quote(QuoteStatus::Sent));
    server.store(|store| {
        store.change_quote(id, |quote| quote.summary.status = OpenEnum::Other("frozen".into()))
    });
    let quote = server.client().build().unwrap().quotes().get(id).await.unwrap();
    assert_eq!(quote.summary.status, OpenEnum::Other("frozen".into()));

    let server = always(Fault::Response(Response::new(Bytes::from_static(b"\"frozen\""))));
    let crab = octocrab(&server).build().unwrap();
    assert!(crab.get::<IssueState, _, ()>("/state", None).await.is_err());
    let client = stripe(&server).build().unwrap();
    let status = stripe_request(StripeMethod::Get, "/status").send(&client).await.unwrap();
    assert_eq!(status, ChargeStatus::Unknown("frozen".into()));
    DOCS.state(
        "An unknown state",
        &["kept (`OpenEnum::Other`)", "an error (`IssueState`)", "kept (`ChargeStatus::Unknown`)"],
    );
}

#[tokio::test]
async fn a_quota_of_three() {
    let limited = || {
        let server = FakeServer::start();
        server.quota(3);
        server
    };
    let server = limited();
    let client = server.client().deadline(Duration::from_secs(20)).build().unwrap();
    for _ in 0..3 {
        client.quotes().list().send().await.unwrap();
    }
    // It would wait for a minute, which the deadline does not allow.
    assert_eq!(client.quotes().list().send().await.unwrap_err().kind(), ErrorKind::LocalRateLimit);
    assert_eq!(server.requests().len(), 3);

    let server = limited();
    let crab = octocrab(&server).add_retry_config(RetryConfig::None).build().unwrap();
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(crab._get(QUOTES).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 429]);

    let server = limited();
    let client = stripe(&server).build().unwrap();
    for _ in 0..4 {
        drop(stripe_request(StripeMethod::Get, "/quotes").send(&client).await);
    }
    assert_eq!(server.requests().len(), 4);
    DOCS.state(
        "The 4th call under a quota of 3",
        &["is not sent before its turn", "is sent, and refused", "is sent, and refused"],
    );
}

#[tokio::test]
async fn a_limit_for_one_call() {
    let server = always(Fault::Hang);
    let client = server.client().build().unwrap();
    let error = client.quotes().list().deadline(SHORT).send().await.unwrap_err();
    assert_eq!((error.kind(), server.requests().len()), (ErrorKind::Timeout, 1));

    let server = always(Fault::Hang);
    let client = stripe(&server).request_strategy(RequestStrategy::Retry(3)).build().unwrap();
    let error = stripe_request(StripeMethod::Get, "/quotes").timeout(SHORT).send(&client).await.unwrap_err();
    assert!(matches!(error, stripe::StripeError::Timeout));
    assert_eq!(server.requests().len(), 3);

    let server = always(Fault::Hang);
    let crab = octocrab(&server).set_read_timeout(Some(SHORT)).build().unwrap();
    assert!(crab._get(QUOTES).await.is_err());
    assert_eq!(server.requests().len(), 4);
    DOCS.state(
        "A limit for one call that hangs",
        &[
            "for all its attempts and waits",
            "only the client's, and for each of its 4 attempts",
            "for each attempt",
        ],
    );
}

#[tokio::test]
async fn unchanged_answers() {
    let tagged = || {
        let server = FakeServer::start();
        server.rewrite(|_, response| {
            response.headers_mut().insert("etag", HeaderValue::from_static("\"1\""));
        });
        server
    };
    let asks = |server: &FakeServer| {
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        if requests[1].headers.contains_key("if-none-match") { "yes, with `cache`" } else { "no" }
    };
    let servers = [(); 3].map(|()| tagged());
    let ours = servers[0].client().build().unwrap();
    let crab = octocrab(&servers[1]).cache(InMemoryCache::new()).build().unwrap();
    let client = stripe(&servers[2]).build().unwrap();
    for _ in 0..2 {
        ours.quotes().list().send().await.unwrap();
        // The answer is kept once it was read.
        let _: serde_json::Value = crab.get(QUOTES, None::<&()>).await.unwrap();
        drop(stripe_request(StripeMethod::Get, "/quotes").send(&client).await);
    }
    DOCS.state("Asks again with the answer's `ETag`", &servers.each_ref().map(asks));
}
