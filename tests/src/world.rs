//! A service under test, on a database of its own with a clock moved by hand, and one way to call its API.
//!
//! `World::new(db).await` is the plain one: the contract's settings, documents in memory, a company on the team plan with
//! a key, and targets on loopback allowed. Anything else is said before it is opened:
//!
//! ```no_run
//! # async fn world(db: invoicing_tests::Database) {
//! # use invoicing_tests::World;
//! let world = World::on(db).settings(|settings| settings.quota = 0).system_clock().open().await;
//! # }
//! ```
//!
//! - [`World::of_release`] is a world on what a version has recorded.
//! - [`World::get`], [`World::send`] and [`World::call`] ask the API, and check each answer against the description.
//! - [`World::draft`], [`World::sent`] and [`World::accepted`] are quotes. `support` has more records, and webhooks.
//! - [`World::advance`] moves the clock, [`World::dispatch`] makes the attempts that are due.
//! - [`World::reopen`] is what a restart finds. [`World::node`] is a second process on the same database.
//! - [`World::run`] and [`World::behind`] reach the tables themselves; [`World::dump`] is everything in them.

mod builder;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use invoicing_core::{
    ClientId, ClientType, Company, CompanyIdentity, Costing, EInvoicing, NewClient, NewCompany, NewLine,
    NewQuote, Plan, Quote, Timestamp, money, quantity, unit_price,
};
use invoicing_server::{
    ApiService, Body, CompanyHandle, DocumentStore, Env, Invoicing, InvoicingBuilder, ManualClock,
    MemoryStore, Settings,
};
use invoicing_test_databases::Database;
use serde_json::Value;

pub use builder::WorldBuilder;

use crate::database::{Argument, Behind, Place};
use crate::description;
use crate::recorder::Recorder;
use crate::release::Release;

/// Never appears in anything that is sent anywhere: planted in every private field.
pub const CANARY: &str = "c4n4ry";

/// A service under test.
pub struct World {
    /// The service.
    pub invoicing: Invoicing,
    /// Moves only when the test moves it.
    pub clock: Arc<ManualClock>,
    /// Where documents go, unless the world was made on another store.
    pub documents: Arc<MemoryStore>,
    store: Arc<dyn DocumentStore>,
    /// A company on the team plan.
    pub company: CompanyHandle,
    /// Its API key.
    pub key: String,
    service: ApiService,
    place: Place,
    /// The connection of [`World::behind_kept`].
    kept: tokio::sync::Mutex<Option<Behind>>,
    has_foreign_rows: AtomicBool,
    /// The measurements of the world and its nodes.
    pub metrics: Recorder,
}

/// An answer of the API.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// Response headers.
    pub headers: http::HeaderMap,
    /// The body as it came.
    pub bytes: Bytes,
    /// The body as JSON; `null` if it is no JSON.
    pub json: Value,
}

impl Answer {
    /// A response, read to its end.
    pub async fn of(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Self { status: parts.status, headers: parts.headers, bytes, json }
    }

    /// `error.code`.
    pub fn code(&self) -> &str {
        self.json["error"]["code"].as_str().unwrap_or_default()
    }

    /// `error.message`.
    pub fn message(&self) -> &str {
        self.json["error"]["message"].as_str().unwrap_or_default()
    }
}

impl World {
    /// The plain world.
    pub async fn new(db: Database) -> Self {
        Self::on(db).open().await
    }

    /// A world on a new database that differs from the plain one.
    pub fn on(db: Database) -> WorldBuilder<'static> {
        WorldBuilder::new(db)
    }

    /// A world on a copy of a release's database, without a quota, with the clock as it stood.
    pub fn of_release(release: &Release) -> WorldBuilder<'_> {
        WorldBuilder::of_release(release)
    }

    /// The same database opened again, without having been closed: as after the death of the process, but for what
    /// had been committed. Handles of the old service must be gone.
    pub async fn reopen(self) -> Self {
        self.reopen_with(|builder| builder).await
    }

    /// As [`Self::reopen`], with an adjusted builder.
    pub async fn reopen_with(self, adjust: impl FnOnce(InvoicingBuilder) -> InvoicingBuilder) -> Self {
        let (env, settings) = (self.invoicing.env().clone(), self.invoicing.settings().clone());
        let id = self.company.id();
        drop((self.invoicing, self.company, self.service));
        let invoicing = open(adjust(self.place.builder()), &self.metrics, env, &self.store, settings).await;
        let (company, service) = (invoicing.company(id), invoicing.service());
        Self { invoicing, company, service, has_foreign_rows: AtomicBool::default(), ..self }
    }

    /// A node: another service of the same settings on the same database, as in another process. Needs a server.
    pub async fn node(&self, env: Env) -> Invoicing {
        let settings = self.invoicing.settings().clone();
        open(self.place.builder(), &self.metrics, env, &self.store, settings).await
    }

    /// A node on the world's clock that a builder opens, such as one that reaches the database in another way.
    pub async fn node_from(&self, builder: InvoicingBuilder) -> Invoicing {
        let (env, settings) = (self.invoicing.env().clone(), self.invoicing.settings().clone());
        open(builder, &self.metrics, env, &self.store, settings).await
    }

    /// Another company with a key.
    pub async fn another(&self, name: &str, plan: Plan) -> (CompanyHandle, String) {
        open_company(&self.invoicing, name, plan).await
    }

    /// Which kind of database it is on.
    pub fn database(&self) -> Database {
        self.place.database()
    }

    /// Where it is stored.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A connection behind the service's back.
    pub async fn behind(&self) -> Behind {
        self.place.behind().await
    }

    /// Runs a statement behind the service's back; how many rows it changed.
    pub async fn run(&self, statement: &str, arguments: &[Argument]) -> u64 {
        self.behind_kept(async |behind| behind.run(statement, arguments).await).await
    }

    /// Works behind the service's back on a connection that is kept for the next time: PostgreSQL takes longer to open one
    /// than to answer.
    pub(crate) async fn behind_kept<T>(&self, work: impl AsyncFnOnce(&mut Behind) -> T) -> T {
        let mut kept = self.kept.lock().await;
        let behind = match kept.take() {
            Some(behind) => kept.insert(behind),
            None => kept.insert(self.behind().await),
        };
        let done = work(behind).await;
        // One to a file would be in the way of what the service does as it closes.
        kept.take_if(|_| self.database() == Database::Sqlite);
        done
    }

    /// From now on answers are not held against the description: the test stores rows that this version does not write.
    pub fn has_foreign_rows(&self) {
        self.has_foreign_rows.store(true, Ordering::Relaxed);
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// The instant.
    pub fn now(&self) -> Timestamp {
        self.invoicing.env().now()
    }

    /// Delivers what is due.
    pub async fn dispatch(&self) -> invoicing_server::DispatchReport {
        self.invoicing.dispatcher().run_once().await.expect("the dispatcher runs")
    }

    /// A client of the company.
    pub async fn client(&self, name: &str) -> ClientId {
        let new = NewClient::named(name).email("client@exemple.fr");
        self.company.clients().create(&new).await.expect("a client").id
    }

    /// A draft with two VAT rates, and canaries wherever nothing may leave.
    pub async fn draft(&self) -> Quote {
        let client_id = self.client("Lefèvre").await;
        self.company.quotes().create(&new_quote(client_id)).await.expect("a draft")
    }

    /// A sent quote.
    pub async fn sent(&self) -> Quote {
        let draft = self.draft().await;
        self.company.quotes().send(draft.summary.id, None).await.expect("a sent quote")
    }

    /// An accepted quote.
    pub async fn accepted(&self) -> Quote {
        let sent = self.sent().await;
        self.company.quotes().accept(sent.summary.id).await.expect("an accepted quote")
    }

    /// `GET` with the company's key.
    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Some(&self.key), &[], Bytes::new()).await
    }

    /// A request with a JSON body and the company's key.
    pub async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json")];
        self.call(method, path, Some(&self.key), &headers, body.to_string().into()).await
    }

    /// Any request. Checks on every answer what holds for all of them.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).expect("a request");
        let Ok(response) = hyper::service::Service::call(&self.service, request).await;
        let answer = Answer::of(response).await;
        check_everywhere(method, path, &answer);
        if !self.has_foreign_rows.load(Ordering::Relaxed) {
            description::check_answer(method, path, &answer);
        }
        answer
    }
}

async fn open(
    builder: InvoicingBuilder,
    metrics: &Recorder,
    env: Env,
    store: &Arc<dyn DocumentStore>,
    settings: Settings,
) -> Invoicing {
    builder
        .metrics_recorder(Arc::new(metrics.clone()))
        .env(env)
        .document_store(Arc::clone(store))
        .settings(settings)
        .open()
        .await
        .expect("the service opens")
}

async fn open_company(invoicing: &Invoicing, name: &str, plan: Plan) -> (CompanyHandle, String) {
    let company: Company = invoicing.companies().create(&new_company(name, plan)).await.expect("a company");
    let company = invoicing.company(company.id);
    let key = company.keys().issue("tests").await.expect("a key").key.reveal().to_owned();
    (company, key)
}

/// A quote with two VAT rates, a discount, lots, sections, and canaries wherever nothing may leave.
pub fn new_quote(client_id: ClientId) -> NewQuote {
    let costing = Costing::default()
        .labour_cost(money!(777.77))
        .material_cost(money!(888.88))
        .private_note(format!("{CANARY} note"))
        .subcontractor(format!("{CANARY} sub"));
    let painting = NewLine::new("Ravalement de façade", quantity!(12.5), unit_price!(48.20), 10)
        .unit("m2")
        .lot("Peinture")
        .section("Extérieur")
        .cost(costing.clone());
    NewQuote::empty(client_id)
        .line(painting)
        .line(NewLine::new("Évacuation", 1, 180, 20).lot("Divers"))
        .line(NewLine::new("Remise", -1, 50, 10).cost(costing))
        .retention_rate(5)
}

/// A company with the legal data of a lawful invoice.
pub fn new_company(name: impl Into<String>, plan: Plan) -> NewCompany {
    NewCompany::named(name, plan).identity(legal_identity().e_invoicing(EInvoicing::Off))
}

/// The legal data with which a company can send electronic invoices, and their switch ON.
pub fn legal_identity() -> CompanyIdentity {
    CompanyIdentity::default()
        .address("12 rue des Métiers")
        .zip_code("44000")
        .city("Nantes")
        .siret("732 829 320 00074")
        .vat_number("FR44732829320")
        .legal_form("SARL")
        .iban("FR76 3000 6000 0112 3456 7890 189")
        .e_invoicing(EInvoicing::On)
}

/// A business with an address and a SIREN.
pub fn business_client() -> NewClient {
    NewClient::named("Dupont SARL")
        .r#type(ClientType::Professionnel)
        .address("8 quai de la Fosse")
        .zip_code("44000")
        .city("Nantes")
        .siren("404 833 048")
}

/// Asks a service, and holds its answer against what is said of every answer. For requests that [`World::call`] cannot make.
pub async fn ask<B>(invoicing: &Invoicing, request: Request<B>) -> Answer
where
    B: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + 'static,
{
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let answer = Answer::of(invoicing.service().answer(request).await).await;
    check_everywhere(&method, &path, &answer);
    description::check_answer(&method, &path, &answer);
    answer
}

/// Names of members that no answer has.
const PRIVATE: [&str; 5] = ["costing", "labourCost", "materialCost", "privateNote", "subcontractor"];

/// The rules of the contract for every answer.
fn check_everywhere(method: &str, path: &str, answer: &Answer) {
    let Answer { status, headers, bytes, json } = answer;
    assert!(headers.contains_key("x-request-id"), "{method} {path}: no X-Request-Id");
    let is_description = ["/api/v1/openapi.json", "/api/v1/docs"].iter().any(|known| path.starts_with(known))
        && matches!(status.as_u16(), 200 | 304);
    let cache = if is_description { "no-cache" } else { "no-store" };
    assert_eq!(
        headers.get("cache-control").map(http::HeaderValue::as_bytes),
        Some(cache.as_bytes()),
        "{method} {path}"
    );
    let text = String::from_utf8_lossy(bytes);
    assert!(!text.contains(CANARY), "{method} {path}: something private in {text}");
    let private: &[_] = if is_description { &[] } else { &PRIVATE };
    for name in private {
        assert!(!text.contains(name), "{method} {path}: {name} in {text}");
    }
    // Neither 304 nor 416 has anything to say in a body.
    let is_document = path.starts_with("/api/v1/documents/")
        && (status.is_success() || matches!(status.as_u16(), 304 | 416));
    let is_page = path.starts_with("/api/v1/docs") && status.is_success();
    if is_document || is_page || matches!(status.as_u16(), 204 | 304) {
        return;
    }
    let content_type = headers.get("content-type").and_then(|v| v.to_str().ok());
    assert_eq!(content_type, Some("application/json; charset=utf-8"), "{method} {path}");
    if method == "HEAD" {
        assert!(bytes.is_empty(), "HEAD {path} has a body");
        return;
    }
    assert!(json.is_object(), "{method} {path}: {status} {text}");
    if status.is_success() {
        return;
    }
    let expected = if status.as_u16() == 429 { &json["code"] } else { &json["error"]["code"] };
    let code = invoicing_core::ErrorCode::from(expected.as_str().unwrap_or_default());
    assert_eq!(code.status(), Some(status.as_u16()), "{method} {path}: {text}");
    assert!(status.as_u16() == 429 || json["error"]["message"].is_string(), "{method} {path}: {text}");
}
