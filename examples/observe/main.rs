//! A host that can be watched: metrics for Prometheus, traces over OTLP, probes, all on a port of their own.
//!
//! ```console
//! $ cargo run --example observe                    # one life of a quote, prints what was measured, and ends
//! $ cargo run --example observe -- 127.0.0.1:9090  # serves `/metrics`, `/livez`, `/readyz` and `/api/v1` until Ctrl-C
//! ```
//!
//! Traces go to where `OTEL_EXPORTER_OTLP_ENDPOINT` says, such as `http://127.0.0.1:4318`, and nowhere without it. `RUST_LOG`
//! filters what is logged. A dashboard for Grafana is in `dashboard.json` beside this file.

mod measured;
mod traces;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use invoicing_examples::Failure;
use invoicing_server::{
    Invoicing, NewClient, NewCompany, NewLine, NewQuote, NewWebhook, Plan, Settings, TargetPolicy,
};
use measured::Measured;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use traces::{OpenTelemetry, Traces};
use tracing::Instrument;

/// How long the one webhook of the story may take.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

fn main() -> Result<(), Failure> {
    // Before anything of the service: what is recorded earlier is lost. The exporter has a thread of its own.
    let measured = Measured::install()?;
    let traces = Traces::install()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(host(measured));
    drop(runtime);
    traces.flush()?;
    done
}

async fn host(measured: Measured) -> Result<(), Failure> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let base = format!("http://{}", listener.local_addr()?);
    let folder = tempfile::tempdir()?;
    // The receiver of this example is on loopback. Otherwise webhooks reach public addresses only, with `https`.
    let target = TargetPolicy { allow_http: true, allow_private: true };
    let settings = Settings { base_url: base.clone(), target, ..Settings::default() };
    let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db"))
        .settings(settings)
        .trace_context(OpenTelemetry)
        .open()
        .await?;

    let (arrived, health) = (std::sync::Arc::new(Notify::new()), invoicing.health_service());
    let hook = {
        let arrived = std::sync::Arc::clone(&arrived);
        move || async move { arrived.notify_one() }
    };
    let scraped = measured.clone();
    let router = Router::new()
        .route("/metrics", get(move || async move { scrape(&scraped) }))
        .route_service("/livez", health.clone())
        .route_service("/readyz", health)
        .route("/hook", post(hook))
        .fallback_service(invoicing.service());
    let (stop, stopped) = watch::channel(());
    let until = |mut stopped: watch::Receiver<()>| async move { _ = stopped.changed().await };
    let server = axum::serve(listener, router).with_graceful_shutdown(until(stopped.clone()));
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    tasks.spawn(async move { Ok(server.await?) });
    let running = invoicing.clone();
    tasks.spawn(async move { Ok(running.run(until(stopped)).await.map(drop)?) });

    let done = match address {
        Some(_) => {
            println!("{base}/metrics");
            tokio::signal::ctrl_c().await.map_err(Failure::from)
        }
        None => story(&invoicing, &base, &arrived).await,
    };
    drop(stop);
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    invoicing.close().await;
    done
}

/// The answer to a scrape.
fn scrape(measured: &Measured) -> impl IntoResponse + use<> {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], measured.render())
}

/// A quote within a span of the host's. Its webhook is sent from a trace of its own, which links to that span.
async fn story(invoicing: &Invoicing, base: &str, arrived: &Notify) -> Result<(), Failure> {
    let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
    let company = invoicing.company(company.id);
    company.webhooks().register(&NewWebhook::for_all_events(format!("{base}/hook"))).await?;
    let request = tracing::info_span!("host request", otel.name = "POST /quotes/new");
    let quote = async {
        let company = company.for_request("observe-1");
        let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
        let draft = NewQuote::empty(client.id).line(NewLine::new("Two coats of matt paint", 40, 25, 10));
        company.quotes().create(&draft).await
    };
    quote.instrument(request).await?;
    tokio::time::timeout(PATIENCE, arrived.notified()).await.map_err(|_| "the webhook did not arrive")?;
    // A request to the API, refused as it has no key.
    ask(base, "/api/v1/quotes").await?;
    println!("{}", ask(base, "/livez").await?);
    println!("{}", ask(base, "/readyz").await?);
    // Attempts are counted when they are on record, and the first sweep when it is complete.
    let awaited = [
        "\ninvoicing_webhook_attempts_total{outcome=\"delivered\",reason=\"2xx\"} 1\n",
        "\ninvoicing_sweep_last_timestamp_seconds ",
    ];
    let begun = std::time::Instant::now();
    loop {
        let scrape = ask(base, "/metrics").await?;
        if awaited.iter().all(|series| scrape.contains(series)) {
            println!("{scrape}");
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err("the attempt or the sweep was not counted".into());
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// The body of an answer.
async fn ask(base: &str, path: &str) -> Result<String, Failure> {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://")).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    Ok(body.to_owned())
}
