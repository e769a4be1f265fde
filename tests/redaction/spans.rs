//! The spans: their names and fields, and the absence of private values.

use std::sync::PoisonError;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use invoicing_core::{
    CompanyId, NewClient, NewCompany, NewLine, NewQuote, Plan, SignatureEvidence, WebhookId,
};
use invoicing_server::{
    Console, ConsoleRole, ConsoleSession, ConsoleSettings, NewWebhook, SignInDecision, Signature,
};
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};
use serde_json::json;

use crate::TURN;
use crate::log_capture::LogCapture;

/// Personal and customers' texts. None is a part of another word.
const COMPANY: &str = "Kanarienvogel-Firma";
const CLIENT: &str = "Kanarienvogel-Kundin";
const MAIL: &str = "kanarienvogel.post";
const TEXT: &str = "Kanarienvogel-Anstrich";
const SIGNER: &str = "Kanarienvogel-Signatur";
const PATH: &str = "kanarienvogel-pfad";
const PERSON: &str = "Kanarienvogel-Bedienung";
const LABEL: &str = "Kanarienvogel-Etikett";

const ORIGIN: &str = "https://app.example";

/// Sends a request to the console, or to its signing page.
async fn ask(console: &Console, method: &str, path: &str, form: &str) -> (StatusCode, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("origin", ORIGIN)
        .header("x-request-id", "req-4713")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Full::<Bytes>::from(form.to_owned()))
        .unwrap();
    let response = console.clone().answer(request).await;
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// Issues a key and tests a webhook in the console, and opens a quote behind its link. Returns the texts that no span
/// may hold.
async fn look(world: &World, company: CompanyId, hook: WebhookId, token: &str) -> Vec<String> {
    let session = ConsoleSession::new(company, PERSON, ConsoleRole::Full);
    let sign_in = move |_: &Parts| SignInDecision::Granted(session.clone());
    let console = world.invoicing.console(ConsoleSettings::at(format!("{ORIGIN}/x")), sign_in).unwrap();
    let token_for = |path: &str| console.form_token(company, path);
    let form = format!("label=Kanarienvogel-Etikett&form={}", token_for("/keys"));
    let (status, shown) = ask(&console, "POST", "/keys", &form).await;
    assert_eq!(status, 200, "{shown}");
    let (_, key) = shown.split_once("isk_").unwrap();
    let key = key[..43].to_owned();
    let test = format!("/webhooks/{hook}/test");
    assert_eq!(ask(&console, "POST", &test, &format!("form={}", token_for(&test))).await.0, 303);
    assert_eq!(ask(&console, "GET", "/quotes?q=Kanarienvogel", "").await.0, 200);
    let page = world.invoicing.signing_page(ConsoleSettings::at(format!("{ORIGIN}/x"))).unwrap();
    for path in ["", "/decline", "/document.pdf"] {
        assert_eq!(ask(&page, "GET", &format!("/sign/{token}{path}"), "").await.0, 200, "{path}");
    }
    let secret = token.strip_prefix("sgn_").unwrap();
    assert_eq!(ask(&page, "GET", &format!("/sign/x{secret}"), "").await.0, 404);
    vec![key[..14].to_owned(), key[14..28].to_owned(), secret[..14].to_owned(), secret[14..28].to_owned()]
}

/// A company, its quote from the draft to the signature, an attempt of each kind, and requests. Returns the texts that
/// the spans must hold, and the texts that they must not hold.
async fn live(db: Database) -> (Vec<String>, Vec<String>) {
    let world = World::new(db).await;
    let company =
        world.invoicing.companies().create(&NewCompany::named(COMPANY, Plan::Team)).await.unwrap().id;
    let company = world.invoicing.company(company);
    let receiver = Receiver::start().await;
    receiver.reply_next([Reply::status(500)]);
    let hook = NewWebhook::for_all_events(format!("{}/{PATH}", receiver.url));
    let hook = company.for_request("req-4711").webhooks().register(&hook).await.unwrap().webhook.id;
    let client = NewClient::named(CLIENT).email(format!("{MAIL}@exemple.fr"));
    let client = company.clients().create(&client).await.unwrap();
    let draft = NewQuote::empty(client.id).line(NewLine::new(TEXT, 1, 100, 10));
    let quote = company.for_request("req-4712").quotes().create(&draft).await.unwrap().summary.id;
    company.quotes().send(quote, None).await.unwrap();
    let token = company.quotes().create_signing_link(quote).await.unwrap();
    let private = look(&world, company.id(), hook, token.reveal()).await;
    let evidence = SignatureEvidence::new(SIGNER, format!("{MAIL}@exemple.fr"), "Bon pour accord");
    world.invoicing.signing_links().sign(token.reveal(), &Signature::new(evidence)).await.unwrap();
    world.dispatch().await;
    let listed = world.get("/api/v1/quotes?q=Kanarienvogel&limit=1").await;
    assert_eq!(listed.status, 400, "quotes have no search");
    let made =
        world.send("POST", "/api/v1/clients", &json!({ "name": CLIENT, "email": "a@exemple.fr" })).await;
    assert_eq!(made.status, 201);
    world.get("/api/v1/clients").await;
    let ours: CompanyId = company.id();
    let expected = vec![
        "otel.name=POST /api/v1/clients".into(),
        "http.route=\"/api/v1/clients\"".into(),
        "http.response.status_code=201".into(),
        format!("company={}", world.company.id()),
        format!("operation{{otel.name=\"quotes.send\" company={ours}"),
        "operation{otel.name=\"signing_links.sign\"".into(),
        "result=\"ok\"".into(),
        format!("transaction{{access=\"write\" company={ours}"),
        "transaction{access=\"read\"".into(),
        format!("company={ours} webhook={hook}"),
        "number=1 request_id=\"req-4712\"".into(),
        "number=1 request_id=\"req-4713\"".into(),
        "otel.name=POST /webhooks/{id}/test".into(),
        "http.route=\"/sign/{token}/document.pdf\"".into(),
        "http.response.status_code=500".into(),
        "otel.status_code=\"ERROR\"".into(),
    ];
    (expected, private)
}

#[on_each_database]
fn spans_have_ids_and_codes_and_nothing_private(db: Database) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let capture = LogCapture::anew();
    let (expected, secrets) = runtime.block_on(live(db));
    let log = capture.log();
    for text in expected {
        assert!(log.contains(&text), "{db:?}: no span has {text}");
    }
    let known = [COMPANY, CLIENT, MAIL, TEXT, SIGNER, PATH, PERSON, LABEL];
    for private in known.into_iter().chain(secrets.iter().map(String::as_str)) {
        let at = log.find(private);
        let around =
            at.map(|at| log[..at].rfind('\n').map_or(&log[..], |line| &log[line..]).chars().take(600));
        assert_eq!(at, None, "{private}: {:?}", around.map(Iterator::collect::<String>));
    }
}
