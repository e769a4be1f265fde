//! A bare hyper that answers every request with the bytes it was last told, and does nothing else.

use std::convert::Infallible;
use std::sync::{Arc, RwLock};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use invoicing_tests::bench::{Questions, answer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Serves until the benchmark ends.
pub(crate) async fn run() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let body = Arc::new(RwLock::new(Bytes::new()));
    let mut serving = JoinSet::new();
    serving.spawn(serve(listener, Arc::clone(&body)));
    let mut questions = Questions::default();
    while let Some(question) = questions.next().await {
        *body.write().expect("no panic") = question.as_str().expect("a body").to_owned().into();
        answer(&json!(address));
    }
}

async fn serve(listener: TcpListener, body: Arc<RwLock<Bytes>>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket option");
        let body = Arc::clone(&body);
        connections.spawn(async move {
            let service = service_fn(move |_| {
                let mut response = Response::new(Full::new(body.read().expect("no panic").clone()));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                async { Ok::<_, Infallible>(response) }
            });
            // A client that goes away ends its connection.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
