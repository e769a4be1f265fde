//! A connector between the service and a CRM: every quote has a deal, and each names the other.
//!
//! ```console
//! $ cargo run --example crm_connector                                                  # on a service of its own
//! $ cargo run --example crm_connector -- http://127.0.0.1:8080 isk_… 127.0.0.1:9000 whsec_… crm
//! ```
//!
//! Two ways in, for two purposes. The present state of a quote comes from the API, with webhooks as hints and a pass over
//! everything that changed at the start and every few minutes: nothing is missed, even if webhooks are lost. What
//! is to be done once because something happened, such as thanking for a payment, hangs on the event itself, in an
//! inbox that knows what was done.

mod crm;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use invoicing_client::{
    CatchUpError, ChangeEvents, ChangeNotifier, CheckpointStore, FileCheckpoint, InvoicingClient, QuoteItem,
    change_events,
};
use invoicing_core::{NewClient, NewQuote};
use invoicing_examples::{Demo, Failure, explain};
use invoicing_server::NewWebhook;
use tokio::net::TcpListener;
use webhook_verify::Verifier;
use webhook_verify::events::EventData;
use webhook_verify::inbox::{Claim, InboxService, SqliteInbox, Worker};
use webhook_verify::receiver::Receiver;

use crm::Crm;

/// The wait after a quote that could not be linked.
const PAUSE: Duration = Duration::from_secs(10);

struct Connector {
    client: InvoicingClient,
    crm: Crm,
    checkpoint: FileCheckpoint,
    inbox: Arc<SqliteInbox>,
}

impl Connector {
    /// Keeps its state in this folder.
    async fn open(client: InvoicingClient, folder: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)?;
        let checkpoint = FileCheckpoint::new(folder.join("quotes.checkpoint.json"));
        // Keeps a second connector out, which would go by the deals of before.
        checkpoint.lock_and_load("quotes").await?;
        Ok(Self {
            client,
            crm: Crm::open(folder.join("deals.json"))?,
            checkpoint,
            inbox: Arc::new(SqliteInbox::open(folder.join("inbox.db")).await?),
        })
    }

    /// Receives, follows and links until something fails that trying again does not help.
    async fn run(&self, listener: TcpListener, verifier: Verifier) -> Result<(), Failure> {
        let receiver = Receiver::new(verifier).on_refusal(|refusal| eprintln!("delivery refused: {refusal}"));
        let service = InboxService::new(receiver, Arc::clone(&self.inbox));
        let router = Router::new().route_service("/hook", service);
        let (notifier, events) = change_events();
        let worker = Worker::new(Arc::clone(&self.inbox)).on_error(|error| eprintln!("{error:?}"));
        let handle = async |claim: Claim| {
            event(&claim, &notifier);
            // Done with for good.
            Ok::<_, Failure>(())
        };
        tokio::select! {
            served = axum::serve(listener, router).into_future() => Ok(served?),
            () = worker.run(handle, std::future::pending()) => Ok(()),
            failed = self.follow(events) => Err(failed.into()),
        }
    }

    /// Follows until something fails that trying again does not help. A link that fails is tried again.
    async fn follow(&self, mut events: ChangeEvents) -> CatchUpError<io::Error> {
        let mut follow =
            self.client.quotes().follow(self.checkpoint.clone()).on_error(|failed| eprintln!("{failed}"));
        loop {
            match follow.run(&mut events, |quote| self.quote(quote)).await {
                Err(error @ CatchUpError::Handler { .. }) => {
                    eprintln!("{}", explain(&error));
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return error,
                Ok(never) => match never {},
            }
        }
    }

    /// A version of a quote, new or seen again.
    async fn quote(&self, quote: QuoteItem) -> Result<(), io::Error> {
        let deal = self.crm.upsert(&quote)?;
        if quote.summary.external_id.as_deref() != Some(&deal) {
            // Linking is a change, so the quote comes once more, and is then what it should be.
            self.client.quotes().link(quote.summary.id, &deal).await.map_err(io::Error::other)?;
            println!("linked {} to {deal}", quote.summary.number);
        }
        Ok(())
    }
}

/// Something happened.
fn event(claim: &Claim, notifier: &ChangeNotifier) {
    let Ok(event) = claim.event() else {
        // It will not become readable by coming again.
        eprintln!("not an event: {}", claim.key);
        return;
    };
    match &event.data {
        EventData::QuoteCreated(_) | EventData::QuoteSigned(_) | EventData::QuoteAccepted(_) => {
            // Only a hint. Were it lost from here on, the next pass would bring the quote all the same.
            notifier.notify_event(&event);
        }
        EventData::InvoicePaid(invoice) => {
            println!("thank {} for {}", invoice.client_name, invoice.amount_paid);
        }
        _ => {}
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (base_url, key, address, secret, folder) = match &args[..] {
        [] => return demonstrate().await,
        [base_url, key, address, secret, folder] => (base_url, key, address, secret, folder),
        _ => return Err("give no arguments, or BASE_URL KEY ADDRESS SECRET FOLDER".into()),
    };
    let client = InvoicingClient::builder(base_url, &**key).build()?;
    let connector = Connector::open(client, Path::new(folder)).await?;
    let listener = TcpListener::bind(address).await?;
    tokio::select! {
        ended = connector.run(listener, Verifier::new(secret)?) => ended,
        // A step that is interrupted here is repeated after the next start.
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// One quote from before the connector starts, one that a webhook announces, one from while it is away.
async fn demonstrate() -> Result<(), Failure> {
    let demo = Demo::start().await?;
    let folder = tempfile::tempdir()?;
    let client = demo.company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
    let new = NewQuote::empty(client.id);
    let mut quotes = vec![demo.company.quotes().create(&new).await?.summary.id];

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let webhook = NewWebhook::for_all_events(format!("http://{address}/hook"));
    let secret = demo.company.webhooks().register(&webhook).await?.secret;
    let api = InvoicingClient::builder(&demo.base_url, &*demo.key).build()?;
    let connector = Connector::open(api.clone(), folder.path()).await?;
    tokio::select! {
        ended = connector.run(listener, Verifier::new(secret.reveal())?) => return ended,
        () = linked(&demo, quotes.clone()) => println!("caught up at the start"),
    }
    drop(connector);

    quotes.push(demo.company.quotes().create(&new).await?.summary.id);
    let connector = Connector::open(api, folder.path()).await?;
    let listener = TcpListener::bind(address).await?;
    let rest = async {
        linked(&demo, quotes.clone()).await;
        println!("caught up with what happened while it was away");
        match demo.company.quotes().create(&new).await {
            Ok(quote) => quotes.push(quote.summary.id),
            Err(error) => eprintln!("{}", explain(&error)),
        }
        linked(&demo, quotes.clone()).await;
        println!("told by a webhook");
    };
    tokio::select! {
        ended = connector.run(listener, Verifier::new(secret.reveal())?) => return ended,
        () = rest => {}
    }
    for id in quotes {
        let quote = demo.company.quotes().get(id).await?;
        println!(
            "{} is {}",
            quote.summary.number,
            quote.summary.external_id.as_deref().unwrap_or("not linked")
        );
    }
    if connector.crm.len() == 3 { Ok(()) } else { Err("each quote has one deal".into()) }
}

/// Waits until each of these quotes is linked to a deal.
async fn linked(demo: &Demo, quotes: Vec<invoicing_core::QuoteId>) {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    for id in quotes {
        while demo.company.quotes().get(id).await.is_ok_and(|quote| quote.summary.external_id.is_none()) {
            ticks.tick().await;
        }
    }
}
