//! Each documented error of each endpoint, provoked.

use std::collections::BTreeSet;
use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use invoicing_core::{ConflictReason, ErrorCode, NewCreditNote, Plan};
use invoicing_server::{Body, Endpoint, Error, ROUTES, Route, ServeLimits, Settings, serve};
use invoicing_tests::{Database, World, on_each_database};
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::workspace;
use crate::api::errors::{ABSENT, path_of};
use crate::serving::connections::Peer;

/// An answer to one of the endpoints, as its status and its JSON.
type Answered = (Endpoint, u16, Value);

/// A service, and a request to each endpoint that succeeds.
struct Scene {
    world: World,
    quote: String,
    invoice: String,
    credit_note: String,
    document: String,
}

impl Scene {
    async fn open(db: Database, adjust: impl FnOnce(&mut Settings)) -> Self {
        let world = World::on(db)
            .settings(|settings| {
                settings.quota = 0;
                adjust(settings);
            })
            .open()
            .await;
        let quote = world.accepted().await.summary.id;
        let invoices = world.company.invoices();
        let invoice = invoices.convert(quote).await.unwrap().summary.id;
        invoices.issue(invoice, None).await.unwrap();
        let part = NewCreditNote::new("Un mètre de moins").quantity(0, 1);
        let credit_note = invoices.credit(invoice, &part).await.unwrap().summary.id.to_string();
        let link = world.company.quotes().document(quote).await.unwrap();
        let document = link.url[link.url.find("/api/").unwrap()..].to_owned();
        Self { world, quote: quote.to_string(), invoice: invoice.to_string(), credit_note, document }
    }

    /// The target of a route, with records that are there.
    fn target(&self, route: &Route) -> String {
        match route.endpoint {
            Endpoint::FrozenDocument => self.document.clone(),
            Endpoint::GetInvoice | Endpoint::InvoiceDocument => path_of(route.path, &self.invoice),
            Endpoint::GetCreditNote | Endpoint::CreditNoteDocument => path_of(route.path, &self.credit_note),
            _ => path_of(route.path, &self.quote),
        }
    }

    /// Calls each endpoint with a changed target.
    async fn call(&self, key: Option<&str>, change: impl Fn(&Route, String) -> String) -> Vec<Answered> {
        let mut answered = Vec::new();
        for route in ROUTES {
            let path = change(route, self.target(route));
            let headers = [("content-type", "application/json")];
            let method = route.method.as_str();
            let answer = self.world.call(method, &path, key, &headers, body(route.endpoint).into()).await;
            answered.push((route.endpoint, answer.status.as_u16(), answer.json));
        }
        answered
    }

    /// Calls each endpoint as it should be called.
    async fn call_all(&self) -> Vec<Answered> {
        self.call(Some(&self.world.key), |_, path| path).await
    }

    /// Calls each endpoint that reads a body with this one.
    async fn send<B>(&self, body: impl Fn() -> B) -> Vec<Answered>
    where
        B: hyper::body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
    {
        let mut answered = Vec::new();
        for route in ROUTES.iter().filter(|route| route.endpoint.reads_body()) {
            let request = Request::builder().method(&route.method).uri(self.target(route));
            let request = request.header("authorization", format!("Bearer {}", self.world.key));
            let request = request.header("content-type", "application/json").body(body()).unwrap();
            answered.push(heard(route.endpoint, self.world.invoicing.service().answer(request).await).await);
        }
        answered
    }

    /// Calls each endpoint over a connection, with one more line in its head.
    async fn over_a_connection(&self, line: &str) -> Vec<Answered> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(serve(
            listener,
            self.world.invoicing.service(),
            ServeLimits::default(),
            std::future::pending(),
        ));
        let mut answered = Vec::new();
        for route in ROUTES {
            let mut peer = Peer::new(TcpStream::connect(address).await.unwrap());
            let head = format!(
                "{} {} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{line}\r\n\r\n",
                route.method,
                self.target(route),
                self.world.key
            );
            peer.send(head.as_bytes()).await;
            let answer = peer.answer().await.unwrap();
            answered.push((route.endpoint, answer.status, answer.json));
        }
        answered
    }
}

async fn heard(endpoint: Endpoint, response: Response<Body>) -> Answered {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (endpoint, status, serde_json::from_slice(&body).unwrap_or_default())
}

fn body(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::LinkQuote => r#"{"externalId":"deal-1"}"#,
        Endpoint::CreateClient => r#"{"name":"A"}"#,
        _ => "",
    }
}

/// Answers of which some have this code.
async fn provoke(db: Database, code: &ErrorCode) -> Vec<Answered> {
    match code {
        ErrorCode::Unauthorized => Scene::open(db, |_| {}).await.call(None, |_, path| path).await,
        ErrorCode::PlanRequired => plan_required(db).await,
        ErrorCode::TooManyRequests => too_many_requests(db).await,
        ErrorCode::ValidationError => validation_error(db).await,
        ErrorCode::BadRequest => bad_request(db).await,
        ErrorCode::NotFound => not_found(db).await,
        ErrorCode::MethodNotAllowed => method_not_allowed(db).await,
        ErrorCode::RequestTimeout => request_timeout(db).await,
        ErrorCode::Conflict => conflict(),
        ErrorCode::DocumentUnavailable => document_unavailable(db).await,
        ErrorCode::PayloadTooLarge => payload_too_large(db).await,
        ErrorCode::ExpectationFailed => Scene::open(db, |_| {}).await.over_a_connection("expect: tea").await,
        ErrorCode::ServerError => server_error(db).await,
        ErrorCode::StorageUnavailable => storage_unavailable(db).await,
        ErrorCode::Overloaded => overloaded(db).await,
        code => panic!("{code} is new: provoke it"),
    }
}

async fn plan_required(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    scene.world.company.set_plan(Plan::Starter).await.unwrap();
    scene.call_all().await
}

async fn too_many_requests(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |settings| settings.quota = 1).await;
    assert_eq!(scene.world.get("/api/v1/clients").await.status, 200);
    scene.call_all().await
}

async fn validation_error(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    scene.call(Some(&scene.world.key), |_, path| format!("{path}?limit=0")).await
}

async fn bad_request(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    let malformed = scene.send(|| Full::new(Bytes::from_static(b"{"))).await;
    [malformed, scene.over_a_connection("host: y").await].concat()
}

async fn not_found(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    let absent = |route: &Route, path: String| match route.endpoint {
        Endpoint::FrozenDocument => path + "0",
        _ => path_of(route.path, ABSENT),
    };
    let absent = scene.call(Some(&scene.world.key), absent).await;
    let off = Scene::open(db, |settings| {
        settings.reference.openapi = false;
        settings.reference.page = false;
    });
    [absent, off.await.call_all().await].concat()
}

/// No endpoint can answer so: the method is not its own.
async fn method_not_allowed(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    let answer =
        scene.world.call("DELETE", "/api/v1/quotes", Some(&scene.world.key), &[], Bytes::new()).await;
    vec![(Endpoint::ListQuotes, answer.status.as_u16(), answer.json)]
}

async fn request_timeout(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |settings| settings.requests.body_time_ms = 1).await;
    let endless = || {
        StreamBody::new(stream::iter([Ok(Frame::data(Bytes::from_static(b"{")))]).chain(stream::pending()))
    };
    scene.send(endless).await
}

/// Only host operations answer so; the host answers its own callers with the body of the error.
fn conflict() -> Vec<Answered> {
    let error = Error::from(ConflictReason::HasPayments);
    vec![(Endpoint::GetInvoice, error.status().as_u16(), serde_json::to_value(error.body()).unwrap())]
}

async fn document_unavailable(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    let draft = scene.world.draft().await.summary.id.to_string();
    let accepted = scene.world.accepted().await.summary.id;
    let invoice = scene.world.company.invoices().convert(accepted).await.unwrap().summary.id.to_string();
    // As a host without a renderer of invoices has issued the credit note.
    scene.world.run("DELETE FROM frozen_file WHERE document_id NOT IN (SELECT id FROM quote)", &[]).await;
    let of_draft = |route: &Route, path: String| match route.endpoint {
        Endpoint::QuoteDocument => path_of(route.path, &draft),
        Endpoint::InvoiceDocument => path_of(route.path, &invoice),
        _ => path,
    };
    scene.call(Some(&scene.world.key), of_draft).await
}

async fn payload_too_large(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    scene.send(|| Full::new(Bytes::from(vec![b' '; 256 * 1024 + 1]))).await
}

/// A row of the company cannot be read.
async fn server_error(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    let (damaged, key) = scene.world.another("damaged", Plan::Team).await;
    let damage = scene.world.database().either(
        "UPDATE api_key SET quota_log = '[[' WHERE company_id = $1",
        "UPDATE company SET record = '[[' WHERE id = $1",
    );
    scene.world.run(damage, &[damaged.id().0.into()]).await;
    scene.call(Some(&key), |_, path| path).await
}

async fn storage_unavailable(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |_| {}).await;
    scene.world.documents.fail(true);
    let mut answered = scene.call_all().await;
    scene.world.invoicing.close().await;
    answered.extend(scene.call_all().await);
    answered
}

/// An answer that its reader holds uses up all memory.
async fn overloaded(db: Database) -> Vec<Answered> {
    let scene = Scene::open(db, |settings| settings.requests.buffered_bytes = 320 * 1024).await;
    for n in 0..100 {
        let client = json!({"name": format!("Client {n}"), "notes": "é".repeat(2_000)});
        scene.world.company.clients().create(&serde_json::from_value(client).unwrap()).await.unwrap();
    }
    let request = Request::get("/api/v1/clients?limit=100");
    let request =
        request.header("authorization", format!("Bearer {}", scene.world.key)).body(Full::<Bytes>::default());
    let response = scene.world.invoicing.service().answer(request.unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let held: Vec<_> = response.into_body().into_data_stream().map(Result::unwrap).collect().await;
    let answered = scene.call_all().await;
    drop(held);
    answered
}

/// The code of an error body.
fn code_of(body: &Value) -> Option<&str> {
    body["error"]["code"].as_str().or_else(|| body["code"].as_str())
}

/// The body of each code, for the examples.
pub(super) async fn bodies(db: Database) -> Map<String, Value> {
    let mut bodies = Map::new();
    for code in ErrorCode::KNOWN {
        let answered = Box::pin(provoke(db, code)).await;
        let answer = answered.into_iter().find(|(_, _, body)| code_of(body) == Some(code.as_str()));
        let (_, status, body) = answer.unwrap_or_else(|| panic!("{code} was not provoked"));
        assert_eq!(code.status(), Some(status));
        bodies.insert(code.to_string(), body);
    }
    bodies
}

/// The errors of each endpoint, as the description lists them: those that its responses have examples of.
fn documented() -> BTreeSet<(String, u16, String)> {
    let document = std::fs::read_to_string(workspace("openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let mut documented = BTreeSet::new();
    for route in ROUTES {
        let operation = &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
        for (status, response) in operation["responses"].as_object().unwrap() {
            let Some(reference) = response["$ref"].as_str() else { continue };
            let response = document.pointer(reference.trim_start_matches('#')).unwrap();
            let examples = response["content"]["application/json"]["examples"].as_object().unwrap();
            for code in examples.keys() {
                documented.insert((format!("{:?}", route.endpoint), status.parse().unwrap(), code.clone()));
            }
        }
    }
    documented
}

/// Rules: REFERENCE-4
#[on_each_database]
async fn each_documented_error_of_each_endpoint_can_be_provoked_and_no_other(db: Database) {
    let mut provoked = BTreeSet::new();
    let refusals = ErrorCode::KNOWN
        .iter()
        .filter(|code| **code != ErrorCode::Conflict && **code != ErrorCode::MethodNotAllowed);
    for code in refusals {
        for (endpoint, status, body) in Box::pin(provoke(db, code)).await {
            if let Some(code) = code_of(&body) {
                provoked.insert((format!("{endpoint:?}"), status, code.to_owned()));
            }
        }
    }
    assert_eq!(provoked, documented());
}
