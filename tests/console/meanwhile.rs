//! A form is not carried out on a record that was changed after its page was opened.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use http::StatusCode;
use invoicing_core::{ClientId, InvoiceId, KeyId, NewClient, QuoteId, WebhookId};
use invoicing_server::{Console, ConsoleRole, NewPayment, PaymentSource, WebhookChange};
use invoicing_tests::{Database, World, legal_identity, on_each_database};

use super::once::{Open, ROWS, Row, everything, full, is_carried_out};
use super::{Browser, Shown};

/// The message of a form whose record was changed meanwhile.
const CHANGED: &str = "was changed after you opened this page, so nothing was done";

/// The version that a form holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// That of the record of its path. Carried out, it gives the record another version.
    Moves,
    /// Likewise, but the change leaves the version: a link of a quote is another record, and without the old secret a
    /// webhook signs as it did.
    Leaves,
    /// None: the form makes a record.
    Makes,
    /// None: the form sends what there is and changes no record.
    Sends,
}
use Holds::{Leaves, Makes, Moves, Sends};

/// Every form of the console that is carried out once.
const FORMS: [(&str, Holds); 27] = [
    ("/webhooks", Makes),
    ("/webhooks/{id}", Moves),
    ("/webhooks/{id}/test", Sends),
    ("/webhooks/{id}/disable", Moves),
    ("/webhooks/{id}/enable", Moves),
    ("/webhooks/{id}/rotate", Moves),
    ("/webhooks/{id}/end-overlap", Leaves),
    ("/webhooks/{id}/remove", Moves),
    ("/webhooks/{id}/deliveries/{event}/replay", Sends),
    ("/webhooks/{id}/replay", Sends),
    ("/keys", Makes),
    ("/keys/{id}/revoke", Moves),
    ("/quotes/{id}/send", Moves),
    ("/quotes/{id}/links", Leaves),
    ("/quotes/{id}/links/{link}/revoke", Leaves),
    ("/quotes/{id}/convert", Leaves),
    ("/invoices", Makes),
    ("/invoices/{id}/issue", Moves),
    ("/invoices/{id}/pay", Moves),
    ("/invoices/{id}/paid", Moves),
    ("/invoices/{id}/credit", Moves),
    ("/invoices/{id}/refund", Moves),
    ("/invoices/{id}/cancel", Moves),
    ("/invoices/{id}/payments/{payment}/reverse", Moves),
    ("/clients", Makes),
    ("/clients/{id}", Moves),
    ("/company", Moves),
];

fn holds(row: &Row) -> Holds {
    FORMS.iter().find(|(route, _)| *route == row.route).expect("a row").1
}

fn id_in<T: std::str::FromStr<Err: std::fmt::Debug>>(path: &str) -> T {
    path.split('/').nth(2).unwrap().parse().unwrap()
}

/// Changes the record of a form behind the back of its page. Returns true if the form still makes sense afterwards.
async fn change(world: &World, route: &str, path: &str) -> bool {
    let company = &world.company;
    match route.split('/').nth(1).unwrap() {
        "webhooks" => {
            let other = WebhookChange::default().url("http://127.0.0.1:8/moved");
            company.webhooks().change(id_in::<WebhookId>(path), &other).await.unwrap();
            true
        }
        "keys" => {
            company.keys().revoke(id_in::<KeyId>(path)).await.unwrap();
            false
        }
        "quotes" => {
            company.quotes().link(id_in::<QuoteId>(path), Some("crm-1")).await.unwrap();
            true
        }
        "clients" => {
            let other = NewClient::named("Moved");
            company.clients().change(id_in::<ClientId>(path), &other).await.unwrap();
            true
        }
        "company" => {
            let count = company.history().list(None, 1_000).await.unwrap().len();
            company.set_identity(&legal_identity().phone(count.to_string())).await.unwrap();
            true
        }
        _ if route == "/invoices/{id}/issue" => {
            company.invoices().cancel(id_in::<InvoiceId>(path)).await.unwrap();
            false
        }
        _ => {
            let payment = NewPayment::new(1, PaymentSource::Bank);
            company.invoices().pay(id_in::<InvoiceId>(path), &payment).await.unwrap();
            !route.ends_with("/cancel")
        }
    }
}

/// Opens the page of a form in several tabs, and fills it in in each.
async fn tabs<const N: usize>(world: &World, browser: &Browser, row: &Row) -> [Open; N] {
    let (page, path) = row.arrange(world).await;
    let mut tabs = Vec::new();
    for _ in 0..N {
        let shown = browser.get(&page).await;
        assert_eq!(shown.status, StatusCode::OK, "{page}");
        tabs.push(row.filled(&shown, path.clone()));
    }
    tabs.try_into().unwrap_or_else(|_| unreachable!("as many as were opened"))
}

/// A form that was refused because of the version: its page again, or the reason if that page is gone.
fn assert_told(shown: &Shown, row: &Row) {
    let is_gone = row.route == "/webhooks/{id}/remove" && shown.status == StatusCode::NOT_FOUND;
    assert!(
        is_gone || shown.status == StatusCode::CONFLICT,
        "{}: {} {}",
        row.route,
        shown.status,
        shown.html
    );
    let is_told = shown.html.contains(CHANGED) || shown.html.contains("It was changed meanwhile");
    assert!(is_gone || is_told, "{}: {}", row.route, shown.html);
}

#[test]
fn every_form_is_in_the_table() {
    let rows: BTreeSet<_> = FORMS.iter().map(|(route, _)| *route).collect();
    // A form of a signing link names the document that it has shown.
    assert_eq!(rows, Console::forms().filter(|path| !path.starts_with("/sign/")).collect());
}

/// Rules: FORM-5
#[on_each_database]
async fn a_form_about_a_record_that_was_changed_meanwhile_changes_nothing(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    for row in &ROWS {
        let [form] = tabs(&world, &browser, row).await;
        let has_version = form.fields.iter().any(|(name, _)| name == "version");
        assert_eq!(has_version, matches!(holds(row), Moves | Leaves), "{}", row.route);
        if !has_version {
            continue;
        }
        world.advance(Duration::from_secs(1));
        let makes_sense = change(&world, row.route, &form.path).await;
        let before = everything(&world).await;
        let refused = form.send(&browser).await;
        assert_told(&refused, row);
        assert_eq!(everything(&world).await, before, "{}", row.route);
        if makes_sense {
            assert!(
                refused.html.contains(CHANGED) && refused.html.contains(row.kept),
                "{}: {}",
                row.route,
                refused.html
            );
            // Who has seen both decides.
            let again = row.filled(&refused, form.path.clone()).send(&browser).await;
            assert!(is_carried_out(&again), "{}: {} {}", row.route, again.status, again.html);
        }
    }
}

/// Rules: FORM-5
#[on_each_database]
async fn of_two_tabs_the_later_one_is_told(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    for row in ROWS.iter().filter(|row| holds(row) == Moves) {
        let [first, second] = tabs(&world, &browser, row).await;
        let done = first.send(&browser).await;
        assert!(is_carried_out(&done), "{}: {}", row.route, done.html);
        let before = everything(&world).await;
        assert_told(&second.send(&browser).await, row);
        assert_eq!(everything(&world).await, before, "{}", row.route);
    }
}

/// Rules: FORM-5
#[on_each_database]
async fn of_tabs_at_the_same_time_one_is_carried_out(db: Database) {
    let world = World::new(db).await;
    let mut browsers = vec![full(&world)];
    if world.database() == Database::Postgres {
        let node = world.node(world.invoicing.env().clone()).await;
        browsers.push(Browser::of(&node, world.company.id(), ConsoleRole::Full));
    }
    for row in ROWS.iter().filter(|row| holds(row) == Moves) {
        let forms: [Open; 3] = tabs(&world, &browsers[0], row).await;
        let sent = forms.iter().enumerate().map(|(tab, form)| form.send(&browsers[tab % browsers.len()]));
        let answers = join_all(sent).await;
        let (done, told): (Vec<_>, Vec<_>) = answers.iter().partition(|shown| is_carried_out(shown));
        assert_eq!(done.len(), 1, "{}", row.route);
        // Few documents are rendered at once.
        told.iter()
            .filter(|shown| shown.status != StatusCode::SERVICE_UNAVAILABLE)
            .for_each(|shown| assert_told(shown, row));
    }
}

/// Rules: FORM-5
#[on_each_database]
async fn a_webhook_that_was_changed_meanwhile_is_not_overwritten(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let row = ROWS.iter().find(|row| row.route == "/webhooks/{id}").unwrap();
    let (page, path) = row.arrange(&world).await;
    let id = world.company.webhooks().list().await.unwrap()[0].id;
    let older = row.filled(&browser.get(&page).await, path.clone());
    let kinds = [("url", "http://127.0.0.1:8/hook"), ("events", "quote.created"), ("events", "invoice.paid")];
    assert_eq!(browser.fill(&page, &path, &kinds).await.status, StatusCode::SEE_OTHER);
    let stored = world.company.webhooks().get(id).await.unwrap();

    let refused = older.send(&browser).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    for part in [
        "value=\"http://127.0.0.1:8/other\"",
        "<code>http://127.0.0.1:8/hook</code>",
        "quote.created, invoice.paid",
    ] {
        assert!(refused.html.contains(part), "{part}: {}", refused.html);
    }
    assert_eq!(world.company.webhooks().get(id).await.unwrap(), stored);
    // A form that has seen no state is refused likewise.
    let token = browser.console.form_token(world.company.id(), &path);
    let seen = [("url", "http://127.0.0.1:8/other"), ("events", "invoice.paid"), ("form", &*token)];
    let blind = browser.post_bare(&path, &seen).await;
    assert_eq!(blind.status, StatusCode::CONFLICT);
    // Who has seen both decides.
    assert_eq!(row.filled(&refused, path).send(&browser).await.status, StatusCode::SEE_OTHER);
    assert_eq!(world.company.webhooks().get(id).await.unwrap().url, "http://127.0.0.1:8/other");
}

/// Rules: FORM-5
#[on_each_database]
async fn of_edits_at_the_same_time_one_is_stored(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let row = ROWS.iter().find(|row| row.route == "/webhooks/{id}").unwrap();
    for _ in 0..5 {
        let (page, path) = row.arrange(&world).await;
        let mut forms = Vec::new();
        for url in ["http://127.0.0.1:8/1", "http://127.0.0.1:8/2", "http://127.0.0.1:8/3"] {
            let mut form = row.filled(&browser.get(&page).await, path.clone());
            form.fields.retain(|(name, _)| name != "url");
            form.fields.push(("url".to_owned(), url.to_owned()));
            forms.push(form);
        }
        let answers = join_all(forms.iter().map(|form| form.send(&browser))).await;
        let mut statuses: Vec<_> = answers.iter().map(|shown| shown.status.as_u16()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 409, 409]);
    }
}

/// Rules: FORM-5
#[on_each_database]
async fn a_quote_that_was_changed_meanwhile_is_not_sent(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let row = ROWS.iter().find(|row| row.route == "/quotes/{id}/send").unwrap();
    let (page, path) = row.arrange(&world).await;
    let id: QuoteId = page.split('/').nth(2).unwrap().parse().unwrap();
    let older = row.filled(&browser.get(&page).await, path.clone());
    world.advance(Duration::from_secs(1));
    world.company.quotes().link(id, Some("crm-1")).await.unwrap();
    let refused = older.send(&browser).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert!(refused.html.contains("was changed after you opened this page"), "{}", refused.html);
    assert!(refused.html.contains("value=\"2027-03-04\""), "{}", refused.html);
    assert_eq!(world.company.quotes().get(id).await.unwrap().summary.sent_at, None);
    assert_eq!(row.filled(&refused, path).send(&browser).await.status, StatusCode::SEE_OTHER);
}
