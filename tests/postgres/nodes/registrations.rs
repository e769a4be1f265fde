//! Webhooks that are registered while other nodes change the company: each gets every event from some point of the
//! company's history on, which lies within its registration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::future::join_all;
use invoicing_core::{ClientId, EventId, EventKind, Plan, WebhookId};
use invoicing_server::CompanyHandle;
use invoicing_tests::{Database, World, on_postgres};
use sqlx::{Connection, Executor, PgConnection};

use super::{Nodes, WAITING, comes_to};
use crate::support::{client_of, events, hook_for, quote_at};

/// Maximum number of webhooks of a company.
const WEBHOOKS: usize = 20;
/// Registrations; `RACES` raises their number.
const RACES: usize = 200;
/// No receiver listens: nothing is delivered here.
const URL: &str = "http://127.0.0.1:8081/hook";

/// The result of an operation, with its begin and end.
struct Timed<T> {
    what: T,
    begun: Instant,
    ended: Instant,
}

async fn timed<T>(operation: impl Future<Output = T>) -> Timed<T> {
    let begun = Instant::now();
    let what = operation.await;
    Timed { what, begun, ended: Instant::now() }
}

/// Rules: STATE-1
#[on_postgres(worker_threads = 4)]
async fn a_webhook_gets_every_event_from_its_registration_on(db: Database) {
    let nodes = Nodes::on_system_clock(World::on(db).system_clock().open().await).await;
    let asked = std::env::var("RACES").ok().and_then(|races| races.parse().ok()).unwrap_or(0);
    let mut met = 0;
    for _ in 0..RACES.max(asked).div_ceil(WEBHOOKS) {
        let (company, _) = nodes.world.another("Race", Plan::Team).await;
        met += race(&nodes, &company).await;
    }
    assert!(met > 0, "no registration has met a change");
}

/// Registers all webhooks of a company through one node, one after the other, beside changes on the others. Returns the
/// number of registrations that overlapped with a change.
async fn race(nodes: &Nodes, company: &CompanyHandle) -> usize {
    let client = client_of(company).await;
    let company = |node: usize| nodes.all[node].company(company.id());
    let is_over = AtomicBool::new(false);
    let registering = async {
        let mut registered = Vec::with_capacity(WEBHOOKS);
        for _ in 0..WEBHOOKS {
            let registration = timed(hook_for(&company(0), URL, &[EventKind::QuoteCreated])).await;
            let Timed { what, begun, ended } = registration;
            registered.push(Timed { what: what.webhook.id, begun, ended });
        }
        is_over.store(true, Ordering::SeqCst);
        registered
    };
    let creating = [0, 1, 1, 2].map(|node| create(company(node), client, &is_over));
    let (registered, created) = tokio::join!(registering, join_all(creating));
    let created: Vec<Timed<String>> = created.into_iter().flatten().collect();
    check(&company(1), &registered, &created).await;
    let meets = |webhook: &&Timed<WebhookId>| {
        created.iter().any(|quote| quote.begun < webhook.ended && webhook.begun < quote.ended)
    };
    registered.iter().filter(meets).count()
}

/// Creates quotes to the end of the race, and one after it.
async fn create(company: CompanyHandle, client: ClientId, is_over: &AtomicBool) -> Vec<Timed<String>> {
    let mut created = Vec::new();
    loop {
        let is_last = is_over.load(Ordering::SeqCst);
        let Timed { what, begun, ended } = timed(company.quotes().create(&quote_at(client, "10"))).await;
        created.push(Timed { what: what.unwrap().summary.id.to_string(), begun, ended });
        if is_last {
            return created;
        }
    }
}

/// The deliveries to each webhook are those of the last events, in the order of the commits. They include every change
/// that began after the registration had returned, and no change that had returned before it began.
async fn check(company: &CompanyHandle, registered: &[Timed<WebhookId>], created: &[Timed<String>]) {
    let mut subscribed: Vec<(EventId, String, Vec<WebhookId>)> = Vec::new();
    for event in events(company).await {
        let deliveries = company.events().deliveries(event.id).await.unwrap();
        let quote = crate::support::body(&event)["data"]["id"].as_str().unwrap().to_owned();
        subscribed.push((event.id, quote, deliveries.iter().map(|delivery| delivery.webhook).collect()));
    }
    assert_eq!(subscribed.len(), created.len(), "an event per quote");
    for Timed { what: webhook, begun, ended } in registered {
        let has_it = |(_, _, webhooks): &(EventId, String, Vec<WebhookId>)| webhooks.contains(webhook);
        let first = subscribed.iter().position(has_it).expect("the last quotes came after it");
        let gap = subscribed[first..].iter().find(|event| !has_it(event));
        assert!(
            gap.is_none(),
            "{gap:?} is not delivered to {webhook}, but {:?} before it",
            subscribed[first]
        );
        for quote in created {
            let place = subscribed.iter().position(|(_, id, _)| *id == quote.what).expect("its event");
            assert!(quote.begun < *ended || place >= first, "{webhook} was registered before {place}");
            assert!(quote.ended > *begun || place < first, "{webhook} was registered after {place}");
        }
    }
}

/// A change and a registration wait for the company; the change gets it next.
///
/// Rules: STATE-1
#[on_postgres(worker_threads = 4)]
async fn a_change_that_waited_for_a_registration_is_delivered_to_its_webhook(db: Database) {
    let nodes = Nodes::on_system_clock(World::on(db).system_clock().open().await).await;
    let world = &nodes.world;
    let quote = quote_at(client_of(&world.company).await, "10");
    for race in 1..=WEBHOOKS {
        let mut lock = PgConnection::connect(world.place().url()).await.unwrap();
        lock.execute("BEGIN; SELECT FROM company FOR UPDATE").await.unwrap();
        let (one, other) = (nodes.company(race), nodes.company(race + 1));
        let waiting =
            async |count| comes_to("a change that waits", async || world.count(WAITING).await >= count).await;
        let registering = hook_for(&one, URL, &[EventKind::QuoteCreated]);
        let creating = async {
            waiting(1).await;
            let release = async {
                waiting(2).await;
                lock.close().await.unwrap();
            };
            let (created, ()) = tokio::join!(async { other.quotes().create(&quote).await }, release);
            created.unwrap();
        };
        tokio::join!(registering, creating);
        let event = events(&world.company).await.pop().unwrap();
        let deliveries = world.company.events().deliveries(event.id).await.unwrap();
        assert_eq!(deliveries.len(), race, "a webhook is missing in race {race}");
    }
}
