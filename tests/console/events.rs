//! The pages of events: what happened, and to whom it went.

use http::StatusCode;
use invoicing_core::{EventId, EventKind};
use invoicing_server::ConsoleRole;
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};

use super::Browser;
use crate::support::{dispatch_to_the_end, emit, events, hook, hook_for};

#[on_each_database]
async fn an_event_shows_its_record_and_to_whom_it_went(db: Database) {
    let world = World::new(db).await;
    let (good, bad) = (Receiver::start().await, Receiver::start().await);
    bad.reply_always(Reply::status(410));
    let kept = hook(&world, &good.url).await.webhook.id;
    let removed = hook(&world, &bad.url).await.webhook.id;
    let quote = world.draft().await.summary;
    dispatch_to_the_end(&world).await;
    world.company.webhooks().remove(removed).await.unwrap();
    let event = events(&world.company).await.remove(0).id;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::ReadOnly);

    let list = browser.get("/events").await;
    assert_eq!(list.linked::<EventId>("/events/"), [event]);
    assert_eq!(list.page().text(&format!("a[href$='/quotes/{}'] bdi", quote.id)), quote.number);
    assert!(list.html.contains(&quote.client_name) && list.html.contains("Delivered: 1, Failed: 1"));
    let shown = browser.get(&format!("/events/{event}")).await;
    let (page, shown) = (shown.page(), shown.html);
    assert_eq!(page.text("h1"), "quote.created");
    let receiver = world.company.webhooks().get(kept).await.unwrap().shown_url();
    assert_eq!(page.text(&format!("a[href$='/webhooks/{kept}/deliveries/{event}']")), receiver);
    assert_eq!(page.texts(".state.bad"), ["Failed"]);
    assert!(shown.contains("a removed webhook") && shown.contains(&quote.number), "{shown}");
    assert!(!shown.contains(&format!("/webhooks/{removed}/")), "{shown}");
    for path in ["/events/x", "/events/018f0000-0000-7000-8000-000000000000"] {
        assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND);
    }
}

#[on_each_database]
async fn pages_hold_each_event_once_also_of_one_kind(db: Database) {
    let world = World::new(db).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::ReadOnly);
    assert!(browser.get("/events").await.html.contains("Nothing yet."));
    let id = hook_for(&world.company, "http://127.0.0.1:8/hook", &[EventKind::InvoicePaid]).await.webhook.id;
    emit(&world, 60).await;
    let ping = world.company.webhooks().ping(id).await.unwrap();
    emit(&world, 45).await;
    let mut all: Vec<EventId> = events(&world.company).await.iter().map(|event| event.id).collect();
    all.reverse();
    let found = async |path: &str| -> Vec<EventId> {
        let pages = browser.pages(path).await;
        assert!(pages.iter().all(|page| page.html.len() < 100 * 1024));
        pages.iter().flat_map(|page| page.linked("/events/")).collect()
    };
    assert_eq!(found("/events").await, all);
    assert_eq!(found("/events?kind=ping").await, [ping]);
    assert_eq!(found("/events?kind=quote.created").await.len(), 105);
    assert!(found("/events?kind=invoice.paid").await.is_empty());
    assert!(browser.get("/events?kind=invoice.paid").await.html.contains("Nothing matches."));
    for wrong in ["kind=quote.eaten", "before=x"] {
        assert_eq!(browser.get(&format!("/events?{wrong}")).await.status, StatusCode::BAD_REQUEST);
    }
}
