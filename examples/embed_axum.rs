//! The service inside an axum router, below a prefix, beside the host's own routes.
//!
//! ```console
//! $ cargo run --example embed_axum                    # asks itself one thing, and ends
//! $ cargo run --example embed_axum -- 127.0.0.1:8080  # serves until Ctrl-C
//! ```
//!
//! `nest_service` strips the prefix, so the API is at `/invoicing/api/v1`. Without a prefix it is
//! `fallback_service(invoicing.service())`. Tower layers go around it as around any other service.
//!
//! `Settings::requests` limits what the API takes in any server. The limits on connections, `ServeLimits`, are those of
//! `invoicing_server::serve`: beside axum, they are the task of a proxy in front of it.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::get;
use axum::{Extension, Json, Router};
use invoicing_client::InvoicingClient;
use invoicing_examples::Failure;
use invoicing_server::{
    ApiErrorBody, ClientQuery, CompanyId, ConsoleRole, ConsoleSession, ConsoleSettings, DisabledWebhook,
    Error, Invoicing, NewClient, NewCompany, Plan, RequestLimits, Settings, SignInDecision,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The state of the host's own handlers.
#[derive(Clone)]
struct Host {
    invoicing: Invoicing,
    company: CompanyId,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let base_url = format!("{origin}/invoicing");
    let folder = tempfile::tempdir()?;
    // Half of the default: the host's own routes need memory and processors too.
    let requests = RequestLimits { in_flight: 128, buffered_bytes: 32 << 20, ..RequestLimits::default() };
    // Documents are offered below the base URL: it includes the prefix.
    let settings = Settings { base_url: base_url.clone(), requests, ..Settings::default() };
    let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db"))
        .settings(settings)
        .on_webhook_disabled(tell)
        .open()
        .await?;
    let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?.id;
    let key = invoicing.company(company).keys().issue("embed_axum").await?.key;
    invoicing.company(company).clients().create(&NewClient::named("Claire Lefèvre")).await?;

    // The company's own pages. `layer` stands for the middleware that has the session.
    let console = invoicing.console(ConsoleSettings::at(format!("{origin}/settings")), sign_in)?;
    let settings = Router::new().fallback_service(console).layer(Extension(User { company, name: "Claire" }));
    let router = Router::new()
        .route("/clients", get(names))
        .with_state(Host { invoicing: invoicing.clone(), company })
        .nest_service("/invoicing", invoicing.service())
        .nest_service("/settings", settings);

    let (stop, stopped) = watch::channel(());
    let until = |mut stopped: watch::Receiver<()>| async move { _ = stopped.changed().await };
    let server = axum::serve(listener, router).with_graceful_shutdown(until(stopped.clone()));
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    tasks.spawn(async move { Ok(server.await?) });
    // Delivers webhooks, and sweeps every hour. Without it no webhook leaves and no quote expires.
    let running = invoicing.clone();
    tasks.spawn(async move { Ok(running.run(until(stopped)).await.map(drop)?) });

    let done = match address {
        Some(_) => {
            println!("{base_url}/api/v1/clients with the key {}", key.reveal());
            println!("{origin}/settings/ in a browser");
            tokio::signal::ctrl_c().await.map_err(Failure::from)
        }
        None => ask(&base_url, key.reveal()).await,
    };
    drop(stop);
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    invoicing.close().await;
    done
}

/// A receiver has refused ten deliveries in a row, and its webhook gets nothing more until the company enables it. A host writes
/// to the company; an error has the call made again.
async fn tell(disabled: DisabledWebhook) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let DisabledWebhook { company, webhook, reason, .. } = disabled;
    println!("the webhook {webhook} of the company {company} was disabled: {reason}");
    Ok(())
}

/// The session, which a middleware of the host adds.
#[derive(Clone)]
struct User {
    company: CompanyId,
    name: &'static str,
}

fn sign_in(request: &Parts) -> SignInDecision {
    match request.extensions.get::<User>() {
        Some(user) => {
            SignInDecision::Granted(ConsoleSession::new(user.company, user.name, ConsoleRole::Full))
        }
        None => SignInDecision::Redirect("/login".to_owned()),
    }
}

/// A page of the host's own: it calls operations, not the API.
async fn names(State(host): State<Host>) -> Result<String, (StatusCode, Json<ApiErrorBody>)> {
    let clients = host.invoicing.company(host.company).clients().list(&ClientQuery::default()).await;
    let names = clients.map_err(|error| answer(&error))?.data.into_iter().map(|client| client.name);
    Ok(names.collect::<Vec<_>>().join("\n"))
}

/// The error of an operation, answered as the API answers it.
fn answer(error: &Error) -> (StatusCode, Json<ApiErrorBody>) {
    (error.status(), Json(error.body()))
}

async fn ask(base_url: &str, key: &str) -> Result<(), Failure> {
    let client = InvoicingClient::builder(base_url, key).build()?;
    let page = client.clients().list().send().await?;
    let names: Vec<_> = page.data.iter().map(|client| &*client.name).collect();
    println!("GET {base_url}/api/v1/clients: {names:?}, as of {}", page.as_of);
    if names == ["Claire Lefèvre"] { Ok(()) } else { Err("the client is missing".into()) }
}
