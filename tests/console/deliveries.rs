//! The deliveries of a webhook: found, looked at, and sent again.

use std::collections::BTreeSet;

use http::StatusCode;
use invoicing_core::{EventId, NewClient, WebhookId};
use invoicing_server::{ConsoleAction, ConsoleRole};
use invoicing_tests::{Database, Receiver, Reply, World, new_quote, on_each_database};

use super::Browser;
use crate::support::{dispatch_to_the_end, emit, hook};

/// The events of a list of deliveries over all its pages.
async fn found(browser: &Browser, webhook: WebhookId, query: &str) -> Vec<EventId> {
    let path = format!("/webhooks/{webhook}/deliveries");
    let pages = browser.pages(&format!("{path}{query}")).await;
    pages.iter().flat_map(|page| page.linked(&format!("{path}/"))).collect()
}

#[on_each_database]
async fn what_failed_is_seen_with_its_reason_sent_again_and_arrives(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(404));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let events = emit(&world, 3).await;
    let list = format!("/webhooks/{id}/deliveries");
    assert_eq!(browser.get(&list).await.page().texts(".state.wait"), ["Waiting"; 3]);
    dispatch_to_the_end(&world).await;
    assert_eq!(browser.get(&list).await.page().texts(".state.bad"), ["Failed"; 3]);
    let webhooks = browser.get("/webhooks").await.page();
    assert_eq!(webhooks.texts(&format!("a[href$='{list}?status=failed']")), ["3"]);

    // One, once its receiver is mended.
    let one = format!("{list}/{}", events[0]);
    let shown = browser.get(&one).await;
    assert!(shown.html.contains("HTTP 404") && shown.html.contains("Send it again"), "{}", shown.html);
    receiver.reply_always(Reply::status(204));
    let sent = browser.post(&format!("{one}/replay"), &[]).await;
    assert_eq!(
        (sent.status, sent.location()),
        (StatusCode::SEE_OTHER, &*format!("{one}?done=queued&count=1"))
    );
    let queued = browser.get(sent.location()).await;
    assert!(queued.html.contains("Queued to be sent again: 1"), "{}", queued.html);
    assert!(!queued.html.contains("Send it again"), "{}", queued.html);
    assert_eq!(queued.page().texts(".state"), ["Waiting"]);
    assert_eq!(queued.page().texts("td[data-name=Number]").pop().unwrap(), "next");
    dispatch_to_the_end(&world).await;
    let arrived = browser.get(&one).await;
    assert_eq!(arrived.page().texts(".state"), ["Delivered"]);
    assert!(arrived.html.contains("HTTP 204"), "{}", arrived.html);
    let again = browser.post(&format!("{one}/replay"), &[]).await;
    assert!(again.location().ends_with("count=0"), "what arrived is not sent again");

    // The others: chosen, counted, confirmed.
    let replay = format!("/webhooks/{id}/replay");
    assert!(browser.get(&replay).await.page().has("input[type=radio][name=last][value='168']"));
    let confirmation = browser.get(&format!("{replay}?last=24&since=")).await;
    assert!(confirmation.html.contains("2 deliveries have failed"), "{}", confirmation.html);
    let since = confirmation.page().attr("[name=since]", "value");
    let sent = browser.post(&replay, &[("since", &*since)]).await;
    assert_eq!(sent.location(), format!("{list}?done=queued&count=2"));
    assert!(browser.get(sent.location()).await.html.contains("Queued to be sent again: 2"));
    dispatch_to_the_end(&world).await;
    assert_eq!(browser.get(&list).await.page().texts(".state.good"), ["Delivered"; 3]);
    let webhooks = browser.get("/webhooks").await.page();
    assert_eq!(webhooks.texts("td[data-name=Delivered], td[data-name=Failed]"), ["3", "0"]);
    assert!(browser.get(&format!("{replay}?last=24")).await.html.contains("No delivery has failed"));
}

#[on_each_database]
async fn an_attempt_that_failed_says_when_the_next_one_is_due(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(503));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    world.dispatch().await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let due = world.company.webhooks().delivery(id, event).await.unwrap().item.delivery.due_at;
    for path in [format!("/webhooks/{id}/deliveries"), format!("/webhooks/{id}/deliveries/{event}")] {
        let page = browser.get(&path).await.page();
        assert!(page.has(&format!("[datetime='{due}']")), "{path}");
    }
    let test = world.company.webhooks().ping(id).await.unwrap();
    world.dispatch().await;
    let due = world.company.webhooks().delivery(id, test).await.unwrap().item.delivery.due_at;
    let shown = browser.get(&format!("/webhooks/{id}?test={test}")).await;
    assert!(shown.html.contains("HTTP 503"), "{}", shown.html);
    assert!(shown.page().has(&format!("[datetime='{due}']")), "{}", shown.html);
}

#[on_each_database]
async fn pages_hold_each_delivery_once_and_filters_stay_from_page_to_page(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let mut events = emit(&world, 4).await;
    dispatch_to_the_end(&world).await;
    let failed = events.clone();
    let between = world.now();
    receiver.reply_always(Reply::status(200));
    world.advance(std::time::Duration::from_mins(2));
    events.extend(emit(&world, 116).await);
    let ping = world.company.webhooks().ping(id).await.unwrap();
    events.push(ping);
    dispatch_to_the_end(&world).await;
    events.reverse();
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    assert_eq!(found(&browser, id, "").await, events);
    let pages = browser.pages(&format!("/webhooks/{id}/deliveries?kind=quote.created")).await;
    assert!(pages.len() >= 3 && pages.iter().all(|page| page.html.len() < 100 * 1024));
    assert!(pages[1].html.contains("Back to the newest"));
    let counts: Vec<_> = pages
        .iter()
        .map(|page| page.linked::<EventId>(&format!("/webhooks/{id}/deliveries/")).len())
        .collect();
    assert_eq!((counts[0], counts.iter().sum::<usize>()), (50, 120));

    assert_eq!(found(&browser, id, "?kind=ping").await, [ping]);
    assert_eq!(found(&browser, id, "?status=failed").await.len(), failed.len());
    assert_eq!(found(&browser, id, "?status=delivered&kind=quote.created").await.len(), 116);
    assert!(found(&browser, id, "?status=skipped").await.is_empty());
    // By the company's local time, in minutes.
    let zone: chrono_tz::Tz = world.company.details().await.unwrap().time_zone.parse().unwrap();
    let local = between.plus_millis(60_000).to_chrono().with_timezone(&zone).format("%Y-%m-%dT%H:%M");
    assert_eq!(found(&browser, id, &format!("?from={local}")).await.len(), 117);
    assert_eq!(found(&browser, id, &format!("?until={local}")).await.len(), failed.len());
    for wrong in ["status=eaten", "kind=quote.eaten", "from=yesterday", "until=2026-13-01T00:00", "before=1"]
    {
        let shown = browser.get(&format!("/webhooks/{id}/deliveries?{wrong}")).await;
        assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[on_each_database]
async fn what_a_payload_says_is_text_and_its_beginning_alone_is_shown(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let name = format!("</code></pre><script>alert('é')</script>{}", "é\u{2192}\"&".repeat(50));
    let client = world.company.clients().create(&NewClient::named(&name)).await.unwrap().id;
    world.company.quotes().create(&new_quote(client)).await.unwrap();
    let event = world.company.events().list(None, 10).await.unwrap().remove(0);
    assert!(event.body.chars().count() > 500);
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    for path in [
        format!("/webhooks/{id}/deliveries"),
        format!("/webhooks/{id}/deliveries/{}", event.id),
        "/events".to_owned(),
        format!("/events/{}", event.id),
    ] {
        let shown = browser.get(&path).await;
        assert_eq!(shown.status, StatusCode::OK, "{path}");
        assert!(shown.html.contains("&lt;script&gt;") && !shown.html.contains("<script>"), "{path}");
        if path.contains(&event.id.to_string()) {
            let payload = shown.page().text("pre.payload[tabindex='0'] code");
            assert_eq!(payload, event.body.chars().take(500).collect::<String>());
        }
    }
}

#[on_each_database]
async fn who_may_send_again_is_offered_it_while_the_webhook_is_enabled(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let event = emit(&world, 1).await[0];
    dispatch_to_the_end(&world).await;
    let list = format!("/webhooks/{id}/deliveries");
    let (one, replay) = (format!("{list}/{event}"), format!("/webhooks/{id}/replay"));
    let since = [("since", "2026-01-01T00:00:00.000Z")];

    let reader = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::ReadOnly);
    assert!(!reader.get(&list).await.html.contains("/replay"));
    let shown = reader.get(&one).await;
    assert!(shown.html.contains("the connection failed") && !shown.page().has("form"), "{}", shown.html);
    for path in [replay.clone(), format!("{replay}?last=1")] {
        assert_eq!(reader.get(&path).await.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(reader.post(&replay, &since).await.status, StatusCode::FORBIDDEN);
    assert_eq!(reader.post(&format!("{one}/replay"), &[]).await.status, StatusCode::FORBIDDEN);

    let replayer = ConsoleRole::Actions(BTreeSet::from([ConsoleAction::ReplayDeliveries]));
    let replayer = Browser::of(&world.invoicing, world.company.id(), replayer);
    assert!(replayer.get(&list).await.html.contains(&format!("{replay}\"")));
    assert!(replayer.get(&one).await.html.contains("Send it again"));
    world.company.webhooks().disable(id).await.unwrap();
    assert!(!replayer.get(&list).await.html.contains(&format!("{replay}\"")));
    assert!(!replayer.get(&one).await.html.contains("Send it again"));
    assert!(replayer.get(&format!("{replay}?last=24")).await.html.contains("Enable it first"));
    assert_eq!(replayer.post(&replay, &since).await.status, StatusCode::CONFLICT);
    assert_eq!(replayer.post(&format!("{one}/replay"), &[]).await.status, StatusCode::CONFLICT);
    world.company.webhooks().enable(id).await.unwrap();
    assert!(replayer.post(&replay, &since).await.location().ends_with("count=1"));

    for wrong in ["", "yesterday"] {
        let refused = replayer.post(&replay, &[("since", wrong)]).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }
    for wrong in ["last=2", "since=yesterday"] {
        assert!(replayer.get(&format!("{replay}?{wrong}")).await.page().has("[role=alert]"), "{wrong}");
    }
    let absent = "018f0000-0000-7000-8000-000000000000";
    for path in [format!("{list}/{absent}"), format!("/webhooks/{absent}/deliveries")] {
        assert_eq!(replayer.get(&path).await.status, StatusCode::NOT_FOUND);
        assert_eq!(
            replayer.post(&format!("{list}/{absent}/replay"), &[]).await.status,
            StatusCode::NOT_FOUND
        );
    }
}
