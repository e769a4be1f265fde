//! How the programs of the reference page behave towards a service that is busy, or that sends them elsewhere.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::deliveries::{Delivery, pass_through};
use super::snippets::programs;
use super::tools::succeed;
use crate::sandbox::Sandbox;

/// The shortest wait between two tries, and what a clock of whole seconds may take from it.
const FLOOR: Duration = Duration::from_millis(900);
/// Maximum number of requests for one answer.
const MAX_REQUESTS: usize = 5;

/// Answers each request in the same way, and notes when they came.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    came: Arc<Mutex<Vec<Instant>>>,
}

impl Stub {
    /// `answer`: status and headers of the n-th answer; `None` passes the connection on to a service.
    pub(crate) fn start(
        service: Option<SocketAddr>,
        answer: impl Fn(usize) -> Option<String> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, came) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&came);
        thread::spawn(move || {
            for (n, from) in listener.incoming().map_while(Result::ok).enumerate() {
                noted.lock().unwrap().push(Instant::now());
                match answer(n) {
                    Some(head) => drop(thread::spawn(move || answer_with(from, &head))),
                    None => pass_through(from, service.unwrap()),
                }
            }
        });
        Self { address, came }
    }

    /// Is busy for ever, with `Retry-After` in this form.
    pub(crate) fn busy(retry_after: &'static str) -> Self {
        Self::start(None, move |_| Some(busy(retry_after)))
    }

    /// Sends each request to another address.
    pub(crate) fn redirecting_to(other: SocketAddr) -> Self {
        Self::start(None, move |_| Some(format!("302 Found\r\nLocation: http://{other}/api/v1/quotes")))
    }

    pub(crate) fn requests(&self) -> usize {
        self.came.lock().unwrap().len()
    }

    fn gaps(&self) -> Vec<Duration> {
        self.came.lock().unwrap().windows(2).map(|two| two[1] - two[0]).collect()
    }
}

fn busy(retry_after: &str) -> String {
    format!("503 Service Unavailable\r\nRetry-After: {retry_after}")
}

fn in_seconds(seconds: u64) -> String {
    let at = Delivery::now().unsigned_abs() + seconds;
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(at))
}

fn answer_with(mut stream: TcpStream, head: &str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while lines.next().transpose().ok().flatten().is_some_and(|line| !line.is_empty()) {}
    let answer = format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
    // The caller may have gone away.
    let _ = stream.write_all(answer.as_bytes());
}

fn in_each_language(run: impl Fn(Command) + Sync) {
    let run = &run;
    thread::scope(|scope| {
        for program in programs("requests") {
            scope.spawn(move || run(program));
        }
    });
}

fn against(program: &mut Command, address: SocketAddr, key: &str) -> Result<String, String> {
    program.env("INVOICING_URL", format!("http://{address}"));
    // As from a file.
    program.env("INVOICING_API_KEY", format!("{key}\n"));
    succeed(program)
}

/// Seconds, none, a date, and a text that is neither.
#[test]
fn each_language_waits_by_retry_after_and_then_goes_on() {
    let sandbox = Sandbox::start(&["--activity", "50"]);
    sandbox.one_of_each_kind();
    let [base_url, key] = sandbox.api();
    let service = base_url.strip_prefix("http://").unwrap().parse().unwrap();
    in_each_language(|mut program| {
        let answer = |n| match n {
            0 => Some(busy("0")),
            1 => Some(busy(&in_seconds(4))),
            2 => Some(busy("soon")),
            _ => None,
        };
        let stub = Stub::start(Some(service), answer);
        let told = against(&mut program, stub.address, key).unwrap();
        assert!(told.ends_with("every request was answered\n"), "{program:?}: {told}");
        let gaps = stub.gaps();
        assert!(gaps[..3].iter().all(|gap| *gap > FLOOR), "{program:?}: {gaps:?}");
        assert!(gaps[1] > Duration::from_millis(2_900), "{program:?}: {gaps:?}");
    });
}

#[test]
fn each_language_ends_if_the_service_stays_busy() {
    in_each_language(|mut program| {
        let stub = Stub::busy("0");
        let failed = against(&mut program, stub.address, "isk_x").unwrap_err();
        assert!(
            (2..=MAX_REQUESTS).contains(&stub.requests()),
            "{program:?}: {} requests: {failed}",
            stub.requests()
        );
        assert!(stub.gaps().iter().all(|gap| *gap > FLOOR), "{program:?}: {:?}", stub.gaps());
    });
}

#[test]
fn no_language_takes_the_key_to_another_address() {
    in_each_language(|mut program| {
        let other = Stub::busy("1");
        let stub = Stub::redirecting_to(other.address);
        against(&mut program, stub.address, "isk_x").unwrap_err();
        assert_eq!((stub.requests(), other.requests()), (1, 0), "{program:?}");
    });
}
