//! The host's pages of deliveries and events: by state, kind and time, and one by one.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use invoicing_core::{DeliveryStatus, EventId, EventKind, FailureClass, QuoteId, Timestamp, WebhookId};
use invoicing_server::{
    DeliveryItem, DeliveryQuery, Error, EventItem, EventQuery, NextAttempt, RecordedKind,
};
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};

use crate::support::{DAY, conflict, dispatch_to_the_end, emit, hook, hook_for, not_found, numbered};

const ALL: DeliveryQuery = DeliveryQuery { status: None, kind: None, from: None, until: None, before: None };

/// Every delivery that a query finds, by its pages of `limit`.
async fn found(world: &World, webhook: WebhookId, query: DeliveryQuery, limit: u32) -> Vec<DeliveryItem> {
    let (mut all, mut query) = (Vec::new(), query);
    loop {
        let page = world.company.webhooks().deliveries(webhook, &query, limit).await.unwrap();
        assert!(page.items.len() <= limit as usize);
        all.extend(page.items);
        match page.next {
            Some(next) => query = query.before(next),
            None => return all,
        }
    }
}

fn events_of(items: &[DeliveryItem]) -> Vec<EventId> {
    items.iter().map(|item| item.delivery.event).collect()
}

/// The deliveries to a webhook, newest first, computed from the deliveries of each event.
async fn expected(world: &World, webhook: WebhookId) -> Vec<(EventId, DeliveryStatus, Option<String>)> {
    let mut all = Vec::new();
    for event in world.company.events().list(None, 100_000).await.unwrap() {
        let deliveries = world.company.events().deliveries(event.id).await.unwrap();
        let to_webhook = deliveries.into_iter().filter(|delivery| delivery.webhook == webhook);
        all.extend(to_webhook.map(|delivery| (event.id, delivery.status, delivery.reason)));
    }
    all.reverse();
    all
}

/// Each filter by state finds the same deliveries as the lists of the events, in pages of any size.
async fn check_pages(world: &World, webhook: WebhookId) {
    let expected = expected(world, webhook).await;
    for limit in [3, 50] {
        let all = found(world, webhook, ALL, limit).await;
        let all: Vec<_> = all
            .into_iter()
            .map(|item| (item.delivery.event, item.delivery.status, item.delivery.reason))
            .collect();
        assert_eq!(all, expected);
        for status in DeliveryStatus::ALL {
            let ids: Vec<_> =
                expected.iter().filter(|found| found.1 == *status).map(|found| found.0).collect();
            assert_eq!(events_of(&found(world, webhook, ALL.status(*status), limit).await), ids, "{status}");
        }
    }
}

/// Rules: WEBHOOK-23
#[on_each_database]
async fn a_page_of_deliveries_shows_each_state_during_a_bulk_change(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let webhooks = world.company.webhooks();
    emit(&world, 8).await;
    dispatch_to_the_end(&world).await;
    receiver.reply_always(Reply::status(400));
    emit(&world, 7).await;
    world.dispatch().await;
    receiver.reply_always(Reply::status(503));
    emit(&world, 2).await;
    world.dispatch().await;
    emit(&world, 2).await;
    check_pages(&world, id).await;
    // Bulk changes are noted for batches that no dispatcher carries out.
    for noted in ["replay", "skip"] {
        let instant = world.now().as_millis().into();
        let newest = world.company.events().page(&EventQuery::default(), 1).await.unwrap().items[0].id;
        if noted == "replay" {
            let note = "INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
                SELECT company_id, webhook_id, $1, event_id, event_id, 0, $1 FROM delivery WHERE status = 'failed' LIMIT 1";
            world.run(note, &[instant]).await;
            let first = world
                .database()
                .either("x'00000000000000000000000000000000'", "'00000000-0000-0000-0000-000000000000'");
            world.run(&format!("UPDATE bulk_change SET after_event = {first}"), &[]).await;
        } else {
            world.run("UPDATE webhook SET disabled_at = $1, disabled_reason = 'manual'", &[instant]).await;
        }
        check_pages(&world, id).await;
        assert!(webhooks.delivery(id, newest).await.unwrap().attempts.is_empty());
    }
}

/// Rules: WEBHOOK-23
#[on_each_database]
async fn a_delivery_shows_its_attempts_and_when_the_next_is_due(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let webhooks = world.company.webhooks();
    receiver.reply_next([Reply::status(500), Reply::status(204)]);
    let event = emit(&world, 1).await[0];
    let happened = world.company.events().get(event).await.unwrap().timestamp;
    world.dispatch().await;
    let waiting = webhooks.deliveries(id, &ALL, 10).await.unwrap().items.remove(0);
    let Some(NextAttempt::DueAt(due)) = waiting.next_attempt else { panic!("{waiting:?}") };
    let now = world.now();
    assert!(due >= now.plus_millis(1_000) && due <= now.plus_millis(1_100), "{due}");
    assert_eq!((waiting.delivery.attempts, waiting.delivery.ended_at), (1, None));
    assert_eq!((&*waiting.kind, waiting.timestamp), ("quote.created", happened));
    let subject = waiting.subject.unwrap();
    let quote = world.company.quotes().get(QuoteId(subject.id)).await.unwrap().summary;
    assert_eq!((subject.name, subject.client), (Some(quote.number), Some(quote.client_name)));
    // A running dispatcher claims a delivery in this way.
    let until = world.now().plus_millis(60_000).as_millis();
    world.run("UPDATE delivery SET claim = 7, held_until = $1", &[until.into()]).await;
    let claimed = webhooks.delivery(id, event).await.unwrap().item;
    assert_eq!(claimed.next_attempt, Some(NextAttempt::InFlight));
    world.run("UPDATE delivery SET claim = 0, held_until = 0", &[]).await;

    world.advance(Duration::from_millis(1_100));
    world.dispatch().await;
    let detail = webhooks.delivery(id, event).await.unwrap();
    assert_eq!(detail.item.delivery.status, DeliveryStatus::Delivered);
    assert_eq!((detail.item.next_attempt, detail.item.delivery.ended_at), (None, Some(world.now())));
    let attempts: Vec<_> =
        detail.attempts.iter().map(|attempt| (attempt.number, attempt.status, attempt.failure)).collect();
    assert_eq!(attempts, [(1, Some(500), None), (2, Some(204), None)]);
    assert_eq!(detail.body, world.company.events().get(event).await.unwrap().body);
    assert!(detail.body.starts_with(&detail.attempts[0].payload));

    // Replayed a week later, and refused in another way. Another delivery has other attempts.
    let gone = hook(&world, "http://127.0.0.1:8/").await.webhook.id;
    let other = emit(&world, 1).await[0];
    dispatch_to_the_end(&world).await;
    world.advance(7 * DAY);
    webhooks.replay(gone, Some(other)).await.unwrap();
    dispatch_to_the_end(&world).await;
    let detail = webhooks.delivery(gone, other).await.unwrap();
    assert_eq!(detail.attempts.len(), 6);
    assert!(detail.attempts.iter().all(|attempt| attempt.failure == Some(FailureClass::Network)));
    assert_eq!(detail.item.delivery.attempts, 6);
    not_found(&world, "an event from before the webhook", webhooks.delivery(gone, event)).await;
    webhooks.remove(gone).await.unwrap();
    not_found(&world, "a removed webhook", webhooks.deliveries(gone, &ALL, 1)).await;
}

/// Rules: WEBHOOK-23
#[on_each_database]
async fn deliveries_are_found_by_kind_and_by_the_time_of_their_event(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let mut instants = Vec::new();
    for _ in 0..4 {
        world.advance(Duration::from_mins(1));
        instants.push(world.now());
        world.sent().await;
    }
    let ping = world.company.webhooks().ping(id).await.unwrap();
    let all = found(&world, id, ALL, 2).await;
    assert_eq!((all.len(), all[0].delivery.event), (5, ping));
    let pings = found(&world, id, ALL.kind(RecordedKind::Ping), 50).await;
    assert_eq!((events_of(&pings), &*pings[0].kind), (vec![ping], "ping"));
    let created = ALL.kind(EventKind::QuoteCreated);
    assert_eq!(found(&world, id, created, 3).await.len(), 4);
    assert!(found(&world, id, ALL.kind(EventKind::InvoicePaid), 3).await.is_empty());
    let between = found(&world, id, created.from(instants[1]).until(instants[3]), 1).await;
    assert_eq!(between, all[2..4]);
    for kind in ["quote.created", "ping"] {
        assert_eq!(kind.parse::<RecordedKind>().unwrap().to_string(), kind);
    }
    "pong".parse::<RecordedKind>().unwrap_err();
}

/// Inserts `count` copies of the first event and its deliveries behind all others. No dispatcher may run.
async fn fill(world: &World, count: i64) {
    let (numbers, id) = numbered(world);
    for statement in [
        format!(
            "INSERT INTO event (id, company_id, kind, timestamp, body)
             SELECT {id}, company_id, kind, timestamp, body FROM {numbers} n, (SELECT * FROM event LIMIT 1) e"
        ),
        format!(
            "INSERT INTO delivery (id, event_id, company_id, webhook_id, status, reason, due_at, held_until, claim, claims,
                 attempts, claims_in_all, attempts_in_all, ended_at)
             SELECT 1000000000 + id * 1000000 + i, {id}, company_id, webhook_id, status, reason, due_at, held_until, claim,
                 claims, attempts, claims_in_all, attempts_in_all, ended_at
             FROM {numbers} n, (SELECT * FROM delivery) d"
        ),
    ] {
        world.run(&statement, &[count.into()]).await;
    }
}

/// One webhook has one delivery beside many of the other one; pages of both.
///
/// Rules: WEBHOOK-23
#[on_each_database]
async fn a_page_looks_at_a_bounded_number_of_events_and_says_where_to_go_on(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let rare = hook_for(&world.company, &receiver.url, &[EventKind::QuoteCreated]).await.webhook.id;
    let first = emit(&world, 1).await[0];
    let busy = hook(&world, &receiver.url).await.webhook.id;
    let second = emit(&world, 1).await[0];
    dispatch_to_the_end(&world).await;
    world.run("DELETE FROM delivery WHERE event_id IN (SELECT id FROM event ORDER BY id LIMIT 1)", &[]).await;
    world.company.webhooks().disable(rare).await.unwrap();
    // The remaining deliveries are those of the second event, of which the copies are made.
    let rows = world.count("SELECT count(*) FROM delivery").await;
    assert_eq!(rows, 2);
    fill(&world, 2_500).await;
    let page =
        world.company.webhooks().deliveries(busy, &ALL.status(DeliveryStatus::Pending), 50).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_some(), "{page:?}");
    assert!(found(&world, busy, ALL.status(DeliveryStatus::Pending), 50).await.is_empty());
    let begun = Instant::now();
    let failed = found(&world, busy, ALL.status(DeliveryStatus::Failed), 1_000).await;
    assert_eq!((failed.len(), failed[0].delivery.event), (2_501, second));
    assert_eq!(found(&world, rare, ALL, 1_000).await.len(), 2_501);
    assert!(!events_of(&failed).contains(&first));
    println!("{:?}", begun.elapsed());

    let kinds = EventQuery::default().kind(EventKind::InvoicePaid);
    let page = world.company.events().page(&kinds, 100).await.unwrap();
    assert!(page.items.is_empty());
    let page = world.company.events().page(&kinds.before(page.next.unwrap()), 100).await.unwrap();
    assert_eq!((page.items.len(), page.next), (0, None));
}

/// Rules: WEBHOOK-24
#[on_each_database]
async fn events_are_shown_newest_first_with_what_became_of_their_deliveries(db: Database) {
    let world = World::new(db).await;
    let good = Receiver::start().await;
    let bad = Receiver::start().await;
    bad.reply_always(Reply::status(400));
    hook(&world, &good.url).await;
    let failing = hook(&world, &bad.url).await.webhook.id;
    let first = emit(&world, 1).await[0];
    dispatch_to_the_end(&world).await;
    world.company.webhooks().disable(failing).await.unwrap();
    let second = emit(&world, 1).await[0];
    let ping = world.company.webhooks().ping(failing).await.unwrap();
    let events = world.company.events();
    let page = events.page(&EventQuery::default(), 2).await.unwrap();
    let counts = |item: &EventItem| {
        let counts = item.deliveries;
        (item.id, counts.pending, counts.delivered, counts.failed, counts.skipped)
    };
    assert_eq!(page.items.iter().map(counts).collect::<Vec<_>>(), [(ping, 1, 0, 0, 0), (second, 1, 0, 0, 1)]);
    let subjects: Vec<_> = page.items.iter().map(|item| item.subject.as_ref().unwrap()).collect();
    assert_eq!((subjects[0].id, &subjects[0].name, &subjects[0].client), (failing.0, &None, &None));
    assert!(subjects[1].name.as_ref().is_some_and(|number| number.starts_with("DEV-")), "{subjects:?}");
    let page = events.page(&EventQuery::default().before(page.next.unwrap()), 2).await.unwrap();
    assert_eq!(page.items.iter().map(counts).collect::<Vec<_>>(), [(first, 0, 1, 1, 0)]);
    assert_eq!(page.next, None);
    let pings = events.page(&EventQuery::default().kind(RecordedKind::Ping), 50).await.unwrap().items;
    assert_eq!((pings.len(), pings[0].id, &*pings[0].kind), (1, ping, "ping"));
    assert_eq!(events.get(first).await.unwrap(), events.list(None, 1).await.unwrap()[0]);
}

/// Rules: WEBHOOK-25
#[on_each_database]
async fn successes_and_failures_of_a_day_are_counted_for_each_webhook(db: Database) {
    let world = World::new(db).await;
    let (good, bad) = (Receiver::start().await, Receiver::start().await);
    bad.reply_always(Reply::status(500));
    let works = hook(&world, &good.url).await.webhook.id;
    let fails = hook(&world, &bad.url).await.webhook.id;
    let idle = hook_for(&world.company, &good.url, &[EventKind::InvoicePaid]).await.webhook.id;
    emit(&world, 2).await;
    dispatch_to_the_end(&world).await;
    world.advance(DAY);
    emit(&world, 3).await;
    dispatch_to_the_end(&world).await;
    let counts = world.company.webhooks().day_counts().await.unwrap();
    assert_eq!(counts.since, world.now().plus_millis(-86_400_000));
    let shown: Vec<_> = counts.webhooks.iter().map(|day| (day.webhook, day.delivered, day.failed)).collect();
    assert_eq!(shown, [(works, 3, 0), (fails, 0, 3), (idle, 0, 0)]);
    bad.reply_always(Reply::status(200));
    world.company.webhooks().replay(fails, None).await.unwrap();
    dispatch_to_the_end(&world).await;
    let day = world.company.webhooks().day_counts().await.unwrap().webhooks[1];
    assert_eq!((day.delivered, day.failed), (5, 0), "an older one was replayed today");
}

/// Deliveries that are skipped while the webhook is disabled hide no failure, and neither does the age of an event.
///
/// Rules: WEBHOOK-25
#[on_each_database]
async fn failures_are_counted_in_full_also_of_a_disabled_webhook(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    emit(&world, 30).await;
    world.dispatch().await;
    assert!(webhooks.get(id).await.unwrap().disabled.is_some());
    let failed = async || {
        let day = webhooks.day_counts().await.unwrap().webhooks[0];
        (day.failed, day.has_more_failed)
    };
    let before = failed().await;
    assert!(before.0 >= 10 && !before.1, "{before:?}");
    emit(&world, 600).await;
    assert_eq!(failed().await, before);
    world.advance(DAY);
    assert_eq!(failed().await, before);
    world.advance(Duration::from_millis(1));
    assert_eq!(failed().await, (0, false));
}

/// Rules: WEBHOOK-25
#[on_each_database]
async fn a_count_of_failures_that_is_not_complete_says_so(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    emit(&world, 1).await;
    world.dispatch().await;
    let (numbers, id_of) = numbered(&world);
    let statement = format!(
        "INSERT INTO delivery (id, company_id, event_id, webhook_id, status, due_at, claim, claims, attempts, claims_in_all, \
         attempts_in_all, ended_at) \
         SELECT -i, company_id, {id_of}, webhook_id, status, due_at, claim, claims, attempts, claims_in_all, attempts_in_all, \
         ended_at FROM delivery, {numbers} n",
    );
    world.has_foreign_rows();
    for (copies, expected) in [(9_999_i64, (10_000, false)), (10_000, (10_000, true))] {
        world.run("DELETE FROM delivery WHERE id < 0", &[]).await;
        world.run(&statement, &[copies.into()]).await;
        let counts = webhooks.day_counts().await.unwrap();
        let day = counts.webhooks[0];
        assert_eq!((day.webhook, day.failed, day.has_more_failed), (id, expected.0, expected.1));
    }
}

/// Rules: WEBHOOK-26
#[on_each_database]
async fn a_replay_since_an_instant_takes_the_counted_deliveries(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let webhooks = world.company.webhooks();
    let mut instants = Vec::new();
    for _ in 0..3 {
        world.advance(Duration::from_mins(1));
        instants.push(world.now());
        emit(&world, 2).await;
        dispatch_to_the_end(&world).await;
        world.advance(Duration::from_mins(1));
    }
    for (since, count) in [(world.now(), 0), (instants[2], 2), (instants[1], 4), (instants[0], 6)] {
        assert_eq!(webhooks.count_replayable(id, since).await.unwrap(), count);
    }
    assert_eq!(webhooks.replay_since(id, world.now()).await.unwrap(), 0);
    assert_eq!(webhooks.replay_since(id, instants[1]).await.unwrap(), 4);
    let pending = found(&world, id, ALL.status(DeliveryStatus::Pending), 50).await;
    assert!(pending.len() == 4 && pending.iter().all(|item| item.timestamp >= instants[1]), "{pending:?}");
    assert_eq!(webhooks.replay_since(id, instants[0]).await.unwrap(), 2, "the others wait already");
    webhooks.disable(id).await.unwrap();
    conflict(&world, "disabled", webhooks.replay_since(id, instants[0])).await;
    assert_eq!(webhooks.count_replayable(id, instants[0]).await.unwrap(), 6, "skipped ones too");
}

/// An earlier replay that is still noted is carried out first: a later one of fewer deliveries must not replace it.
///
/// Rules: WEBHOOK-26
#[on_each_database]
async fn a_replay_since_an_instant_keeps_what_an_earlier_one_has_left(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let webhooks = world.company.webhooks();
    receiver.reply_always(Reply::status(400));
    emit(&world, 1).await;
    dispatch_to_the_end(&world).await;
    fill(&world, 2_400).await;
    assert_eq!(webhooks.replay(id, None).await.unwrap(), 2_401);
    assert_eq!(
        webhooks.count_replayable(id, Timestamp::EARLIEST).await.unwrap(),
        0,
        "an earlier one queues them"
    );
    assert_eq!(webhooks.replay_since(id, world.now()).await.unwrap(), 0);
    assert_eq!(world.count("SELECT count(*) FROM delivery WHERE status = 'pending'").await, 2_401);
}

/// Rules: WEBHOOK-26
#[on_each_database]
async fn replays_at_once_queue_each_delivery_once(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(&world, &receiver.url).await.webhook.id;
    emit(&world, 5).await;
    dispatch_to_the_end(&world).await;
    let webhooks = world.company.webhooks();
    let replays = join_all((0..4).map(|_| webhooks.replay_since(id, Timestamp::EARLIEST))).await;
    let queued: Result<Vec<u64>, Error> = replays.into_iter().collect();
    assert!(queued.unwrap().contains(&5));
    assert_eq!(world.count("SELECT count(*) FROM delivery WHERE status = 'pending'").await, 5);
}
