//! A webhook receiver on loopback with the behaviour that a test sets, and a record of the deliveries.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::{HttpServer, description};

/// A received delivery.
#[derive(Debug, Clone)]
pub struct Received {
    /// Request method.
    pub method: http::Method,
    /// Path and query.
    pub path: String,
    /// Request headers.
    pub headers: http::HeaderMap,
    /// The raw body.
    pub body: Bytes,
    /// The body as JSON.
    pub json: Value,
    /// When it came.
    pub at: std::time::Instant,
}

/// How to answer.
#[derive(Debug, Clone)]
pub enum Reply {
    /// With a status and headers.
    Status(u16, Vec<(&'static str, String)>),
    /// With a bare status, after a while.
    Slow(Duration, u16),
    /// With a bare status, once the semaphore has a permit or is closed.
    Held(Arc<Semaphore>, u16),
    /// Not at all within any time limit.
    Hang,
    /// Not at all: the connection is closed.
    HangUp,
}

impl Reply {
    /// A bare status.
    pub fn status(status: u16) -> Self {
        Self::Status(status, Vec::new())
    }
}

#[derive(Debug)]
struct Script {
    received: Vec<Received>,
    count: watch::Sender<usize>,
    next: VecDeque<Reply>,
    otherwise: Reply,
    /// How deliveries that were taken differ from the description of the API.
    faults: Vec<String>,
}

/// A receiver. Stops when it is dropped; then each delivery must have matched the description of the API.
#[derive(Debug)]
pub struct Receiver {
    /// Where it listens.
    pub url: String,
    script: Arc<Mutex<Script>>,
    _server: HttpServer,
}

impl Receiver {
    /// Starts one that answers 200.
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    /// Starts one at an address.
    pub async fn start_at(address: &str) -> Self {
        let script = Script {
            received: Vec::new(),
            count: watch::Sender::new(0),
            next: VecDeque::new(),
            otherwise: Reply::status(200),
            faults: Vec::new(),
        };
        let script = Arc::new(Mutex::new(script));
        let shared = Arc::clone(&script);
        let server = HttpServer::start_at(address, move |request| answer(Arc::clone(&shared), request)).await;
        Self { url: format!("http://{}/hook", server.address()), script, _server: server }
    }

    /// Answers the next deliveries so, in order; those behind them as before.
    pub fn reply_next(&self, replies: impl IntoIterator<Item = Reply>) {
        self.script.lock().expect("no panic").next.extend(replies);
    }

    /// Answers everything so.
    pub fn reply_always(&self, reply: Reply) {
        let mut script = self.script.lock().expect("no panic");
        script.next.clear();
        script.otherwise = reply;
    }

    /// Everything that came so far.
    pub fn received(&self) -> Vec<Received> {
        self.script.lock().expect("no panic").received.clone()
    }

    /// Waits until so many have come since it was started, forgotten ones included. Whether that was in time.
    pub async fn wait_for(&self, count: usize, within: Duration) -> bool {
        let mut seen = self.script.lock().expect("no panic").count.subscribe();
        tokio::time::timeout(within, seen.wait_for(|seen| *seen >= count)).await.is_ok()
    }

    /// Everything that came so far, and forgets it.
    pub fn take(&self) -> Vec<Received> {
        let mut script = self.script.lock().expect("no panic");
        let received = std::mem::take(&mut script.received);
        script.faults.extend(faults(&received));
        received
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // A second panic would hide the first one.
        if std::thread::panicking() {
            return;
        }
        let Ok(script) = self.script.lock() else { return };
        let faults: Vec<String> = script.faults.iter().cloned().chain(faults(&script.received)).collect();
        drop(script);
        assert!(faults.is_empty(), "deliveries are not as described: {faults:?}");
    }
}

/// How deliveries differ from the description. Not asked before they are answered: a dispatcher goes by how long that takes.
fn faults(received: &[Received]) -> impl Iterator<Item = String> {
    received
        .iter()
        .filter_map(|delivery| description::check_delivery(&delivery.headers, &delivery.json).err())
}

async fn answer(
    script: Arc<Mutex<Script>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, io::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let reply = {
        let mut script = script.lock().expect("no panic");
        let path = parts.uri.to_string();
        let at = std::time::Instant::now();
        let received = Received { method: parts.method, path, headers: parts.headers, body, json, at };
        script.received.push(received);
        script.count.send_modify(|count| *count += 1);
        script.next.pop_front().unwrap_or_else(|| script.otherwise.clone())
    };
    match reply {
        Reply::Slow(while_, status) => {
            tokio::time::sleep(while_).await;
            Ok(Response::builder().status(status).body(Full::default()).expect("a response"))
        }
        Reply::Held(release, status) => {
            let _permit = release.acquire().await;
            Ok(Response::builder().status(status).body(Full::default()).expect("a response"))
        }
        Reply::Hang => {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Ok(Response::default())
        }
        Reply::HangUp => Err(io::ErrorKind::ConnectionReset.into()),
        Reply::Status(status, headers) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            Ok(response.body(Full::default()).expect("a response"))
        }
    }
}
