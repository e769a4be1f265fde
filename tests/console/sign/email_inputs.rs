//! Inputs for e-mail addresses, also for those that browsers do not know as one.

use http::StatusCode;
use invoicing_tests::{Database, World, on_each_database};

use super::{client, hash_on, sent, sign};
use crate::support::page::Page;

/// Rules: SIGN-16
#[on_each_database]
async fn an_address_with_an_accent_is_entered_and_signed(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    for email in ["léa@exemple.fr", "lea@exämple.fr", "用户@例子.中国"] {
        let (id, page) = sent(&world).await;
        let shown = browser.get(&page).await;
        assert_is_text(&shown.page());
        let hash = hash_on(&shown);
        let wrong = browser.post(&page, &[("name", ""), ("email", email), ("document", &hash)]).await;
        assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
        assert_is_text(&wrong.page());
        let form = [("name", "Léa"), ("email", email), ("document", &*hash)];
        assert_eq!(sign(&browser, &page, &form).await.status, StatusCode::SEE_OTHER, "{email}");
        let signature = world.company.quotes().get(id).await.unwrap().detail.signature.unwrap();
        assert_eq!(signature.signed_by_email, email);
    }
}

/// No browser judges it, and no keyboard changes it.
fn assert_is_text(page: &Page) {
    for (name, value) in [
        ("type", "text"),
        ("inputmode", "email"),
        ("autocapitalize", "none"),
        ("autocomplete", "email"),
        ("spellcheck", "false"),
    ] {
        assert_eq!(page.attrs("[name=email]", name), [value], "{name}");
    }
}
