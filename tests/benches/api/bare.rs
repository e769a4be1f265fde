//! A bare hyper that answers every request with the bytes it was last told, and does nothing else.

use std::sync::{Arc, RwLock};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body_util::Full;
use invoicing_tests::HttpServer;
use invoicing_tests::bench::{Questions, answer};
use serde_json::json;

/// Serves until the benchmark ends.
pub(crate) async fn run() {
    let body = Arc::new(RwLock::new(Bytes::new()));
    let told = Arc::clone(&body);
    let server = HttpServer::start(move |_| {
        let mut response = Response::new(Full::new(body.read().expect("no panic").clone()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        async { Ok(response) }
    })
    .await;
    let mut questions = Questions::default();
    while let Some(question) = questions.next().await {
        *told.write().expect("no panic") = question.as_str().expect("a body").to_owned().into();
        answer(&json!(server.address()));
    }
}
