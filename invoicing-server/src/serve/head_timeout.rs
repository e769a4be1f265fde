//! The end of a connection whose peer did not send a request head in time.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use uuid::Uuid;

use super::stream::Stream;
use crate::env::Env;
use crate::http::error::ApiError;
use crate::http::request_id::X_REQUEST_ID;

/// Ready when the time limit has passed without a first request.
///
/// hyper's own limit starts with the first byte, by which it recognises the version of HTTP. Under
/// that limit alone, a peer could hold a connection open for ever by sending nothing.
pub(super) async fn no_first_request(has_begun: &AtomicBool, limit: Duration) {
    sleep(limit).await;
    if has_begun.load(Ordering::Relaxed) {
        pending::<()>().await;
    }
}

/// Sends 408 after a partial HTTP/1 head, which hyper does not; otherwise the connection closes
/// without a response.
pub(super) fn send_timeout(stream: &Stream) {
    if stream.is_in_head() && !stream.is_http_2() {
        let id = Env::system().uuid();
        stream.try_write(&timeout_response(id));
        tracing::debug!(request_id = %id, "request head did not arrive in time");
    } else {
        tracing::debug!("idle connection closed");
    }
}

fn timeout_response(id: Uuid) -> Vec<u8> {
    let body = ApiError::RequestTimeout.body();
    let mut response = format!(
        "HTTP/1.1 408 Request Timeout\r\n{X_REQUEST_ID}: {id}\r\nconnection: close\r\ncache-control: no-store\r\n\
         content-type: application/json; charset=utf-8\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    response.extend(body);
    response
}
