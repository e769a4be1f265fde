//! A server process that is there to be killed.
//!
//! `node <database> <documents> work|rest|serve <settings> <webhook URL>...` opens the service on a SQLite file or, as
//! `postgres://...`, on PostgreSQL, with settings as JSON. It serves the API, runs the dispatcher and, told to `work`,
//! writers that do business of all kinds. Told to `serve`, it writes nothing by itself. It prints one line of JSON for
//! each operation *after* that has returned, so what is printed must be found again. When its standard input ends it
//! stops in good order.
//!
//! `node copy <database> <postgres://...>` copies a SQLite file to PostgreSQL.

mod workload;

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use invoicing_core::{EventKind, NewCompany, Plan};
use invoicing_server::{
    CompanyHandle, Invoicing, NewWebhook, ObjectStorage, PostgresSettings, ServeLimits, Settings,
    TargetPolicy, copy_to_postgres, serve,
};
use invoicing_tests::new_company;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use workload::{Failure, Say, Writer};

/// Writers per company.
const WRITERS: u64 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_failed(&error);
            ExitCode::FAILURE
        }
    }
}

/// Prints a line, at once.
fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    // A closed standard output is no failure.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn say_failed(error: &Failure) {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let failed = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    say(&json!({ "failed": failed }));
}

async fn run() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().ok_or_else(|| format!("{name} is missing"));
    let (database, documents) = (argument("database")?, argument("documents")?);
    if database == "copy" {
        return copy(&documents, argument("URL")?).await;
    }
    let mode = argument("mode")?;
    let settings: Settings = serde_json::from_str(&argument("settings")?)?;
    let hooks: Vec<String> = arguments.collect();
    let settings = Settings { target: TargetPolicy { allow_http: true, allow_private: true }, ..settings };
    let builder = if database.starts_with("postgres://") {
        Invoicing::postgres(PostgresSettings::new(database))
    } else {
        Invoicing::sqlite(database)
    };
    let invoicing =
        builder.settings(settings).document_store(Arc::new(ObjectStorage::folder(documents)?)).open().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    if mode == "serve" {
        let reasons = invoicing.health().await.reasons();
        say(&json!({ "reasons": reasons }));
        say(&json!({ "started": listener.local_addr()?.to_string(), "key": "", "spare": "" }));
        return work(&invoicing, Vec::new(), listener, false).await;
    }
    let companies = companies(&invoicing, &hooks).await?;
    let keys = companies[0].0.keys();
    let (key, spare) = (keys.issue("key").await?, keys.issue("spare").await?);
    let (key, spare) = (key.key.reveal(), spare.key.reveal());
    say(&json!({ "started": listener.local_addr()?.to_string(), "key": key, "spare": spare }));
    work(&invoicing, companies, listener, mode == "work").await?;
    invoicing.close().await;
    say(&json!({ "closed": true }));
    Ok(())
}

async fn copy(file: &str, url: String) -> Result<(), Failure> {
    let report = copy_to_postgres(file.as_ref(), &PostgresSettings::new(url)).await?;
    let (rows, copied, complete, sha256) =
        (report.rows(), report.copied, report.was_complete, &report.sha256);
    say(&json!({ "rows": rows, "copied": copied, "complete": complete, "sha256": sha256 }));
    Ok(())
}

/// Two companies, the second with automatic invoices, each with all webhooks, switched on; what failed or was skipped
/// before is delivered again.
async fn companies(invoicing: &Invoicing, hooks: &[String]) -> Result<Vec<(CompanyHandle, bool)>, Failure> {
    let mut known = invoicing.companies().list().await?;
    for place in known.len()..2 {
        let named = new_company(format!("Company {place}"), Plan::Team);
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
    let say: Say = Arc::new(say);
    for (handle, automatic) in companies.into_iter().filter(|_| with_business) {
        for first in 0..WRITERS {
            let writer = Writer::new(invoicing, &handle, automatic, &say);
            let stopped = stopped.clone();
            business.spawn(async move {
                let mut turn = first;
                while !*stopped.borrow() {
                    // Said at once: who is killed cannot say it later.
                    writer.try_deal(turn).await.inspect_err(say_failed)?;
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
