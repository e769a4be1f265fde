//! API keys: issued, used, revoked.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use invoicing_core::Plan;
use invoicing_server::{ConsoleAction, ConsoleRole, HistoryAction};
use invoicing_tests::{Database, World, on_each_database};

use super::Browser;

async fn asked_with(world: &World, key: &str) -> StatusCode {
    world.call("GET", "/api/v1/quotes?limit=1", Some(key), &[], bytes::Bytes::new()).await.status
}

#[on_each_database]
async fn a_key_is_shown_once_used_and_revoked(db: Database) {
    let world = World::new(db).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    assert!(browser.get("/keys/new").await.page().has("[name=label]"));
    let shown = browser.post("/keys", &[("label", "CRM <&> \"")]).await;
    assert_eq!(shown.status, StatusCode::OK);
    let key = shown.page().text("code#key");
    assert!(key.starts_with("isk_") && shown.html.matches(&key).count() == 1, "{}", shown.html);
    let attempt = shown.page().text("pre[tabindex='0'] code");
    assert!(attempt.starts_with("curl ") && attempt.contains("Bearer <API_KEY>"), "{attempt}");
    assert!(attempt.contains("http://127.0.0.1:8080/api/v1/quotes?limit=1"), "{attempt}");

    for _ in 0..2 {
        assert_eq!(asked_with(&world, &key).await, StatusCode::OK);
    }
    let used = world.company.keys().usage().await.unwrap();
    let used = used.iter().find(|key| key.used == 2).unwrap();
    let list = browser.get("/keys").await;
    assert!(list.html.contains("CRM &lt;&amp;&gt; &quot;") && list.html.contains("2 of 30"), "{}", list.html);
    let list = list.page();
    assert!(list.has(&format!("[datetime='{}']", used.oldest_until.unwrap())));
    assert!(list.has(&format!("[datetime='{}']", used.record.last_used_at.unwrap())));
    assert!(list.texts("td code").contains(&format!("…{}", &key[key.len() - 4..])));
    world.advance(Duration::from_millis(60_001));
    let list = browser.get("/keys").await.html;
    assert!(list.matches("0 of 30").count() == 2 && !list.contains("2 of 30"), "{list}");

    let id = used.record.id;
    let question = browser.get(&format!("/keys/{id}/revoke")).await.html;
    assert!(question.contains("cannot be undone") && !question.contains(&key), "{question}");
    let revoked = browser.post(&format!("/keys/{id}/revoke"), &[]).await;
    assert_eq!((revoked.status, revoked.location()), (StatusCode::SEE_OTHER, "/keys?done=revoked"));
    assert_eq!(asked_with(&world, &key).await, StatusCode::UNAUTHORIZED);
    assert_eq!(asked_with(&world, &world.key).await, StatusCode::OK);
    let list = browser.get(revoked.location()).await;
    assert_eq!(list.page().texts(".state.bad"), ["Revoked"]);
    let list = list.html;
    assert!(!list.contains(&format!("/keys/{id}/revoke")), "{list}");
    assert!(!list.contains("isk_"), "{list}");
    assert!(list.matches(" of 30").count() == 1, "a revoked key has no quota: {list}");
    assert_eq!(browser.get(&format!("/keys/{id}/revoke")).await.status, StatusCode::NOT_FOUND);
    // Again it changes nothing.
    assert_eq!(browser.post(&format!("/keys/{id}/revoke"), &[]).await.status, StatusCode::CONFLICT);

    let history = world.company.history().list(None, 10).await.unwrap();
    let [revoked, issued] = &*history else { panic!("{history:?}") };
    assert!(revoked.actor == "Anna" && revoked.action == HistoryAction::KeyRevoked, "{revoked:?}");
    assert!(issued.actor == "Anna" && issued.action == HistoryAction::KeyIssued, "{issued:?}");
}

#[on_each_database]
async fn a_key_without_a_usable_name_is_not_issued(db: Database) {
    let world = World::new(db).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    for label in ["", "  ", &"x".repeat(256), "a\u{0}\"><script>"] {
        let refused = browser.post("/keys", &[("label", label)]).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{label}");
        assert!(refused.page().has("[role=alert]") && refused.page().has("[name=label]"));
        assert!(!refused.html.contains("<script>") && !refused.html.contains("isk_"), "{}", refused.html);
    }
    assert_eq!(world.company.keys().list().await.unwrap().len(), 1);
}

#[on_each_database]
async fn the_list_says_what_keys_may_do_and_offers_what_the_role_includes(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let browser = |role| Browser::of(&world.invoicing, world.company.id(), role);
    let reader = browser(ConsoleRole::ReadOnly).get("/keys").await.html;
    assert!(reader.contains("unlimited") && !reader.contains("/keys/new") && !reader.contains("/revoke"));
    let manager =
        browser(ConsoleRole::Actions(BTreeSet::from([ConsoleAction::ManageKeys]))).get("/keys").await.html;
    assert!(manager.contains("/keys/new") && manager.contains("/revoke") && !manager.contains("team plan"));
    world.company.set_plan(Plan::Pro).await.unwrap();
    assert!(browser(ConsoleRole::ReadOnly).get("/keys").await.html.contains("team plan only"));
    let other = browser(ConsoleRole::Actions(BTreeSet::from([ConsoleAction::ManageWebhooks])));
    assert_eq!(other.get("/keys/new").await.status, StatusCode::FORBIDDEN);
}
