//! A webhook receiver on axum: verifies, keeps, answers; and handles each event once, whenever the process dies.
//!
//! ```console
//! $ cargo run --example receiver_axum                                              # on a service of its own
//! $ cargo run --example receiver_axum -- 127.0.0.1:9000 inbox.db whsec_… whsec_…   # until Ctrl-C
//! ```
//!
//! Several secrets are for rotation: any match is enough. The answers: 204 for what is genuine and kept, also a second
//! time; 400 for what is not genuine, which ends the delivery, as a bad signature does not get better; 503 where the
//! inbox cannot keep it, so that it comes again.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use invoicing_core::{NewClient, NewQuote};
use invoicing_examples::{Demo, Failure};
use invoicing_server::NewWebhook;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tower_service::Service;
use webhook_verify::events::EventData;
use webhook_verify::inbox::{Claim, InboxService, SqliteInbox, Worker};
use webhook_verify::receiver::Receiver;
use webhook_verify::{Signer, Verifier};

fn router(verifier: Verifier, inbox: &Arc<SqliteInbox>) -> Router {
    let receiver = Receiver::new(verifier).on_refusal(|refusal| eprintln!("delivery refused: {refusal}"));
    let service = InboxService::new(receiver, Arc::clone(inbox));
    Router::new().route_service("/hook", service)
}

/// The handler of an event. By now its sender has its answer, so this may take its time; an error here makes it
/// come again, later.
fn handle(claim: &Claim) -> String {
    let Ok(event) = claim.event() else { return "something else than an event".to_owned() };
    let what = match &event.data {
        EventData::QuoteCreated(quote) | EventData::QuoteSigned(quote) | EventData::QuoteAccepted(quote) => {
            format!("{} {} over {}", quote.number, quote.status, quote.total_ttc)
        }
        EventData::InvoicePaid(invoice) => format!("{:?} paid: {}", invoice.number, invoice.amount_paid),
        // Later versions send more.
        _ => "no work".to_owned(),
    };
    format!("{} of {}: {what}", event.name(), event.timestamp)
}

fn worker(inbox: &Arc<SqliteInbox>) -> Worker<SqliteInbox> {
    Worker::new(Arc::clone(inbox)).on_error(|error| eprintln!("{error:?}"))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, file, secrets @ ..] = &args[..] else { return demonstrate().await };
    let inbox = Arc::new(SqliteInbox::open(file).await?);
    let router = router(Verifier::with_secrets(secrets)?, &inbox);
    let listener = TcpListener::bind(address).await?;
    eprintln!("receiving on http://{}/hook", listener.local_addr()?);
    let worker = worker(&inbox);
    let print = async |claim: Claim| {
        println!("{}", handle(&claim));
        Ok::<(), Infallible>(())
    };
    tokio::select! {
        served = axum::serve(listener, router).into_future() => served?,
        () = worker.run(print, std::future::pending()) => {}
        // Unhandled events are handled after the next start.
        _ = tokio::signal::ctrl_c() => {}
    }
    inbox.close().await;
    Ok(())
}

/// A real delivery, then a repeat and a forgery.
async fn demonstrate() -> Result<(), Failure> {
    let demo = Demo::start().await?;
    let folder = tempfile::tempdir()?;
    let inbox = Arc::new(SqliteInbox::open(folder.path().join("inbox.db")).await?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let secret = demo.company.webhooks().register(&NewWebhook::for_all_events(url)).await?.secret;
    let router = router(Verifier::new(secret.reveal())?, &inbox);

    let client = demo.company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
    demo.company.quotes().create(&NewQuote::empty(client.id)).await?;
    let worker = worker(&inbox);
    let (done, mut handled) = mpsc::unbounded_channel();
    let report = |claim: Claim| std::future::ready(done.send(handle(&claim)));
    tokio::select! {
        served = axum::serve(listener, router.clone()).into_future() => served?,
        () = worker.run(&report, std::future::pending()) => {}
        first = handled.recv() => println!("handled {}", first.ok_or("the worker is gone")?),
    }

    let body = recorded(&demo).await?;
    let header = Signer::new(secret.reveal())?.sign_now(body.as_bytes()).as_str().to_owned();
    let repeat = deliver(&router, &header, body.clone()).await?;
    let again = worker.run_due(&report).await?;
    println!("the same again: {repeat}, and nothing new to do: {}", again == 0);
    let forged = deliver(&router, &header, body.replace("DRAFT", "ACCEPTED")).await?;
    println!("changed on the way: {forged}");
    let as_it_should = (repeat, forged, again) == (StatusCode::NO_CONTENT, StatusCode::BAD_REQUEST, 0);
    if as_it_should { Ok(()) } else { Err("the receiver does not do what it should".into()) }
}

/// The body of the delivery, as the service has recorded it.
async fn recorded(demo: &Demo) -> Result<String, Failure> {
    let events = demo.company.events().list(None, 1).await?;
    Ok(events.into_iter().next().ok_or("an event was recorded")?.body)
}

async fn deliver(router: &Router, signature: &str, body: String) -> Result<StatusCode, Failure> {
    let request = Request::post("/hook").header("x-service-signature", signature);
    let request = request.header("content-type", "application/json").body(Body::from(body))?;
    Ok(router.clone().call(request).await?.status())
}
