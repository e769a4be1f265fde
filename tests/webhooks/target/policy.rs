//! The addresses that webhooks may reach: at registration, and when connecting.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use invoicing_core::{DeliveryStatus, EventKind, FailureClass, NewCompany, Plan};
use invoicing_server::{
    Env, Invoicing, MemoryStore, NewWebhook, Resolve, ResolveFuture, Settings, TargetPolicy, WebhookChange,
};
use invoicing_tests::{Database, Place, Receiver, World, on_each_database};

use crate::support::{emit_for, events, hook_for, invalid};

const LAX: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

async fn strict(db: Database) -> World {
    World::on(db).settings(|settings| settings.target = TargetPolicy::default()).open().await
}

fn new(url: &str) -> NewWebhook {
    NewWebhook { url: url.to_owned(), events: vec![EventKind::QuoteCreated] }
}

/// One URL per rule; `target_corpus` has all others.
///
/// Rules: TARGET-1, TARGET-3
#[on_each_database]
async fn a_url_that_breaks_a_rule_is_refused_and_nothing_has_changed(db: Database) {
    let world = strict(db).await;
    let webhooks = world.company.webhooks();
    let long = format!("https://example.com/{}", "a".repeat(2_100));
    let refused = [
        "http://example.com/",
        "",
        " ",
        "https://",
        "https://example.com/\n",
        "\u{0}https://example.com/",
        "https://user:secret@example.com/",
        "https://example.com:25/",
        "https://2130706433/",
        "https://[64:ff9b::7f00:1]/",
        "https://localhost/",
        "https://example.com/#fragment",
        &long,
    ];
    for url in refused {
        invalid(&world, "url", webhooks.register(&new(url))).await;
    }
    let accepted = [
        ("https://example.com/hooks", "https://example.com/hooks"),
        ("HTTPS://Example.COM/Hooks?a=b", "https://example.com/Hooks?a=b"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("https://exämple.fr/", "https://xn--exmple-cua.fr/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
    ];
    for (url, stored) in accepted {
        let registered = webhooks.register(&new(url)).await.unwrap().webhook;
        assert_eq!(registered.url, stored);
        for bad in ["http://example.com/", "https://127.0.0.1/", "https://u@example.com/", ""] {
            let change = WebhookChange { url: Some(bad.into()), events: None };
            invalid(&world, "url", webhooks.change(registered.id, &change)).await;
        }
    }
}

/// Rules: TARGET-5
#[on_each_database]
async fn a_host_may_allow_http_and_private_targets_each_by_itself(db: Database) {
    let only_http = World::on(db)
        .settings(|settings| settings.target = TargetPolicy { allow_http: true, allow_private: false })
        .open()
        .await;
    let webhooks = only_http.company.webhooks();
    webhooks.register(&new("http://example.com/")).await.unwrap();
    invalid(&only_http, "url", webhooks.register(&new("http://127.0.0.1/"))).await;
    invalid(&only_http, "url", webhooks.register(&new("http://localhost/"))).await;
    let only_private = World::on(db)
        .settings(|settings| settings.target = TargetPolicy { allow_http: false, allow_private: true })
        .open()
        .await;
    let webhooks = only_private.company.webhooks();
    webhooks.register(&new("https://127.0.0.1/")).await.unwrap();
    webhooks.register(&new("https://localhost/")).await.unwrap();
    invalid(&only_private, "url", webhooks.register(&new("http://127.0.0.1/"))).await;
    // Every policy refuses user info.
    invalid(&only_private, "url", webhooks.register(&new("https://u:p@127.0.0.1/"))).await;
}

/// Answers lookups in turn, the last answer for ever.
struct Answers {
    answers: Vec<Vec<&'static str>>,
    asked: Arc<AtomicUsize>,
}

impl Resolve for Answers {
    fn resolve(&self, _: &str) -> ResolveFuture {
        let n = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let answer: Vec<IpAddr> = self.answers[n].iter().map(|address| address.parse().unwrap()).collect();
        Box::pin(
            async move { if answer.is_empty() { Err(io::Error::other("no such name")) } else { Ok(answer) } },
        )
    }
}

/// A service whose policy allows `http` and public addresses only, with the test's own resolver.
async fn resolving(
    db: Database,
    answers: Vec<Vec<&'static str>>,
    target: TargetPolicy,
) -> (Place, Invoicing, Arc<AtomicUsize>) {
    let place = Place::new(db).await;
    let mut settings = Settings { target, ..Settings::default() };
    settings.dispatch.max_attempts = 1;
    let asked = Arc::new(AtomicUsize::new(0));
    let resolver = Answers { answers, asked: Arc::clone(&asked) };
    let invoicing = place
        .builder()
        .env(Env::system())
        .document_store(Arc::new(MemoryStore::new()))
        .settings(settings)
        .webhook_transport(|transport| transport.resolver(resolver))
        .open()
        .await
        .unwrap();
    (place, invoicing, asked)
}

/// Delivers one event to a name on the receiver's port. Returns the class of the attempt's failure, if it failed.
async fn delivered_to_name(invoicing: &Invoicing, receiver: &Receiver) -> Option<FailureClass> {
    let company = invoicing.companies().create(&NewCompany::named("x", Plan::Pro)).await.unwrap();
    let company = invoicing.company(company.id);
    let port = receiver.url.split(':').nth(2).unwrap();
    let id = hook_for(&company, &format!("http://hooks.example.com:{port}"), EventKind::ALL).await.webhook.id;
    emit_for(&company, 1).await;
    invoicing.dispatcher().run_once().await.unwrap();
    let log = company.webhooks().log(id, 10).await.unwrap();
    let [attempt] = &log[..] else { panic!("one attempt: {log:?}") };
    let event = events(&company).await[0].id;
    let delivery = company.events().deliveries(event).await.unwrap().remove(0);
    let expected = if attempt.failure.is_some() { DeliveryStatus::Failed } else { DeliveryStatus::Delivered };
    assert_eq!(delivery.status, expected);
    attempt.failure
}

/// Rules: TARGET-2, TARGET-3
#[on_each_database]
async fn a_name_that_leads_to_a_private_address_is_refused_when_connecting(db: Database) {
    let public_only = TargetPolicy { allow_http: true, allow_private: false };
    let answers = [
        vec!["127.0.0.1"],
        vec!["::1"],
        vec!["::ffff:127.0.0.1"],
        vec!["64:ff9b::7f00:1"],
        vec!["2002:7f00:1::"],
        vec!["169.254.169.254"],
        // One forbidden address among several refuses them all.
        vec!["93.184.215.14", "127.0.0.1"],
        vec!["127.0.0.1", "93.184.215.14"],
    ];
    for answer in answers {
        let receiver = Receiver::start().await;
        let (_place, invoicing, asked) = resolving(db, vec![answer.clone()], public_only).await;
        assert_eq!(
            delivered_to_name(&invoicing, &receiver).await,
            Some(FailureClass::TargetRefused),
            "{answer:?}"
        );
        assert!(receiver.received().is_empty());
        assert_eq!(asked.load(Ordering::SeqCst), 1, "what was checked is what is connected to");
    }
}

/// Rules: ATTEMPT-7
#[on_each_database]
async fn a_name_without_an_address_is_a_dns_failure_and_others_are_reached(db: Database) {
    let receiver = Receiver::start().await;
    let (_place, invoicing, _) = resolving(db, vec![Vec::new()], LAX).await;
    assert_eq!(delivered_to_name(&invoicing, &receiver).await, Some(FailureClass::Dns));
    let (_place, invoicing, _) = resolving(db, vec![vec!["127.0.0.1"]], LAX).await;
    assert_eq!(delivered_to_name(&invoicing, &receiver).await, None);
    assert_eq!(receiver.received().len(), 1);
}

/// Rules: TARGET-2, TARGET-6
#[on_each_database]
async fn a_webhook_of_an_earlier_laxer_policy_is_refused_when_attempted(db: Database) {
    let place = Place::new(db).await;
    let receiver = Receiver::start().await;
    let open = async |target| {
        let settings = Settings { target, ..Settings::default() };
        place.builder().settings(settings).document_store(Arc::new(MemoryStore::new())).open().await.unwrap()
    };
    let lax = open(LAX).await;
    let company = lax.companies().create(&NewCompany::named("x", Plan::Pro)).await.unwrap().id;
    let id = hook_for(&lax.company(company), &receiver.url, EventKind::ALL).await.webhook.id;
    emit_for(&lax.company(company), 1).await;
    lax.close().await;
    drop(lax);
    let strict = open(TargetPolicy::default()).await;
    let report = strict.dispatcher().run_once().await.unwrap();
    assert_eq!((report.attempts, report.failed), (1, 1));
    assert!(receiver.received().is_empty());
    let log = strict.company(company).webhooks().log(id, 10).await.unwrap();
    assert_eq!(log[0].failure, Some(FailureClass::TargetRefused));
    assert!(log[0].duration_ms < u32::try_from(Duration::from_secs(1).as_millis()).unwrap());
}
