//! A server process that is there to be killed.
//!
//! `node <database> <documents> work|rest <webhook URL>...` opens the service on these files, serves the API, runs the
//! dispatcher and, told to `work`, writers that do business of all kinds. It prints one line of JSON for each operation
//! *after* that has returned, so what is printed must be found again. When its standard input ends it stops in good
//! order.

use std::error::Error;
use std::fmt::Display;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use invoicing_core::{
    EventKind, Invoice, Money, NewClient, NewCompany, Plan, Project, ProjectStatus, Quote, QuoteId,
    QuoteImport, QuoteStatus, SignatureEvidence, Timestamp,
};
use invoicing_server::{
    CompanyHandle, Invoicing, NewPayment, NewProject, NewWebhook, ObjectStorage, PageQuery, PageWindow,
    PaymentMethod, ServeLimits, Settings, Signature, TargetPolicy, serve,
};
use invoicing_tests::new_quote;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

/// Writers per company.
const WRITERS: u64 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&json!({ "failed": error.to_string() }));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line, at once.
fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: then nobody misses it.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

async fn run() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().ok_or_else(|| format!("{name} is missing"));
    let (database, documents, mode) = (argument("database")?, argument("documents")?, argument("mode")?);
    let hooks: Vec<String> = arguments.collect();
    let settings =
        Settings { target: TargetPolicy { allow_http: true, allow_private: true }, ..Settings::default() };
    let invoicing = Invoicing::builder(database)
        .settings(settings)
        .document_store(Arc::new(ObjectStorage::folder(documents)?))
        .open()
        .await?;
    let companies = companies(&invoicing, &hooks).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let keys = companies[0].0.keys();
    let (key, spare) = (keys.issue("key").await?, keys.issue("spare").await?);
    let (key, spare) = (key.key.reveal(), spare.key.reveal());
    say(&json!({ "started": listener.local_addr()?.to_string(), "key": key, "spare": spare }));
    work(&invoicing, companies, listener, mode == "work").await?;
    invoicing.close().await;
    say(&json!({ "closed": true }));
    Ok(())
}

/// Two companies, the second with automatic invoices, each with all webhooks, switched on; what failed or was skipped
/// before is delivered again.
async fn companies(invoicing: &Invoicing, hooks: &[String]) -> Result<Vec<(CompanyHandle, bool)>, Failure> {
    let mut known = invoicing.companies().list().await?;
    for place in known.len()..2 {
        let named = NewCompany::named(format!("Company {place}"), Plan::Team);
        known.push(
            invoicing.companies().create(&NewCompany { automatic_invoicing: place == 1, ..named }).await?,
        );
    }
    let mut companies = Vec::new();
    for company in known {
        let handle = invoicing.company(company.id);
        let registered = handle.webhooks().list().await?;
        for url in hooks.iter().skip(registered.len()) {
            let hook = NewWebhook { url: url.clone(), events: EventKind::ALL.to_vec() };
            handle.webhooks().register(&hook).await?;
        }
        for hook in registered {
            handle.webhooks().enable(hook.id).await?;
            handle.webhooks().replay(hook.id, None).await?;
        }
        companies.push((handle, company.automatic_invoicing));
    }
    Ok(companies)
}

/// Runs everything until standard input ends.
async fn work(
    invoicing: &Invoicing,
    companies: Vec<(CompanyHandle, bool)>,
    listener: tokio::net::TcpListener,
    with_business: bool,
) -> Result<(), Failure> {
    let (stop, stopped) = watch::channel(false);
    std::thread::spawn(move || {
        let mut nothing = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut nothing);
        stop.send_replace(true);
    });
    let mut business = JoinSet::new();
    for (handle, automatic) in companies.into_iter().filter(|_| with_business) {
        for first in 0..WRITERS {
            let writer = Writer { invoicing: invoicing.clone(), handle: handle.clone(), automatic };
            let stopped = stopped.clone();
            business.spawn(async move {
                let mut turn = first;
                while !*stopped.borrow() {
                    writer.deal(turn).await?;
                    turn += 1;
                }
                Ok::<(), Failure>(())
            });
        }
    }
    let until = |mut stopped: watch::Receiver<bool>| async move {
        // The sender lives as long as the thread, which ends by sending.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let deliveries = invoicing.dispatcher();
    let limits = ServeLimits::default();
    let (served, dispatched) = tokio::join!(
        serve(listener, invoicing.service(), limits, until(stopped.clone())),
        deliveries.run(until(stopped.clone())),
    );
    served?;
    dispatched?;
    while let Some(written) = business.join_next().await {
        written??;
    }
    Ok(())
}

/// Somebody who does business.
struct Writer {
    invoicing: Invoicing,
    handle: CompanyHandle,
    automatic: bool,
}

impl Writer {
    fn say(&self, kind: &str, id: &dyn Display, status: &str, stamp: Timestamp, events: &[&str]) {
        let company = self.handle.id().to_string();
        let (id, stamp) = (id.to_string(), stamp.to_string());
        say(&json!({
            "company": company, "kind": kind, "id": id, "status": status, "stamp": stamp, "events": events,
        }));
    }

    fn say_quote(&self, quote: &Quote, events: &[&str]) {
        self.say("quote", &quote.id, quote.status.as_str(), quote.updated_at, events);
    }

    fn say_invoice(&self, invoice: &Invoice, events: &[&str]) {
        self.say("invoice", &invoice.id, invoice.status.as_str(), invoice.updated_at, events);
    }

    fn say_project(&self, project: &Project, events: &[&str]) {
        self.say("project", &project.id, project.status.as_str(), project.updated_at, events);
    }

    /// From a new client to a paid invoice and a completed project, each time a little differently.
    async fn deal(&self, turn: u64) -> Result<(), Failure> {
        let client = NewClient { email: Some("client@exemple.fr".into()), ..NewClient::named("Lefèvre") };
        let client = self.handle.clients().create(&client).await?.client;
        self.say("client", &client.id, "", client.updated_at, &[]);
        let accepted = self.accepted(turn, &new_quote(client.id)).await?;
        self.invoiced(turn, accepted).await?;
        self.project(accepted).await
    }

    async fn accepted(&self, turn: u64, new: &invoicing_core::NewQuote) -> Result<QuoteId, Failure> {
        let quotes = self.handle.quotes();
        if turn % 5 == 4 {
            let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
            let quote = quotes.import(new, &import).await?;
            self.say_quote(&quote, &["quote.created"]);
            return Ok(quote.id);
        }
        let quote = quotes.create(new).await?;
        self.say_quote(&quote, &["quote.created"]);
        let mut quote = quotes.send(quote.id, None).await?;
        self.say_quote(&quote, &[]);
        if turn % 5 == 3 {
            self.say_quote(&quotes.reject(quote.id).await?, &[]);
            quote = quotes.send(quote.id, None).await?;
            self.say_quote(&quote, &[]);
        }
        if turn.is_multiple_of(2) {
            let token = quotes.signing_link(quote.id).await?;
            let evidence = SignatureEvidence {
                signed_by_name: "Léa Lefèvre".into(),
                signed_by_email: "lea@exemple.fr".into(),
                accepted_text: "Bon pour accord".into(),
            };
            let signature = Signature { evidence, ip: None, user_agent: None, document_sha256: None };
            let quote = self.invoicing.signing_links().sign(token.reveal(), &signature).await?;
            self.say_quote(&quote, &["quote.signed", "quote.accepted"]);
        } else {
            self.say_quote(&quotes.accept(quote.id).await?, &["quote.accepted"]);
        }
        Ok(quote.id)
    }

    async fn invoiced(&self, turn: u64, quote: QuoteId) -> Result<(), Failure> {
        let invoices = self.handle.invoices();
        let invoice = if self.automatic && turn % 5 != 4 {
            let since = self.handle.quotes().get(quote).await?.accepted_at;
            let query = PageQuery {
                window: PageWindow { since, limit: 100, ..PageWindow::default() },
                ..PageQuery::default()
            };
            let made =
                invoices.list(&query).await?.data.into_iter().find(|invoice| invoice.quote_id == quote);
            made.ok_or("an accepted quote was not converted")?.id
        } else {
            let invoice = invoices.convert(quote).await?;
            self.say_invoice(&invoice, &["invoice.created"]);
            invoice.id
        };
        if turn % 3 == 2 {
            self.say_invoice(&invoices.mark_paid(invoice).await?, &["invoice.paid"]);
            return Ok(());
        }
        let issued = invoices.issue(invoice, None).await?;
        self.say_invoice(&issued, &[]);
        let payment = |amount: Money, reference: &str| NewPayment {
            amount,
            method: PaymentMethod::Bank,
            reference: Some(reference.to_owned()),
        };
        let part = invoices.pay(invoice, &payment(Money::from(100), "part")).await?;
        self.say_invoice(&part.invoice, &[]);
        let rest = invoices.pay(invoice, &payment(part.invoice.amount_due, "rest")).await?;
        self.say_invoice(&rest.invoice, &["invoice.paid"]);
        if turn % 3 == 1 {
            self.say_invoice(&invoices.reverse(invoice, part.payment.id).await?, &[]);
            let again = invoices.pay(invoice, &payment(Money::from(100), "again")).await?;
            self.say_invoice(&again.invoice, &["invoice.paid"]);
        }
        Ok(())
    }

    async fn project(&self, quote: QuoteId) -> Result<(), Failure> {
        let projects = self.handle.projects();
        let new = NewProject { name: "Façade".into(), client_id: None, quote_ids: vec![quote] };
        let project = projects.create(&new).await?;
        self.say_project(&project, &[]);
        for status in [ProjectStatus::Completed, ProjectStatus::Open, ProjectStatus::Completed] {
            let moved = projects.set_status(project.id, status).await?;
            let events: &[&str] =
                if status == ProjectStatus::Completed { &["project.completed"] } else { &[] };
            self.say_project(&moved, events);
        }
        Ok(())
    }
}
