//! Who may see and change what.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version, header};
use http_body_util::{BodyExt, Full};
use invoicing_core::{
    ClientId, CreditNoteId, EventId, InvoiceId, KeyId, NewCreditNote, PaymentId, Plan, QuoteId, WebhookId,
};
use invoicing_server::{
    ClientQuery, ConsoleAction, ConsoleRole, ConsoleSession, ConsoleSettings, ContentHash, DeliveryRecord,
    InvoiceQuery, Language, NewPayment, PaymentSource, QuoteSearch, SignInDecision, Theme, Webhook,
};
use invoicing_tests::{Database, World, on_each_database};

use super::once::COMPANY;
use super::{Browser, ORIGIN, PREFIX};
use crate::support::page::Page;
use crate::support::{emit, events, hook};

const URL: &str = "http://127.0.0.1:8/hook";
/// The parts of its URL that pages show.
const SHOWN_URL: &str = "http://127.0.0.1:8/..";

/// The records that the pages show.
pub(super) struct Records {
    webhook: WebhookId,
    /// One whose delivery to the webhook was skipped, so that it can be sent again.
    event: EventId,
    key: KeyId,
    pub(super) quote: QuoteId,
    /// The SHA-256 of the quote's document.
    document: String,
    /// The identifier of the quote's signing link.
    link: String,
    /// An issued invoice with a payment and a credit note.
    invoice: InvoiceId,
    payment: PaymentId,
    note: CreditNoteId,
    client: ClientId,
}

impl Records {
    pub(super) async fn of(world: &World) -> Self {
        // Before there is a webhook, which would get the events.
        let invoices = world.company.invoices();
        let quote = world.accepted().await.summary;
        let (invoice, client) = (invoices.convert(quote.id).await.unwrap().summary.id, quote.client_id);
        invoices.issue(invoice, None).await.unwrap();
        let payment = invoices.pay(invoice, &NewPayment::new(10, PaymentSource::Entered)).await.unwrap();
        let note = NewCreditNote::new("Geste").reduction("Geste", 10, 1);
        let note = invoices.credit(invoice, &note).await.unwrap().summary.id;
        let payment = payment.payment.id;
        let webhook = hook(world, URL).await.webhook.id;
        world.company.webhooks().disable(webhook).await.unwrap();
        let event = emit(world, 1).await[0];
        world.company.webhooks().enable(webhook).await.unwrap();
        let key = world.company.keys().list().await.unwrap()[0].id;
        let quote = world.sent().await.summary.id;
        let document = world.company.quotes().documents(quote).await.unwrap().remove(0).sha256;
        let link = world.company.quotes().create_signing_link(quote).await.unwrap();
        let link = ContentHash::of(link.reveal().as_bytes()).to_string();
        Self { webhook, event, key, quote, document, link, invoice, payment, note, client }
    }

    fn are_in(&self, path: &str) -> bool {
        let Self { webhook, event, key, quote, invoice, note, client, .. } = self;
        let records = [webhook.to_string(), event.to_string(), key.to_string(), quote.to_string()];
        let others = [invoice.to_string(), note.to_string(), client.to_string()];
        records.iter().chain(&others).any(|id| path.contains(id))
    }
}

/// Every page, and every form with fields that it takes.
pub(super) fn pages(records: &Records) -> Vec<String> {
    let Records { webhook, event, key, quote, link, .. } = records;
    let delivery = format!("/deliveries/{event}");
    let of_webhook = ["", "/rotate", "/remove", "/deliveries", &delivery, "/replay", "/replay?last=24"]
        .map(|page| format!("/webhooks/{webhook}{page}"));
    let of_others = [format!("/keys/{key}/revoke"), format!("/events/{event}")];
    let of_quote =
        ["", "/send", &format!("/links/{link}/revoke")].map(|page| format!("/quotes/{quote}{page}"));
    let lists = ["/", "/webhooks", "/webhooks/new", "/events", "/history", "/keys", "/keys/new", "/quotes"];
    let lists = lists.into_iter().chain(["/quotes?q=x&status=SENT"]).map(str::to_owned);
    lists.chain(of_webhook).chain(of_others).chain(of_quote).chain(document_pages(records)).collect()
}

fn document_pages(records: &Records) -> Vec<String> {
    let Records { invoice, payment, note, client, .. } = records;
    let reverse = format!("/payments/{payment}/reverse");
    let review = "/credit/review?what=part&amount=1&tvaRate=10";
    let of_invoice = ["", "/issue", "/pay", "/paid", "/credit", review, "/refund", "/cancel", &reverse];
    let of_invoice = of_invoice.map(|page| format!("/invoices/{invoice}{page}"));
    let lists = ["/invoices", "/invoices?status=SENT", "/invoices/new", "/credit-notes"].map(str::to_owned);
    let others = [
        format!("/invoices/new?client={client}"),
        format!("/credit-notes/{note}"),
        format!("/clients/{client}"),
        "/clients?q=x".to_owned(),
        "/clients/new".to_owned(),
        "/company".to_owned(),
    ];
    lists.into_iter().chain(of_invoice).chain(others).collect()
}

/// The pages, and what is downloaded.
fn all(records: &Records) -> impl Iterator<Item = String> {
    let document = format!("/quotes/{}/documents/{}", records.quote, records.document);
    let invoice = format!("/invoices/{}/document", records.invoice);
    let note = format!("/credit-notes/{}/document", records.note);
    pages(records).into_iter().chain([document, invoice, note])
}

fn forms(records: &Records) -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let Records { webhook, event, key, quote, link, invoice, payment, client, .. } = records;
    let target = vec![("url", "http://127.0.0.1:8/other"), ("events", "quote.created")];
    let of_webhook = |verb: &str, fields| (format!("/webhooks/{webhook}{verb}"), fields);
    let of_quote = |verb: &str| (format!("/quotes/{quote}{verb}"), Vec::new());
    let of_invoice = |verb: &str, fields| (format!("/invoices/{invoice}{verb}"), fields);
    vec![
        ("/webhooks".to_owned(), target.clone()),
        of_webhook("", target),
        of_webhook("/test", Vec::new()),
        of_webhook(&format!("/deliveries/{event}/replay"), Vec::new()),
        of_webhook("/replay", vec![("since", "2026-01-01T00:00:00.000Z")]),
        of_webhook("/disable", Vec::new()),
        of_webhook("/enable", vec![("replay", "1")]),
        of_webhook("/rotate", vec![("overlap", "24")]),
        of_webhook("/end-overlap", Vec::new()),
        of_webhook("/remove", Vec::new()),
        ("/keys".to_owned(), vec![("label", "CRM")]),
        (format!("/keys/{key}/revoke"), Vec::new()),
        of_quote("/send"),
        of_quote("/links"),
        of_quote(&format!("/links/{link}/revoke")),
        of_quote("/convert"),
        ("/invoices".to_owned(), vec![("lines[0].description", "x"), ("lines[0].unitPrice", "1")]),
        of_invoice("/issue", Vec::new()),
        of_invoice("/pay", vec![("amount", "1")]),
        of_invoice("/paid", Vec::new()),
        of_invoice("/credit", vec![("reason", "x"), ("what", "rest")]),
        of_invoice("/refund", vec![("amount", "1")]),
        of_invoice("/cancel", Vec::new()),
        of_invoice(&format!("/payments/{payment}/reverse"), Vec::new()),
        ("/clients".to_owned(), vec![("name", "x")]),
        (format!("/clients/{client}"), vec![("name", "x")]),
        ("/company".to_owned(), COMPANY.to_vec()),
    ]
}

/// The state that the forms could change.
async fn state(world: &World) -> (Vec<Webhook>, Vec<DeliveryRecord>, String) {
    let mut deliveries = Vec::new();
    for event in events(&world.company).await {
        deliveries.extend(world.company.events().deliveries(event.id).await.unwrap());
    }
    let (keys, quotes) = (world.company.keys().list().await.unwrap(), world.company.quotes());
    let found = quotes.search(&QuoteSearch::default(), 100).await.unwrap();
    let mut links = Vec::new();
    for quote in &found.items {
        links.push(quotes.signing_links(quote.id).await.unwrap());
    }
    let invoices = world.company.invoices().list(&InvoiceQuery::default()).await.unwrap();
    let clients = world.company.clients().list(&ClientQuery::default()).await.unwrap();
    let company = world.company.details().await.unwrap();
    let others = format!("{keys:?} {found:?} {links:?} {:?} {:?} {company:?}", invoices.data, clients.data);
    (world.company.webhooks().list().await.unwrap(), deliveries, others)
}

#[on_each_database]
async fn a_form_of_another_site_is_refused_and_changes_nothing(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let before = state(&world).await;
    let foreign: [&[(&str, &str)]; 5] = [
        &[],
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        &[("sec-fetch-site", "same-site"), ("origin", ORIGIN)],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
    ];
    for (path, fields) in forms(&records) {
        for headers in foreign {
            let shown = browser.post_from(&path, &fields, headers).await;
            assert_eq!(shown.status, StatusCode::FORBIDDEN, "{path} {headers:?}");
        }
    }
    assert_eq!(state(&world).await, before);
    // A browser on a site without TLS sends the origin of the form in `Origin` alone.
    let own = browser
        .post_from(&format!("/webhooks/{}/disable", records.webhook), &[], &[("origin", ORIGIN)])
        .await;
    assert_eq!(own.status, StatusCode::SEE_OTHER);
}

#[on_each_database]
async fn without_a_session_there_is_nothing_to_see_or_to_change(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let before = state(&world).await;
    let signed_out = Browser::with(&world.invoicing, world.company.id(), |_| {
        SignInDecision::Redirect("/login".to_owned())
    });
    let stranger = Browser::with(&world.invoicing, world.company.id(), |_| SignInDecision::Forbidden);
    for path in all(&records) {
        let shown = signed_out.get(&path).await;
        assert_eq!(
            (shown.status, &shown.headers[header::LOCATION]),
            (StatusCode::SEE_OTHER, &"/login".parse().unwrap())
        );
        let shown = stranger.get(&path).await;
        assert_eq!(shown.status, StatusCode::FORBIDDEN);
        assert!(!shown.html.contains(URL));
    }
    for (path, fields) in forms(&records) {
        let refused = signed_out.post(&path, &fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert_eq!(refused.page().text("a[href='/login']"), "Sign in again");
        assert_eq!(stranger.post(&path, &fields).await.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(state(&world).await, before);
}

#[on_each_database]
async fn a_role_sees_everything_and_does_what_it_includes(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let before = state(&world).await;
    let reader = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::ReadOnly);
    let shown = reader.get(&format!("/webhooks/{}", records.webhook)).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(shown.html.contains(SHOWN_URL) && !shown.page().has("form"), "{}", shown.html);
    for (path, fields) in forms(&records) {
        assert_eq!(reader.post(&path, &fields).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(state(&world).await, before);

    let tester = ConsoleRole::Actions(BTreeSet::from([ConsoleAction::TestWebhooks]));
    let tester = Browser::of(&world.invoicing, world.company.id(), tester);
    for (path, fields) in forms(&records) {
        let expected = if path.ends_with("/test") { StatusCode::SEE_OTHER } else { StatusCode::FORBIDDEN };
        assert_eq!(tester.post(&path, &fields).await.status, expected, "{path}");
    }

    // Sending again is a permission of its own.
    let manager = ConsoleRole::Actions(BTreeSet::from([ConsoleAction::ManageWebhooks]));
    let manager = Browser::of(&world.invoicing, world.company.id(), manager);
    world.company.webhooks().disable(records.webhook).await.unwrap();
    let enable = format!("/webhooks/{}/enable", records.webhook);
    assert_eq!(manager.post(&enable, &[("replay", "1")]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(manager.post(&enable, &[]).await.status, StatusCode::SEE_OTHER);
}

/// Path and query may carry a token of the receiver.
///
/// Rules: PAGE-1
#[on_each_database]
async fn only_the_form_of_a_webhook_shows_its_whole_address(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let form = format!("/webhooks/{}", records.webhook);
    for role in [
        ConsoleRole::ReadOnly,
        ConsoleRole::Actions(BTreeSet::from([ConsoleAction::TestWebhooks])),
        ConsoleRole::Full,
    ] {
        let may_manage = role == ConsoleRole::Full;
        let browser = Browser::of(&world.invoicing, world.company.id(), role);
        let mut shown_on = 0;
        for path in pages(&records) {
            let html = browser.get(&path).await.html;
            let expected = usize::from(may_manage && path == form);
            assert_eq!(html.matches(URL).count(), expected, "{path}");
            assert_eq!(html.matches(&format!("value=\"{URL}\"")).count(), expected, "{path}");
            shown_on += usize::from(html.contains(SHOWN_URL));
        }
        assert!(shown_on >= 5, "{shown_on} pages name the receiver");
    }
}

#[on_each_database]
async fn another_company_s_records_are_not_found(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let (other, _) = world.another("Other", Plan::Team).await;
    let browser = Browser::of(&world.invoicing, other.id(), ConsoleRole::Full);
    let before = state(&world).await;
    for path in all(&records) {
        let shown = browser.get(&path).await;
        let expected = if records.are_in(&path) { StatusCode::NOT_FOUND } else { StatusCode::OK };
        assert_eq!(shown.status, expected, "{path}");
        assert!(!shown.html.contains(URL), "{path}");
    }
    for (path, fields) in forms(&records) {
        if records.are_in(&path) {
            assert_eq!(browser.post(&path, &fields).await.status, StatusCode::NOT_FOUND, "{path}");
        }
    }
    assert_eq!(state(&world).await, before);
}

#[on_each_database]
async fn a_page_changes_nothing(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let before = state(&world).await;
    for path in all(&records) {
        assert_eq!(browser.get(&path).await.status, StatusCode::OK, "{path}");
        let head = browser.ask(Request::head(&path).body(String::new()).unwrap()).await;
        assert_eq!((head.status, &*head.html), (StatusCode::OK, ""), "{path}");
    }
    // A form is sent, not opened.
    assert_eq!(
        browser.get(&format!("/webhooks/{}/disable", records.webhook)).await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(state(&world).await, before);
}

#[on_each_database]
async fn links_and_forms_stay_below_the_prefix(db: Database) {
    let world = World::new(db).await;
    let records = Records::of(&world).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    for path in pages(&records) {
        let shown = browser.get(&path).await;
        for name in ["href", "action", "src"] {
            for address in shown.page().attrs("*", name) {
                let is_below = address.starts_with(&format!("{PREFIX}/")) || address == "#content";
                assert!(is_below, "{path}: {address}");
            }
        }
        assert!(!shown.page().has("[style], style"), "{path}");
        for part in shown.html.split(" on").skip(1) {
            let name = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            assert!(!name.starts_with('='), "{path}: on{part}");
        }
    }
}

#[on_each_database]
async fn assets_are_kept_for_good_under_their_hash(db: Database) {
    let world = World::new(db).await;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let page = browser.get("/webhooks").await;
    let mut size = 0;
    for (selector, name, content_type) in
        [("link[rel=stylesheet]", "href", "text/css"), ("script", "src", "text/javascript")]
    {
        let asset = browser.get(page.page().attr(selector, name).strip_prefix(PREFIX).unwrap()).await;
        assert_eq!(asset.status, StatusCode::OK);
        assert!(asset.headers[header::CONTENT_TYPE].to_str().unwrap().starts_with(content_type));
        assert_eq!(asset.headers[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
        size += asset.html.len();
    }
    assert!(size < 40 * 1024, "{size}");
    assert_eq!(browser.get("/assets/console.css").await.status, StatusCode::NOT_FOUND);

    let theme =
        Theme::default().name("Chantier <&>").accent("#123456", "#abcdef").logo("image/png", &b"\x89PNG"[..]);
    let session = ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full);
    let settings = ConsoleSettings::at(ORIGIN).theme(theme);
    let sign_in = move |_: &http::request::Parts| SignInDecision::Granted(session.clone());
    let browser =
        Browser { console: world.invoicing.console(settings, sign_in).unwrap(), company: world.company.id() };
    let page = browser.get("/").await;
    assert!(page.html.contains("Chantier &lt;&amp;&gt;"));
    let style = browser.get(&page.page().attr("link[rel=stylesheet]", "href")).await.html;
    assert!(style.contains("--accent: #123456") && style.contains("--accent: #abcdef"));
}

#[on_each_database]
async fn the_language_is_the_host_s_choice_or_the_browser_s(db: Database) {
    let world = World::new(db).await;
    let company = world.company.id();
    let session = ConsoleSession::new(company, "Anna", ConsoleRole::Full);
    let french = session.clone().language(Language::French);
    let by_browser =
        Browser::with(&world.invoicing, company, move |_| SignInDecision::Granted(session.clone()));
    let by_host = Browser::with(&world.invoicing, company, move |_| SignInDecision::Granted(french.clone()));
    let request = |languages: &str| {
        Request::get("/webhooks").header(header::ACCEPT_LANGUAGE, languages).body(String::new()).unwrap()
    };
    for (browser, languages, lang) in [
        (&by_browser, "fr-FR,en;q=0.8", "fr"),
        (&by_browser, "en", "en"),
        (&by_browser, "de", "en"),
        (&by_host, "en", "fr"),
    ] {
        let html = browser.ask(request(languages)).await.html;
        assert!(html.starts_with(&format!("<!DOCTYPE html><html lang=\"{lang}\">")), "{languages}");
    }
}

/// Rules: FAIR-9
#[on_each_database]
async fn where_there_is_no_room_a_page_says_so_and_files_are_served(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.buffered_bytes = 327_680).open().await;
    // The host's own page, for someone who is not signed in.
    let sign_in = Bytes::from(vec![b'x'; 16 * 1024]);
    let browser = Browser::with(&world.invoicing, world.company.id(), move |_| {
        SignInDecision::Answer(Box::new(Response::new(sign_in.clone())))
    });
    let ask = || {
        let request = Request::get("/").version(Version::HTTP_2).body(Full::<Bytes>::default()).unwrap();
        browser.console.clone().answer(request)
    };
    let first = ask().await;
    assert_eq!(first.status(), StatusCode::OK);
    let mut unread = vec![first];
    let refused = loop {
        let answer = ask().await;
        if answer.status() != StatusCode::OK {
            break answer;
        }
        unread.push(answer);
        assert!(unread.len() < 30, "nothing bounds them");
    };
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    let page = refused.into_body().collect().await.unwrap().to_bytes();
    let page = String::from_utf8_lossy(&page);
    assert!(page.contains("The service is busy"), "{page}");
    // Bytes that are the same for all take no room.
    let style = Page::read(&page).attr("link[rel=stylesheet]", "href");
    assert_eq!(browser.get(style.strip_prefix(PREFIX).unwrap()).await.status, StatusCode::OK);
    assert_eq!(browser.get(&format!("/sign/sgn_{:043}", 0)).await.status, StatusCode::NOT_FOUND);
    drop(unread);
    assert_eq!(ask().await.status(), StatusCode::OK);
}
