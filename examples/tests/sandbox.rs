//! A sandbox process, and what it writes.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use invoicing_core::EventKind;
use serde_json::Value;

use crate::example;

/// Far more than anything takes that a test waits for.
pub(crate) const LIMIT: Duration = Duration::from_secs(40);

/// A process that is killed when it is dropped, as a power cut would.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A running sandbox.
pub(crate) struct Sandbox {
    /// The first line.
    pub(crate) hello: Value,
    /// The line of each operation.
    pub(crate) operations: mpsc::Receiver<Value>,
    /// The lines on standard error.
    pub(crate) log: mpsc::Receiver<String>,
    _process: Process,
}

impl Sandbox {
    /// Starts one without a quota, and waits until it accepts connections.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(example("sandbox"))
            .args(["--listen", "127.0.0.1:0", "--quota", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ((line, operations), (logged, log)) = (mpsc::channel(), mpsc::channel());
        lines(child.stdout.take().unwrap(), |line| serde_json::from_str(&line).ok(), line);
        lines(child.stderr.take().unwrap(), Some, logged);
        let process = Process(child);
        let Ok(hello) = operations.recv() else {
            panic!("no first line: {:#?}", log.iter().collect::<Vec<_>>())
        };
        Self { hello, operations, log, _process: process }
    }

    /// The ids of its companies.
    pub(crate) fn companies(&self) -> Vec<&str> {
        let companies = self.hello["companies"].as_array().unwrap();
        companies.iter().map(|company| company["id"].as_str().unwrap()).collect()
    }

    /// Where its API is, and the key of the company that has the activity.
    pub(crate) fn api(&self) -> [&str; 2] {
        [&self.hello["baseUrl"], &self.hello["companies"][0]["apiKey"]].map(|value| value.as_str().unwrap())
    }

    /// The answers of its API to that company.
    pub(crate) fn get(&self, path: &str) -> Value {
        let [base_url, key] = self.api();
        let host = base_url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET /api/v1{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// The keys of its next events, until there is one of each kind.
    pub(crate) fn one_of_each_kind(&self) -> BTreeSet<[String; 3]> {
        let mut events = BTreeSet::new();
        let lacks = |events: &BTreeSet<[String; 3]>, kind: &EventKind| {
            events.iter().all(|[of, ..]| of != kind.as_str())
        };
        while EventKind::ALL.iter().any(|kind| lacks(&events, kind)) {
            let line = self.operations.recv_timeout(LIMIT).expect("an event of each kind");
            events.extend(announced(&line));
        }
        events
    }

    /// The secret of its first webhook.
    pub(crate) fn secret(&self) -> &str {
        self.hello["webhooks"][0]["secret"].as_str().unwrap()
    }
}

/// Sends the lines of a pipe as they come, until the pipe or `parse` ends.
pub(crate) fn lines<T: Send + 'static>(
    pipe: impl Read + Send + 'static,
    parse: impl Fn(String) -> Option<T> + Send + 'static,
    to: mpsc::Sender<T>,
) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok).map_while(parse) {
            // Without a receiver the line is of no interest; the pipe is, to the process.
            let _ = to.send(line);
        }
    });
}

/// The keys of the events that a line announces: kind, id and timestamp.
pub(crate) fn announced(line: &Value) -> Vec<[String; 3]> {
    let events = line["events"].as_array().cloned().unwrap_or_default();
    events.iter().map(|event| key(&event["event"], &event["id"], &event["timestamp"])).collect()
}

/// The key of a delivery.
pub(crate) fn key(event: &Value, id: &Value, timestamp: &Value) -> [String; 3] {
    [event, id, timestamp].map(|value| value.as_str().unwrap().to_owned())
}
