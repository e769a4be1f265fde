//! The receiver of all webhooks: answers 200, unless it hangs, and notes each delivery with its instant.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use invoicing_tests::HttpServer;
use tokio::sync::watch;

/// The path that is never answered.
pub(crate) const HANG: &str = "/hang";
/// The prefix of the paths that are answered after [`FAR_AWAY`].
pub(crate) const SLOW: &str = "/slow";
/// The path that is answered at once and not noted, and the one that is answered [`TOO_LATE`] and not noted either.
pub(crate) const CROWD: &str = "/crowd";
pub(crate) const LATE: &str = "/late";
/// A success, in time, of which a few hundred at a time keep any number of slots busy.
const TOO_LATE: Duration = Duration::from_millis(4_300);
/// As long as an answer of a receiver on another continent takes.
const FAR_AWAY: Duration = Duration::from_millis(100);

/// See the module's text.
pub(crate) struct Sink {
    server: HttpServer,
    shared: Arc<Shared>,
}

struct Shared {
    count: watch::Sender<usize>,
    /// The body's stamp, and when it came, in nanoseconds since 1970.
    arrivals: Mutex<Vec<(Bytes, i64)>>,
}

impl Sink {
    pub(crate) async fn start() -> Self {
        let shared = Arc::new(Shared { count: watch::Sender::new(0), arrivals: Mutex::default() });
        let noted = Arc::clone(&shared);
        let server = HttpServer::start(move |request| answer(Arc::clone(&noted), request)).await;
        Self { server, shared }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Forgets everything.
    pub(crate) fn reset(&self) {
        self.shared.arrivals.lock().expect("no panic").clear();
        self.shared.count.send_replace(0);
    }

    pub(crate) fn count(&self) -> usize {
        *self.shared.count.borrow()
    }

    /// Waits until so many deliveries have come.
    pub(crate) async fn wait_for(&self, deliveries: usize) {
        self.shared.count.subscribe().wait_for(|count| *count >= deliveries).await.expect("the sink lives");
    }

    /// The stamp and the arrival, in nanoseconds since 1970, of everything that was answered.
    pub(crate) fn arrivals(&self) -> Vec<(String, i64)> {
        let arrivals = self.shared.arrivals.lock().expect("no panic");
        arrivals.iter().map(|(body, at)| (stamp(body), *at)).collect()
    }
}

/// The event's `timestamp`, which is unique within a company.
fn stamp(body: &[u8]) -> String {
    let json: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    json["timestamp"].as_str().expect("a stamp").to_owned()
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let at = nanoseconds();
    if request.uri().path() == HANG {
        return std::future::pending().await;
    }
    match request.uri().path() {
        LATE => tokio::time::sleep(TOO_LATE).await,
        path if path.starts_with(SLOW) => tokio::time::sleep(FAR_AWAY).await,
        _ => {}
    }
    let is_noted = !matches!(request.uri().path(), CROWD | LATE);
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    if !is_noted {
        return Ok(Response::new(Full::default()));
    }
    shared.arrivals.lock().expect("no panic").push((body, at));
    shared.count.send_modify(|count| *count += 1);
    Ok(Response::new(Full::default()))
}

/// The system's clock, which both processes read.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn nanoseconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_nanos()).expect("before 2262")
}
