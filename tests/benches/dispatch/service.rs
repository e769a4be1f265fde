//! The side that is measured: the service with its dispatcher, and the rival, in the peer process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{ClientId, CompanyId, EventKind, NewClient, NewCompany, Plan, Quote};
use invoicing_server::{DispatchReport, Error, Invoicing, NewWebhook, Settings, TargetPolicy};
use invoicing_tests::bench::{Questions, answer};
use invoicing_tests::new_quote;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::rival::Rival;
use super::sink::{HANG, nanoseconds};
use super::{HANGING, ONE, TWENTY};

const WRITERS: usize = 16;

struct Service {
    invoicing: Invoicing,
    companies: HashMap<String, (CompanyId, ClientId)>,
    rival: Arc<Rival>,
    dispatcher: Option<Running>,
    _folder: TempDir,
}

struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<DispatchReport, Error>>,
}

/// Does what the benchmark asks for.
pub(crate) async fn run() {
    let mut questions = Questions::default();
    let open = questions.next().await.expect("where to");
    let mut service = Service::open(text(&open, "sink")).await;
    answer(&Value::Null);
    while let Some(question) = questions.next().await {
        let result = service.serve(&question).await;
        answer(&result);
    }
}

impl Service {
    async fn open(sink: &str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
        let settings = Settings {
            target: TargetPolicy { allow_http: true, allow_private: true },
            ..Settings::default()
        };
        let builder = Invoicing::builder(folder.path().join("invoicing.db")).settings(settings);
        let invoicing = builder.open().await.expect("the service opens");
        let mut companies = HashMap::new();
        for (name, webhooks) in [(ONE, 1), (TWENTY, 20), (HANGING, 20)] {
            let company = open_company(&invoicing, name).await;
            for number in 1..=webhooks {
                let hangs = name == HANGING && number == 1;
                let path = if hangs { HANG.to_owned() } else { format!("/{number}") };
                let new =
                    NewWebhook { url: format!("http://{sink}{path}"), events: vec![EventKind::QuoteCreated] };
                invoicing.company(company.0).webhooks().register(&new).await.expect("a webhook");
            }
            companies.insert(name.to_owned(), company);
        }
        let rival = Rival::new(&format!("http://{sink}/1"), "whsec_bench", a_body(&invoicing).await);
        Self { invoicing, companies, rival: Arc::new(rival), dispatcher: None, _folder: folder }
    }

    async fn serve(&mut self, question: &Value) -> Value {
        match text(question, "do") {
            "start" => self.start(),
            "stop" => self.stop().await,
            "create" => self.create(text(question, "company"), count(question, "events")).await,
            "push" => self.rival.push(count(question, "deliveries")).await,
            "paced" => {
                let rate = u32::try_from(count(question, "rate")).expect("a moderate rate");
                return self.paced(text(question, "company"), count(question, "events"), rate).await;
            }
            other => unreachable!("asked to {other}"),
        }
        Value::Null
    }

    #[expect(clippy::disallowed_methods, reason = "`stop` waits for it")]
    fn start(&mut self) {
        if self.dispatcher.is_some() {
            return;
        }
        let (stop, stopped) = oneshot::channel();
        let dispatcher = self.invoicing.dispatcher();
        let task = tokio::spawn(async move { dispatcher.run(async { drop(stopped.await) }).await });
        self.dispatcher = Some(Running { stop, task });
    }

    async fn stop(&mut self) {
        if let Some(Running { stop, task }) = self.dispatcher.take() {
            stop.send(()).expect("it runs");
            task.await.expect("no panic").expect("no error");
        }
    }

    async fn create(&self, company: &str, events: usize) {
        let (company, client) = self.companies[company];
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let company = self.invoicing.company(company);
            writers.spawn(async move {
                for _ in (writer..events).step_by(WRITERS) {
                    company.quotes().create(&new_quote(client)).await.expect("a quote");
                }
            });
        }
        writers.join_all().await;
    }

    /// When each event's operation was called, by the event's stamp, in nanoseconds since 1970.
    async fn paced(&self, company: &str, events: usize, rate: u32) -> Value {
        let (company, client) = self.companies[company];
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / rate);
        let mut calls = JoinSet::new();
        for _ in 0..events {
            ticks.tick().await;
            let company = self.invoicing.company(company);
            calls.spawn(async move {
                let at = nanoseconds();
                let quote: Quote = company.quotes().create(&new_quote(client)).await.expect("a quote");
                (quote.created_at.to_string(), at)
            });
        }
        let calls: HashMap<String, i64> = calls.join_all().await.into_iter().collect();
        json!(calls)
    }
}

async fn open_company(invoicing: &Invoicing, name: &str) -> (CompanyId, ClientId) {
    let company =
        invoicing.companies().create(&NewCompany::named(name, Plan::Team)).await.expect("a company").id;
    let new = NewClient { email: Some("lea@exemple.fr".into()), ..NewClient::named("Léa Lefèvre") };
    let client = invoicing.company(company).clients().create(&new).await.expect("a client").client.id;
    (company, client)
}

/// The body of a delivery as all of them are.
async fn a_body(invoicing: &Invoicing) -> String {
    let (company, client) = open_company(invoicing, "for a body").await;
    let company = invoicing.company(company);
    company.quotes().create(&new_quote(client)).await.expect("a quote");
    let events = company.events().list(None, 1).await.expect("the events");
    events.into_iter().next().expect("an event").body
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().expect("a text")
}

fn count(value: &Value, name: &str) -> usize {
    usize::try_from(value[name].as_u64().expect("a count")).expect("a moderate count")
}
