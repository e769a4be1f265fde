//! Webhooks: registered, changed, rotated, switched off and on, removed, tested, replayed, and their log.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::{
    DeliveryStatus, EventKind, FailureClass, NewClient, NewCreditNote, Plan, ProjectStatus, WebhookId,
};
use invoicing_server::{DisabledReason, Error, NewProject, NewWebhook, WebhookChange};
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};
use tokio::sync::Semaphore;
use uuid::Uuid;
use webhook_verify::Verifier;

use crate::support::{
    DAY, conflict, delivery, dispatch_to_the_end, emit, emit_for, events, hook, hook_for, invalid,
    issued_over, keys, not_found, nothing_happens, payment, signature, taxed_quote_at,
};

const URL: &str = "http://127.0.0.1:8/hook";

/// Rules: WEBHOOK-3
#[on_each_database]
async fn the_secret_is_shown_once_and_has_32_random_bytes(db: Database) {
    let world = World::new(db).await;
    let (a, b) = (hook(&world, URL).await, hook(&world, URL).await);
    for secret in [a.secret.reveal(), b.secret.reveal()] {
        let random = secret.strip_prefix("whsec_").unwrap();
        assert_eq!(random.len(), 43);
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{secret}");
    }
    assert_ne!(a.secret, b.secret);
    let shown = format!(
        "{a:?} {:?} {:?}",
        world.company.webhooks().list().await,
        world.company.webhooks().get(a.webhook.id).await
    );
    assert!(!shown.contains(a.secret.reveal()) && !shown.contains("whsec_"), "{shown}");
    assert_eq!(a.webhook.created_at, world.now());
    assert_eq!((a.webhook.consecutive_failures, a.webhook.disabled), (0, None));
}

/// Rules: WEBHOOK-1
#[on_each_database]
async fn a_webhook_subscribes_to_one_or_more_kinds(db: Database) {
    let world = World::new(db).await;
    let webhooks = world.company.webhooks();
    let none = NewWebhook { url: URL.into(), events: Vec::new() };
    invalid(&world, "events", webhooks.register(&none)).await;
    let kinds = [EventKind::InvoicePaid, EventKind::QuoteCreated, EventKind::InvoicePaid];
    let twice = hook_for(&world.company, URL, &kinds).await.webhook;
    assert_eq!(twice.events, [EventKind::QuoteCreated, EventKind::InvoicePaid]);
    let change = WebhookChange { url: None, events: Some(Vec::new()) };
    invalid(&world, "events", webhooks.change(twice.id, &change)).await;
    assert_eq!(webhooks.get(twice.id).await.unwrap(), twice);
}

/// Rules: WEBHOOK-2
#[on_each_database]
async fn a_company_has_at_most_20_webhooks_however_many_are_registered_at_once(db: Database) {
    let world = World::new(db).await;
    let webhooks = world.company.webhooks();
    let new = NewWebhook { url: URL.into(), events: vec![EventKind::QuoteCreated] };
    let results = join_all((0..30).map(|_| webhooks.register(&new))).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 20);
    assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Error::Conflict(_)))));
    let all = webhooks.list().await.unwrap();
    assert_eq!(all.len(), 20);
    // Disabled ones count, removed ones do not, and another company has its own 20.
    webhooks.disable(all[0].id).await.unwrap();
    conflict(&world, "the 21st", webhooks.register(&new)).await;
    webhooks.remove(all[0].id).await.unwrap();
    webhooks.register(&new).await.unwrap();
    conflict(&world, "the 21st", webhooks.register(&new)).await;
    let (other, _) = world.another("Autre", Plan::Starter).await;
    other.webhooks().register(&new).await.unwrap();
}

/// Rules: TENANT-1
#[on_each_database]
async fn another_company_s_webhook_is_not_found_by_any_operation(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let mine = hook(&world, URL).await.webhook.id;
    let webhooks = other.webhooks();
    for id in [mine, WebhookId(Uuid::nil())] {
        let change = WebhookChange { url: Some("http://127.0.0.1:10/x".into()), events: None };
        not_found(&world, "get", webhooks.get(id)).await;
        not_found(&world, "change", webhooks.change(id, &change)).await;
        not_found(&world, "disable", webhooks.disable(id)).await;
        not_found(&world, "enable", webhooks.enable(id)).await;
        not_found(&world, "remove", webhooks.remove(id)).await;
        not_found(&world, "rotate", webhooks.rotate(id)).await;
        not_found(&world, "end an overlap", webhooks.end_overlap(id)).await;
        not_found(&world, "ping", webhooks.ping(id)).await;
        not_found(&world, "enable and replay", webhooks.enable_and_replay(id, None)).await;
        not_found(&world, "replay", webhooks.replay(id, None)).await;
        not_found(&world, "log", webhooks.log(id, 10)).await;
    }
    assert!(webhooks.list().await.unwrap().is_empty());
    let absent = world.invoicing.company(invoicing_core::CompanyId(Uuid::nil()));
    let new = NewWebhook { url: URL.into(), events: vec![EventKind::QuoteCreated] };
    not_found(&world, "register for an absent company", absent.webhooks().register(&new)).await;
}

/// Rules: WEBHOOK-5
#[on_each_database]
async fn a_webhook_gets_the_kinds_that_it_subscribes_to_and_no_others(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let mut hooks = Vec::new();
    for kind in EventKind::ALL {
        let registered = hook_for(&world.company, &receiver.url, &[*kind]).await;
        hooks.push((registered.webhook.id.to_string(), kind.as_str()));
    }
    let (other, _) = world.another("Autre", Plan::Team).await;
    let foreign = Receiver::start().await;
    hook_for(&other, &foreign.url, EventKind::ALL).await;

    let sent = world.sent().await;
    let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
    world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    let invoice = world.company.invoices().convert(sent.summary.id).await.unwrap();
    world.company.invoices().mark_paid(invoice.summary.id).await.unwrap();
    let credit = NewCreditNote::of_remaining("Erreur");
    world.company.invoices().credit(invoice.summary.id, &credit).await.unwrap();
    let new = NewProject { name: "x".into(), client_id: None, quote_ids: Vec::new() };
    let project = world.company.projects().create(&new).await.unwrap();
    world.company.projects().set_status(project.id, ProjectStatus::Completed).await.unwrap();
    dispatch_to_the_end(&world).await;

    let received = receiver.received();
    assert_eq!(received.len(), EventKind::ALL.len());
    for delivery in received {
        let id = delivery.headers["x-service-webhook-id"].to_str().unwrap();
        let event = delivery.json["event"].as_str().unwrap();
        assert!(hooks.contains(&(id.to_owned(), event)), "{event} to {id}");
    }
    assert!(foreign.received().is_empty());
}

/// Rules: WEBHOOK-5
#[on_each_database]
async fn what_happened_before_the_registration_is_not_delivered(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    emit(&world, 3).await;
    hook(&world, &receiver.url).await;
    assert_eq!(world.dispatch().await.attempts, 0);
    assert_eq!(world.count("SELECT count(*) FROM delivery").await, 0);
}

/// Rules: TARGET-1
#[on_each_database]
async fn a_change_leaves_what_it_does_not_name_and_a_bad_url_changes_nothing(db: Database) {
    let world = World::new(db).await;
    let webhooks = world.company.webhooks();
    let before = hook(&world, URL).await.webhook;
    assert_eq!(nothing_happens(&world, webhooks.change(before.id, &WebhookChange::default())).await, before);
    let bad = WebhookChange { url: Some("ftp://x".into()), events: Some(vec![EventKind::QuoteSigned]) };
    invalid(&world, "url", webhooks.change(before.id, &bad)).await;
    let change = WebhookChange { url: Some("http://127.0.0.1:10/".into()), events: None };
    let after = webhooks.change(before.id, &change).await.unwrap();
    assert_eq!((after.url.as_str(), &after.events), ("http://127.0.0.1:10/", &before.events));
    let change = WebhookChange { url: None, events: Some(vec![EventKind::QuoteSigned]) };
    let after = webhooks.change(before.id, &change).await.unwrap();
    assert_eq!(
        (after.url.as_str(), &after.events[..]),
        ("http://127.0.0.1:10/", &[EventKind::QuoteSigned][..])
    );
}

/// Rules: WEBHOOK-6
#[on_each_database]
async fn deliveries_that_wait_follow_a_change_of_the_url_but_not_of_the_events(db: Database) {
    let world = World::new(db).await;
    let (old, new) = (Receiver::start().await, Receiver::start().await);
    old.reply_always(Reply::status(500));
    let id = hook(&world, &old.url).await.webhook.id;
    emit(&world, 2).await;
    world.dispatch().await;
    emit(&world, 1).await;
    let change = WebhookChange { url: Some(new.url.clone()), events: Some(vec![EventKind::InvoicePaid]) };
    world.company.webhooks().change(id, &change).await.unwrap();
    emit(&world, 1).await;
    world.advance(Duration::from_millis(1_100));
    world.dispatch().await;
    assert_eq!((old.received().len(), new.received().len()), (2, 3));
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-4
#[on_each_database]
async fn from_a_rotation_on_every_attempt_is_signed_with_the_new_secret(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_next([Reply::status(500)]);
    let first = hook(&world, &receiver.url).await;
    emit(&world, 1).await;
    world.dispatch().await;
    let second = world.company.webhooks().rotate(first.webhook.id).await.unwrap();
    assert_eq!(second.webhook.rotated_at, Some(world.now()));
    assert_ne!(second.secret, first.secret);
    world.advance(Duration::from_millis(1_100));
    world.dispatch().await;
    let [before, after] = &receiver.received()[..] else { panic!("two attempts") };
    let good = |secret: &str, received: &invoicing_tests::Received| {
        let header = received.headers["x-service-signature"].as_bytes();
        Verifier::new(secret).unwrap().verify(header, &received.body, world.now().as_seconds()).is_ok()
    };
    assert!(good(first.secret.reveal(), before) && !good(second.secret.reveal(), before));
    assert!(good(second.secret.reveal(), after) && !good(first.secret.reveal(), after));
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-15, WEBHOOK-16
#[on_each_database]
async fn disabling_keeps_reason_and_time_and_skips_what_waits_and_what_comes(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(503));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let mut all = emit(&world, 2).await;
    world.dispatch().await;
    all.extend(emit(&world, 1).await);
    world.advance(DAY);
    let disabled = world.company.webhooks().disable(id).await.unwrap();
    let at = world.now();
    assert_eq!(disabled.disabled, Some((at, DisabledReason::Manual)));
    world.advance(DAY);
    assert_eq!(nothing_happens(&world, world.company.webhooks().disable(id)).await, disabled);
    all.extend(emit(&world, 2).await);
    for (n, event) in all.iter().enumerate() {
        let found = delivery(&world, *event, id).await;
        let expected = (DeliveryStatus::Skipped, Some("webhook_disabled"), u32::from(n < 2));
        assert_eq!((found.status, found.reason.as_deref(), found.attempts), expected);
        assert_eq!(found.ended_at, Some(if n < 3 { at } else { world.now() }));
    }
    assert_eq!(world.dispatch().await.attempts, 0);
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(events(&world.company).await.len(), 5, "the events are recorded all the same");
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-14
#[on_each_database]
async fn enabling_delivers_what_comes_and_leaves_what_was_skipped(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    world.company.webhooks().disable(id).await.unwrap();
    let skipped = emit(&world, 2).await;
    let enabled = world.company.webhooks().enable(id).await.unwrap();
    assert_eq!((enabled.disabled, enabled.consecutive_failures), (None, 0));
    emit(&world, 1).await;
    assert_eq!(dispatch_to_the_end(&world).await.delivered, 1);
    for event in skipped {
        assert_eq!(delivery(&world, event, id).await.status, DeliveryStatus::Skipped);
    }
}

/// Rules: WEBHOOK-14, WEBHOOK-21
#[on_each_database]
async fn enabling_can_replay_what_was_missed_or_what_ended_since_an_instant(db: Database) {
    for (since, queued) in [(None, 4), (Some(1), 3), (Some(0), 4), (Some(3), 0)] {
        let world = World::new(db).await;
        let receiver = Receiver::start().await;
        receiver.reply_always(Reply::status(400));
        let webhooks = world.company.webhooks();
        let id = hook(&world, &receiver.url).await.webhook.id;
        let begun = world.now();
        // Two fail a day apart; one waits when the webhook is disabled, and one comes while it is.
        for _ in 0..2 {
            emit(&world, 1).await;
            world.dispatch().await;
            world.advance(DAY);
        }
        emit(&world, 1).await;
        webhooks.disable(id).await.unwrap();
        world.advance(DAY / 2);
        emit(&world, 1).await;
        receiver.reply_always(Reply::status(200));
        receiver.take();
        let since = since.map(|days| begun.plus_millis(days * 86_400_000));
        assert_eq!(webhooks.enable_and_replay(id, since).await.unwrap(), queued);
        let webhook = webhooks.get(id).await.unwrap();
        assert_eq!((webhook.disabled, webhook.consecutive_failures), (None, 0));
        assert_eq!(dispatch_to_the_end(&world).await.delivered, queued);
        assert_eq!(receiver.received().len() as u64, queued);
        assert_eq!(webhooks.enable_and_replay(id, None).await.unwrap(), 0, "it is not disabled");
        assert_eq!(webhooks.enable_and_replay(id, Some(begun)).await.unwrap(), 4 - queued, "all others");
        world.dispatch().await;
        world.assert_all_ended().await;
    }
}

/// Rules: WEBHOOK-28
#[on_each_database]
async fn kinds_that_only_a_newer_version_knows_stay_through_every_change(db: Database) {
    let world = World::new(db).await;
    let webhooks = world.company.webhooks();
    let id = hook_for(&world.company, URL, &[EventKind::QuoteCreated]).await.webhook.id;
    // Two further kinds, one of them the last for which a column has room.
    let newer = (1_i64 << 40) | i64::MIN;
    world.run("UPDATE webhook SET kinds = kinds | $1", &[newer.into()]).await;
    let kept = world.database().either(
        "SELECT count(*) FROM webhook WHERE kinds & (1 << 40) <> 0 AND kinds < 0",
        "SELECT count(*) FROM webhook WHERE kinds & (1::bigint << 40) <> 0 AND kinds < 0",
    );
    let webhook = webhooks.get(id).await.unwrap();
    assert_eq!((&webhook.events[..], webhook.unknown_events), (&[EventKind::QuoteCreated][..], 2));
    let url = || WebhookChange::default().url("http://127.0.0.1:10/x");
    let changes = [
        url(),
        WebhookChange::default().events([EventKind::QuoteSigned, EventKind::InvoicePaid]),
        url().events(EventKind::ALL.iter().copied()),
        // The webhook goes on with the kinds that are unknown to this version.
        url().events([]),
    ];
    for change in changes {
        let changed = webhooks.change(id, &change).await.unwrap();
        assert_eq!(changed.unknown_events, 2, "{change:?}");
        assert_eq!(world.count(kept).await, 1, "{change:?}");
        if let Some(events) = &change.events {
            assert_eq!(&changed.events, events);
        }
    }
    webhooks.disable(id).await.unwrap();
    webhooks.enable_and_replay(id, None).await.unwrap();
    webhooks.rotate_with_overlap(id, DAY).await.unwrap();
    webhooks.end_overlap(id).await.unwrap();
    webhooks.ping(id).await.unwrap();
    world.invoicing.sweep().await.unwrap();
    assert_eq!(world.count(kept).await, 1);
    // A webhook without unknown kinds needs a kind, as ever.
    let other = hook(&world, URL).await.webhook.id;
    invalid(&world, "events", webhooks.change(other, &url().events([]))).await;
}

/// Rules: WEBHOOK-27
#[on_each_database]
async fn a_test_while_one_is_under_way_is_that_one_and_new_ones_are_bounded(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let (id, other) =
        (hook(&world, &receiver.url).await.webhook.id, hook(&world, &receiver.url).await.webhook.id);
    let first = webhooks.ping(id).await.unwrap();
    let again = join_all((0..8).map(|_| webhooks.ping(id))).await;
    assert!(again.into_iter().all(|ping| ping.unwrap() == first));
    assert_eq!(events(&world.company).await.len(), 1);
    // A ping that waits for its next attempt is under way too.
    receiver.reply_next([Reply::status(500)]);
    world.dispatch().await;
    assert_eq!(nothing_happens(&world, webhooks.ping(id)).await, first);
    dispatch_to_the_end(&world).await;

    // Many pings at once make one.
    let at_once = join_all((0..8).map(|_| webhooks.ping(id))).await;
    let second = *at_once[0].as_ref().unwrap();
    assert_ne!(second, first);
    assert!(at_once.into_iter().all(|ping| ping.unwrap() == second));
    world.advance(Duration::from_mins(1));
    for n in 0..10 {
        world.dispatch().await;
        webhooks.ping(id).await.unwrap_or_else(|error| panic!("test {n}: {error}"));
        world.advance(Duration::from_secs(5));
    }
    world.dispatch().await;
    conflict(&world, "an eleventh within a minute", webhooks.ping(id)).await;
    webhooks.ping(other).await.unwrap();
    // The first ping was 60 s ago.
    world.advance(Duration::from_secs(10));
    webhooks.ping(id).await.unwrap();
    world.dispatch().await;
    conflict(&world, "the second one was 55 s ago", webhooks.ping(id)).await;
    world.assert_all_ended().await;
}

/// Deliveries that a node skips or gives up while its clock is behind are part of the replay as well.
///
/// Rules: WEBHOOK-21
#[on_each_database]
async fn a_clock_that_was_set_back_hides_nothing_from_the_replay_since_then(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let ids =
        [hook(&world, &receiver.url).await, hook(&world, &receiver.url).await].map(|new| new.webhook.id);
    // One delivery of each webhook. The answers come after both webhooks are disabled.
    let held = Arc::new(Semaphore::new(0));
    receiver.reply_next([500, 400].map(|status| Reply::Held(Arc::clone(&held), status)));
    emit(&world, 1).await;
    world.advance(DAY);
    let switch_off = async {
        assert!(receiver.wait_for(2, Duration::from_secs(5)).await);
        for id in ids {
            webhooks.disable(id).await.unwrap();
        }
        world.clock.set(world.now().plus_millis(-3_600_000));
        held.close();
    };
    let (report, ()) = tokio::join!(world.dispatch(), switch_off);
    assert_eq!((report.skipped, report.failed), (1, 1));
    emit(&world, 1).await;
    for id in ids {
        assert_eq!(
            webhooks.enable_and_replay(id, None).await.unwrap(),
            2,
            "the attempted one and the last one"
        );
    }
}

/// Rules: WEBHOOK-7
#[on_each_database]
async fn a_removed_webhook_is_gone_and_what_waits_for_it_is_kept_as_skipped(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let mut waiting = emit(&world, 1).await;
    world.dispatch().await;
    waiting.extend(emit(&world, 1).await);
    webhooks.remove(id).await.unwrap();
    for event in waiting {
        let found = delivery(&world, event, id).await;
        assert_eq!(
            (found.status, found.reason.as_deref()),
            (DeliveryStatus::Skipped, Some("webhook_removed"))
        );
    }
    let later = emit(&world, 1).await;
    assert!(world.company.events().deliveries(later[0]).await.unwrap().is_empty());
    world.advance(DAY);
    assert_eq!(world.dispatch().await.attempts, 0);
    assert_eq!(receiver.received().len(), 1);
    not_found(&world, "get", webhooks.get(id)).await;
    not_found(&world, "remove", webhooks.remove(id)).await;
    not_found(&world, "replay", webhooks.replay(id, None)).await;
    not_found(&world, "enable", webhooks.enable(id)).await;
    assert!(webhooks.list().await.unwrap().is_empty());
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-7, WEBHOOK-16
#[on_each_database]
async fn a_webhook_removed_or_disabled_during_an_attempt_gets_no_other(db: Database) {
    for remove in [false, true] {
        let world = World::new(db).await;
        let receiver = Receiver::start().await;
        receiver.reply_always(Reply::Slow(Duration::from_millis(300), 500));
        let id = hook(&world, &receiver.url).await.webhook.id;
        let event = emit(&world, 1).await[0];
        let switch_off = async {
            assert!(receiver.wait_for(1, Duration::from_secs(5)).await);
            if remove {
                world.company.webhooks().remove(id).await.unwrap();
            } else {
                world.company.webhooks().disable(id).await.unwrap();
            }
        };
        tokio::join!(world.dispatch(), switch_off);
        let found = delivery(&world, event, id).await;
        let reason = if remove { "webhook_removed" } else { "webhook_disabled" };
        let expected = (DeliveryStatus::Skipped, Some(reason), 1);
        assert_eq!((found.status, found.reason.as_deref(), found.attempts), expected);
        world.advance(DAY);
        assert_eq!(world.dispatch().await.attempts, 0);
        world.assert_all_ended().await;
    }
}

#[on_each_database]
async fn an_attempt_that_succeeds_counts_if_the_webhook_was_disabled_meanwhile(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::Slow(Duration::from_millis(300), 200));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    let switch_off = async {
        assert!(receiver.wait_for(1, Duration::from_secs(5)).await);
        world.company.webhooks().disable(id).await.unwrap();
    };
    tokio::join!(world.dispatch(), switch_off);
    assert_eq!(delivery(&world, event, id).await.status, DeliveryStatus::Delivered);
    assert!(world.company.webhooks().get(id).await.unwrap().disabled.is_some());
    world.assert_all_ended().await;
}

/// Rules: EVENT-8
#[on_each_database]
async fn a_ping_goes_to_one_webhook_signed_and_in_its_own_shape(db: Database) {
    let world = World::new(db).await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let registered = hook_for(&world.company, &receiver.url, &[EventKind::InvoicePaid]).await;
    hook(&world, &other.url).await;
    let id = registered.webhook.id;
    let event = world.company.webhooks().ping(id).await.unwrap();
    let report = dispatch_to_the_end(&world).await;
    assert_eq!((report.attempts, report.delivered), (1, 1));
    assert!(other.received().is_empty());
    let [ping] = &receiver.received()[..] else { panic!("one ping") };
    assert_eq!(keys(&ping.json), ["data", "event", "timestamp"]);
    assert_eq!(keys(&ping.json["data"]), ["id", "message"]);
    assert_eq!((&ping.json["event"], &ping.json["data"]["id"]), (&"ping".into(), &id.to_string().into()));
    let header = ping.headers["x-service-signature"].as_bytes();
    let verifier = Verifier::new(registered.secret.reveal()).unwrap();
    verifier.verify(header, &ping.body, world.now().as_seconds()).unwrap();
    let log = world.company.webhooks().log(id, 10).await.unwrap();
    assert_eq!((log.len(), log[0].kind.as_str(), log[0].event, log[0].status), (1, "ping", event, Some(200)));
}

/// Rules: WEBHOOK-13, WEBHOOK-16, WEBHOOK-20
#[on_each_database]
async fn a_ping_is_sent_and_retried_to_a_disabled_webhook_but_not_a_removed_one(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    // One delivery waits since before, one comes later.
    let waiting = webhooks.ping(id).await.unwrap();
    let event = emit(&world, 1).await[0];
    let disabled = webhooks.disable(id).await.unwrap();
    for later in [false, true] {
        let ping = if later { webhooks.ping(id).await.unwrap() } else { waiting };
        receiver.reply_next([Reply::status(500)]);
        let report = dispatch_to_the_end(&world).await;
        assert_eq!((report.attempts, report.delivered), (2, 1), "{report:?}");
        let found = delivery(&world, ping, id).await;
        assert_eq!((found.status, found.attempts), (DeliveryStatus::Delivered, 2));
    }
    assert_eq!(delivery(&world, event, id).await.status, DeliveryStatus::Skipped);
    assert_eq!(webhooks.get(id).await.unwrap(), disabled);
    receiver.reply_next([Reply::status(400)]);
    webhooks.ping(id).await.unwrap();
    assert_eq!(world.dispatch().await.failed, 1);
    assert_eq!(webhooks.get(id).await.unwrap(), disabled);
    let last = webhooks.ping(id).await.unwrap();
    webhooks.remove(id).await.unwrap();
    assert_eq!(world.dispatch().await.attempts, 0);
    let found = delivery(&world, last, id).await;
    assert_eq!((found.status, found.reason.as_deref()), (DeliveryStatus::Skipped, Some("webhook_removed")));
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-13
#[on_each_database]
async fn a_ping_never_counts_neither_as_failure_nor_as_success(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    for n in 0..15 {
        world.advance(Duration::from_mins(u64::from(n == 10)));
        webhooks.ping(id).await.unwrap();
        assert_eq!(world.dispatch().await.failed, 1);
    }
    assert_eq!(webhooks.get(id).await.unwrap().consecutive_failures, 0);
    emit(&world, 9).await;
    world.dispatch().await;
    receiver.reply_next([Reply::status(200)]);
    webhooks.ping(id).await.unwrap();
    assert_eq!(world.dispatch().await.delivered, 1);
    let webhook = webhooks.get(id).await.unwrap();
    assert_eq!((webhook.consecutive_failures, webhook.disabled), (9, None));
    emit(&world, 1).await;
    world.dispatch().await;
    assert!(webhooks.get(id).await.unwrap().disabled.is_some());
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-17
#[on_each_database]
async fn replay_queues_skipped_and_failed_deliveries_again_with_the_same_bytes(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let failed = emit(&world, 3).await;
    world.dispatch().await;
    let first = receiver.take();
    receiver.reply_always(Reply::status(200));
    let delivered = emit(&world, 2).await;
    world.dispatch().await;
    receiver.take();
    webhooks.disable(id).await.unwrap();
    let skipped = emit(&world, 2).await;
    conflict(&world, "replay while disabled", webhooks.replay(id, None)).await;
    conflict(&world, "replay while disabled", webhooks.replay(id, Some(skipped[0]))).await;
    webhooks.enable(id).await.unwrap();
    world.advance(DAY);
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 5);
    // Deliveries that are queued already, or delivered, are not queued again.
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 0);
    assert_eq!(webhooks.replay(id, Some(delivered[0])).await.unwrap(), 0);
    let report = dispatch_to_the_end(&world).await;
    assert_eq!((report.attempts, report.delivered), (5, 5));
    let recorded = events(&world.company).await;
    let again = receiver.take();
    for event in recorded.iter().filter(|event| failed.contains(&event.id) || skipped.contains(&event.id)) {
        assert_eq!(again.iter().filter(|received| received.body == event.body.as_bytes()).count(), 1);
    }
    for received in first {
        assert!(again.iter().any(|other| other.body == received.body), "the same bytes");
    }
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 0);
}

/// Rules: WEBHOOK-17
#[on_each_database]
async fn replay_of_one_event_leaves_the_others(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(404));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let second = hook(&world, &receiver.url).await.webhook.id;
    let all = emit(&world, 3).await;
    world.dispatch().await;
    receiver.reply_always(Reply::status(204));
    assert_eq!(webhooks.replay(id, Some(all[1])).await.unwrap(), 1);
    assert_eq!(webhooks.replay(id, Some(invoicing_core::EventId(Uuid::nil()))).await.unwrap(), 0);
    assert_eq!(dispatch_to_the_end(&world).await.delivered, 1);
    for (n, event) in all.iter().enumerate() {
        let status = if n == 1 { DeliveryStatus::Delivered } else { DeliveryStatus::Failed };
        assert_eq!(delivery(&world, *event, id).await.status, status);
        assert_eq!(delivery(&world, *event, second).await.status, DeliveryStatus::Failed);
    }
    // Another company's replay leaves these deliveries alone.
    let (other, _) = world.another("Autre", Plan::Team).await;
    let foreign = hook_for(&other, &receiver.url, EventKind::ALL).await.webhook.id;
    assert_eq!(other.webhooks().replay(foreign, Some(all[0])).await.unwrap(), 0);
}

/// Rules: WEBHOOK-17
#[on_each_database]
async fn a_replayed_delivery_has_all_its_attempts_again_any_number_of_times(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    for round in 1..=3 {
        if round > 1 {
            assert_eq!(webhooks.replay(id, Some(event)).await.unwrap(), 1);
            let found = delivery(&world, event, id).await;
            assert_eq!(
                (found.status, found.ended_at, found.due_at),
                (DeliveryStatus::Pending, None, world.now())
            );
        }
        let report = dispatch_to_the_end(&world).await;
        assert_eq!((report.attempts, report.failed), (3, 1), "round {round}");
        let found = delivery(&world, event, id).await;
        assert_eq!((found.status, found.attempts), (DeliveryStatus::Failed, 3 * round));
        assert_eq!(webhooks.get(id).await.unwrap().consecutive_failures, round);
    }
    let log = webhooks.log(id, 100).await.unwrap();
    let numbers: Vec<_> = log.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    receiver.reply_always(Reply::status(200));
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 1);
    assert_eq!(dispatch_to_the_end(&world).await.delivered, 1);
    assert!(receiver.received().iter().all(|received| received.body == receiver.received()[0].body));
}

/// Rules: WEBHOOK-17
#[on_each_database]
async fn simultaneous_replays_queue_each_delivery_once(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(410));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    emit(&world, 5).await;
    world.dispatch().await;
    receiver.reply_always(Reply::status(200));
    let queued = join_all((0..10).map(|_| webhooks.replay(id, None))).await;
    assert_eq!(queued.into_iter().map(Result::unwrap).sum::<u64>(), 5);
    assert_eq!(dispatch_to_the_end(&world).await.attempts, 5);
}

/// Rules: LOG-1, DELIVERY-1
#[on_each_database]
async fn every_attempt_has_a_row_with_time_duration_and_status_or_class(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.attempt_timeout_ms = 2_000).open().await;
    let receiver = Receiver::start().await;
    receiver.reply_next([Reply::status(502), Reply::Hang, Reply::Slow(Duration::from_millis(60), 201)]);
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    let begun = world.now();
    dispatch_to_the_end(&world).await;
    let log = world.company.webhooks().log(id, 100).await.unwrap();
    assert_eq!(log.len(), 3);
    let rows: Vec<_> = log.iter().map(|row| (row.number, row.status, row.failure)).collect();
    let expected = [(3, Some(201), None), (2, None, Some(FailureClass::Timeout)), (1, Some(502), None)];
    assert_eq!(rows, expected, "latest first");
    assert!(log[0].at > log[1].at && log[1].at > log[2].at && log[2].at == begun);
    assert!((60..2_000).contains(&log[0].duration_ms), "{}", log[0].duration_ms);
    assert!((2_000..5_000).contains(&log[1].duration_ms), "{}", log[1].duration_ms);
    let body = &events(&world.company).await[0].body;
    for row in &log {
        assert_eq!((row.event, row.kind.as_str()), (event, "quote.created"));
        assert_eq!(row.payload, body.chars().take(500).collect::<String>());
    }
    assert_eq!(world.company.webhooks().log(id, 2).await.unwrap(), log[..2]);
}

/// Rules: LOG-2
#[on_each_database]
async fn the_payload_in_the_log_is_cut_to_500_characters_not_bytes(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    for name in
        ["é".repeat(255), "😀".repeat(255), format!("{}{}", "a".repeat(100), "€".repeat(155)), "x".into()]
    {
        let client = world.company.clients().create(&NewClient::named(name)).await.unwrap();
        let quote = world.company.quotes().create(&taxed_quote_at(client.id, "1")).await.unwrap();
        world.company.quotes().accept(quote.summary.id).await.unwrap();
        // A second long text in the same body, so that the cut lies in the middle of many-byte characters.
        let new = NewProject {
            name: "日本語😀".repeat(50),
            client_id: Some(client.id),
            quote_ids: vec![quote.summary.id; 5],
        };
        let project = world.company.projects().create(&new).await.unwrap();
        world.company.projects().set_status(project.id, ProjectStatus::Completed).await.unwrap();
    }
    dispatch_to_the_end(&world).await;
    let recorded = events(&world.company).await;
    let log = world.company.webhooks().log(id, 100).await.unwrap();
    assert_eq!(log.len(), recorded.len());
    let mut cut = 0;
    for row in log {
        let body = &recorded.iter().find(|event| event.id == row.event).unwrap().body;
        assert_eq!(row.payload, body.chars().take(500).collect::<String>());
        cut += usize::from(row.payload.len() < body.len());
    }
    assert!(cut >= 4, "{cut}");
    // The sent body was whole.
    for received in receiver.received() {
        assert!(recorded.iter().any(|event| event.body.as_bytes() == received.body));
    }
}

/// Rules: STATE-1
#[on_each_database]
async fn a_state_change_its_event_and_its_deliveries_are_written_together(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    for _ in 0..3 {
        hook(&world, &receiver.url).await;
    }
    let (other, _) = world.another("Autre", Plan::Team).await;
    hook_for(&other, &receiver.url, EventKind::ALL).await;
    emit_for(&other, 2).await;
    let invoice = issued_over(&world.company, "10").await;
    world.company.invoices().pay(invoice.summary.id, &payment("10", None)).await.unwrap();
    for event in events(&world.company).await {
        let deliveries = world.company.events().deliveries(event.id).await.unwrap();
        assert_eq!(deliveries.len(), 3, "{}", event.kind);
        assert!(deliveries.iter().all(|delivery| delivery.status == DeliveryStatus::Pending));
        not_found(&world, "of another company", other.events().deliveries(event.id)).await;
    }
    let report = dispatch_to_the_end(&world).await;
    assert_eq!(report.delivered, 5 * 3 + 2);
}
