//! Every form that changes something is carried out once.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use http::StatusCode;
use invoicing_core::{EventId, Plan};
use invoicing_server::{
    Console, ConsoleRole, ConsoleSession, ContentHash, HistoryRecord, Language, NewPayment, PaymentSource,
    SignInDecision,
};
use invoicing_tests::{Database, World, on_each_database};

use super::answers::SECRETS;
use super::{Browser, PREFIX, Shown};
use crate::support::{DAY, emit, hook};

/// How the second answer begins.
const DONE: &str = "<h1>Already done</h1>";

/// A form that changes something.
pub(super) struct Row {
    /// Its path, as the console's table of routes has it.
    pub(super) route: &'static str,
    fields: &'static [(&'static str, &'static str)],
    /// Notes that it leaves in the history.
    notes: usize,
    /// A part of the page that comes again, by which what was entered is seen.
    pub(super) kept: &'static str,
}

const fn row(
    route: &'static str,
    fields: &'static [(&'static str, &'static str)],
    kept: &'static str,
) -> Row {
    Row { route, fields, notes: 1, kept }
}

const TARGET: &[(&str, &str)] = &[("url", "http://127.0.0.1:8/other"), ("events", "invoice.paid")];
const TARGET_KEPT: &str = "value=\"http://127.0.0.1:8/other\"";

const LINE: &[(&str, &str)] = &[
    ("lines[0].description", "Pose"),
    ("lines[0].quantity", "1"),
    ("lines[0].unitPrice", "12.50"),
    ("lines[0].tvaRate", "20"),
];

pub(super) const COMPANY: &[(&str, &str)] = &[
    ("address", "12 rue des Métiers"),
    ("zipCode", "44800"),
    ("city", "Saint-Herblain"),
    ("siret", "732 829 320 00074"),
    ("vatNumber", "FR44732829320"),
    ("vatRegime", "STANDARD"),
    ("vatOnDebits", "ON"),
    ("operations", "MIXED"),
    ("eInvoicing", "OFF"),
];

/// Every form of the console but those of the signing page, whose state decides about them.
pub(super) const ROWS: [Row; 27] = [
    row("/webhooks", TARGET, TARGET_KEPT),
    row("/webhooks/{id}", TARGET, TARGET_KEPT),
    row("/webhooks/{id}/test", &[], ""),
    row("/webhooks/{id}/disable", &[], ""),
    // It is enabled, and what it has missed is sent.
    Row {
        notes: 2,
        ..row("/webhooks/{id}/enable", &[("replay", "1")], "name=\"replay\" value=\"1\" checked")
    },
    row("/webhooks/{id}/rotate", &[("overlap", "168")], "value=\"168\" selected"),
    row("/webhooks/{id}/end-overlap", &[], ""),
    row("/webhooks/{id}/remove", &[], ""),
    row("/webhooks/{id}/deliveries/{event}/replay", &[], ""),
    row("/webhooks/{id}/replay", &[], "Send again: 1"),
    row("/keys", &[("label", "CRM of <b>")], "value=\"CRM of &lt;b&gt;\""),
    row("/keys/{id}/revoke", &[], ""),
    row("/quotes/{id}/send", &[("validUntil", "2027-03-04")], "value=\"2027-03-04\""),
    row("/quotes/{id}/links", &[], ""),
    row("/quotes/{id}/links/{link}/revoke", &[], ""),
    row("/quotes/{id}/convert", &[], ""),
    // Its quote is created, accepted and converted.
    Row { notes: 3, ..row("/invoices", LINE, "value=\"12.50\"") },
    row("/invoices/{id}/issue", &[("orderNumber", "PO <b>")], "value=\"PO &lt;b&gt;\""),
    row("/invoices/{id}/pay", &[("amount", "12.5")], "value=\"12.5\""),
    row("/invoices/{id}/paid", &[], ""),
    row("/invoices/{id}/credit", &[("reason", "Geste")], "Geste</textarea>"),
    row("/invoices/{id}/refund", &[("amount", "1.5")], "value=\"1.5\""),
    row("/invoices/{id}/cancel", &[], ""),
    row("/invoices/{id}/payments/{payment}/reverse", &[], ""),
    row("/clients", &[("name", "Léa <b>")], "value=\"Léa &lt;b&gt;\""),
    row("/clients/{id}", &[("name", "Léa"), ("billingAddress.city", "Lyon <b>")], "value=\"Lyon &lt;b&gt;\""),
    row("/company", COMPANY, "value=\"Saint-Herblain\""),
];

/// A form on a page that is open in the browser.
pub(super) struct Open {
    pub(super) path: String,
    pub(super) fields: Vec<(String, String)>,
}

impl Row {
    /// Creates the record of the form. Returns the page with the form, and its target.
    pub(super) async fn arrange(&self, world: &World) -> (String, String) {
        match self.route {
            "/webhooks" => ("/webhooks/new".to_owned(), self.route.to_owned()),
            "/keys" => ("/keys/new".to_owned(), self.route.to_owned()),
            "/clients" => ("/clients/new".to_owned(), self.route.to_owned()),
            "/company" => (self.route.to_owned(), self.route.to_owned()),
            "/clients/{id}" => {
                let path = format!("/clients/{}", world.client("Claire").await);
                (path.clone(), path)
            }
            route if route.starts_with("/keys") => {
                let key = world.company.keys().issue("old").await.unwrap().record.id;
                let path = format!("/keys/{key}/revoke");
                (path.clone(), path)
            }
            route if route.starts_with("/invoices") || route.ends_with("/convert") => {
                self.arrange_invoice(world).await
            }
            route if route.starts_with("/quotes") => self.arrange_quote(world).await,
            _ => self.arrange_webhook(world).await,
        }
    }

    async fn arrange_quote(&self, world: &World) -> (String, String) {
        let quote = if self.route == "/quotes/{id}/send" { world.draft().await } else { world.sent().await };
        let id = quote.summary.id;
        let path = self.route.replace("{id}", &id.to_string());
        match self.route {
            "/quotes/{id}/links" => (format!("/quotes/{id}"), path),
            "/quotes/{id}/send" => (path.clone(), path),
            _ => {
                let link = world.company.quotes().create_signing_link(id).await.unwrap();
                let link = ContentHash::of(link.reveal().as_bytes()).to_string();
                let path = path.replace("{link}", &link);
                (path.clone(), path)
            }
        }
    }

    async fn arrange_invoice(&self, world: &World) -> (String, String) {
        let (quote, invoices) = (world.accepted().await.summary, world.company.invoices());
        let (page, path) =
            (format!("/quotes/{}", quote.id), self.route.replace("{id}", &quote.id.to_string()));
        match self.route {
            "/quotes/{id}/convert" => return (page, path),
            "/invoices" => return (format!("/invoices/new?client={}", quote.client_id), path),
            _ => {}
        }
        let id = invoices.convert(quote.id).await.unwrap().summary.id;
        let mut path = self.route.replace("{id}", &id.to_string());
        if self.route != "/invoices/{id}/issue" {
            invoices.issue(id, None).await.unwrap();
        }
        if self.route.ends_with("/refund") || self.route.ends_with("/reverse") {
            let payment = NewPayment::new(5_000, PaymentSource::Entered);
            let payment = invoices.pay(id, &payment).await.unwrap().payment.id;
            path = path.replace("{payment}", &payment.to_string());
        }
        if self.route.ends_with("/credit") {
            return (format!("{path}/review?what=rest"), path);
        }
        (path.clone(), path)
    }

    async fn arrange_webhook(&self, world: &World) -> (String, String) {
        let webhooks = world.company.webhooks();
        let id = hook(world, "http://127.0.0.1:8/hook").await.webhook.id;
        webhooks.disable(id).await.unwrap();
        // Skipped, so that it can be sent again.
        let EventId(event) = emit(world, 1).await[0];
        if self.route != "/webhooks/{id}/enable" {
            webhooks.enable(id).await.unwrap();
        }
        if self.route == "/webhooks/{id}/end-overlap" {
            webhooks.rotate_with_overlap(id, 7 * DAY).await.unwrap();
        }
        let path = self.route.replace("{id}", &id.to_string()).replace("{event}", &event.to_string());
        let page = match self.route {
            "/webhooks/{id}/replay" => format!("{path}?last=24"),
            "/webhooks/{id}/rotate" | "/webhooks/{id}/remove" => path.clone(),
            "/webhooks/{id}/deliveries/{event}/replay" => path.trim_end_matches("/replay").to_owned(),
            _ => format!("/webhooks/{id}"),
        };
        (page, path)
    }

    /// Opens the page and fills in the form.
    async fn open(&self, world: &World, browser: &Browser) -> Open {
        let (page, path) = self.arrange(world).await;
        let shown = browser.get(&page).await;
        assert_eq!(shown.status, StatusCode::OK, "{page}");
        self.filled(&shown, path)
    }

    pub(super) fn filled(&self, shown: &Shown, path: String) -> Open {
        let mut fields = shown.hidden(&path);
        fields.extend(self.fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Open { path, fields }
    }
}

impl Open {
    /// Sends it. If it was carried out before, returns the page that the answer leads to.
    pub(super) async fn send(&self, browser: &Browser) -> Shown {
        let answer = browser.post_bare(&self.path, &self.fields).await;
        let is_second =
            answer.status == StatusCode::SEE_OTHER && answer.location().starts_with("/carried-out?");
        if is_second { browser.get(answer.location()).await } else { answer }
    }

    /// With another token; without one for `None`.
    fn with_token(&self, token: Option<&str>) -> Self {
        let mut fields = self.fields.clone();
        fields.retain(|(name, _)| name != "form");
        fields.extend(token.map(|token| ("form".to_owned(), token.to_owned())));
        Self { path: self.path.clone(), fields }
    }
}

pub(super) fn full(world: &World) -> Browser {
    Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full)
}

/// The actions of people, latest first.
async fn history(world: &World) -> Vec<HistoryRecord> {
    world.company.history().list(None, 1_000).await.unwrap()
}

/// Every row, without the keys' use, which requests to the pages do not count.
pub(super) async fn everything(world: &World) -> (Vec<String>, String) {
    (world.dump().await, format!("{:?}", world.company.keys().list().await.unwrap()))
}

/// The first answer to a form that was carried out.
pub(super) fn is_carried_out(shown: &Shown) -> bool {
    let is_page = shown.status == StatusCode::OK && !shown.html.contains(DONE);
    is_page || shown.status == StatusCode::SEE_OTHER
}

#[test]
fn every_form_of_the_console_has_a_row() {
    let rows: BTreeSet<_> = ROWS.iter().map(|row| row.route).collect();
    assert_eq!(rows, Console::forms().filter(|path| !path.starts_with("/sign/")).collect());
}

/// Rules: FORM-1, FORM-2
#[on_each_database]
async fn a_form_that_is_sent_again_changes_nothing_and_leads_to_its_outcome(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let mut sent = Vec::new();
    for row in &ROWS {
        let form = row.open(&world, &browser).await;
        let before = history(&world).await.len();
        let first = form.send(&browser).await;
        assert!(is_carried_out(&first), "{}: {} {}", row.route, first.status, first.html);
        if first.status == StatusCode::SEE_OTHER {
            let page = first.location().split('#').next().unwrap();
            assert_eq!(browser.get(page).await.status, StatusCode::OK, "{}: {page}", row.route);
        }
        assert_eq!(history(&world).await.len(), before + row.notes, "{}", row.route);

        let after = everything(&world).await;
        for _ in 0..2 {
            assert_second(&form.send(&browser).await, row.route);
        }
        assert_eq!(everything(&world).await, after, "{}", row.route);
        let second = form.send(&browser).await;
        let link = second.page().attr("a[class=button]", "href");
        let link = link.strip_prefix(PREFIX).unwrap().split('#').next().unwrap();
        assert_eq!(browser.get(link).await.status, StatusCode::OK, "{}: {link}", row.route);
        sent.push((row.route, form));
    }
    // After a restart too.
    drop(browser);
    let world = world.reopen().await;
    let browser = full(&world);
    let after = everything(&world).await;
    for (route, form) in &sent {
        assert_second(&form.send(&browser).await, route);
    }
    assert_eq!(everything(&world).await, after);
}

fn assert_second(shown: &Shown, route: &str) {
    assert_eq!(shown.status, StatusCode::OK, "{route}: {}", shown.html);
    assert!(shown.html.contains(DONE) && shown.html.contains("Anna"), "{route}: {}", shown.html);
    for secret in SECRETS {
        assert!(!shown.html.contains(secret), "{route}: {}", shown.html);
    }
}

/// Rules: FORM-2
#[on_each_database]
async fn the_page_of_a_second_answer_is_there_for_a_day_and_for_its_role(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let row = ROWS.iter().find(|row| row.route == "/keys/{id}/revoke").unwrap();
    let form = row.open(&world, &browser).await;
    let unspent = browser.console.form_token(world.company.id(), &form.path);
    form.send(&browser).await;
    let second = browser.post_bare(&form.path, &form.fields).await;
    assert_eq!(second.status, StatusCode::SEE_OTHER, "{}", second.html);
    let address = second.location();
    for _ in 0..2 {
        assert_second(&browser.get(address).await, row.route);
    }
    let readers = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::ReadOnly);
    assert_eq!(readers.get(address).await.status, StatusCode::FORBIDDEN);
    let (other, _) = world.another("Other", Plan::Team).await;
    let others = Browser::of(&world.invoicing, other.id(), ConsoleRole::Full);
    assert_eq!(others.get(address).await.status, StatusCode::NOT_FOUND);
    let token = form.fields.iter().find(|(name, _)| name == "form").unwrap().1.as_str();
    for (token, target) in
        [(&*unspent, &*form.path), (token, "/keys"), (token, "/nothing"), ("", &*form.path), (token, "")]
    {
        let query = form_urlencoded::Serializer::new(String::new());
        let query = { query }.extend_pairs([("form", token), ("target", target)]).finish();
        let shown = browser.get(&format!("/carried-out?{query}")).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{query}");
    }
    world.advance(DAY + Duration::from_secs(1));
    assert_eq!(browser.get(address).await.status, StatusCode::NOT_FOUND);
}

#[on_each_database]
async fn a_secret_that_is_lost_has_a_way_to_a_new_one(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    for (route, link, text) in [
        ("/webhooks", "/rotate", "Rotate the secret"),
        ("/webhooks/{id}/rotate", "/rotate", "Rotate the secret"),
        ("/keys", "/revoke", "Revoke this key"),
        ("/quotes/{id}/links", "#links", "Signing links"),
    ] {
        let row = ROWS.iter().find(|row| row.route == route).unwrap();
        let form = row.open(&world, &browser).await;
        let first = form.send(&browser).await;
        assert!(SECRETS.iter().any(|secret| first.html.contains(secret)), "{route}: {}", first.html);
        let second = form.send(&browser).await;
        assert!(second.html.contains("not shown again"), "{route}: {}", second.html);
        assert!(second.page().texts(&format!("a[href$='{link}']")).contains(&text.to_owned()), "{route}");
    }
}

/// Rules: FORM-1
#[on_each_database]
async fn of_clicks_at_the_same_time_one_is_carried_out(db: Database) {
    let world = World::new(db).await;
    let mut browsers = vec![full(&world)];
    if world.database() == Database::Postgres {
        let node = world.node(world.invoicing.env().clone()).await;
        browsers.push(Browser::of(&node, world.company.id(), ConsoleRole::Full));
    }
    for row in &ROWS {
        let form = row.open(&world, &browsers[0]).await;
        let before = history(&world).await.len();
        let clicks = (0..6).map(|click| form.send(&browsers[click % browsers.len()]));
        let answers = join_all(clicks).await;
        let done = answers.iter().filter(|shown| is_carried_out(shown)).count();
        // Few documents are rendered at once.
        let later =
            |shown: &&Shown| shown.html.contains(DONE) || shown.status == StatusCode::SERVICE_UNAVAILABLE;
        let later = answers.iter().filter(later).count();
        let statuses: Vec<_> = answers.iter().map(|shown| shown.status).collect();
        assert_eq!((done, later), (1, 5), "{}: {statuses:?}", row.route);
        assert_eq!(history(&world).await.len(), before + row.notes, "{}", row.route);
    }
}

/// Rules: FORM-1
#[on_each_database]
async fn a_form_whose_answer_was_lost_is_carried_out_once_all_the_same(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let row = ROWS.iter().find(|row| row.route == "/keys").unwrap();
    for polls in 1..20 {
        let form = row.open(&world, &browser).await;
        let before = world.company.keys().list().await.unwrap().len();
        let mut lost = Box::pin(form.send(&browser));
        for _ in 0..polls {
            if futures_util::poll!(&mut lost).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(lost);
        let again = form.send(&browser).await;
        assert_eq!(again.status, StatusCode::OK, "{}", again.html);
        assert_eq!(world.company.keys().list().await.unwrap().len(), before + 1, "after {polls} polls");
    }
}

/// Rules: FORM-3
#[on_each_database]
async fn a_form_that_is_too_old_or_foreign_comes_again_as_it_was_filled_in(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let (other, _) = world.another("Other", Plan::Team).await;
    for row in &ROWS {
        let form = row.open(&world, &browser).await;
        let token = |company, path: &str| browser.console.form_token(company, path);
        let foreign = token(other.id(), &form.path);
        let of_other_form = token(world.company.id(), "/webhooks/x");
        let before = everything(&world).await;
        for token in [None, Some(""), Some("x"), Some(&*foreign), Some(&*of_other_form)] {
            assert_again(&form.with_token(token).send(&browser).await, row);
        }
        world.advance(DAY + Duration::from_secs(1));
        let again = form.send(&browser).await;
        assert_again(&again, row);
        assert_eq!(everything(&world).await, before, "{}", row.route);
        // The form that has come again is good.
        let carried_out = row.filled(&again, form.path.clone()).send(&browser).await;
        assert!(is_carried_out(&carried_out), "{}: {}", row.route, carried_out.html);
    }
}

fn assert_again(shown: &Shown, row: &Row) {
    assert_eq!(shown.status, StatusCode::CONFLICT, "{}: {}", row.route, shown.html);
    assert!(shown.html.contains("Nothing was changed: "), "{}: {}", row.route, shown.html);
    assert!(shown.html.contains(row.kept), "{}: {} {}", row.route, row.kept, shown.html);
}

/// Rules: FORM-2
#[on_each_database]
async fn a_refused_form_can_be_corrected_and_sent_again(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let form = ROWS.iter().find(|row| row.route == "/keys").unwrap().open(&world, &browser).await;
    let mut empty = form.with_token(None);
    empty.fields = form.fields.iter().filter(|(name, _)| name == "form").cloned().collect();
    assert_eq!(empty.send(&browser).await.status, StatusCode::BAD_REQUEST);
    assert!(is_carried_out(&form.send(&browser).await));
}

/// A form that enters what is stored already.
async fn unneeded(world: &World, browser: &Browser) -> Open {
    let row = ROWS.iter().find(|row| row.route == "/webhooks/{id}").unwrap();
    let mut form = row.open(world, browser).await;
    let webhook = world.company.webhooks().list().await.unwrap().remove(0);
    form.fields.retain(|(name, _)| !matches!(&**name, "url" | "events"));
    form.fields.push(("url".to_owned(), webhook.url));
    form.fields.extend(webhook.events.iter().map(|kind| ("events".to_owned(), kind.to_string())));
    form
}

/// Rules: FORM-1
#[on_each_database]
async fn a_form_with_nothing_to_change_is_over_too(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let form = unneeded(&world, &browser).await;
    let before = history(&world).await;
    assert!(is_carried_out(&form.send(&browser).await));
    assert_eq!(history(&world).await, before);
    assert!(form.send(&browser).await.html.contains(DONE));
}

/// Rules: FORM-4
#[on_each_database]
async fn spent_tokens_are_deleted_after_two_days(db: Database) {
    let world = World::new(db).await;
    let browser = full(&world);
    let form = ROWS.iter().find(|row| row.route == "/keys").unwrap().open(&world, &browser).await;
    form.send(&browser).await;
    // One that has nothing to change spends its token as well.
    assert!(is_carried_out(&unneeded(&world, &browser).await.send(&browser).await));
    let count = "SELECT count(*) FROM spent_form";
    for (hours, left) in [(24, 2), (23, 2), (2, 0)] {
        world.advance(Duration::from_hours(hours));
        world.invoicing.sweep().await.unwrap();
        assert_eq!(world.behind().await.one::<i64>(count, &[]).await, left);
    }
    assert_eq!(form.send(&browser).await.status, StatusCode::CONFLICT);
    assert_eq!(world.company.keys().list().await.unwrap().len(), 2);
}

#[on_each_database]
async fn second_answers_and_refusals_are_in_the_language_of_the_session(db: Database) {
    let world = World::new(db).await;
    let session =
        ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full).language(Language::French);
    let browser = Browser::with(&world.invoicing, world.company.id(), move |_| {
        SignInDecision::Granted(session.clone())
    });
    let row = ROWS.iter().find(|row| row.route == "/webhooks/{id}").unwrap();
    let form = row.open(&world, &browser).await;
    let older = row.filled(&browser.get(&form.path).await, form.path.clone());
    assert!(is_carried_out(&form.send(&browser).await));
    for (form, status, part) in [
        (&form, StatusCode::OK, "<h1>Déjà fait</h1>"),
        (&form.with_token(None), StatusCode::CONFLICT, "Rien n’a été modifié"),
        (&older, StatusCode::CONFLICT, "a été modifié après l’ouverture de cette page"),
    ] {
        let shown = form.send(&browser).await;
        assert!(shown.status == status && shown.html.contains(part), "{part}: {}", shown.html);
    }
}
