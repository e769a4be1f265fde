//! The service on a host's own hyper server, beside the host's own pages.
//!
//! ```console
//! $ cargo run --example embed_hyper                    # asks itself one thing, and ends
//! $ cargo run --example embed_hyper -- 127.0.0.1:8080  # serves until Ctrl-C
//! ```
//!
//! A host without a server of its own calls `invoicing_server::serve` instead. What goes to the API is decided here by
//! the path; the service takes the request as it is, body and all.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use invoicing_client::InvoicingClient;
use invoicing_examples::Failure;
use invoicing_server::{ApiService, Body, Invoicing, NewClient, NewCompany, Plan, Settings};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let folder = tempfile::tempdir()?;
    // Documents are offered below the base URL.
    let settings = Settings { base_url: base_url.clone(), ..Settings::default() };
    let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).settings(settings).open().await?;
    let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
    let company = invoicing.company(company.id);
    let key = company.keys().issue("embed_hyper").await?.key;
    company.clients().create(&NewClient::named("Claire Lefèvre")).await?;

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    // Delivers webhooks, and sweeps every hour. Without it no webhook leaves and no quote expires.
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    let running = invoicing.clone();
    tasks.spawn(async move { Ok(running.run(async { _ = stopped.await }).await.map(drop)?) });

    let service = invoicing.service();
    if address.is_some() {
        println!("{base_url}/ and {base_url}/api/v1/clients with the key {}", key.reveal());
        accept(listener, service, async { tokio::signal::ctrl_c().await.map_err(Failure::from) }).await?;
    } else {
        accept(listener, service, ask(&base_url, key.reveal())).await?;
    }
    drop(stop);
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    invoicing.close().await;
    Ok(())
}

/// Accepts connections until something is done; then lets those that are busy finish.
async fn accept(
    listener: TcpListener,
    service: ApiService,
    until: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let mut until = std::pin::pin!(until);
    let graceful = GracefulShutdown::new();
    let mut builder = Builder::new(TokioExecutor::new());
    // Without a timer hyper waits for slow heads for ever.
    builder.http1().timer(TokioTimer::new());
    let mut connections = JoinSet::new();
    let done = loop {
        tokio::select! {
            done = &mut until => break done,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let service = service.clone();
                let handler = service_fn(move |request| route(service.clone(), request));
                let connection = builder.serve_connection(TokioIo::new(accepted?.0), handler).into_owned();
                // A peer that goes away ends its connection; nothing to be done about it.
                connections.spawn(graceful.watch(connection));
            }
        }
    };
    graceful.shutdown().await;
    done
}

/// The host's own pages, and the API.
async fn route(service: ApiService, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    if request.uri().path().starts_with("/api/v1/") {
        return Ok(service.answer(request).await);
    }
    Ok(Response::new(Bytes::from_static(b"the host's own page\n").into()))
}

async fn ask(base_url: &str, key: &str) -> Result<(), Failure> {
    let client = InvoicingClient::builder(base_url, key).build()?;
    let page = client.clients().list().send().await?;
    let names: Vec<_> = page.data.iter().map(|client| &*client.name).collect();
    println!("GET {base_url}/api/v1/clients: {names:?}, as of {}", page.as_of);
    if names == ["Claire Lefèvre"] { Ok(()) } else { Err("the client is missing".into()) }
}
