//! Failed attempts in words: why there was no delivery, and what to do about it.

use std::time::Duration;

use invoicing_core::{Advice, FailureClass, WebhookId};
use invoicing_server::{ConsoleRole, ConsoleSession, Language, SignInDecision};
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};

use super::Browser;
use crate::support::{dispatch_to_the_end, hook};

const STATUSES: [u16; 19] =
    [301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 410, 413, 415, 429, 500, 502, 503, 504];

/// The text of an advice in one language.
type Words = fn(Advice) -> &'static str;

/// A reader of each language.
fn readers(world: &World) -> [(Browser, Words); 2] {
    let reader = |language| {
        let session =
            ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::ReadOnly).language(language);
        Browser::with(&world.invoicing, world.company.id(), move |_| SignInDecision::Granted(session.clone()))
    };
    [(reader(Language::English), |advice| advice.english), (reader(Language::French), |advice| advice.french)]
}

/// Sends a test, which ends: the page that shows it.
async fn attempted(world: &World, id: WebhookId) -> String {
    // Of tests there are few in a minute.
    world.advance(Duration::from_mins(1));
    let test = world.company.webhooks().ping(id).await.unwrap();
    dispatch_to_the_end(world).await;
    format!("/webhooks/{id}/deliveries/{test}")
}

/// The last attempt as hosts read it.
async fn last_advice(world: &World, id: WebhookId) -> Option<Advice> {
    world.company.webhooks().log(id, 1).await.unwrap()[0].advice()
}

/// Rules: LOG-4
#[on_each_database]
async fn each_status_says_what_to_do_in_the_log_and_on_the_page(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let readers = readers(&world);
    for status in STATUSES {
        receiver.reply_always(Reply::status(status));
        let page = attempted(&world, id).await;
        let advice = last_advice(&world, id).await;
        assert_eq!(advice, Advice::on_status(status));
        for (reader, text) in &readers {
            let html = reader.get(&page).await.html;
            assert!(html.contains(&format!("HTTP {status}")), "{html}");
            assert!(html.contains(text(advice.unwrap())), "{status}: {html}");
        }
    }
    receiver.reply_always(Reply::status(204));
    let page = attempted(&world, id).await;
    assert_eq!(last_advice(&world, id).await, None);
    assert!(!readers[0].0.get(&page).await.page().has(".hint"));
}

/// Rules: LOG-4
#[on_each_database]
async fn each_failure_class_says_what_to_do_in_the_log_and_on_the_page(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.attempt_timeout_ms = 1_500).open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(404));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let page = attempted(&world, id).await;
    for class in FailureClass::ALL {
        let stored =
            world.run("UPDATE attempt SET status = NULL, failure = $1", &[class.as_str().into()]).await;
        assert_eq!(stored, 1);
        assert_eq!(last_advice(&world, id).await, Some(class.advice()));
        for (reader, text) in readers(&world) {
            let html = reader.get(&page).await.html;
            assert!(html.contains(text(class.advice())), "{class}: {html}");
            assert!(!html.contains(&format!("\">{class}</span>")), "{class}: {html}");
        }
    }
}

/// Not the default of 5 s if the host has set another.
#[on_each_database]
async fn a_timeout_names_the_time_limit_that_is_set(db: Database) {
    for (ms, english, french) in [
        (5_000, "within 5 s", "en 5 s"),
        (1_500, "within 1.5 s", "en 1,5 s"),
        (30_000, "within 30 s", "en 30 s"),
    ] {
        let world = World::on(db).settings(|settings| settings.dispatch.attempt_timeout_ms = ms).open().await;
        let receiver = Receiver::start().await;
        receiver.reply_always(Reply::status(404));
        let id = hook(&world, &receiver.url).await.webhook.id;
        let page = attempted(&world, id).await;
        world.run("UPDATE attempt SET status = NULL, failure = 'timeout'", &[]).await;
        let [(reader, _), (lecteur, _)] = readers(&world);
        let (english, french) = (format!("no answer {english}"), format!("pas de réponse {french}"));
        assert!(reader.get(&page).await.page().texts("span").contains(&english), "{english}");
        assert!(lecteur.get(&page).await.page().texts("span").contains(&french), "{french}");
    }
}
