//! A webhook receiver: verifies, drops repeats, answers at once.
//!
//! ```console
//! $ cargo run --example receiver                                     # shows it on a service of its own, and ends
//! $ cargo run --example receiver -- 127.0.0.1:9000 whsec_… whsec_…   # receives until Ctrl-C
//! ```
//!
//! Several secrets are for rotation: any match is enough. The answers: 204 for what is genuine, also a second time;
//! 400 for what is not, which ends the delivery, as a bad signature does not get better.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::routing::post;
use bytes::Bytes;
use invoicing_core::{EventKind, NewQuote};
use invoicing_examples::{Demo, Failure};
use invoicing_server::NewWebhook;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tower_service::Service;
use webhook_verify::{DedupKey, Signer, Verifier};

/// The header that carries the signature.
const SIGNATURE: &str = "x-service-signature";

/// What the receiver knows.
struct Inbox {
    verifier: Verifier,
    /// A real receiver keeps these with what it stores, in one transaction.
    known: Mutex<HashSet<String>>,
    /// Where new events go; the work on them must not hold up the answer, which has 5 s in all.
    work: mpsc::UnboundedSender<Value>,
}

async fn hook(State(inbox): State<Arc<Inbox>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    // Exactly one signature; picking one of several would be guessing.
    let mut signatures = headers.get_all(SIGNATURE).iter();
    let (Some(signature), None) = (signatures.next(), signatures.next()) else {
        return StatusCode::BAD_REQUEST;
    };
    // First the raw bytes, then the parser.
    if let Err(error) = inbox.verifier.verify_now(signature, &body) {
        eprintln!("refused: {error}");
        return StatusCode::BAD_REQUEST;
    }
    let Ok(event) = serde_json::from_slice::<Value>(&body) else { return StatusCode::BAD_REQUEST };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, id, at) = (text(&event["event"]), text(&event["data"]["id"]), text(&event["timestamp"]));
    let key = DedupKey::recommended(&kind, &id, &at).to_string();
    let is_new = inbox.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    if is_new && inbox.work.send(event).is_err() {
        // Nobody to do the work: asking for a retry is better than losing it.
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    StatusCode::NO_CONTENT
}

fn router(verifier: Verifier) -> (Router, mpsc::UnboundedReceiver<Value>) {
    let (work, events) = mpsc::unbounded_channel();
    let inbox = Arc::new(Inbox { verifier, known: Mutex::default(), work });
    (Router::new().route("/hook", post(hook)).with_state(inbox), events)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((address, secrets)) = args.split_first() else { return demonstrate().await };
    let (router, mut events) = router(Verifier::with_secrets(secrets)?);
    let listener = TcpListener::bind(address).await?;
    eprintln!("receiving on http://{}/hook", listener.local_addr()?);
    let stop = async {
        // Without a handler there is nothing to wait for; stop at once rather than never.
        let _ = tokio::signal::ctrl_c().await;
    };
    let server = axum::serve(listener, router).with_graceful_shutdown(stop);
    let print = async {
        while let Some(event) = events.recv().await {
            println!("{event}");
        }
        Ok(())
    };
    tokio::try_join!(server.into_future(), print)?;
    Ok(())
}

/// A real delivery, then a forgery and a repeat.
async fn demonstrate() -> Result<(), Failure> {
    let demo = Demo::start().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let new = NewWebhook { url, events: EventKind::ALL.to_vec() };
    let secret = demo.company.webhooks().register(&new).await?.secret;
    let (router, mut events) = router(Verifier::new(secret.reveal())?);

    let client =
        demo.company.clients().create(&invoicing_core::NewClient::named("Claire Lefèvre")).await?.client;
    demo.company.quotes().create(&NewQuote::empty(client.id)).await?;
    let server = axum::serve(listener, router.clone());
    let event = tokio::select! {
        ended = server.into_future() => return Err(format!("the receiver ended: {ended:?}").into()),
        event = events.recv() => event.ok_or("the receiver is gone")?,
    };
    println!("received {} {} of {}", event["event"], event["data"]["number"], event["timestamp"]);

    let body = recorded(&demo).await?;
    let header = Signer::new(secret.reveal())?.sign_now(body.as_bytes()).as_str().to_owned();
    let repeat = deliver(&router, &header, body.clone()).await?;
    println!("the same again: {repeat}, and nothing new to do: {}", events.is_empty());
    let forged = deliver(&router, &header, body.replace("DRAFT", "ACCEPTED")).await?;
    println!("changed on the way: {forged}");
    let as_it_should =
        (repeat, forged) == (StatusCode::NO_CONTENT, StatusCode::BAD_REQUEST) && events.is_empty();
    if as_it_should { Ok(()) } else { Err("the receiver does not do what it should".into()) }
}

/// The body of the delivery, as the service has recorded it.
async fn recorded(demo: &Demo) -> Result<String, Failure> {
    let events = demo.company.events().list(None, 1).await?;
    Ok(events.into_iter().next().ok_or("an event was recorded")?.body)
}

async fn deliver(router: &Router, signature: &str, body: String) -> Result<StatusCode, Failure> {
    let request = Request::post("/hook").header(SIGNATURE, signature).body(Body::from(body))?;
    Ok(router.clone().call(request).await?.status())
}
