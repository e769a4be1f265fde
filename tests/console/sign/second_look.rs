//! The second look before a signature: an address that can be opened again, and that keeps what was entered.

use std::time::Duration;

use http::{Request, StatusCode, header};
use invoicing_core::{NewLine, QuoteStatus};
use invoicing_tests::{Database, World, on_each_database};

use super::super::{Browser, PREFIX, Shown};
use super::{EMAIL, NAME, client, fields, hash_on, second_look, sent, sent_lines, sign, text_of};
use crate::support::date;

const HOUR: Duration = Duration::from_hours(1);

/// The address that the first form leads to.
async fn address(browser: &Browser, page: &str, name: &str) -> String {
    let hash = last_hash(browser, page).await;
    let first = browser.post(page, &fields(&hash, name)).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER, "{}", first.html);
    first.location().to_owned()
}

async fn last_hash(browser: &Browser, page: &str) -> String {
    hash_on(&browser.get(&format!("{page}?part=99")).await)
}

async fn in_french(browser: &Browser, path: &str) -> Shown {
    let request = Request::get(path).header(header::ACCEPT_LANGUAGE, "fr");
    browser.ask(request.body(String::new()).unwrap()).await
}

/// The address of the link with this text.
fn linked(shown: &Shown, text: &str) -> String {
    let (page, all) = (shown.page(), shown.page().texts("main a[href]"));
    let at = all.iter().position(|link| link == text).unwrap_or_else(|| panic!("{text} in {all:?}"));
    page.attrs("main a[href]", "href")[at].strip_prefix(PREFIX).unwrap().to_owned()
}

fn entered_on(shown: &Shown) -> [String; 2] {
    ["name", "email"].map(|name| shown.page().attr(&format!("[name={name}]"), "value"))
}

/// Rules: SIGN-11
#[on_each_database]
async fn nothing_is_signed_before_the_second_look(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let shown = browser.get(&page).await;
    let hash = hash_on(&shown);
    let rows = shown.page().texts("tr");
    let total = rows.iter().find_map(|row| row.strip_prefix("Total TTC ")).unwrap();
    let before = world.dump().await;
    // The accents of macOS: one sign, two characters.
    let form = [("name", "Le\u{301}a <b>"), ("email", EMAIL), ("document", &*hash)];
    let first = browser.post(&page, &form).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER, "{}", first.html);
    let address = first.location();
    // As often as the browser comes back to it.
    let second_look = browser.get(address).await;
    for again in [browser.get(address).await, second_look] {
        assert_eq!(
            (again.status, &again.headers[header::CACHE_CONTROL]),
            (StatusCode::OK, &"no-store".parse().unwrap())
        );
        let text = text_of(&again.html);
        assert!(text.contains(&format!("You sign {total}")), "{total} in {text}");
        assert!(text.contains("Léa <b>") && text.contains(EMAIL), "{text}");
        assert!(text.contains("Bon pour accord sur le devis DEV-2026-0001"), "{text}");
        assert!(!again.html.contains("<b>"));
    }
    let french = text_of(&in_french(&browser, address).await.html);
    assert!(french.contains(&format!("Vous signez pour {total}")), "{french}");
    assert_eq!(world.dump().await, before);
    // As the form of the second look has them.
    let shown = browser.get(address).await;
    let value = |name: &str| shown.page().attr(&format!("[name={name}]"), "value");
    let (document, email, confirmed) = (value("document"), value("email"), value("confirmed"));
    let form =
        [("document", &*document), ("name", "Léa <b>"), ("email", &*email), ("confirmed", &*confirmed)];
    for _ in 0..2 {
        let signed = browser.post(&page, &form).await;
        assert_eq!((signed.status, signed.location()), (StatusCode::SEE_OTHER, &*page));
    }
    let signature = world.company.quotes().get(id).await.unwrap().detail.signature.unwrap();
    assert_eq!(signature.signed_by_name, "Léa <b>");
    // Back, after the signature.
    let back = browser.get(address).await;
    assert_eq!((back.status, back.location()), (StatusCode::SEE_OTHER, &*page));
}

/// Rules: SIGN-3
#[on_each_database]
async fn a_text_that_the_second_form_did_not_show_is_shown_and_not_signed(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    // As a node of another version has made the form: without a hash of the text, or with another.
    for other in ["yes", &*"0".repeat(64)] {
        let [name, email, document] = fields(&hash, NAME);
        let answer = browser.post(&page, &[name, email, document, ("confirmed", other)]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.html);
        let shown = browser.get(answer.location()).await;
        assert!(shown.html.contains("You agree to this text"), "{}", shown.html);
        assert_eq!(world.company.quotes().get(id).await.unwrap().summary.status, QuoteStatus::Sent);
    }
    assert_eq!(sign(&browser, &page, &fields(&hash, NAME)).await.status, StatusCode::SEE_OTHER);
}

/// Rules: SIGN-11
#[on_each_database]
async fn the_address_of_the_second_look_hides_what_was_entered(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    let (one, two) = (address(&browser, &page, NAME).await, address(&browser, &page, NAME).await);
    assert_ne!(one, two, "equal entries look alike");
    let sealed = one.split_once("?signer=").unwrap().1;
    assert!(sealed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)), "{one}");
    let bytes: Vec<u8> = sealed.split('.').flat_map(base64url).collect();
    for clear in ["Lefèvre", "exemple", "lea@"] {
        assert!(!one.contains(clear) && !String::from_utf8_lossy(&bytes).contains(clear), "{clear}");
    }
    // The longest entries: proxies take at least 8,000 bytes.
    let name = "\u{1f58b}".repeat(255);
    let email = format!("{}@exemple.fr", "\u{1f58b}".repeat(244));
    let hash = last_hash(&browser, &page).await;
    let first = browser.post(&page, &[("name", &*name), ("email", &*email), ("document", &*hash)]).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER, "{}", first.html);
    assert!(first.location().len() < 4_000, "{}", first.location().len());
    assert!(text_of(&browser.get(first.location()).await.html).contains(&name));
}

/// The bytes of a part of a sealed text; none if it is no base64url.
fn base64url(part: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap_or_default()
}

/// Rules: SIGN-11
#[on_each_database]
async fn an_address_that_is_old_or_altered_leads_back_to_the_form(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let (_, other) = sent(&world).await;
    let browser = client(&world);
    let good = address(&browser, &page, NAME).await;
    let before = world.dump().await;
    let of_another = good.replace(&page, &other);
    let (start, last) = good.split_at(good.len() - 1);
    let altered = format!("{start}{}", if last == "A" { "B" } else { "A" });
    let none =
        [format!("{page}/confirm"), format!("{page}/confirm?signer="), format!("{page}/confirm?signer=x")];
    let leads_back = async |browser: &Browser, address: &str, page: &str| {
        let answer = browser.get(address).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{address}: {}", answer.html);
        let form = browser.get(answer.location()).await;
        assert!(
            form.status == StatusCode::OK && answer.location().starts_with(&format!("{page}?")),
            "{address}"
        );
        assert!(form.page().text("[role=alert]").contains("were not kept"), "{}", form.html);
        assert!(form.page().has("[name=name]") && !form.html.contains(EMAIL), "{}", form.html);
        let french = in_french(browser, answer.location()).await;
        assert!(french.page().text("[role=alert]").contains("n’ont pas été conservés"), "{}", french.html);
    };
    for address in none.iter().chain([&altered]) {
        leads_back(&browser, address, &page).await;
    }
    leads_back(&browser, &of_another, &other).await;
    assert!(!browser.get(&page).await.page().has("[role=alert]"));
    // A restart changes nothing, an hour does.
    drop(browser);
    let world = world.reopen().await;
    let browser = client(&world);
    world.advance(HOUR);
    assert_eq!(browser.get(&good).await.status, StatusCode::OK);
    world.advance(Duration::from_millis(1));
    leads_back(&browser, &good, &page).await;
    assert_eq!(world.dump().await, before);
}

/// Rules: SIGN-2, SIGN-11
#[on_each_database]
async fn the_second_look_at_a_replaced_version_leads_to_the_current_one(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let address = address(&browser, &page, NAME).await;
    world.company.quotes().reject(id).await.unwrap();
    let declined = browser.get(&address).await;
    assert_eq!((declined.status, declined.location()), (StatusCode::SEE_OTHER, &*page));
    world.company.quotes().send(id, Some(date("2026-12-24"))).await.unwrap();
    let shown = browser.get(&address).await;
    assert_eq!(shown.status, StatusCode::CONFLICT);
    assert!(shown.html.contains("The quote was sent again") && !shown.page().has("form"), "{}", shown.html);
}

/// Rules: SIGN-11
#[on_each_database]
async fn the_way_back_to_the_quote_keeps_what_was_entered(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    let line = |i: usize| NewLine::new(format!("Ligne {i:03}"), 1, 10, 10);
    let page = sent_lines(&world, (0..120).map(line)).await;
    let hash = last_hash(&browser, &page).await;
    let confirmation = second_look(&browser, &page, &fields(&hash, NAME)).await;
    // Over all parts of the document, and the question before a refusal.
    let mut shown = browser.get(&linked(&confirmation, "Back to the quote")).await;
    for _ in 1..3 {
        shown = browser.get(&linked(&shown, "Continue reading")).await;
    }
    assert_eq!(entered_on(&shown), [NAME, EMAIL]);
    let question = browser.get(&linked(&shown, "Decline")).await;
    let first_part = browser.get(&linked(&question, "Back to the quote")).await;
    let second_part = browser.get(&linked(&first_part, "Next part")).await;
    let shown = browser.get(&linked(&second_part, "Next part")).await;
    assert_eq!(entered_on(&shown), [NAME, EMAIL]);
    // Entries that were refused are kept as well, if they may be an entry at all.
    let (_, page) = sent(&world).await;
    let hash = hash_on(&browser.get(&page).await);
    for (name, kept) in [("Léa\u{202e}m", true), (&*"x".repeat(256), false), ("", true)] {
        let refused = browser.post(&page, &fields(&hash, name)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        let shown = browser.get(&linked(&refused, "Back to the quote")).await;
        assert_eq!(entered_on(&shown), if kept { [name, EMAIL] } else { [""; 2] });
        assert!(!shown.page().has("[role=alert]"));
    }
}

/// A quote that cannot be signed is shown for a signature by no address.
///
/// Rules: SIGN-11
#[on_each_database]
async fn refused_entries_have_no_second_look(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    let refused = browser.post(&page, &fields(&hash, "")).await;
    let back = linked(&refused, "Back to the quote");
    let answer = browser.get(&back.replace("?signer=", "/confirm?signer=")).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.html);
    assert!(answer.location().starts_with(&format!("{page}?")));
}
