//! The journey of a webhook: registered, tested, mended, disabled, enabled, rotated, removed.

use std::time::Duration;

use http::{Request, StatusCode, header};
use invoicing_core::EventKind;
use invoicing_server::ConsoleRole;
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};
use webhook_verify::Verifier;

use super::{Browser, ORIGIN};
use crate::support::{dispatch_to_the_end, hook};

#[on_each_database]
async fn a_webhook_is_registered_tested_mended_rotated_and_removed(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(404));
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);

    // Shown once, behind a reveal.
    let form = [("url", &*receiver.url), ("events", "quote.created"), ("events", "invoice.paid")];
    let shown = browser.post("/webhooks", &form).await;
    assert_eq!(shown.status, StatusCode::OK);
    let secret = shown.page().text("code#secret");
    assert!(secret.starts_with("whsec_"));
    // With code for four languages, which does not hold it.
    for code in ["Verifier::new(secret)", "hmac.compare_digest(", "timingSafeEqual(", "hash_equals("] {
        assert!(shown.html.contains(code), "{code}: {}", shown.html);
    }
    assert_eq!(shown.html.matches(&secret).count(), 1);
    assert!(shown.html.len() < 100 * 1024);
    let webhook = world.company.webhooks().list().await.unwrap().remove(0);
    assert_eq!(webhook.events, [EventKind::QuoteCreated, EventKind::InvoicePaid]);
    let page = format!("/webhooks/{}", webhook.id);
    let list = browser.get("/webhooks").await.html;
    assert!(list.contains(&webhook.shown_url()) && !list.contains(&receiver.url) && !list.contains("whsec_"));

    // The test is under way, then its outcome has the reason of the failure.
    let sent = browser.post(&format!("{page}/test"), &[]).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    let test = sent.location().split('#').next().unwrap().to_owned();
    let waiting = browser.get(&test).await;
    assert!(waiting.html.contains("Under way.") && waiting.html.contains("Look again"), "{}", waiting.html);
    assert!(waiting.page().has("[data-refresh='2']"), "{}", waiting.html);
    dispatch_to_the_end(&world).await;
    let failed = browser.get(&test).await.html;
    assert!(
        failed.contains("Failed.") && failed.contains("HTTP 404") && !failed.contains("refresh"),
        "{failed}"
    );

    receiver.reply_always(Reply::status(204));
    receiver.take();
    let sent = browser.post(&format!("{page}/test"), &[]).await;
    dispatch_to_the_end(&world).await;
    let arrived = browser.get(sent.location().split('#').next().unwrap()).await.html;
    assert!(arrived.contains("Arrived.") && arrived.contains("HTTP 204"), "{arrived}");
    let [received] = &*receiver.take() else { panic!("one test") };
    let signature = received.headers["x-service-signature"].as_bytes();
    // The clock was moved on since.
    let sent_at = std::str::from_utf8(signature).unwrap().split(['=', ',']).nth(1).unwrap().parse().unwrap();
    Verifier::new(&secret).unwrap().verify(signature, &received.body, sent_at).unwrap();

    // Events of the time while it is disabled are sent when it is enabled.
    let disabled = browser.post(&format!("{page}/disable"), &[]).await;
    assert!(browser.get(disabled.location()).await.html.contains("by hand"));
    world.draft().await;
    let enabled = browser.post(&format!("{page}/enable"), &[("replay", "1")]).await;
    assert!(enabled.location().ends_with("?done=replayed&count=1"), "{}", enabled.location());
    dispatch_to_the_end(&world).await;
    assert_eq!(receiver.take().len(), 1);

    let rotated = browser.post(&format!("{page}/rotate"), &[("overlap", "24")]).await;
    assert_ne!(rotated.page().text("code#secret"), secret);
    assert!(browser.get(&page).await.page().has("[action$='/end-overlap']"));
    // The page was loaded again: the receiver's secret goes on.
    let again = browser.post(&format!("{page}/rotate"), &[("overlap", "24")]).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    browser.post(&format!("{page}/end-overlap"), &[]).await;
    assert!(!browser.get(&page).await.html.contains("/end-overlap"));

    assert!(browser.get(&format!("{page}/remove")).await.html.contains("cannot be undone"));
    let removed = browser.post(&format!("{page}/remove"), &[]).await;
    assert_eq!(removed.location(), "/webhooks?done=removed");
    assert_eq!(browser.get(&page).await.status, StatusCode::NOT_FOUND);
}

/// Rules: WEBHOOK-22, WEBHOOK-27, KEY-10, QUOTE-19
#[on_each_database]
async fn what_is_beyond_a_bound_is_refused_in_words_of_both_languages(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    let quote = world.sent().await.summary.id;
    let company = &world.company;
    for _ in 0..10 {
        company.webhooks().ping(id).await.unwrap();
        world.dispatch().await;
    }
    company.webhooks().rotate_with_overlap(id, Duration::from_hours(1)).await.unwrap();
    for _ in 0..99 {
        company.keys().issue("one of many").await.unwrap();
    }
    for _ in 0..50 {
        company.quotes().create_signing_link(quote).await.unwrap();
    }
    let browser = Browser::of(&world.invoicing, company.id(), ConsoleRole::Full);
    let (test, rotate, links) =
        (format!("/webhooks/{id}/test"), format!("/webhooks/{id}/rotate"), format!("/quotes/{quote}/links"));
    for (path, field, english, french) in [
        (&*test, ("a", "b"), "10 tests within a minute", "10 tests en une minute"),
        (&*rotate, ("overlap", "24"), "still signs. End that one first.", "signe encore. Révoquez d’abord"),
        ("/keys", ("label", "x"), "100 active keys", "100 clés actives"),
        (&*links, ("a", "b"), "50 good links", "50 liens valables"),
    ] {
        for (language, words) in [("en", english), ("fr", french)] {
            let headers =
                [("sec-fetch-site", "same-origin"), ("origin", ORIGIN), ("accept-language", language)];
            let refused = browser.post_from(path, &[field], &headers).await;
            assert_eq!(refused.status, StatusCode::CONFLICT, "{path}");
            assert!(refused.html.contains(words), "{path}: {}", refused.html);
        }
    }
}

/// Kinds of a newer version are shown, and stay when the form is saved, even if no other is left.
///
/// Rules: WEBHOOK-28
#[on_each_database]
async fn the_form_of_a_webhook_keeps_kinds_that_it_does_not_know(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    world.run("UPDATE webhook SET kinds = kinds | $1", &[(1_i64 << 40).into()]).await;
    let page = format!("/webhooks/{id}");
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    for (language, text) in [("en", "1 further kind"), ("fr", "1 autre type")] {
        for path in [&page, "/webhooks"] {
            let request = Request::get(path).header(header::ACCEPT_LANGUAGE, language);
            let shown = browser.ask(request.body(String::new()).unwrap()).await.html;
            assert!(shown.contains(text), "{shown}");
        }
    }
    for events in [&["quote.signed"][..], &[]] {
        let mut form = vec![("url", "http://127.0.0.1:10/hook")];
        form.extend(events.iter().map(|kind| ("events", *kind)));
        assert_eq!(browser.fill(&page, &page, &form).await.status, StatusCode::SEE_OTHER);
        let webhook = world.company.webhooks().get(id).await.unwrap();
        assert_eq!(webhook.unknown_events, 1);
        assert!(webhook.events.iter().map(|kind| kind.as_str()).eq(events.iter().copied()));
    }
}

/// A receiver that takes one signature would refuse what has two: nobody is led there unasked.
#[on_each_database]
async fn a_rotation_has_no_overlap_unless_one_is_chosen(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let shown = browser.get(&format!("/webhooks/{id}/rotate")).await;
    assert_eq!(shown.page().attr("select option[selected]", "value"), "0");
    let html = shown.html;
    assert!(html.contains("two v1 signatures") && html.contains("either one matches"), "{html}");
}

#[on_each_database]
async fn what_is_wrong_in_a_form_stands_above_it_with_what_was_entered(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    for path in ["/webhooks".to_owned(), format!("/webhooks/{id}")] {
        let wrong = [("url", "ftp://\"><script>"), ("events", "quote.created")];
        let shown = browser.post(&path, &wrong).await;
        assert_eq!(shown.status, StatusCode::BAD_REQUEST);
        let page = shown.page();
        assert!(page.has("[role=alert]"), "{}", shown.html);
        assert_eq!(page.attr("input[name=url]", "value"), "ftp://\"><script>");
        assert_eq!(page.attrs("input[name=events][checked]", "value"), ["quote.created"]);
        let none = browser.post(&path, &[("url", "http://127.0.0.1:8/hook")]).await;
        assert_eq!(none.status, StatusCode::BAD_REQUEST);
        let unknown = [("url", "http://127.0.0.1:8/hook"), ("events", "quote.eaten")];
        assert_eq!(browser.post(&path, &unknown).await.status, StatusCode::BAD_REQUEST);
    }
    let overlap = browser.post(&format!("/webhooks/{id}/rotate"), &[("overlap", "169")]).await;
    assert_eq!(overlap.status, StatusCode::BAD_REQUEST);
    for path in ["/webhooks/x", "/webhooks/018f0000-0000-7000-8000-000000000000", "/nothing"] {
        assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}
