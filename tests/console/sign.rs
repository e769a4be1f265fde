//! The page behind a signing link: what the client reads, signs and declines there.

mod email_inputs;
mod forwarded;
mod second_look;

use std::future::pending;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use invoicing_core::{NewClient, NewLine, NewQuote, QuoteStatus, sha256_hex};
use invoicing_server::{ConsoleRole, ConsoleSettings, Decline, HistoryAction, Secret, ServeLimits, serve};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::{Browser, ORIGIN, OWN, PREFIX, Shown, assert_protected};
use crate::support::hooked_store::HookedStore;
use crate::support::page::Page;
use crate::support::{DAY, date, events};

const NAME: &str = "Léa Lefèvre";
const EMAIL: &str = "lea@exemple.fr";

/// The signing page without the rest of the console.
fn client(world: &World) -> Browser {
    let settings = ConsoleSettings::at(format!("{ORIGIN}{PREFIX}"));
    Browser { console: world.invoicing.signing_page(settings).unwrap(), company: world.company.id() }
}

/// A quote that was sent, and the address of its page.
async fn sent(world: &World) -> (invoicing_core::QuoteId, String) {
    let id = world.sent().await.summary.id;
    (id, page_of(&world.company.quotes().create_signing_link(id).await.unwrap()))
}

/// The address of the page of a quote that another company has sent.
async fn sent_by_another(world: &World) -> String {
    let (other, _) = world.another("Other", invoicing_core::Plan::Starter).await;
    let new = new_quote(crate::support::client_of(&other).await);
    let id = other.quotes().create(&new).await.unwrap().summary.id;
    other.quotes().send(id, None).await.unwrap();
    page_of(&other.quotes().create_signing_link(id).await.unwrap())
}

fn page_of(link: &Secret) -> String {
    format!("/sign/{}", link.reveal())
}

/// A quote of these lines that was sent, and the address of its page.
async fn sent_lines(world: &World, lines: impl IntoIterator<Item = NewLine>) -> String {
    let client = world.client("Durand").await;
    let new = lines.into_iter().fold(NewQuote::empty(client), NewQuote::line);
    let quotes = world.company.quotes();
    let id = quotes.create(&new).await.unwrap().summary.id;
    quotes.send(id, None).await.unwrap();
    page_of(&quotes.create_signing_link(id).await.unwrap())
}

/// The hash in the form of a page.
fn hash_on(shown: &Shown) -> String {
    shown.page().attr("[name=document]", "value")
}

/// The fields of a signature of the document that a page shows, as the first form has them.
fn fields<'f>(hash: &'f str, name: &'f str) -> [(&'static str, &'f str); 3] {
    [("name", name), ("email", EMAIL), ("document", hash)]
}

/// Sends the first form. Returns the second look that it leads to, or the answer that leads elsewhere.
async fn second_look(browser: &Browser, page: &str, fields: &[(&str, &str); 3]) -> Shown {
    let first = browser.post(page, fields).await;
    let leads_on = first.status == StatusCode::SEE_OTHER && first.location() != page;
    if leads_on { browser.get(first.location()).await } else { first }
}

/// The fields of the second form, which the first form leads to.
async fn confirmed<'f>(
    browser: &Browser,
    page: &str,
    fields: [(&'f str, &'f str); 3],
) -> Vec<(&'f str, String)> {
    let shown = second_look(browser, page, &fields).await;
    let hash = shown.page().attr("[name=confirmed]", "value");
    fields.map(|(name, value)| (name, value.to_owned())).into_iter().chain([("confirmed", hash)]).collect()
}

/// Sends the first form, and the second one that it leads to.
async fn sign(browser: &Browser, page: &str, fields: &[(&str, &str); 3]) -> Shown {
    let first = second_look(browser, page, fields).await;
    if first.status != StatusCode::OK {
        return first;
    }
    let hash = first.page().attr("[name=confirmed]", "value");
    let [name, email, document] = *fields;
    browser.post(page, &[name, email, document, ("confirmed", &hash)]).await
}

/// The text of a page, as a reader sees it: without tags, and with single spaces.
fn text_of(html: &str) -> String {
    Page::read(html).text("html")
}

async fn bytes(browser: &Browser, request: Request<()>) -> (StatusCode, HeaderMap, Bytes) {
    let response = browser.console.clone().answer(request.map(|()| Full::<Bytes>::default())).await;
    let (head, body) = response.into_parts();
    assert_protected(&head.headers);
    (head.status, head.headers, body.collect().await.unwrap().to_bytes())
}

async fn pdf(browser: &Browser, page: &str) -> (StatusCode, HeaderMap, Bytes) {
    bytes(browser, Request::get(format!("{page}/document.pdf")).body(()).unwrap()).await
}

/// Rules: SIGN-1, SIGN-3, SIGN-8
#[on_each_database]
async fn a_client_reads_signs_and_keeps_the_signed_copy(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let shown = browser.get(&page).await;
    assert_eq!(shown.status, StatusCode::OK);
    let text = text_of(&shown.html);
    for expected in [
        "Devis DEV-2026-0001",
        "Martin Peinture",
        "Ravalement de façade",
        "12,5 m² 48,20 € 10 % 602,50 €",
        "Sous-total Extérieur 602,50 €",
        "Hors lot Remise",
        "Total HT 732,50 €",
        "Retenue de garantie 5 %",
        "art. 279-0 bis",
        "Nom et signature du client",
        "Bon pour accord sur le devis DEV-2026-0001, d’un montant de",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let hash = hash_on(&shown);
    let (status, headers, sent_copy) = pdf(&browser, &page).await;
    assert_eq!((status, sha256_hex(&sent_copy)), (StatusCode::OK, hash.clone()));
    assert!(shown.page().texts("code").contains(&hash));
    assert_eq!(headers[header::CONTENT_TYPE], "application/pdf");
    let disposition = headers[header::CONTENT_DISPOSITION].to_str().unwrap();
    assert!(disposition.starts_with("attachment; filename=\"DEV-2026-0001.pdf\""), "{disposition}");
    let again = Request::get(format!("{page}/document.pdf")).header("if-none-match", &headers[header::ETAG]);
    assert_eq!(bytes(&browser, again.body(()).unwrap()).await.0, StatusCode::NOT_MODIFIED);

    let fields = confirmed(&browser, &page, fields(&hash, NAME)).await;
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut request = Request::post(&page)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::USER_AGENT, "Firefox/142")
        .extension(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)));
    for (name, value) in OWN {
        request = request.header(name, value);
    }
    let signed = browser.ask(request.body(form).unwrap()).await;
    assert_eq!((signed.status, signed.location()), (StatusCode::SEE_OTHER, &*page));

    let quotes = world.company.quotes();
    let signature = quotes.get(id).await.unwrap().detail.signature.unwrap();
    assert_eq!((&*signature.signed_by_name, &*signature.signed_by_email), (NAME, EMAIL));
    assert!(
        signature.accepted_text.starts_with("Bon pour accord sur le devis DEV-2026-0001, d’un montant de")
    );
    assert!(
        signature.accepted_text.contains("TVA à 10\u{a0}% (CGI, art. 279-0\u{a0}bis) : le client certifie")
    );
    assert!(!signature.accepted_text.contains("278-0\u{a0}bis"));
    let proof = quotes.proof(id).await.unwrap().unwrap();
    assert_eq!((proof.ip.as_deref(), proof.user_agent.as_deref()), (Some("192.0.2.7"), Some("Firefox/142")));
    assert_eq!(proof.document_sha256, hash);

    let shown = browser.get(&page).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(!shown.page().has("form") && shown.html.contains(&signature.proof_fingerprint));
    let (status, _, signed_copy) = pdf(&browser, &page).await;
    assert_eq!(status, StatusCode::OK);
    assert_ne!(signed_copy, sent_copy);
    assert!(shown.page().texts("code").contains(&sha256_hex(&signed_copy)), "{}", shown.html);
    assert!(text_of(&shown.html).contains(&format!("SHA-256 du devis signé {hash}")));
}

/// Rules: SIGN-4
#[on_each_database]
async fn of_two_who_sign_at_once_one_wins_and_the_other_sees_it(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    let (first_fields, second_fields) = (fields(&hash, "Anne"), fields(&hash, "Bruno"));
    let (first, second) =
        tokio::join!(sign(&browser, &page, &first_fields), sign(&browser, &page, &second_fields));
    let mut outcomes = [(first, "Anne"), (second, "Bruno")];
    outcomes.sort_by_key(|(shown, _)| shown.status);
    let [(won, winner), (lost, _)] = outcomes;
    assert_eq!((won.status, lost.status), (StatusCode::SEE_OTHER, StatusCode::CONFLICT));
    let signature = world.company.quotes().get(id).await.unwrap().detail.signature.unwrap();
    assert_eq!(signature.signed_by_name, winner);
    let text = text_of(&lost.html);
    assert!(text.contains("The quote is signed") && text.contains(&format!("Signed by {winner}")), "{text}");
    assert!(text.contains("Your form has changed nothing"), "{text}");
    // The winner's form again: a second click.
    let again = sign(&browser, &page, &fields(&hash, winner)).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    assert_eq!(world.count("SELECT count(*) FROM proof").await, 1);
}

/// Rules: SIGN-2
#[on_each_database]
async fn a_version_that_was_sent_again_is_neither_signed_nor_declined(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let stale = hash_on(&browser.get(&page).await);
    assert_eq!(hash_on(&browser.get(&format!("{page}/decline")).await), stale);
    let quotes = world.company.quotes();
    quotes.reject(id).await.unwrap();
    quotes.send(id, Some(date("2026-12-24"))).await.unwrap();
    let before = world.dump().await;
    for path in [page.clone(), format!("{page}/decline")] {
        for hash in [&*stale, "", "x"] {
            let shown = sign(&browser, &path, &fields(hash, NAME)).await;
            assert_eq!(shown.status, StatusCode::CONFLICT, "{path}");
            assert!(shown.html.contains("The quote was sent again"), "{}", shown.html);
            assert!(shown.page().has(&format!("[href='{PREFIX}{page}']")), "{}", shown.html);
        }
    }
    assert_eq!(world.dump().await, before);
    let fresh = browser.get(&page).await;
    assert!(text_of(&fresh.html).contains("Valable jusqu’au 24 décembre 2026"));
    let signed = sign(&browser, &page, &fields(&hash_on(&fresh), NAME)).await;
    assert_eq!(signed.status, StatusCode::SEE_OTHER);
}

/// Rules: SIGN-2
#[on_each_database]
async fn what_is_sent_again_while_the_form_is_on_its_way_is_not_signed(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let stale = hash_on(&browser.get(&page).await);
    // The signed copy is stored already.
    let company = world.company.clone();
    store.happens_next(1, move || {
        let company = company.clone();
        Box::pin(async move {
            company.quotes().reject(id).await.unwrap();
            company.quotes().send(id, Some(date("2026-12-24"))).await.unwrap();
        })
    });
    let shown = sign(&browser, &page, &fields(&stale, NAME)).await;
    assert_eq!(shown.status, StatusCode::CONFLICT);
    assert!(shown.html.contains("The quote was sent again"), "{}", shown.html);
    assert_eq!(world.company.quotes().get(id).await.unwrap().summary.status, QuoteStatus::Sent);
}

/// Rules: SIGN-4, SIGN-7
#[on_each_database]
async fn a_client_declines_with_a_reason_that_the_history_keeps(db: Database) {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let question = browser.get(&format!("{page}/decline")).await;
    assert!(question.html.contains("Decline the quote?") && question.page().has("textarea"));
    let hash = hash_on(&question);
    let decline = |reason: String| {
        let form = [("document", hash.clone()), ("reason", reason)];
        let (browser, path) = (&browser, format!("{page}/decline"));
        async move { browser.post(&path, &form.each_ref().map(|(name, value)| (*name, &**value))).await }
    };
    let before = world.dump().await;
    let refused = decline(format!("<b>{}", "x".repeat(500))).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.page().has("[role=alert]") && refused.html.contains("&lt;b&gt;xxx"));
    assert_eq!(world.dump().await, before);
    let declined = decline("Trop cher\r\npour nous".to_owned()).await;
    assert_eq!((declined.status, declined.location()), (StatusCode::SEE_OTHER, &*page));
    assert!(browser.get(&page).await.html.contains("The quote was declined"));
    let last = world.company.history().list(None, 1).await.unwrap().remove(0);
    assert!(last.action == HistoryAction::QuoteDeclined && last.subject == id.0, "{last:?}");
    assert_eq!((&*last.actor, &*last.detail), ("signing link", "DEV-2026-0001: Trop cher pour nous"));
    // A second tap is answered like the first, and does nothing.
    let before = world.dump().await;
    let again = decline(String::new()).await;
    assert_eq!((again.status, again.location()), (StatusCode::SEE_OTHER, &*page));
    assert_eq!(world.dump().await, before);
}

/// Rules: SIGN-4
#[on_each_database]
async fn each_state_has_a_page_of_its_own_without_a_form(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    let quotes = world.company.quotes();
    let (by_hand, accepted) = sent(&world).await;
    let (refused, declined) = sent(&world).await;
    let (_, expired) = sent(&world).await;
    let hash = hash_on(&browser.get(&expired).await);
    quotes.accept(by_hand).await.unwrap();
    quotes.reject(refused).await.unwrap();
    let decided = [
        (&accepted, "The quote is accepted", "Le devis est accepté"),
        (&declined, "The quote was declined", "Le devis a été refusé"),
    ];
    let check = async |page: &str, english: &str, french: &str| {
        for path in [page.to_owned(), format!("{page}/decline")] {
            let shown = browser.get(&path).await;
            assert_eq!(shown.status, StatusCode::OK);
            assert_eq!(shown.page().text("h1"), english);
            assert!(!shown.page().has("form, button"), "{}", shown.html);
            let request = Request::get(&path).header(header::ACCEPT_LANGUAGE, "fr");
            let shown = browser.ask(request.body(String::new()).unwrap()).await;
            assert_eq!(shown.page().text("h1"), french);
            assert_eq!(shown.page().attr("html", "lang"), "fr");
            let before = world.dump().await;
            let late = sign(&browser, &path, &fields(&hash, NAME)).await;
            assert_eq!(late.status, StatusCode::CONFLICT);
            assert_eq!(late.page().text("h1"), english);
            assert_eq!(world.dump().await, before);
        }
        assert_eq!(pdf(&browser, page).await.0, StatusCode::OK);
    };
    for (page, english, french) in decided {
        check(page, english, french).await;
    }
    // Its last day is over before the sweep notes it, and after.
    world.advance(20 * DAY);
    world.clock.set("2026-10-14T21:59:59.999Z".parse().unwrap());
    assert!(browser.get(&expired).await.page().has("form"));
    world.clock.set("2026-10-14T22:00:00Z".parse().unwrap());
    check(&expired, "The quote has expired", "Le devis a expiré").await;
    world.invoicing.sweep().await.unwrap();
    check(&expired, "The quote has expired", "Le devis a expiré").await;
}

/// Rules: SIGN-5
#[on_each_database]
async fn unknown_ended_and_revoked_links_are_one_404(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    let quotes = world.company.quotes();
    let (_, ended) = sent(&world).await;
    world.advance(90 * DAY);
    // Made after that, so that nothing but the revocation ends it.
    let (id, revoked) = sent(&world).await;
    assert_eq!(browser.get(&revoked).await.status, StatusCode::OK);
    let link = quotes.signing_links(id).await.unwrap().remove(0);
    quotes.revoke_signing_link(id, &link.token_hash).await.unwrap();
    let unknown = format!("/sign/sgn_{}", "A".repeat(43));
    let malformed = ["/sign/x".to_owned(), "/sign/%73gn_".to_owned(), ended[..ended.len() - 1].to_owned()];
    let mut seen = Vec::new();
    for page in [revoked, ended, unknown].into_iter().chain(malformed) {
        for path in ["", "/confirm", "/decline", "/document.pdf"].map(|path| format!("{page}{path}")) {
            let get = browser.get(&path).await;
            let mut headers = get.headers;
            headers.remove("x-request-id");
            assert_eq!(get.status, StatusCode::NOT_FOUND, "{path}");
            seen.push((headers, get.html));
        }
        for path in [page.clone(), format!("{page}/decline")] {
            let posted = sign(&browser, &path, &fields("x", NAME)).await;
            assert_eq!(posted.status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(posted.html, seen[0].1);
        }
    }
    assert!(seen.iter().all(|answer| *answer == seen[0]));
}

/// Rules: SIGN-6
#[on_each_database]
async fn opening_the_page_changes_nothing(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    let before = world.dump().await;
    for path in ["", "/decline", "/document.pdf"] {
        for method in [Method::GET, Method::HEAD] {
            let request = Request::builder().method(&method).uri(format!("{page}{path}"));
            let (status, _, body) = bytes(&browser, request.body(()).unwrap()).await;
            assert_eq!((status, body.is_empty()), (StatusCode::OK, method == Method::HEAD), "{path}");
        }
    }
    let hash = hash_on(&browser.get(&page).await);
    let foreign: [&[(&str, &str)]; 3] =
        [&[], &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")], &[("origin", "null")]];
    for headers in foreign {
        for path in [page.clone(), format!("{page}/decline")] {
            let shown = browser.post_from(&path, &fields(&hash, NAME), headers).await;
            assert_eq!(shown.status, StatusCode::FORBIDDEN, "{headers:?}");
        }
    }
    assert_eq!(world.dump().await, before);
}

/// Rules: SIGN-4, EVIDENCE-5
#[on_each_database]
async fn the_same_form_twice_is_one_signature_in_any_spelling(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    for (name, kept) in [
        ("Zoe\u{301} Lefe\u{300}vre", "Zoé Lefèvre"),
        ("Claire\u{fffc}", "Claire"),
        ("\u{200e}\u{5dc}\u{5d0}\u{5d4}\u{200f}", "\u{5dc}\u{5d0}\u{5d4}"),
    ] {
        let (id, page) = sent(&world).await;
        let hash = hash_on(&browser.get(&page).await);
        let email = "zoe@exemple.fr\u{200b}";
        for _ in 0..2 {
            let posted =
                sign(&browser, &page, &[("name", name), ("email", email), ("document", &*hash)]).await;
            assert_eq!(posted.status, StatusCode::SEE_OTHER, "{name:?}: {}", posted.html);
        }
        let signature = world.company.quotes().get(id).await.unwrap().detail.signature.unwrap();
        assert_eq!((&*signature.signed_by_name, &*signature.signed_by_email), (kept, "zoe@exemple.fr"));
    }
}

/// Rules: DOCUMENT-21
#[on_each_database]
async fn the_pages_show_a_name_that_no_font_has_as_it_was_entered(db: Database) {
    let world = World::new(db).await;
    let (own, browser) =
        (Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full), client(&world));
    for name in ["Անահիտ Հակոբյան", "ნინო ბერიძე", "電気 太郎"] {
        let (id, page) = sent(&world).await;
        let hash = hash_on(&browser.get(&page).await);
        let posted = sign(&browser, &page, &fields(&hash, name)).await;
        assert_eq!(posted.status, StatusCode::SEE_OTHER, "{name}: {}", posted.html);
        let signed_by = |shown: &Shown| {
            let facts = shown.page().texts("dl > div");
            facts.into_iter().filter(|fact| fact.starts_with("Signed by ")).collect::<Vec<_>>()
        };
        let shown = signed_by(&browser.get(&page).await);
        assert_eq!(shown, [format!("Signed by {name}")], "the signing page");
        let shown = signed_by(&own.get(&format!("/quotes/{id}")).await);
        assert!(!shown.is_empty(), "the page of the quote");
        assert!(shown.iter().all(|fact| *fact == format!("Signed by {name} {EMAIL}")), "{shown:?}");
    }
}

/// Rules: SIGN-14
#[on_each_database]
async fn what_is_wrong_stands_above_the_form_with_what_was_entered(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    let before = world.dump().await;
    for (name, email, problem) in [
        ("", EMAIL, "The name is missing"),
        ("\u{3164}", EMAIL, "The name is missing"),
        ("Léa", "\"><script>", "The e-mail is not an address"),
        ("Léa", "lea@exemple", "The e-mail is not an address"),
        ("Léa", "", "The e-mail is missing"),
        ("Léa \u{e000}", EMAIL, "U+E000 (number 5)"),
        ("Léa\u{202e}sirtraM", EMAIL, "U+202E (number 4)"),
    ] {
        let form = [("name", name), ("email", email), ("document", &*hash), ("confirmed", "yes")];
        let shown = browser.post(&page, &form).await;
        assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{name} {email}");
        let page = shown.page();
        assert!(page.has("[role=alert]") && shown.html.contains(problem), "{}", shown.html);
        assert!(page.has("[aria-invalid=true]") && !shown.html.contains("<script>"));
        assert_eq!(page.attr("[name=name]", "value"), name);
    }
    let french = Request::post(&page)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT_LANGUAGE, "fr")
        .header("sec-fetch-site", "same-origin");
    let shown = browser.ask(french.body(format!("email=lea@exemple.fr&document={hash}")).unwrap()).await;
    assert!(shown.html.contains("Le nom manque") && shown.html.contains("Signer le devis"));
    assert_eq!(world.dump().await, before);
}

#[on_each_database]
async fn hostile_texts_are_shown_and_do_nothing(db: Database) {
    const HOSTILE: &str = "<script>alert(1)</script>\"'&amp;<img src=x>";
    let world = World::new(db).await;
    let browser = client(&world);
    let client = NewClient::named(format!("{HOSTILE}nhoJ"));
    let client = world.company.clients().create(&client).await.unwrap().id;
    let line = NewLine::new(format!("{HOSTILE}\u{202e}"), 1, 1, 20)
        .unit("<b>")
        .lot("</table>")
        .section("\"onclick=x");
    let quotes = world.company.quotes();
    let id = quotes.create(&NewQuote::empty(client).line(line)).await.unwrap().summary.id;
    quotes.send(id, None).await.unwrap();
    let page = page_of(&quotes.create_signing_link(id).await.unwrap());
    let shown = browser.get(&page).await;
    for harmful in ["<script>alert", "<img", "<b>", "onclick=x\"", "\u{202e}"] {
        assert!(!shown.html.contains(harmful), "{harmful} in {}", shown.html);
    }
    let text = text_of(&shown.html);
    assert!(text.contains(HOSTILE) && text.contains("\"onclick=x") && text.contains("nhoJ"), "{text}");
    let signed = sign(&browser, &page, &fields(&hash_on(&shown), "<script>x")).await;
    assert_eq!(signed.status, StatusCode::SEE_OTHER);
    let shown = browser.get(&page).await;
    assert!(!shown.html.contains("<script>x") && shown.html.contains("&lt;script&gt;x"));
}

/// Rules: SIGN-1
#[on_each_database]
async fn a_long_quote_comes_in_parts_and_the_form_with_the_last(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    let line = |i: usize| {
        NewLine::new(format!("Ligne {i:03} : lessivage, rebouchage et ponçage soigné"), 1, 10, 10)
            .unit("m2")
            .lot(format!("Lot {}", i / 20))
            .section(format!("Pièce {}", i / 5))
    };
    let fifty = sent_lines(&world, (0..50).map(line)).await;
    let shown = browser.get(&fifty).await;
    assert!(shown.html.len() < 100 * 1024 && shown.page().has("form"), "{}", shown.html.len());
    assert!(!shown.html.contains("?part="));

    let long = sent_lines(&world, (0..120).map(line)).await;
    let mut read = String::new();
    for part in 1..=3 {
        let shown = browser.get(&format!("{long}?part={part}")).await;
        assert!(shown.html.len() < 100 * 1024);
        let page = shown.page();
        assert_eq!(page.has("form"), part == 3, "{part}");
        assert_eq!(page.texts("th").contains(&"Total TTC".to_owned()), part == 3, "{part}");
        assert_eq!(shown.html.contains("SIRET") || page.has(".parties"), part == 1);
        let next = format!("[href='{PREFIX}{long}?part={}']", part + 1);
        assert_eq!(page.has(&next), part < 3, "{}", shown.html);
        read += &text_of(&shown.html);
    }
    for i in 0..120 {
        assert_eq!(read.matches(&format!("Ligne {i:03} :")).count(), 1, "{i}");
    }
    for i in 0..6 {
        assert!(read.contains(&format!("Sous-total Lot {i}")), "{i}");
    }
    let first = browser.get(&long).await.html;
    assert_eq!(first, browser.get(&format!("{long}?part=1")).await.html);
    assert_eq!(
        browser.get(&format!("{long}?part=99")).await.html,
        browser.get(&format!("{long}?part=3")).await.html
    );

    // Texts of the greatest length take more parts, none of them too large.
    let wide = (0..30).map(|i| NewLine::new(format!("{i}{}", "&é".repeat(990)), 1, 10, 10));
    let wide = sent_lines(&world, wide).await;
    for part in 1..10 {
        let shown = browser.get(&format!("{wide}?part={part}")).await;
        assert!(shown.html.len() < 100 * 1024, "{}", shown.html.len());
    }
}

/// Rules: SIGN-9
#[on_each_database]
async fn nothing_is_loaded_from_elsewhere_and_nothing_is_kept(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    for path in [page.clone(), format!("{page}/decline")] {
        let shown = browser.get(&path).await;
        assert_eq!(shown.headers[header::CACHE_CONTROL], "no-store");
        for name in ["href", "action", "src"] {
            for address in shown.page().attrs("*", name) {
                let is_own = address.starts_with(&format!("{PREFIX}{page}"))
                    || address.starts_with(&format!("{PREFIX}/assets/"))
                    || address == "#content";
                assert!(is_own, "{path}: {address}");
            }
        }
        assert!(!shown.page().has("[style], style"), "{path}");
    }
    assert_eq!(pdf(&browser, &page).await.1[header::CACHE_CONTROL], "no-store");
}

#[on_each_database]
async fn the_page_needs_no_session_and_comes_with_or_without_the_console(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let alone = client(&world);
    for path in ["/", "/webhooks", "/webhooks/new", "/nothing", "/signs", "/sign", "/assets/x"] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let request = Request::builder().method(method).uri(path).header("origin", ORIGIN);
            let status = alone.ask(request.body(String::new()).unwrap()).await.status;
            let is_asset = path.starts_with("/assets") && status == StatusCode::METHOD_NOT_ALLOWED;
            assert!(status == StatusCode::NOT_FOUND || is_asset, "{path}: {status}");
        }
    }
    let shown = alone.get(&page).await;
    let style = shown.page().attr("link[rel=stylesheet]", "href");
    assert_eq!(alone.get(style.strip_prefix(PREFIX).unwrap()).await.status, StatusCode::OK);
    let console = Browser::with(&world.invoicing, world.company.id(), |_| {
        panic!("the signing page asks for no session")
    });
    assert_eq!(console.get(&page).await.html, shown.html);
    // Another company's session changes nothing about it.
    let (other, _) = world.another("Other", invoicing_core::Plan::Starter).await;
    let other = Browser::of(&world.invoicing, other.id(), ConsoleRole::ReadOnly);
    assert_eq!(other.get(&page).await.html, shown.html);
}

/// Rules: SIGN-10
#[on_each_database]
async fn one_company_s_clients_leave_room_for_those_of_others(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.documents_in_flight = 2).open().await;
    let (_, page) = sent(&world).await;
    let others = sent_by_another(&world).await;
    let browser = client(&world);
    world.documents.hang(true);
    let (first, second) = (Box::pin(pdf(&browser, &page)), Box::pin(pdf(&browser, &page)));
    let (refused, hanging) = select(first, second).await.factor_first();
    assert_eq!(refused.0, StatusCode::SERVICE_UNAVAILABLE);
    world.documents.hang(false);
    assert_eq!(pdf(&browser, &others).await.0, StatusCode::OK);
    drop(hanging);
}

/// Rules: SIGN-12
#[on_each_database]
async fn what_cannot_be_accepted_is_refused_before_the_quote_is_read(db: Database) {
    let world = World::new(db).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    // Whoever reads the quote or its document now fails.
    world.documents.hang(true);
    world.run("UPDATE quote SET summary = 'x'", &[]).await;
    assert_eq!(sign(&browser, &page, &fields(&hash, NAME)).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    for (name, email) in [("", EMAIL), (" ", EMAIL), (NAME, ""), (NAME, "lea"), (NAME, "lea@exemple")] {
        let form = [("name", name), ("email", email), ("document", &*hash), ("confirmed", "yes")];
        for form in [&form[..], &form[..3]] {
            let shown = browser.post(&page, form).await;
            assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{name:?} {email:?}");
            assert_eq!(hash_on(&shown), hash);
        }
    }
    let reason = "x".repeat(501);
    let declined =
        browser.post(&format!("{page}/decline"), &[("document", &*hash), ("reason", &*reason)]).await;
    assert_eq!(declined.status, StatusCode::BAD_REQUEST);
}

/// Rules: QUOTE-17, CLOSE-1
#[on_each_database]
async fn a_revoked_link_or_closed_company_stops_a_signature_under_way(db: Database) {
    for is_closed in [false, true] {
        let (world, store) = HookedStore::world(db).await;
        let (id, page) = sent(&world).await;
        let browser = client(&world);
        let hash = hash_on(&browser.get(&page).await);
        let before = events(&world.company).await;
        // The signed copy is stored already, and not committed.
        let company = world.company.clone();
        store.happens_next(1, move || {
            let company = company.clone();
            Box::pin(async move {
                if is_closed {
                    return company.close().await.unwrap();
                }
                let link = company.quotes().signing_links(id).await.unwrap().remove(0);
                company.quotes().revoke_signing_link(id, &link.token_hash).await.unwrap();
            })
        });
        let shown = sign(&browser, &page, &fields(&hash, NAME)).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{}", shown.html);
        assert_eq!(world.company.quotes().get(id).await.unwrap().summary.status, QuoteStatus::Sent);
        assert!(world.company.quotes().proof(id).await.unwrap().is_none());
        assert_eq!(events(&world.company).await, before);
    }
}

/// Rules: QUOTE-17
#[on_each_database]
async fn a_refusal_through_a_revoked_link_declines_nothing(db: Database) {
    let world = World::new(db).await;
    let company = world.company.acting_as("Anne").unwrap();
    for _ in 0..10 {
        let id = world.sent().await.summary.id;
        let link = company.quotes().create_signing_link(id).await.unwrap();
        let hash = company.quotes().signing_links(id).await.unwrap().remove(0).token_hash;
        let links = world.invoicing.signing_links();
        let refusal = Decline::default();
        let quotes = company.quotes();
        let (declined, revoked) =
            tokio::join!(links.decline(link.reveal(), &refusal), quotes.revoke_signing_link(id, &hash));
        revoked.unwrap();
        let notes = world.company.history().list(None, 2).await.unwrap();
        let was_first = notes[0].action == HistoryAction::QuoteDeclined;
        assert_eq!(notes.iter().any(|note| note.action == HistoryAction::QuoteDeclined), declined.is_ok());
        assert!(!was_first, "declined after the link was revoked");
    }
}

/// Rules: SIGN-10
#[on_each_database]
async fn work_behind_links_takes_no_place_from_the_keys_of_the_company(db: Database) {
    let world = World::on(db).settings(|settings| settings.requests.documents_in_flight = 1).open().await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    world.documents.hang(true);
    let (first, second) = (Box::pin(pdf(&browser, &page)), Box::pin(pdf(&browser, &page)));
    let (refused, hanging) = select(first, second).await.factor_first();
    assert_eq!(refused.0, StatusCode::SERVICE_UNAVAILABLE);
    world.documents.hang(false);
    assert_eq!(world.get(&format!("/api/v1/quotes/{id}/document")).await.status, 200);
    drop(hanging);
}

/// Rules: SIGN-10
#[on_each_database]
async fn a_signature_under_way_takes_no_place_from_downloads(db: Database) {
    let (world, store) = HookedStore::with(db, |settings| settings.requests.documents_in_flight = 1).await;
    let (_, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    let stored = Arc::new(Notify::new());
    let is_stored = Arc::clone(&stored);
    store.happens(move || {
        is_stored.notify_one();
        Box::pin(pending())
    });
    let form = fields(&hash, NAME);
    let (signing, stored) = (pin!(sign(&browser, &page, &form)), pin!(stored.notified()));
    let Either::Right(((), _signing)) = select(signing, stored).await else { panic!("it does not wait") };
    assert_eq!(pdf(&browser, &page).await.0, StatusCode::OK);
}

/// Rules: SIGN-10
#[on_each_database]
async fn signatures_of_one_company_wait_and_those_of_others_do_not(db: Database) {
    let (world, store) = HookedStore::with(db, |settings| settings.requests.documents_in_flight = 2).await;
    let pages = [sent(&world).await.1, sent(&world).await.1, sent_by_another(&world).await];
    let browser = client(&world);
    let mut hashes = Vec::new();
    for page in &pages {
        hashes.push(hash_on(&browser.get(page).await));
    }
    let stored = Arc::new(Notify::new());
    let is_stored = Arc::clone(&stored);
    store.happens_next(1, move || {
        is_stored.notify_one();
        Box::pin(pending())
    });
    let signed = async |n: usize| sign(&browser, &pages[n], &fields(&hashes[n], NAME)).await.status;
    let mut first = Box::pin(signed(0));
    let Either::Right(_) = select(&mut first, pin!(stored.notified())).await else { panic!("it has ended") };
    let mut second = Box::pin(signed(1));
    let Either::Right((signed, _)) = select(&mut second, pin!(signed(2))).await else {
        panic!("it does not wait")
    };
    assert_eq!(signed, StatusCode::SEE_OTHER);
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    assert_eq!(second.await, StatusCode::SEE_OTHER);
}

/// Signs over a connection to the service's own server; the address that is kept as evidence.
async fn address_of_signer(db: Database, settings: ConsoleSettings, header: &str) -> Option<String> {
    let world = World::new(db).await;
    let (id, page) = sent(&world).await;
    let browser = client(&world);
    let hash = hash_on(&browser.get(&page).await);
    let fields = confirmed(&browser, &page, fields(&hash, NAME)).await;
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let site = (world.invoicing.service(), world.invoicing.signing_page(settings).unwrap());
    let request = format!(
        "POST {PREFIX}{page} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nsec-fetch-site: same-origin\r\n{header}\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    );
    peer.write_all(request.as_bytes()).await.unwrap();
    let serving = pin!(serve(listener, site, ServeLimits::default(), pending()));
    let reading = pin!(async {
        let mut answer = String::new();
        peer.read_to_string(&mut answer).await.unwrap();
        answer
    });
    let Either::Left((answer, _)) = select(reading, serving).await else { panic!("the server has ended") };
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    world.company.quotes().proof(id).await.unwrap().unwrap().ip
}

/// Rules: EVIDENCE-4
#[on_each_database]
async fn the_signer_s_address_is_the_peer_s_or_from_a_trusted_proxy(db: Database) {
    const HOPS: &str = "x-forwarded-for: 203.0.113.9, 192.0.2.7\r\n";
    let settings = || ConsoleSettings::at(format!("{ORIGIN}{PREFIX}"));
    assert_eq!(address_of_signer(db, settings(), "").await.as_deref(), Some("127.0.0.1"));
    assert_eq!(
        address_of_signer(db, settings(), HOPS).await.as_deref(),
        Some("127.0.0.1"),
        "believed unasked"
    );
    let trusting = |proxy: &str| settings().client_address("X-Forwarded-For", [proxy]);
    assert_eq!(address_of_signer(db, trusting("127.0.0.0/8"), HOPS).await.as_deref(), Some("192.0.2.7"));
    assert_eq!(address_of_signer(db, trusting("10.0.0.0/8"), HOPS).await.as_deref(), Some("127.0.0.1"));
    let refused = World::new(db).await.invoicing.signing_page(trusting("proxy.example")).unwrap_err();
    assert!(refused.to_string().contains("console.trustedProxies"), "{refused}");
}
