//! The service inside other people's servers: tower layers, an axum router, a bare hyper connection.

use std::task::{Context, Poll};

use axum::Router;
use axum::middleware::{Next, from_fn};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use invoicing_server::Body;
use invoicing_tests::{Database, World, on_each_database};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service;

use crate::serving::connections::Peer;

/// A tower layer's service around another one: adds a header.
#[derive(Clone)]
struct Labelled<S>(S);

impl<S, B> Service<Request<B>> for Labelled<S>
where
    S: Service<Request<B>, Response = Response<Body>, Error = std::convert::Infallible>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = futures_util::future::BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            response.headers_mut().append("x-layer", http::HeaderValue::from_static("passed"));
            Ok(response)
        })
    }
}

#[on_each_database]
async fn the_service_goes_below_tower_layers(db: Database) {
    let world = World::new(db).await;
    let mut service = Labelled(Labelled(world.invoicing.service()));
    std::future::poll_fn(|context| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, context))
        .await
        .unwrap();
    for (key, status) in [(&*world.key, 200), ("unknown", 401)] {
        let request = Request::get("/api/v1/quotes").header("authorization", format!("Bearer {key}"));
        let response = service.call(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers().get_all("x-layer").iter().count(), 2);
    }
}

#[on_each_database]
async fn the_service_goes_into_an_axum_router_below_a_prefix_and_layers(db: Database) {
    let world = crate::support::api::world(db).await;
    let layer = from_fn(|request: axum::extract::Request, next: Next| async move {
        let mut response = next.run(request).await;
        response.headers_mut().insert("x-layer", http::HeaderValue::from_static("passed"));
        response
    });
    let router = Router::new()
        .route("/health", axum::routing::get(|| async { "well" }))
        .nest_service("/invoicing", Labelled(world.invoicing.service()))
        .layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, router).await });
    let key = format!("authorization: Bearer {}\r\n", world.key);
    let call = async |method: &str, target: &str, headers: &str, body: &str| {
        let mut peer = Peer::new(TcpStream::connect(address).await.unwrap());
        let length = body.len();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        peer.send(head.as_bytes()).await;
        let heard = peer.answer().await.unwrap();
        assert_eq!(heard.headers["x-layer"], "passed", "{method} {target}");
        heard
    };
    assert_eq!(call("GET", "/health", "", "").await.status, 200);
    let json_key = format!("{key}content-type: application/json\r\n");
    let made = call("POST", "/invoicing/api/v1/clients", &json_key, "{\"name\":\"Nested\"}").await;
    assert_eq!((made.status, &made.json["name"]), (201, &json!("Nested")));
    let page = call("GET", "/invoicing/api/v1/clients?q=nest&limit=1", &key, "").await;
    assert_eq!(page.json["data"], json!([made.json]));
    for (target, headers, status, code) in [
        ("/invoicing/api/v1/clients", "", 401, "unauthorized"),
        ("/invoicing/api/v1/clients?limit=0", &*key, 400, "validation_error"),
        ("/invoicing/api/v1/nothing", &*key, 404, "not_found"),
        ("/invoicing/nothing", &*key, 404, "not_found"),
        ("/invoicing/nothing", "", 401, "unauthorized"),
    ] {
        let heard = call("GET", target, headers, "").await;
        assert_eq!((heard.status, &heard.json["error"]["code"]), (status, &json!(code)), "{target}");
        assert!(heard.headers.contains_key("x-request-id"));
    }
    let large = " ".repeat(256 * 1024 + 1);
    assert_eq!(call("POST", "/invoicing/api/v1/clients", &json_key, &large).await.status, 413);
}

#[on_each_database]
async fn the_service_goes_straight_onto_a_hyper_connection(db: Database) {
    let world = World::new(db).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, _) = listener.accept().await.unwrap();
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(accepted), world.invoicing.service());
    let asking = async {
        let mut peer = Peer::new(stream);
        for status in [200, 200] {
            let head = format!(
                "GET /api/v1/quotes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
                world.key
            );
            peer.send(head.as_bytes()).await;
            assert_eq!(peer.answer().await.unwrap().status, status);
        }
    };
    let (served, ()) = tokio::join!(connection, asking);
    served.unwrap();
}
