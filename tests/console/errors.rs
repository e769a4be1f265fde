//! Pages of errors: within the frame, in the reader's language, with a way back.

use http::{Request, StatusCode, header};
use invoicing_core::{EventKind, Plan};
use invoicing_server::{ConsoleRole, ConsoleSession, Language, NewWebhook, SignInDecision};
use invoicing_tests::{Database, World, on_each_database};

use super::{Browser, ORIGIN, PREFIX, Shown};
use crate::support::hook;

/// Someone who reads French, whatever the browser prefers.
fn lecteur(world: &World, role: ConsoleRole) -> Browser {
    let session = ConsoleSession::new(world.company.id(), "Anna", role).language(Language::French);
    Browser::with(&world.invoicing, world.company.id(), move |_| SignInDecision::Granted(session.clone()))
}

/// Where the page leads back to, without the prefix.
fn way_back(shown: &Shown) -> String {
    let link = shown.page().attr("a.button.plain", "href");
    link.strip_prefix(PREFIX).unwrap_or_else(|| panic!("{link}")).to_owned()
}

/// The words of programs: names of parameters and rules as the API has them.
fn is_for_people(shown: &Shown) {
    for word in
        ["must ", "validUntil:", "EventKind", "TargetPolicy", "record:", "status:", "url:", "label:", "DRAFT"]
    {
        assert!(!shown.html.contains(word), "{word}: {}", shown.html);
    }
}

/// Rules: PAGE-2
#[on_each_database]
async fn an_error_page_has_the_frame_and_leads_back_in_each_language(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let (webhook, filter) = (format!("/webhooks/{id}"), format!("/webhooks/{id}/deliveries"));
    let reader = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let lecteur = lecteur(&world, ConsoleRole::Full);
    let wrong_status = format!("{filter}?status=eaten");
    let wrong_from = format!("{filter}?from=yesterday");
    let disable = format!("{webhook}/disable");
    for (path, back, status, english, french) in [
        ("/nothing", "/", 404, "There is no such page", "Cette page n’existe pas"),
        ("/webhooks/x", "/webhooks", 404, "There is no such page", "Cette page n’existe pas"),
        ("/quotes/x", "/quotes", 404, "There is no such page", "Cette page n’existe pas"),
        (&*disable, &*webhook, 405, "belongs to a form", "celle d’un formulaire"),
        (
            &*wrong_status,
            &*filter,
            400,
            "State: is none of the choices.",
            "État : ne figure pas parmi les choix.",
        ),
        (
            &*wrong_from,
            &*filter,
            400,
            "From: must be a date and a time",
            "Depuis : doit être une date et une heure",
        ),
        ("/quotes?status=eaten", "/quotes", 400, "State: is none", "État : ne figure pas"),
        ("/invoices/x", "/invoices", 404, "There is no such page", "Cette page n’existe pas"),
        ("/credit-notes/x", "/credit-notes", 404, "There is no such page", "Cette page n’existe pas"),
        ("/invoices?status=eaten", "/invoices", 400, "State: is none", "État : ne figure pas"),
        (
            "/credit-notes?before=x",
            "/credit-notes",
            400,
            "Page: must be reached",
            "Page : doit être atteinte",
        ),
        ("/quotes?before=x", "/quotes", 400, "Page: must be reached", "Page : doit être atteinte"),
        ("/events?kind=eaten", "/events", 400, "Event: is none", "Événement : ne figure pas"),
        (
            "/history?record=x",
            "/history",
            400,
            "Record: must be an identifier",
            "Enregistrement : doit être un identifiant",
        ),
    ] {
        for (browser, text, chapter) in [(&reader, english, "API keys"), (&lecteur, french, "Clés d’API")]
        {
            let shown = browser.get(path).await;
            assert_eq!(shown.status.as_u16(), status, "{path}");
            assert!(shown.html.contains(text), "{path}: {}", shown.html);
            assert!(shown.page().text("nav.chapters").contains(chapter), "{path}");
            assert!(shown.page().texts("bdi").contains(&"Anna".to_owned()), "{path}: {}", shown.html);
            assert_eq!(way_back(&shown), back, "{path}");
            assert_eq!(browser.get(back).await.status, StatusCode::OK, "{back}");
        }
        is_for_people(&lecteur.get(path).await);
    }
}

/// Rules: ERROR-3, PAGE-2
#[on_each_database]
async fn a_form_in_a_content_encoding_is_refused_by_the_name_of_the_header(db: Database) {
    let world = World::new(db).await;
    let quote = world.sent().await.summary.id;
    let link = world.company.quotes().create_signing_link(quote).await.unwrap();
    let sign = format!("/sign/{}", link.reveal());
    let reader = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let lecteur = lecteur(&world, ConsoleRole::Full);
    let before = world.dump().await;
    let [site, origin] = super::OWN;
    for encoding in ["gzip", "br", "identity, gzip"] {
        for (path, fields) in [("/keys", [("label", "A")]), (&*sign, [("name", "A")])] {
            for browser in [&reader, &lecteur] {
                let headers = [site, origin, ("content-encoding", encoding)];
                let shown = browser.post_from(path, &fields, &headers).await;
                assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{path}");
                assert!(shown.html.contains("Content-Encoding"), "{path}: {}", shown.html);
            }
        }
    }
    assert_eq!(world.dump().await, before);
    let headers = [site, origin, ("content-encoding", "identity")];
    assert_eq!(reader.post_from("/keys", &[("label", "A")], &headers).await.status, StatusCode::OK);
}

/// Rules: PAGE-2
#[on_each_database]
async fn a_refused_form_says_why_at_its_field_in_each_language(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let quote = world.draft().await.summary.id;
    let (webhook, send) = (format!("/webhooks/{id}"), format!("/quotes/{quote}/send"));
    let lecteur = lecteur(&world, ConsoleRole::Full);
    let long = "x".repeat(256);
    let (good, created) = (("url", "http://127.0.0.1:8/hook"), ("events", "quote.created"));
    for (path, form, input, text) in [
        ("/keys", vec![("label", "")], "label", "Nom : doit avoir de 1 à 255 caractères."),
        ("/keys", vec![("label", &*long)], "label", "Nom : doit avoir au plus 255 caractères."),
        (
            "/webhooks",
            vec![("url", "x y"), created],
            "url",
            "Adresse du récepteur : doit être une adresse complète",
        ),
        (
            &webhook,
            vec![("url", "ftp://a.fr/"), created],
            "url",
            "Adresse du récepteur : doit commencer par https://.",
        ),
        ("/webhooks", vec![good], "events", "Événements : choisissez-en au moins un."),
        (
            &webhook,
            vec![good, ("events", "quote.eaten")],
            "events",
            "Événements : ne figure pas parmi les choix.",
        ),
        (&send, vec![("validUntil", "demain")], "valid-until", "Valable jusqu’au : doit être une date"),
        (
            &send,
            vec![("validUntil", "2001-01-01")],
            "valid-until",
            "Valable jusqu’au : ne doit pas être passé.",
        ),
    ] {
        let shown = if path == send {
            lecteur.fill(path, path, &form).await
        } else {
            lecteur.post(path, &form).await
        };
        assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{path} {form:?}");
        let page = shown.page();
        let at_field = page.text(&format!("#{input}-wrong"));
        assert!(at_field.starts_with(text), "{at_field}");
        assert_eq!(page.text(&format!("a[href='#{input}']")), "Corriger");
        assert!(page.has(&format!("[aria-describedby^='{input}-wrong']")), "{}", shown.html);
        assert!(page.has(&format!("#{input}")), "{}", shown.html);
        is_for_people(&shown);
    }
}

/// Rules: PAGE-2
#[on_each_database]
async fn what_a_state_does_not_allow_is_told_in_each_language(db: Database) {
    let world = World::new(db).await;
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    let draft = world.draft().await.summary;
    let (quote, shown_at) = (draft.id, draft.updated_at.to_string());
    let reader = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let lecteur = lecteur(&world, ConsoleRole::Full);
    world.company.webhooks().disable(id).await.unwrap();
    for n in 1..20 {
        let new = NewWebhook::new(format!("http://127.0.0.1:8/{n}"), [EventKind::QuoteCreated]);
        world.company.webhooks().register(&new).await.unwrap();
    }
    let replay = format!("/webhooks/{id}/replay");
    let links = format!("/quotes/{quote}/links");
    let since = [("since", "2026-01-01T00:00:00.000Z")];
    let version = [("version", &*shown_at)];
    let another = [("url", "http://127.0.0.1:8/hook"), ("events", "quote.created")];
    for (path, form, english, french) in [
        (
            &*replay,
            &since[..],
            "The webhook is disabled. Enable it first.",
            "Le webhook est désactivé. Activez-le d’abord.",
        ),
        (
            &*links,
            &version[..],
            "Send it first, then make a link.",
            "Envoyez-le d’abord, puis créez un lien.",
        ),
        ("/webhooks", &another, "There are 20 webhooks already", "Il y a déjà 20 webhooks"),
    ] {
        for (browser, text) in [(&reader, english), (&lecteur, french)] {
            let shown = browser.post(path, form).await;
            assert_eq!(shown.status, StatusCode::CONFLICT, "{path}");
            assert!(shown.html.contains(text), "{path}: {}", shown.html);
            assert!(shown.page().has("nav.chapters"), "{path}");
        }
    }
    assert_eq!(way_back(&reader.post(&links, &version).await), format!("/quotes/{quote}"));
    assert_eq!(way_back(&reader.post(&replay, &since).await), format!("/webhooks/{id}"));
}

/// Rules: PAGE-2
#[on_each_database]
async fn a_form_that_cannot_be_read_has_a_page_in_each_language(db: Database) {
    let world = World::new(db).await;
    let lecteur = lecteur(&world, ConsoleRole::Full);
    let post = |content_type: &str, body: String| {
        Request::post("/keys")
            .header(header::CONTENT_TYPE, content_type)
            .header("sec-fetch-site", "same-origin")
            .header(header::ORIGIN, ORIGIN)
            .body(body)
            .unwrap()
    };
    let large = format!("label={}", "x".repeat(300 * 1024));
    for (request, status, text) in [
        (post("application/x-www-form-urlencoded", large), 413, "Le formulaire est trop volumineux."),
        (post("text/plain", "label=x".to_owned()), 400, "Le formulaire est illisible."),
    ] {
        let shown = lecteur.ask(request).await;
        assert_eq!(shown.status.as_u16(), status);
        assert!(shown.html.contains(text) && shown.page().has("nav.chapters"), "{}", shown.html);
        assert_eq!(way_back(&shown), "/keys");
    }
    // Not from a page of this site: its reader is not known, and is led to the page.
    let foreign = lecteur.post_from("/keys", &[("label", "x")], &[("sec-fetch-site", "cross-site")]).await;
    assert_eq!((foreign.status, &*way_back(&foreign)), (StatusCode::FORBIDDEN, "/"));
    assert_eq!(world.company.keys().list().await.unwrap().len(), 1);
}

#[on_each_database]
async fn an_error_page_tells_a_stranger_nothing_of_a_company(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre entreprise", Plan::Team).await;
    let stranger = Browser::with(&world.invoicing, world.company.id(), |_| SignInDecision::Forbidden);
    let elsewhere = Browser::of(&world.invoicing, other.id(), ConsoleRole::Full);
    let id = hook(&world, "http://127.0.0.1:8/hook").await.webhook.id;
    for path in ["/nothing".to_owned(), format!("/webhooks/{id}")] {
        let shown = stranger.get(&path).await;
        assert!(!shown.page().has("nav, .button.plain"), "{}", shown.html);
        let shown = elsewhere.get(&path).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND);
        let own = world.company.details().await.unwrap().name;
        assert!(!shown.html.contains(&own), "{}", shown.html);
    }
}
