//! The layer and the extractors, inside of real routers.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use axum::extract::{Extension, FromRef, State};
use axum::routing::post;
use axum::{Router, body::Body};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower_layer::Layer;
use tower_service::Service;
use tracing_subscriber::filter::LevelFilter;
use webhook_verify::events::{Event, EventData};
use webhook_verify::inbox::{Inbox, InboxService, MemoryInbox};
use webhook_verify::receiver::{Delivery, Receiver, Rejection, VerifyLayer};

use crate::support::{NOW, PING, Pieces, Shared, call, receiver, request};

#[derive(Clone)]
struct App {
    receiver: Receiver,
    greeting: &'static str,
}

impl FromRef<App> for Receiver {
    fn from_ref(app: &App) -> Self {
        app.receiver.clone()
    }
}

async fn typed(State(app): State<App>, event: Event) -> StatusCode {
    assert_eq!(app.greeting, "hello");
    assert!(matches!(event.data, EventData::Ping(_)));
    StatusCode::NO_CONTENT
}

async fn raw(delivery: Delivery) -> Result<StatusCode, Rejection> {
    assert_eq!(delivery.signed_at, NOW);
    delivery.event()?;
    Ok(StatusCode::ACCEPTED)
}

#[tokio::test]
async fn axum_handlers_take_events_and_deliveries() {
    let app = App { receiver: receiver(), greeting: "hello" };
    let mut router = Router::new().route("/hook", post(typed)).with_state(app);
    assert_eq!(call::<_, Body, _>(&mut router, request(PING)).await, 204);
    assert_eq!(call::<_, Body, _>(&mut router, request("{}")).await, 400);
    let mut router = Router::new().route("/hook", post(raw)).with_state(receiver());
    assert_eq!(call::<_, Body, _>(&mut router, request(PING)).await, 202);
    assert_eq!(call::<_, Body, _>(&mut router, request("{}")).await, 400);
    assert_eq!(call::<_, Body, _>(&mut router, Request::post("/hook").body(PING.into()).unwrap()).await, 400);
    let mut large: Request<Body> = request(vec![b' '; 256 * 1024 + 1]);
    large.headers_mut().insert("content-length", "262145".parse().unwrap());
    assert_eq!(call(&mut router, large).await, 413);
}

/// A receiver that records the text of each refusal.
fn watched() -> (Receiver, Shared<String>) {
    let refusals = Shared::default();
    let recorded = Arc::clone(&refusals);
    let receiver =
        receiver().on_refusal(move |rejection| recorded.lock().unwrap().push(rejection.to_string()));
    (receiver, refusals)
}

#[tokio::test]
async fn each_refusal_is_told_once_whatever_receives() {
    let (receiver, refusals) = watched();
    let app = App { receiver: receiver.clone(), greeting: "hello" };
    let mut extractor = Router::new().route("/hook", post(typed)).with_state(app);
    let mut layer = VerifyLayer::new(receiver.clone()).layer(Echo::default());
    let mut inbox = InboxService::new(receiver, Arc::new(MemoryInbox::new()));
    let forged = || Request::post("/hook").header("x-service-signature", "t=1,v2=00");
    assert_eq!(call::<_, Body, _>(&mut extractor, forged().body(PING.into()).unwrap()).await, 400);
    assert_eq!(call(&mut layer, forged().body(Pieces::new([])).unwrap()).await, 400);
    assert_eq!(call(&mut inbox, forged().body(Full::new(Bytes::from(PING))).unwrap()).await, 400);
    let malformed = "the delivery is not genuine: the signature header is malformed: it has no `v1=`";
    assert_eq!(std::mem::take(&mut *refusals.lock().unwrap()), [malformed; 3]);
    // Genuine, and not an event.
    assert_eq!(call::<_, Body, _>(&mut extractor, request("[]")).await, 400);
    assert_eq!(call::<_, Full<Bytes>, _>(&mut inbox, request("[]")).await, 400);
    let no_event = "the body is not the body of an event: the body is not a JSON object";
    assert_eq!(std::mem::take(&mut *refusals.lock().unwrap()), [no_event; 2]);
    assert_eq!(call::<_, Body, _>(&mut extractor, request(PING)).await, 204);
    assert_eq!(call::<_, Full<Bytes>, _>(&mut inbox, request(PING)).await, 204);
    assert!(refusals.lock().unwrap().is_empty());
}

/// The log of the process.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn each_refusal_is_a_warning_in_the_log() {
    let log = Log::default();
    let writer = log.clone();
    // The only subscriber of all tests: with one for this thread, a warning that another thread reaches first would be off.
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::WARN).with_ansi(false);
    subscriber.with_writer(move || writer.clone()).init();
    // A limit that no other test has, which finds its lines.
    let receiver = receiver().body_limit(71);
    assert!(receiver.accept(request::<Pieces>(vec![b'x'; 71])).await.is_ok());
    assert!(receiver.accept(request::<Pieces>(vec![b'x'; 72])).await.is_err());
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("71 bytes")).collect();
    let [line] = lines[..] else { panic!("one line in {log}") };
    for expected in ["WARN", "delivery refused", "status=413", "reason=the body is larger than 71 bytes"] {
        assert!(line.contains(expected), "{expected} is missing in {line}");
    }
}

#[tokio::test]
async fn the_layer_goes_around_an_axum_route() {
    async fn hook(Extension(delivery): Extension<Delivery>, body: Bytes) -> StatusCode {
        assert_eq!(delivery.body, body);
        StatusCode::NO_CONTENT
    }
    let mut router = Router::new().route("/hook", post(hook)).layer(VerifyLayer::new(receiver()));
    assert_eq!(call::<_, Body, _>(&mut router, request(PING)).await, 204);
    assert_eq!(call::<_, Body, _>(&mut router, Request::post("/hook").body(PING.into()).unwrap()).await, 400);
}

/// Answers with the body; ready only once per call to `poll_ready`.
#[derive(Clone, Default)]
struct Echo {
    is_ready: bool,
}

impl Service<Request<Full<Bytes>>> for Echo {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        self.is_ready = true;
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called without having been asked");
        assert!(request.extensions().get::<Delivery>().is_some());
        Box::pin(async move { Ok(Response::new(request.into_body())) })
    }
}

#[tokio::test]
async fn the_layer_goes_around_any_service_and_keeps_its_readiness() {
    let mut service = VerifyLayer::new(receiver()).layer(Echo::default());
    for body in [Bytes::from_static(b"\xff not JSON"), Bytes::from(vec![b'x'; 5000])] {
        std::future::poll_fn(|cx| Service::<Request<Pieces>>::poll_ready(&mut service, cx)).await.unwrap();
        let response = service.call(request::<Pieces>(body.clone())).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
    }
    let unsigned = Request::post("/").body(Pieces::new([])).unwrap();
    assert_eq!(call(&mut service, unsigned).await, 400);
}

#[tokio::test]
async fn an_intake_is_a_route_and_may_have_any_inbox() {
    let inbox = Arc::new(MemoryInbox::new());
    let service: InboxService<dyn Inbox> = InboxService::new(receiver(), inbox.clone());
    let mut router = Router::new().route_service("/hook", service);
    assert_eq!(call::<_, Body, _>(&mut router, request(PING)).await, 204);
    assert_eq!(inbox.waiting().await.unwrap(), 1);
    let get = Request::get("/hook").body(Body::empty()).unwrap();
    assert_eq!(call(&mut router, get).await, 405);
}
