//! The page of the history: who did what, in words.

use http::StatusCode;
use invoicing_core::{NewClient, Plan};
use invoicing_server::{ConsoleRole, ConsoleSession, Language, SignInDecision};
use invoicing_tests::{Database, World, on_each_database};

use super::Browser;
use crate::support::hook;

#[on_each_database]
async fn what_was_done_is_read_with_its_name_and_its_record(db: Database) {
    let world = World::new(db).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    assert!(browser.get("/history").await.html.contains("Nothing yet."));
    let form = [("url", "http://127.0.0.1:8/hook"), ("events", "quote.created")];
    browser.post("/webhooks", &form).await;
    let id = world.company.webhooks().list().await.unwrap()[0].id;
    browser.post(&format!("/webhooks/{id}/rotate"), &[("overlap", "24")]).await;
    let host = world.company.acting_as("Léa <b>").unwrap();
    host.clients().create(&NewClient::named("Lefèvre & Cie")).await.unwrap();

    let shown = browser.get("/history").await;
    let page = shown.page();
    let rotated = "Rotated the secret of a webhook overlap: 24 h";
    assert!(page.texts("td").iter().any(|cell| cell == rotated), "{}", shown.html);
    assert_eq!(page.texts(&format!("a[href$='/webhooks/{id}']")), ["http://127.0.0.1:8/.."; 2]);
    let shown = shown.html;
    for part in ["Anna", "Léa &lt;b&gt;", "Registered a webhook", "Created a client", "Lefèvre &amp; Cie"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let session =
        ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::ReadOnly).language(Language::French);
    let french = Browser::with(&world.invoicing, world.company.id(), move |_| {
        SignInDecision::Granted(session.clone())
    });
    assert!(french.get("/history").await.html.contains("A renouvelé le secret d’un webhook"));

    let of_webhook = browser.get(&format!("/history?record={id}")).await.html;
    assert!(of_webhook.contains("Registered a webhook") && !of_webhook.contains("Created a client"));
    browser.post(&format!("/webhooks/{id}/remove"), &[]).await;
    let shown = browser.get("/history").await.html;
    assert!(shown.contains("Removed a webhook") && !shown.contains(&format!("/webhooks/{id}\"")), "{shown}");
    assert_eq!(browser.get("/history?record=x").await.status, StatusCode::BAD_REQUEST);
}

#[on_each_database]
async fn pages_hold_each_change_once(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let named = world.company.acting_as("Anna").unwrap();
    for _ in 0..30 {
        named.webhooks().disable(id).await.unwrap();
        named.webhooks().enable(id).await.unwrap();
    }
    let first = browser.get("/history").await;
    let linked = first.page().attrs(&format!("[href$='/history?record={id}']"), "href");
    assert_eq!(linked.len(), 50, "{}", first.html);
    for path in ["/history".to_owned(), format!("/history?record={id}")] {
        let pages = browser.pages(&path).await;
        assert!(pages.iter().all(|page| page.html.len() < 100 * 1024));
        let rows: Vec<_> = pages.iter().map(|page| page.html.matches("abled a webhook").count()).collect();
        assert_eq!(rows, [50, 10]);
    }
    let (other, _) = world.another("Other", Plan::Team).await;
    let other = Browser::of(&world.invoicing, other.id(), ConsoleRole::Full);
    assert!(other.get(&format!("/history?record={id}")).await.html.contains("Nothing matches."));
}
