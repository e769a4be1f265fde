//! Quotes: found, shown, sent, linked.

use std::collections::BTreeSet;

use http::{StatusCode, header};
use invoicing_core::{NewClient, NewLine, NewQuote, QuoteId, QuoteStatus, SignatureEvidence};
use invoicing_server::{
    ConsoleAction, ConsoleRole, ConsoleSession, ConsoleSettings, ContentHash, Decline, Error, Language,
    SignInDecision, Signature,
};
use invoicing_tests::{Database, World, on_each_database};
use serde_json::Value;

use super::{Browser, ORIGIN, PREFIX, Shown};
use crate::support::page::Page;
use crate::support::{DAY, date, evidence, taxed_quote_at};

fn browser(world: &World) -> Browser {
    Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full)
}

/// The quotes of a list over all its pages.
async fn found(browser: &Browser, query: &str) -> Vec<QuoteId> {
    let pages = browser.pages(&format!("/quotes{query}")).await;
    pages.iter().flat_map(|page| page.linked("/quotes/")).collect()
}

#[on_each_database]
async fn quotes_are_found_by_search_and_status_and_each_stands_on_one_page(db: Database) {
    let world = World::new(db).await;
    let (quotes, clients) = (world.company.quotes(), world.company.clients());
    // The longest name, of what takes most bytes.
    let long = clients.create(&NewClient::named("\"".repeat(255))).await.unwrap().id;
    let named = clients.create(&NewClient::named("Claire Lefèvre <script>")).await.unwrap().id;
    let mut ids = Vec::new();
    for n in 0..120 {
        let client = if n % 40 == 7 { named } else { long };
        ids.insert(0, quotes.create(&taxed_quote_at(client, "10")).await.unwrap().summary.id);
    }
    for id in &ids[..55] {
        quotes.send(*id, None).await.unwrap();
    }
    let browser = browser(&world);
    let pages = browser.pages("/quotes").await;
    let on = |page: &Shown| page.linked::<QuoteId>("/quotes/");
    assert_eq!(pages.iter().map(|page| on(page).len()).collect::<Vec<_>>(), [50, 50, 20]);
    assert_eq!(pages.iter().flat_map(on).collect::<Vec<_>>(), ids);
    assert!(pages.iter().all(|page| page.html.len() < 100 * 1024), "{}", pages[0].html.len());

    assert_eq!(found(&browser, "?status=SENT").await, ids[..55]);
    assert_eq!(found(&browser, "?status=DRAFT&q=").await, ids[55..]);
    assert!(found(&browser, "?status=EXPIRED").await.is_empty());
    let of_claire: Vec<_> = ids.iter().rev().skip(7).step_by(40).rev().copied().collect();
    assert_eq!(found(&browser, "?q=LEFEVRE").await, of_claire);
    assert_eq!(found(&browser, "?q=lefevre&status=DRAFT").await, of_claire[1..]);
    let number = quotes.get(ids[3]).await.unwrap().summary.number;
    assert_eq!(found(&browser, &format!("?q={}", number.to_lowercase())).await, [ids[3]]);
    let none = browser.get("/quotes?q=%22%3E%3Cscript%3E").await;
    assert_eq!((none.status, on(&none).len()), (StatusCode::OK, 0));
    assert_eq!(none.page().attr("input[name=q]", "value"), "\"><script>");
    assert!(!none.html.contains("<script>"));
    let filtered = browser.get("/quotes?q=Claire&status=SENT").await;
    assert!(filtered.html.contains("Claire Lefèvre &lt;script&gt;"));
    assert_eq!(filtered.page().attr("option[selected]", "value"), "SENT");

    let too_long = format!("q={}", "x".repeat(256));
    for wrong in ["status=eaten", "before=x", &*too_long] {
        assert_eq!(browser.get(&format!("/quotes?{wrong}")).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let unknown = browser.get("/quotes?before=018f0000-0000-7000-8000-000000000000").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let (other, _) = world.another("Other", invoicing_core::Plan::Team).await;
    let other = Browser::of(&world.invoicing, other.id(), ConsoleRole::Full);
    assert!(other.get("/quotes").await.html.contains("Nothing yet."));
    assert_eq!(other.get(&format!("/quotes?before={}", ids[0])).await.status, StatusCode::NOT_FOUND);
}

/// An amount of the API as an English page shows it.
fn euros(amount: &Value) -> String {
    let amount = amount.as_f64().unwrap();
    format!("{}€{:.2}", if amount < 0.0 { "\u{2212}" } else { "" }, amount.abs())
}

#[on_each_database]
async fn a_quote_shows_what_the_api_says_of_it(db: Database) {
    let world = World::new(db).await;
    let quote = world.sent().await;
    let (id, currency) = (quote.summary.id, "\u{a0}€");
    let api = world.get(&format!("/api/v1/quotes/{id}")).await.json;
    let shown = browser(&world).get(&format!("/quotes/{id}")).await;
    let (page, html) = (shown.page(), shown.html);
    for name in ["number", "clientName", "clientEmail", "id"] {
        assert!(html.contains(api[name].as_str().unwrap()), "{name}: {html}");
    }
    for amount in ["totalHT", "totalTTC"] {
        assert!(html.contains(&format!(">{}<", euros(&api[amount]))), "{amount}: {html}");
    }
    let retained = euros(&api["retentionAmount"]);
    assert!(html.contains("Retention 5%") && html.contains(&format!(">\u{2212}{retained}<")), "{html}");
    let rows = page.texts("tr");
    for share in api["vatBreakdown"].as_array().unwrap() {
        let amounts = [&share["baseHT"], &share["amountTVA"]].map(euros);
        let row = format!("{}% {}", share["tvaRate"], amounts.join(" "));
        assert!(rows.contains(&row), "{row}: {rows:?}");
    }
    for line in api["lines"].as_array().unwrap() {
        let (text, total) = (line["description"].as_str().unwrap(), euros(&line["totalHT"]));
        let is_shown = |row: &String| row.contains(text) && row.ends_with(&total);
        assert!(rows.iter().any(is_shown), "{text}: {rows:?}");
    }
    // In the groups of the document, with their subtotals.
    let places = ["Peinture<", "Extérieur<", "Ravalement", "Divers<", "Outside of lots<", "Remise"];
    let places = places.map(|text| html.find(text).unwrap_or_else(|| panic!("{text}: {html}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(rows.iter().any(|row| row == "Subtotal Peinture €602.50"), "{rows:?}");
    assert!(page.texts("td bdi").contains(&"m²".to_owned()), "{html}");
    assert!(page.texts("td").contains(&"12.5".to_owned()), "{html}");

    let session =
        ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full).language(Language::French);
    let french = Browser::with(&world.invoicing, world.company.id(), move |_| {
        SignInDecision::Granted(session.clone())
    });
    let list = french.get("/quotes").await.html;
    assert!(list.contains(&format!(">823,75{currency}<")) && list.contains("Envoyé"), "{list}");
    let html = french.get(&format!("/quotes/{id}")).await.html;
    assert!(html.contains(&format!("\u{2212}50,00{currency}")) && html.contains("12,5</td>"), "{html}");
}

#[on_each_database]
async fn what_records_say_is_text(db: Database) {
    let world = World::new(db).await;
    let hostile = "</td><script>alert('é')</script>\"&\u{202e}";
    let new = NewClient::named(hostile).email("a@b");
    let client = world.company.clients().create(&new).await.unwrap().id;
    let line =
        NewLine::new(format!("{hostile}\nsecond"), 1, 10, 20).unit(hostile).lot(hostile).section(hostile);
    let id = world.company.quotes().create(&NewQuote::empty(client).line(line)).await.unwrap().summary.id;
    world.company.quotes().link(id, Some(hostile)).await.unwrap();
    let browser = browser(&world);
    for path in ["/quotes".to_owned(), format!("/quotes/{id}"), format!("/quotes/{id}/send")] {
        let html = browser.get(&path).await.html;
        assert!(html.contains("&lt;script&gt;") && !html.contains("<script>"), "{path}: {html}");
    }
}

#[on_each_database]
async fn long_quotes_are_shown_in_parts_that_stay_small(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Lefèvre").await;
    let mut new = NewQuote::empty(client);
    for n in 0..230_u32 {
        // The longest texts, of what takes most bytes, among usual ones.
        let mark = "\"".repeat(if n < 40 { 2_000 } else { 80 });
        let line = NewLine::new(mark, 1, 10, n % 60);
        new = new.line(if n % 3 == 0 { line.lot("&".repeat(255)).section(format!("s{n}")) } else { line });
    }
    let id = world.company.quotes().create(&new).await.unwrap().summary.id;
    let pages = browser(&world).pages(&format!("/quotes/{id}")).await;
    let numbers = pages.iter().map(|page| page.page().texts("td[data-name='No.']"));
    let numbers: Vec<Vec<usize>> =
        numbers.map(|page| page.iter().map(|number| number.parse().unwrap()).collect()).collect();
    assert_eq!(numbers.concat(), (1..=230).collect::<Vec<_>>());
    assert!(numbers.iter().all(|numbers| numbers.len() <= 50) && numbers.len() > 5, "{numbers:?}");
    for page in &pages {
        assert!(page.html.len() < 100 * 1024, "{}", page.html.len());
        assert!(page.page().texts("th").contains(&"10 further rates".to_owned()), "{}", page.html);
    }
    assert!(pages[1].html.contains("First lines") && !pages[0].html.contains("First lines"));
    for wrong in ["230", "-1", "x"] {
        let shown = browser(&world).get(&format!("/quotes/{id}?lines={wrong}")).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{wrong}");
    }
}

#[on_each_database]
async fn a_quote_is_sent_after_a_question_and_shows_its_documents_hashes(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let id = world.draft().await.summary.id;
    let (page, send) = (format!("/quotes/{id}"), format!("/quotes/{id}/send"));
    let draft = browser.get(&page).await;
    assert!(draft.page().has(&format!("[href='{PREFIX}{send}']")), "{}", draft.html);
    assert!(draft.html.contains("There is none yet"), "{}", draft.html);
    assert!(browser.get(&send).await.page().has("[type=date]"));
    let wrong = browser.fill(&send, &send, &[("validUntil", "\"><script>")]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(wrong.page().has("[role=alert]"), "{}", wrong.html);
    assert_eq!(wrong.page().attr("[name=validUntil]", "value"), "\"><script>");
    let sent = browser.fill(&send, &send, &[("validUntil", "2026-10-01")]).await;
    assert_eq!(sent.location(), format!("{page}?done=sent"));
    let api = world.get(&format!("/api/v1/quotes/{id}")).await.json;
    assert_eq!(
        [&api["status"], &api["validUntil"]].map(|value| value.as_str().unwrap()),
        ["SENT", "2026-10-01"]
    );
    let shown = browser.get(sent.location()).await;
    assert!(shown.page().texts(".state.wait").contains(&"Sent".to_owned()), "{}", shown.html);
    assert!(shown.html.contains("1 Oct 2026"), "{}", shown.html);
    let again = browser.fill(&send, &send, &[]).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(again.page().has("[role=alert]"), "{}", again.html);

    // Sent again, it has two copies, and both can be had.
    world.company.quotes().reject(id).await.unwrap();
    let declined = browser.get(&page).await.html;
    assert!(declined.contains("Declined") && declined.contains("Send the quote again"), "{declined}");
    browser.fill(&send, &send, &[]).await;
    let shown = browser.get(&page).await;
    let hashes: Vec<String> = shown.linked(&format!("{page}/documents/"));
    assert_eq!(hashes.len(), 2);
    for hash in &hashes {
        assert!(shown.page().texts("code").contains(hash), "{}", shown.html);
        let file = browser.get(&format!("{page}/documents/{hash}")).await;
        assert_eq!(ContentHash::of(&file.bytes).to_string(), *hash);
        assert_eq!(file.headers[header::CONTENT_TYPE], "application/pdf");
        let disposition = file.headers[header::CONTENT_DISPOSITION].to_str().unwrap();
        assert!(disposition.starts_with("attachment; ") && disposition.contains(".pdf"), "{disposition}");
        assert_eq!(file.headers[header::CACHE_CONTROL], "no-store");
    }
    let another = world.sent().await.summary.id;
    for path in
        [format!("/quotes/{another}/documents/{}", hashes[0]), format!("{page}/documents/{}", "0".repeat(64))]
    {
        assert_eq!(browser.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }

    let client = world.client("Lefèvre").await;
    let empty = world.company.quotes().create(&NewQuote::empty(client)).await.unwrap().summary.id;
    assert!(browser.get(&format!("/quotes/{empty}")).await.html.contains("no line yet"));
    let send = format!("/quotes/{empty}/send");
    let refused = browser.fill(&send, &send, &[]).await;
    assert!(refused.status.is_client_error() && refused.page().has("[role=alert]"), "{}", refused.html);
}

#[on_each_database]
async fn a_draft_that_is_no_longer_valid_is_sent_with_another_day(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let client = world.client("Lefèvre").await;
    let [day, later] = ["2026-12-01", "2027-02-01"];
    let new = taxed_quote_at(client, "10").valid_until(date(day));
    let id = world.company.quotes().create(&new).await.unwrap().summary.id;
    let send = format!("/quotes/{id}/send");
    assert!(browser.get(&send).await.html.contains("Ready: nothing that is needed is missing."));
    world.advance(100 * DAY);
    let shown = browser.get(&send).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.html);
    assert_eq!(shown.page().attr("[name=validUntil]", "value"), day);
    // Nothing is said to be ready before another day is entered.
    assert!(!shown.html.contains("Ready: "), "{}", shown.html);
    let refused = browser.fill(&send, &send, &[]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.html);
    assert!(refused.html.contains("Valid until: must not be in the past."), "{}", refused.html);
    let sent = browser.fill(&send, &send, &[("validUntil", later)]).await;
    assert_eq!(sent.location(), format!("/quotes/{id}?done=sent"), "{}", sent.html);
    let sent = world.company.quotes().get(id).await.unwrap().summary;
    assert_eq!(sent.valid_until.unwrap().to_string(), later);
}

/// The address on the page that shows a link.
fn link(shown: &Shown) -> String {
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.html);
    shown.page().text("code#link")
}

#[on_each_database]
async fn a_signing_link_is_shown_once_and_ends_when_it_is_revoked(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let draft = world.draft().await.summary.id;
    let early = browser.get(&format!("/quotes/{draft}")).await.html;
    assert!(early.contains("once the quote is sent") && !early.contains("/links\""), "{early}");
    let refused = browser.post(&format!("/quotes/{draft}/links"), &[]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);

    let id = world.sent().await.summary.id;
    let page = format!("/quotes/{id}");
    let made = link(&browser.post(&format!("{page}/links"), &[]).await);
    let token = made.strip_prefix(&format!("{ORIGIN}{PREFIX}/sign/")).unwrap();
    let links = world.invoicing.signing_links();
    assert_eq!(links.open(token).await.unwrap().quote.summary.id, id);
    let shown = browser.get(&page).await;
    assert!(!shown.html.contains("sgn_"), "{}", shown.html);
    assert_eq!(shown.page().texts("td .state.good"), ["Open"]);
    let hash = ContentHash::of(token.as_bytes());
    let revoke = format!("{page}/links/{hash}/revoke");
    assert!(shown.page().has(&format!("[href='{PREFIX}{revoke}']")), "{}", shown.html);
    assert!(browser.get(&revoke).await.html.contains("cannot be undone"));
    links.open(token).await.unwrap();
    let revoked = browser.post(&revoke, &[]).await;
    assert_eq!(revoked.location(), format!("{page}?done=link-revoked#links"));
    assert!(matches!(links.open(token).await, Err(Error::NotFound)));
    let shown = browser.get(&page).await;
    assert_eq!(shown.page().texts("td .state"), ["Revoked"]);
    assert!(!shown.html.contains("/revoke\""), "{}", shown.html);
    assert_eq!(browser.get(&revoke).await.status, StatusCode::NOT_FOUND);
    let unknown = format!("{page}/links/{}/revoke", "0".repeat(64));
    for path in [&unknown, &format!("{page}/links/x/revoke"), &format!("/quotes/{draft}/links/{hash}/revoke")]
    {
        assert_eq!(browser.post(path, &[]).await.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }

    // The host may have the signing page elsewhere.
    let settings = ConsoleSettings::at(format!("{ORIGIN}{PREFIX}")).signing_base("https://sign.example/q/");
    let session = ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full);
    let sign_in = move |_: &http::request::Parts| SignInDecision::Granted(session.clone());
    let elsewhere =
        Browser { console: world.invoicing.console(settings, sign_in).unwrap(), company: world.company.id() };
    let made = link(&elsewhere.post(&format!("{page}/links"), &[]).await);
    let token = made.strip_prefix("https://sign.example/q/sign/").unwrap();
    links.sign(token, &Signature::new(evidence())).await.unwrap();
    let signed = browser.get(&page).await.html;
    for text in ["state good\">Signed<", "Signed with", "Bon pour accord", "sha256:", "lea@exemple.fr"] {
        assert!(signed.contains(text), "{text}: {signed}");
    }
    assert_eq!(world.company.quotes().get(id).await.unwrap().summary.status, QuoteStatus::Accepted);
    assert!(!signed.contains(&format!("{page}/send\"")), "{signed}");
}

#[on_each_database]
async fn of_the_forms_those_are_offered_that_the_role_includes(db: Database) {
    let world = World::new(db).await;
    let (draft, sent) = (world.draft().await.summary.id, world.sent().await.summary.id);
    world.company.quotes().create_signing_link(sent).await.unwrap();
    for (actions, sends, links) in [
        (vec![], false, false),
        (vec![ConsoleAction::SendQuotes], true, false),
        (vec![ConsoleAction::ManageSigningLinks, ConsoleAction::ManageKeys], false, true),
        (vec![ConsoleAction::SendQuotes, ConsoleAction::ManageSigningLinks], true, true),
    ] {
        let role = ConsoleRole::Actions(BTreeSet::from_iter(actions));
        let browser = Browser::of(&world.invoicing, world.company.id(), role);
        let draft = browser.get(&format!("/quotes/{draft}")).await.html;
        let sent = browser.get(&format!("/quotes/{sent}")).await.html;
        assert_eq!(draft.contains("/send\""), sends);
        assert_eq!((sent.contains("/links\""), sent.contains("/revoke\"")), (links, links));
    }
}

/// Rules: PAGE-4
#[on_each_database]
async fn a_quote_shows_who_signed_why_it_was_declined_and_its_history(db: Database) {
    let world = World::new(db).await;
    let browser = browser(&world);
    let session =
        ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::ReadOnly).language(Language::French);
    let french = Browser::with(&world.invoicing, world.company.id(), move |_| {
        SignInDecision::Granted(session.clone())
    });
    let named = world.company.acting_as("Léa Martin").unwrap();
    let links = world.invoicing.signing_links();

    let signed = world.sent().await.summary.id;
    let link = named.quotes().create_signing_link(signed).await.unwrap();
    let signature =
        Signature::new(SignatureEvidence::new("Claire Lefèvre", "claire@example.fr", "Bon pour accord"));
    links.sign(link.reveal(), &signature).await.unwrap();
    let html = browser.get(&format!("/quotes/{signed}")).await.html;
    let facts = Page::read(&html).texts("dl > div");
    assert!(facts.iter().any(|fact| fact.starts_with("Signed by Claire Lefèvre")), "{facts:?}");
    let entered = Page::read(&html).texts("bdi");
    assert!(entered.iter().any(|text| text == "claire@example.fr") && !html.contains("Declined"), "{html}");
    assert!(
        html.contains("Made a signing link") && entered.iter().any(|text| text == "Léa Martin"),
        "{html}"
    );
    assert!(html.contains("Signed a quote through its signing link"), "{html}");
    let html = french.get("/history").await.html;
    let row = Page::read(&html).texts("tbody tr").remove(0);
    assert!(
        row.contains("par un lien de signature A signé un devis par son lien de signature DEV-"),
        "{row}"
    );

    let declined =
        named.quotes().create(&taxed_quote_at(world.client("Hugo").await, "10")).await.unwrap().summary.id;
    named.quotes().send(declined, None).await.unwrap();
    let link = named.quotes().create_signing_link(declined).await.unwrap();
    let refusal = Decline::default().reason("Trop cher: <b>\net trop tard");
    links.decline(link.reveal(), &refusal).await.unwrap();
    // More than a page of the history later.
    for n in 0..30 {
        named.quotes().link(declined, Some(&format!("crm-{n}"))).await.unwrap();
    }
    let page = format!("/quotes/{declined}");
    let html = browser.get(&page).await.html;
    assert!(
        html.contains("Trop cher: &lt;b&gt; et trop tard") && html.contains("through a signing link"),
        "{html}"
    );
    assert!(html.contains("Linked a quote to another system") && !html.contains("Created a quote"), "{html}");
    assert!(html.contains(&format!("{PREFIX}/history?record={declined}")), "{html}");
    let html = french.get(&page).await.html;
    assert_eq!(Page::read(&html).text("dt .state.bad"), "Refusé");
    assert!(html.contains("Trop cher") && html.contains("par un lien de signature"), "{html}");
    // The page shows no refusal once the quote was sent again.
    named.quotes().send(declined, None).await.unwrap();
    let html = browser.get(&page).await.html;
    assert!(!html.contains("Trop cher") && html.contains("Sent a quote"), "{html}");
}
