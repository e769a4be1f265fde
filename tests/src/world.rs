//! A service on a database of its own with a clock moved by hand, and one way to call its API.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use invoicing_core::{
    ClientId, Company, Costing, NewClient, NewCompany, NewLine, NewQuote, Plan, Quote, Timestamp, money,
    quantity, unit_price,
};
use invoicing_server::{
    ApiService, Body, Builder, CompanyHandle, DocumentStore, Env, Invoicing, ManualClock, MemoryStore,
    PostgresSettings, Random, SealingKeys, Settings, TargetPolicy,
};
use serde_json::Value;

use crate::database::{Argument, Behind, Database, Place};
use crate::description;
use crate::recorder::Recorder;
use crate::release::Release;

/// Never appears in anything that is sent anywhere: planted in every private field.
pub const CANARY: &str = "c4n4ry";

/// Receivers are on loopback.
const ANY_TARGET: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

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
    has_foreign_rows: AtomicBool,
    /// What it and its nodes have measured.
    pub metrics: Recorder,
}

/// What the API answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// Response headers.
    pub headers: http::HeaderMap,
    /// The body as it came.
    pub bytes: Bytes,
    /// The body as JSON; null where it is not.
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
    /// A service with the contract's settings; private targets and `http` are allowed, as receivers are on loopback.
    pub async fn new(db: Database) -> Self {
        Self::with(db, |_| {}).await
    }

    /// A service with adjusted settings.
    pub async fn with(db: Database, adjust: impl FnOnce(&mut Settings)) -> Self {
        Self::with_store(db, adjust, |memory| memory).await
    }

    /// A service with adjusted settings whose documents go to a store made around the one in memory, or instead of it.
    pub async fn with_store<S: DocumentStore + 'static>(
        db: Database,
        adjust: impl FnOnce(&mut Settings),
        store: impl FnOnce(Arc<MemoryStore>) -> Arc<S>,
    ) -> Self {
        Self::on_manual_clock(db, Place::builder, adjust, store).await
    }

    /// A service with adjusted settings that does not listen for other nodes. So it reads no key again soon after its start,
    /// as one that listens does.
    pub async fn alone(db: Database, adjust: impl FnOnce(&mut Settings)) -> Self {
        let builder = match db {
            Database::Sqlite => Place::builder,
            Database::Postgres => Place::deaf,
        };
        Self::on_manual_clock(db, builder, adjust, |memory| memory).await
    }

    /// A service whose clock and randomness are fixed, with a company of this name: what it answers is the same each time.
    pub async fn reproducible(db: Database) -> Self {
        let clock = ManualClock::at("2026-09-14T09:41:07.123Z".parse().expect("an instant"));
        let documents = Arc::new(MemoryStore::new());
        let store = Arc::clone(&documents);
        let env = Env::new(clock.clone(), Arc::new(SeededRandom::default()));
        Self::start(db, Place::builder, env, clock, |_| {}, documents, store).await
    }

    async fn on_manual_clock<S: DocumentStore + 'static>(
        db: Database,
        builder: fn(&Place) -> Builder,
        adjust: impl FnOnce(&mut Settings),
        store: impl FnOnce(Arc<MemoryStore>) -> Arc<S>,
    ) -> Self {
        let clock = ManualClock::at("2026-09-14T09:41:07.123Z".parse().expect("an instant"));
        let documents = Arc::new(MemoryStore::new());
        let store = store(Arc::clone(&documents));
        let env = Env::system().with_clock(clock.clone());
        Self::start(db, builder, env, clock, adjust, documents, store).await
    }

    /// A service with adjusted settings on the system's clock: `clock` and `advance` do not move it.
    pub async fn on_system_clock(db: Database, adjust: impl FnOnce(&mut Settings)) -> Self {
        let env = Env::system();
        let clock = ManualClock::at(env.now());
        let documents = Arc::new(MemoryStore::new());
        let store = Arc::clone(&documents);
        Self::start(db, Place::builder, env, clock, adjust, documents, store).await
    }

    /// A service on a copy of a release's database, with the clock as it stood.
    pub async fn of_release(release: &Release) -> Self {
        Self::of_release_at(release, Place::of_release(release).await).await
    }

    /// As [`Self::of_release`], where the copy is made already.
    pub async fn of_release_at(release: &Release, place: Place) -> Self {
        let clock = ManualClock::at(release.fact("/now"));
        let documents = Arc::new(MemoryStore::new());
        release.restore_documents(&documents).await;
        let store: Arc<dyn DocumentStore> = documents.clone();
        let settings = Settings { target: ANY_TARGET, quota: 0, ..Settings::default() };
        let env = Env::system().with_clock(clock.clone());
        let builder = place.builder().sealing_keys(SealingKeys::new(release.sealing_key()));
        let metrics = Recorder::default();
        let invoicing = open(builder, &metrics, env, &store, settings).await;
        let company = invoicing.company(release.fact("/company"));
        let (key, service) = (release.fact("/key"), invoicing.service());
        let has_foreign_rows = AtomicBool::default();
        Self { invoicing, clock, documents, store, company, key, service, place, has_foreign_rows, metrics }
    }

    async fn start(
        db: Database,
        builder: fn(&Place) -> Builder,
        env: Env,
        clock: Arc<ManualClock>,
        adjust: impl FnOnce(&mut Settings),
        documents: Arc<MemoryStore>,
        store: Arc<dyn DocumentStore>,
    ) -> Self {
        let place = Place::new(db).await;
        let mut settings = Settings { target: ANY_TARGET, ..Settings::default() };
        adjust(&mut settings);
        let metrics = Recorder::default();
        let invoicing = open(builder(&place), &metrics, env, &store, settings).await;
        let (company, key) = open_company(&invoicing, "Martin Peinture", Plan::Team).await;
        let service = invoicing.service();
        let has_foreign_rows = AtomicBool::default();
        Self { invoicing, clock, documents, store, company, key, service, place, has_foreign_rows, metrics }
    }

    /// The same database opened again, without having been closed: as after the death of the process, but for what
    /// had been committed. Handles of the old service must be gone.
    pub async fn reopen(self) -> Self {
        self.reopen_with(|builder| builder).await
    }

    /// As [`Self::reopen`], with an adjusted builder.
    pub async fn reopen_with(self, adjust: impl FnOnce(Builder) -> Builder) -> Self {
        let Self { invoicing, clock, documents, store, company, key, service, place, metrics, .. } = self;
        let (env, settings, id) = (invoicing.env().clone(), invoicing.settings().clone(), company.id());
        drop((invoicing, company, service));
        let invoicing = open(adjust(place.builder()), &metrics, env, &store, settings).await;
        let (company, service) = (invoicing.company(id), invoicing.service());
        let has_foreign_rows = AtomicBool::default();
        Self { invoicing, clock, documents, store, company, key, service, place, has_foreign_rows, metrics }
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
        self.behind().await.run(statement, arguments).await
    }

    /// Another service of the same settings on the same database, as another process would be it: a node. Only where
    /// the database is a server.
    pub async fn node(&self, env: Env) -> Invoicing {
        self.node_with(env, |builder| builder).await
    }

    /// As [`Self::node`], with an adjusted builder.
    pub async fn node_with(&self, env: Env, adjust: impl FnOnce(Builder) -> Builder) -> Invoicing {
        let settings = self.invoicing.settings().clone();
        open(adjust(self.place.builder()), &self.metrics, env, &self.store, settings).await
    }

    /// As [`Self::node`], one that hears nothing of the others.
    pub async fn deaf_node(&self, env: Env) -> Invoicing {
        open(self.place.deaf(), &self.metrics, env, &self.store, self.invoicing.settings().clone()).await
    }

    /// As [`Self::node`], which reaches the database in another way.
    pub async fn node_at(&self, settings: PostgresSettings, env: Env) -> Invoicing {
        open(
            Invoicing::postgres(settings),
            &self.metrics,
            env,
            &self.store,
            self.invoicing.settings().clone(),
        )
        .await
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

/// The same bytes in each run (`SplitMix64`).
#[derive(Default)]
struct SeededRandom(Mutex<u64>);

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().expect("no panic");
        for chunk in bytes.chunks_mut(8) {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

async fn open(
    builder: Builder,
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
    let company: Company =
        invoicing.companies().create(&NewCompany::named(name, plan)).await.expect("a company");
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

/// Asks a service, and holds its answer against what is said of every answer. For requests that [`World::call`] cannot make.
pub async fn ask<B>(invoicing: &Invoicing, request: Request<B>) -> Answer
where
    B: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let answer = Answer::of(invoicing.service().answer(request).await).await;
    check_everywhere(&method, &path, &answer);
    description::check_answer(&method, &path, &answer);
    answer
}

/// Names of members that no answer has.
const PRIVATE: [&str; 5] = ["costing", "labourCost", "materialCost", "privateNote", "subcontractor"];

/// What the contract says of every answer.
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
