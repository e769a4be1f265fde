//! The side that is measured: the service with its dispatcher, and the rival, in the peer process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{ClientId, CompanyId, EventKind, NewClient, NewCompany, Plan, Quote};
use invoicing_server::{DispatchReport, Error, Invoicing, NewWebhook, Settings, TargetPolicy};
use invoicing_tests::bench::{Questions, answer};
use invoicing_tests::new_quote;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::crowd::BYSTANDER;
use super::database::Place;
use super::queue::{self, Queue};
use super::rival::Rival;
use super::sink::{HANG, SLOW, nanoseconds};
use super::{FAR, HANGING, OFF, ONE, TWENTY};

const WRITERS: usize = 16;

struct Service {
    invoicing: Invoicing,
    companies: HashMap<String, (CompanyId, ClientId)>,
    rival: Arc<Rival>,
    dispatcher: Option<Running>,
    queue: Option<Queue>,
    body: String,
    place: Place,
    /// Where all webhooks lead.
    sink: String,
}

struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<DispatchReport, Error>>,
}

/// Carries out the requests of the benchmark.
pub(crate) async fn run() {
    let mut questions = Questions::default();
    let open = questions.next().await.expect("where to");
    let place = Place::new(text(&open, "database")).await;
    let mut service = Service::open(text(&open, "sink"), place).await;
    answer(&service.place.told());
    while let Some(question) = questions.next().await {
        let result = service.serve(&question).await;
        answer(&result);
    }
}

impl Service {
    async fn open(sink: &str, place: Place) -> Self {
        let settings = Settings {
            target: TargetPolicy { allow_http: true, allow_private: true },
            ..Settings::default()
        };
        let invoicing = place.builder().settings(settings).open().await.expect("the service opens");
        let body = a_body(&invoicing).await;
        let rival = Arc::new(Rival::new(&format!("http://{sink}/1"), "whsec_bench", body.clone()));
        let (sink, companies) = (sink.to_owned(), HashMap::new());
        let mut service =
            Self { invoicing, companies, rival, dispatcher: None, queue: None, body, place, sink };
        for (name, webhooks) in [(ONE, 1), (TWENTY, 20), (HANGING, 20), (FAR, 20), (OFF, 20)] {
            let url = |number| match name {
                HANGING if number == 1 => format!("http://{}{HANG}", service.sink),
                FAR => format!("http://{}{SLOW}/{number}", service.sink),
                _ => format!("http://{}/{number}", service.sink),
            };
            let urls: Vec<String> = (1..=webhooks).map(url).collect();
            service.company_with(name, &urls).await;
        }
        service
    }

    async fn serve(&mut self, question: &Value) -> Value {
        match text(question, "do") {
            "start" => self.start(),
            "stop" => self.stop().await,
            "create" => self.create(text(question, "company"), count(question, "events")).await,
            "push" => self.rival.push(count(question, "deliveries")).await,
            "bystander" => self.company_with(BYSTANDER, &[format!("http://{}/1", self.sink)]).await,
            "crowd" => {
                let (webhooks, backlog) = (count(question, "webhooks"), count(question, "backlog"));
                self.crowd(webhooks, text(question, "path"), backlog).await;
            }
            "kill" => drop(self.dispatcher.take().map(|running| running.task.abort())),
            "queue" => self.fill(count(question, "pending"), question["tidiesUp"] == true).await,
            "deliver" => {
                let deliveries = i64::try_from(count(question, "deliveries")).expect("a moderate count");
                let queue = self.queue.as_mut().expect("it was filled");
                queue.deliver(self.place.url(), deliveries, self.invoicing.env().now()).await;
            }
            "await the end" => {
                let queue = self.queue.as_ref().expect("it was filled");
                return queue::await_end(queue, self.place.url()).await;
            }
            "drain" => return queue::drain(&self.invoicing, question["milliseconds"].as_u64()).await,
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

    async fn fill(&mut self, pending: usize, tidies_up: bool) {
        let url = self.place.url();
        let queue = match &mut self.queue {
            Some(queue) => queue,
            none => none.insert(Queue::new(url, self.companies[OFF].0, self.body.clone()).await),
        };
        let pending = i64::try_from(pending).expect("a moderate count");
        queue.fill(url, pending, self.invoicing.env().now(), tidies_up).await;
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

    /// Companies of 20 webhooks each, with a backlog.
    async fn crowd(&mut self, webhooks: usize, path: &str, backlog: usize) {
        for first in (0..webhooks).step_by(20) {
            let (name, count) = (format!("crowd {first}"), (webhooks - first).min(20));
            self.company_with(&name, &vec![format!("http://{}{path}", self.sink); count]).await;
            self.create(&name, backlog).await;
        }
    }

    async fn company_with(&mut self, name: &str, urls: &[String]) {
        let company = open_company(&self.invoicing, name).await;
        for url in urls {
            let new = NewWebhook { url: url.clone(), events: vec![EventKind::QuoteCreated] };
            self.invoicing.company(company.0).webhooks().register(&new).await.expect("a webhook");
        }
        self.companies.insert(name.to_owned(), company);
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
                (quote.summary.updated_at.to_string(), at)
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
    let client = invoicing.company(company).clients().create(&new).await.expect("a client").id;
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
