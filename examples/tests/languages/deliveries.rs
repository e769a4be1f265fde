//! Deliveries of a sandbox on their way to a receiver, and what may happen to them there.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::thread;

use invoicing_server::Env;
use invoicing_tests::Receiver;
use serde_json::Value;

use crate::sandbox::{LIMIT, Sandbox};

/// A delivery as it came.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// The value of the signature header.
    pub(crate) signature: String,
    pub(crate) body: Vec<u8>,
}

impl Delivery {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The key that it is recognised by.
    pub(crate) fn key(&self) -> [String; 3] {
        let event = self.json();
        let [kind, timestamp] = ["event", "timestamp"].map(|name| event[name].as_str().unwrap().to_owned());
        // An event of a later version may be about something that has no id.
        [kind, event["data"]["id"].as_str().unwrap_or_default().to_owned(), timestamp]
    }

    /// The clock, as signatures have it.
    pub(crate) fn now() -> i64 {
        Env::system().now().to_chrono().timestamp()
    }

    /// Sends it once more, and returns the answer.
    pub(crate) fn send(&self, to: SocketAddr) -> u16 {
        let head = format!(
            "POST /hook HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-Service-Signature: {}\r\nContent-Length: {}\r\n\r\n",
            self.signature,
            self.body.len()
        );
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(&[head.as_bytes(), &self.body].concat()).unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line")
    }
}

/// Deliveries of each kind, as a sandbox sent them to a receiver that took them.
pub(crate) struct Recorded {
    pub(crate) secret: String,
    pub(crate) deliveries: Vec<Delivery>,
}

impl Recorded {
    /// Recorded once, for all tests.
    pub(crate) fn get() -> &'static Self {
        static RECORDED: LazyLock<Recorded> = LazyLock::new(Recorded::record);
        &RECORDED
    }

    fn record() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let receiver = runtime.block_on(Receiver::start());
        let sandbox = Sandbox::start(&["--activity", "50", "--webhook", &receiver.url]);
        let events = sandbox.one_of_each_kind();
        assert!(runtime.block_on(receiver.wait_for(events.len(), LIMIT)), "each event is delivered");
        let deliveries = receiver.take().into_iter().map(|came| {
            let signature = came.headers["x-service-signature"].to_str().unwrap().to_owned();
            Delivery { signature, body: came.body.to_vec() }
        });
        Self { secret: sandbox.secret().to_owned(), deliveries: deliveries.collect() }
    }
}

/// Passes connections on, and keeps what comes: a sandbox has to know an address before there is a secret with which a
/// receiver can start.
pub(crate) struct Relay {
    /// The target of the sandbox.
    pub(crate) url: String,
    /// Where it goes, once that is known.
    pub(crate) target: Arc<OnceLock<SocketAddr>>,
    connections: Arc<Mutex<Vec<Tee>>>,
}

/// The bytes of a connection, in one direction.
type Tee = Arc<Mutex<Vec<u8>>>;

impl Relay {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let relay = Self { url, target: Arc::default(), connections: Arc::default() };
        let (target, connections) = (Arc::clone(&relay.target), Arc::clone(&relay.connections));
        thread::spawn(move || {
            for from in listener.incoming().map_while(Result::ok) {
                let (target, tee) = (Arc::clone(&target), Tee::default());
                connections.lock().unwrap().push(Arc::clone(&tee));
                // One that breaks off is sent again by its sender.
                thread::spawn(move || pass_on(from, *target.wait(), &tee));
            }
        });
        relay
    }

    /// Everything that came whole.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        let connections = self.connections.lock().unwrap();
        let bytes: Vec<_> = connections.iter().map(|tee| tee.lock().unwrap().clone()).collect();
        bytes.iter().flat_map(|bytes| requests(bytes)).collect()
    }
}

/// An address that answers its first request as a proxy does whose service is away, and passes on all others.
pub(crate) fn away_at_first(target: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (first, _) = listener.accept().unwrap();
        answer_away(first).unwrap();
        for from in listener.incoming().map_while(Result::ok) {
            pass_through(from, target);
        }
    });
    address
}

/// Passes a connection on, in the background.
pub(crate) fn pass_through(from: TcpStream, target: SocketAddr) {
    thread::spawn(move || pass_on(from, target, &Tee::default()));
}

fn answer_away(mut stream: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    stream.write_all(
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nRetry-After: 1\r\n\
          Content-Length: 16\r\nConnection: close\r\n\r\n<html>503</html>",
    )
}

fn pass_on(mut from: TcpStream, target: SocketAddr, tee: &Tee) -> io::Result<()> {
    let mut to = TcpStream::connect(target)?;
    let (mut answers, mut back) = (to.try_clone()?, from.try_clone()?);
    thread::spawn(move || {
        let ended = io::copy(&mut answers, &mut back);
        // A receiver that closes a connection expects its sender to do so too.
        ended.and_then(|_| back.shutdown(std::net::Shutdown::Both))
    });
    let mut piece = [0; 16 * 1024];
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return to.shutdown(std::net::Shutdown::Write);
        }
        tee.lock().unwrap().extend(&piece[..length]);
        to.write_all(&piece[..length])?;
    }
}

/// The requests of a connection.
fn requests(mut bytes: &[u8]) -> Vec<Delivery> {
    let mut requests = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let value = |name: &str| {
            let mut headers = head.lines().filter_map(|line| line.split_once(": "));
            headers.find(|(header, _)| header.eq_ignore_ascii_case(name)).expect("the header").1.to_owned()
        };
        let rest = &bytes[end + 4..];
        let length = value("content-length").parse().unwrap();
        let Some((body, next)) = rest.split_at_checked(length) else { break };
        requests.push(Delivery { signature: value("x-service-signature"), body: body.to_vec() });
        bytes = next;
    }
    requests
}
