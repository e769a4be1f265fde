//! The common parts of several examples: a service to try things on. It owns nothing of the service's own: see `embed_hyper`
//! and `embed_axum` for how a host sets one up.

use std::error::Error;
use std::fmt::Write;

use invoicing_core::{CompanyIdentity, NewCompany, Plan};
use invoicing_server::{CompanyHandle, Invoicing, ServeLimits, Settings, TargetPolicy, serve};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The error of an example.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A service on a temporary file, served on loopback. It ends when it is dropped.
pub struct Demo {
    /// Where its API is, without `/api/v1`.
    pub base_url: String,
    /// A company on the team plan.
    pub company: CompanyHandle,
    /// The company's API key.
    pub key: String,
    /// The service.
    pub invoicing: Invoicing,
    _tasks: JoinSet<()>,
    _folder: TempDir,
}

impl Demo {
    /// Starts one. Webhooks may reach loopback.
    pub async fn start() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let settings = Settings {
            base_url: base_url.clone(),
            target: TargetPolicy { allow_http: true, allow_private: true },
            ..Settings::default()
        };
        let invoicing =
            Invoicing::sqlite(folder.path().join("invoicing.db")).settings(settings).open().await?;
        let company = invoicing.companies().create(&new_company()).await?;
        let company = invoicing.company(company.id);
        let key = company.keys().issue("example").await?.key.reveal().to_owned();
        let tasks = run(listener, &invoicing);
        Ok(Self { base_url, company, key, invoicing, _tasks: tasks, _folder: folder })
    }
}

/// A company with the legal data that its invoices state.
fn new_company() -> NewCompany {
    let identity = CompanyIdentity::default()
        .address("8 impasse des Tanneurs")
        .zip_code("69007")
        .city("Lyon")
        .siret("732 829 320 00074")
        .vat_number("FR44732829320")
        .legal_form("SARL")
        .share_capital("10 000 €")
        .registration("RCS Lyon 732 829 320");
    NewCompany::named("Martin Peinture", Plan::Team).identity(identity)
}

/// Serves the API and runs the dispatcher. No part of [`Demo::start`], so that the server is compiled here, and not in each
/// example.
fn run(listener: TcpListener, invoicing: &Invoicing) -> JoinSet<()> {
    let (service, running) = (invoicing.service(), invoicing.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        // Neither ends before it is dropped: there is no stop.
        let served = serve(listener, service, ServeLimits::default(), std::future::pending());
        let _ = tokio::join!(served, running.run(std::future::pending()));
    });
    tasks
}

/// An error and everything that caused it, on one line.
pub fn explain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing into a `String` cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
