//! Texts that people have entered, with characters that change the direction of what stands beside them.

use invoicing_server::ConsoleRole;
use invoicing_tests::{Database, World, on_each_database};

use super::Browser;
use super::access::{Records, pages};

/// RIGHT-TO-LEFT OVERRIDE: shows what follows backwards.
const TURN: &str = "\u{202e}";

/// Rows of a version that took such characters.
const STORED: [&str; 7] = [
    "UPDATE quote SET summary = replace(summary, '\"clientName\":\"', '\"clientName\":\"' || $1)",
    "UPDATE quote SET lines = replace(lines, '\"description\":\"', '\"description\":\"' || $1)",
    "UPDATE invoice SET summary = replace(summary, '\"clientName\":\"', '\"clientName\":\"' || $1)",
    "UPDATE invoice SET lines = replace(lines, '\"description\":\"', '\"description\":\"' || $1)",
    "UPDATE event SET body = replace(body, '\"clientName\":\"', '\"clientName\":\"' || $1)",
    "UPDATE api_key SET label = $1 || label",
    "UPDATE history SET actor = $1 || actor, detail = $1 || detail",
];

/// Rules: PAGE-3
#[on_each_database]
async fn no_text_turns_what_stands_beside_it(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let named = world.company.acting_as("Léa").unwrap();
    let label = "Un logiciel";
    named.keys().issue(label).await.unwrap();
    for statement in STORED {
        assert!(world.run(statement, &[TURN.into()]).await > 0, "{statement}");
    }
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let (mut shown, mut isolated) = (String::new(), Vec::new());
    for path in pages(&records) {
        let page = browser.get(&path).await;
        assert!(!page.html.contains(TURN), "{path}: {}", page.html);
        isolated.extend(page.page().texts("bdi"));
        shown += &page.html;
    }
    let client = world.company.quotes().get(records.quote).await.unwrap().summary.client_name;
    let client = client.strip_prefix(TURN).expect("it was stored so");
    for text in [client, label, "Léa"] {
        assert!(isolated.iter().any(|isolated| isolated == text), "{text}");
    }
    // In a payload it is what JSON calls it.
    assert!(shown.contains("clientName&quot;:&quot;\\u202e"));
}
