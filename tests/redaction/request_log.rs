//! Log lines of requests and issue dates: they lead from an answer to its failure, and hold no text of a caller.

use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::{EventKind, NewClient};
use invoicing_server::{ConsoleSettings, NewWebhook};
use invoicing_tests::{Database, World};
use serde_json::json;

use crate::TURN;
use crate::log_capture::LogCapture;

/// ESC, line breaks, CSI as one character, and a mark that turns the order of the characters behind it.
const HOSTILE: &str = "a\u{1b}[2J\nforged\r\u{9b}31m\u{202e}txt";

/// Runs requests with a world on SQLite. Returns the log.
fn logged<F: Future<Output = ()>>(db: Database, requests: impl FnOnce(World) -> F) -> String {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let capture = LogCapture::anew();
    runtime.block_on(async { requests(World::new(db).await).await });
    capture.log()
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

#[test]
fn text_of_a_caller_does_not_reach_the_log() {
    let log = logged(Database::Sqlite, async |world| {
        let encoded = percent_encoded(HOSTILE);
        for path in ["/quotes?limit=", "/quotes?since=", "/quotes?status=", "/quotes?", "/quotes/", "/"] {
            let answer = world.get(&format!("/api/v1{path}{encoded}")).await;
            assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
        }
        for body in
            [json!({ HOSTILE: 1 }), json!({ "name": "x", "type": HOSTILE }), json!({ "name": HOSTILE })]
        {
            let answer = world.send("POST", "/api/v1/clients", &body).await;
            assert_eq!(answer.status, 400, "{body}");
        }
        // A path is any UTF-8; a control character in a header's value is refused as it is read.
        assert_eq!(world.get("/api/v1/\u{9b}31m\u{202e}txt").await.status, 404);
        for name in ["authorization", "content-type", "x-request-id", "range", "accept"] {
            let headers = [("content-type", "application/json"), (name, "\u{9b}31m\u{202e}txt")];
            let answer =
                world.call("POST", "/api/v1/clients", Some(&world.key), &headers, Bytes::new()).await;
            assert!(answer.status.is_client_error(), "{name}: {}", answer.status);
        }
        let headers = [("content-type", "application/json")];
        let body = Bytes::from(format!("{{\"{HOSTILE}\": }}"));
        let answer = world.call("POST", "/api/v1/clients", Some(&world.key), &headers, body).await;
        assert_eq!(answer.status, 400);
    });
    assert!(log.contains("request refused"), "nothing was logged");
    assert!(!log.contains("forged"), "the text of the caller is in the log: {log}");
    for character in ['\u{1b}', '\r', '\u{9b}', '\u{202e}'] {
        assert!(!log.contains(character), "{character:?} is in the log");
    }
}

/// A caller that joins the parts of its request wrongly may put a secret into any of them.
///
/// Rules: WIRE-20
#[test]
fn a_secret_inside_another_text_of_a_request_is_not_logged() {
    let mut secrets = Vec::new();
    let log = logged(Database::Sqlite, async |world| {
        let id = world.sent().await.summary.id;
        let link = world.company.quotes().create_signing_link(id).await.unwrap();
        let hook = NewWebhook { url: "http://127.0.0.1:8/hook".to_owned(), events: EventKind::ALL.to_vec() };
        let hook = world.company.webhooks().register(&hook).await.unwrap();
        let json = json!({ "name": "x" }).to_string();
        for secret in [world.key.as_str(), link.reveal(), hook.secret.reveal()] {
            for around in [format!("a{secret}"), format!("{secret}b"), format!("req-1.{secret}-2")] {
                for name in
                    ["x-request-id", "user-agent", "content-type", "content-encoding", "range", "accept"]
                {
                    let headers = [(name, &*around)];
                    for (method, path) in [("POST", "/api/v1/clients"), ("GET", "/api/v1/nothing")] {
                        let body = Bytes::from(json.clone());
                        world.call(method, path, Some(&world.key), &headers, body).await;
                    }
                }
                for path in [format!("/api/v1/{around}"), format!("/api/v1/quotes?limit={around}")] {
                    assert!(world.get(&path).await.status.is_client_error(), "{path}");
                }
                for body in [json!({ "name": "x", "type": around }), json!({ (around.clone()): 1 })] {
                    let answer = world.send("POST", "/api/v1/clients", &body).await;
                    assert!(answer.status.is_client_error(), "{body}");
                }
                let company = world.company.for_request(&around);
                company.clients().create(&NewClient::named("x")).await.unwrap();
            }
            secrets.push(secret.split_once('_').unwrap().1.to_owned());
        }
    });
    assert!(log.contains("request refused"), "nothing was logged");
    for secret in secrets {
        for piece in [&secret[..14], &secret[14..28], &secret[28..42]] {
            assert!(!log.contains(piece), "a part of a secret is in the log: {piece}");
        }
    }
}

/// The token of a cut or altered link is not logged either.
///
/// Rules: SIGN-9
#[test]
fn the_token_of_a_signing_link_is_not_logged() {
    let mut tokens = Vec::new();
    let log = logged(Database::Sqlite, async |world| {
        let id = world.sent().await.summary.id;
        let link = world.company.quotes().create_signing_link(id).await.unwrap();
        let secret = link.reveal().strip_prefix("sgn_").unwrap().to_owned();
        let settings = ConsoleSettings::at("https://app.example/x");
        let page = world.invoicing.signing_page(settings).unwrap();
        let ask = async |method: &str, path: String| {
            let request = Request::builder().method(method).uri(path).header("origin", "https://app.example");
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let request = request.body(Full::<Bytes>::from("name=&email=x")).unwrap();
            page.clone().answer(request).await.status()
        };
        let good = format!("/sign/sgn_{secret}");
        assert_eq!(ask("GET", good.clone()).await, 200);
        assert_eq!(ask("GET", format!("{good}/document.pdf")).await, 200);
        for (path, status) in [("", 400), ("/decline", 409)] {
            assert_eq!(ask("POST", format!("{good}{path}")).await, status);
            assert_eq!(ask("DELETE", format!("{good}{path}")).await, 405);
        }
        for path in ["/sign/", "/sign/s%67n_", "/x/sign/sgn_", "/sign/sgn_x", "/sign/a/"] {
            assert_eq!(ask("GET", format!("{path}{secret}")).await, 404, "{path}");
        }
        world.run("UPDATE company SET record = ''", &[]).await;
        assert_eq!(ask("GET", good).await, 500);
        tokens.push(secret);
    });
    assert!(log.contains("request failed") && log.contains("path=/sign/"), "{log}");
    assert!(!log.contains(&tokens[0][..14]) && !log.contains(&tokens[0][14..28]), "a token is in the log");
}

/// Rules: SIGN-11
#[test]
fn the_entries_of_a_signer_are_not_logged_sealed_or_not() {
    let mut sealed = String::new();
    let log = logged(Database::Sqlite, async |world| {
        let id = world.sent().await.summary.id;
        let link = world.company.quotes().create_signing_link(id).await.unwrap();
        let document = world.company.quotes().open_document(id).await.unwrap().sha256;
        let settings = ConsoleSettings::at("https://app.example/x");
        let page = world.invoicing.signing_page(settings).unwrap();
        let ask = async |method: &str, path: &str, body: String| {
            let request = Request::builder().method(method).uri(path).header("origin", "https://app.example");
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            page.clone().answer(request.body(Full::<Bytes>::from(body)).unwrap()).await
        };
        let path = format!("/sign/{}", link.reveal());
        let form = format!("name=Zebulon&email=zebulon@exemple.fr&document={document}");
        let first = ask("POST", &path, form).await;
        assert_eq!(first.status(), 303);
        let address = first.headers()["location"].to_str().unwrap().strip_prefix("/x").unwrap().to_owned();
        assert_eq!(ask("GET", &address, String::new()).await.status(), 200);
        assert_eq!(ask("PUT", &address, String::new()).await.status(), 405);
        assert_eq!(ask("GET", &format!("{address}x"), String::new()).await.status(), 303);
        world.run("UPDATE company SET record = ''", &[]).await;
        assert_eq!(ask("GET", &address, String::new()).await.status(), 500);
        sealed.push_str(address.split_once("?signer=").unwrap().1);
    });
    assert!(log.contains("request failed"), "{log}");
    for part in ["Zebulon", "zebulon", &sealed[20..40]] {
        assert!(!log.contains(part), "{part} is in the log");
    }
}

#[test]
fn the_request_id_of_a_500_leads_to_its_cause_in_the_log() {
    let log = logged(Database::Sqlite, async |world| {
        let id = world.draft().await.summary.id;
        world.run("UPDATE company SET record = ''", &[]).await;
        let world = world.reopen().await;
        let headers = [("x-request-id", "find-me-4711")];
        let path = format!("/api/v1/quotes/{id}");
        let answer = world.call("GET", &path, Some(&world.key), &headers, Bytes::new()).await;
        assert_eq!(answer.status, 500);
        assert_eq!(answer.headers["x-request-id"], "find-me-4711");
    });
    let line = log.lines().find(|line| line.contains("request failed")).expect("the failure");
    assert!(line.contains("ERROR") && line.contains("request_id=\"find-me-4711\""), "{line}");
    assert!(line.contains("table company"), "the cause is missing: {line}");
}

/// Rules: NUMBER-6
#[test]
fn an_issue_date_that_is_held_back_is_warned_of_once_per_company_and_day() {
    const DAY: Duration = Duration::from_hours(24);
    let log = logged(Database::Sqlite, async |world| {
        let issue = async || {
            let quote = world.accepted().await.summary.id;
            let draft = world.company.invoices().convert(quote).await.unwrap().summary.id;
            world.company.invoices().issue(draft, None).await.unwrap();
        };
        let right = world.now();
        world.advance(3 * DAY);
        issue().await;
        world.clock.set(right);
        for _ in 0..2 {
            issue().await;
        }
        world.advance(DAY);
        issue().await;
        world.advance(2 * DAY);
        issue().await;
    });
    assert_eq!(log.matches("the clock is behind that date").count(), 2, "{log}");
}
