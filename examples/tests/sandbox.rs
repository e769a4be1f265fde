//! A sandbox process and what it writes, and the options that are for its surroundings: text for people, probes,
//! certificate authorities, another address.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use invoicing_core::EventKind;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use webhook_verify::Verifier;

use crate::{example, run};

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

/// The last line on standard error of a sandbox that ends by itself, with 1.
fn problem(args: &[&str]) -> String {
    let Output { status, stderr, .. } = run("sandbox", args);
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{args:?}: {stderr}");
    stderr.lines().last().expect("a reason").to_owned()
}

#[test]
fn sandbox_writes_text_for_people() {
    let mut child = Command::new(example("sandbox"))
        .args([
            "--listen",
            "127.0.0.1:0",
            "--output",
            "text",
            "--webhook",
            "http://127.0.0.1:9000/hook",
            "--activity",
            "50",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let _process = Process(child);
    let head: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("Operations of")).collect();
    let head = head.join("\n");
    for part in [
        "Ctrl-C",
        "gone at the end",
        "/?signIn=",
        "/api/v1/docs",
        "key        isk_",
        "secret     whsec_",
        "curl -H",
    ] {
        assert!(head.contains(part), "{part} is missing in\n{head}");
    }
    let operation = lines.next().unwrap();
    assert!(operation.starts_with("  ") && !operation.trim().is_empty(), "{operation}");
}

#[test]
fn sandbox_names_a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let problem = problem(&["--listen", &address]);
    assert!(problem.contains(&format!("--listen {address}: ")) && problem.contains("port 0"), "{problem}");
}

#[test]
fn sandbox_takes_the_address_that_others_use() {
    let sandbox = Sandbox::start(&["--base-url", "https://sandbox.example.com/", "--activity", "0"]);
    let console = sandbox.hello["consoleUrl"].as_str().unwrap();
    assert_eq!(sandbox.hello["baseUrl"], "https://sandbox.example.com");
    assert!(console.starts_with("https://sandbox.example.com/?signIn="), "{console}");
}

#[test]
fn sandbox_health_check_fails_unless_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let (db, documents) = (folder.path().join("sandbox.db"), folder.path().join("sandbox.db.documents"));
    let sandbox =
        Sandbox::start(&["--db", db.to_str().unwrap(), "--activity", "0", "--probes", "127.0.0.1:0"]);
    let line = sandbox.log.iter().find(|line| line.contains("probes=")).unwrap();
    let address = line.split("probes=").nth(1).unwrap().split_whitespace().next().unwrap();
    let check = || run("sandbox", &["--health-check", address]);
    let healthy = check();
    assert!(healthy.status.success() && healthy.stdout.is_empty(), "{healthy:?}");

    let away = folder.path().join("away");
    fs::rename(&documents, &away).unwrap();
    // The state is up to 2 s old.
    let deadline = Instant::now() + LIMIT;
    while check().status.success() {
        assert!(Instant::now() < deadline, "healthy without its documents");
        thread::sleep(Duration::from_millis(100));
    }
    let reason = problem(&["--health-check", address]);
    assert!(reason.contains("the document store does not answer"), "{reason}");
    fs::rename(&away, &documents).unwrap();
    drop(sandbox);
    assert!(problem(&["--health-check", address]).contains(address));
}

#[test]
fn sandbox_health_check_fails_without_an_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let began = Instant::now();
    let problem = problem(&["--health-check", &address]);
    assert!(problem.contains(&address) && problem.contains("no answer within 2s"), "{problem}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// A receiver over TLS with a certificate of an authority of its own, in PEM: reads one delivery and sends its headers and
/// its body.
fn tls_receiver() -> (String, String, mpsc::Receiver<(String, Vec<u8>)>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = BASE64_STANDARD.encode(params.self_signed(&key).unwrap().der());
    let authority = format!("-----BEGIN CERTIFICATE-----\n{authority}\n-----END CERTIFICATE-----\n");
    let own_key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let own = own.signed_by(&own_key, &Issuer::new(params, key)).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.into()], PrivatePkcs8KeyDer::from(own_key.serialize_der()).into())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/hook", listener.local_addr().unwrap().port());
    let (sent, received) = mpsc::channel();
    thread::spawn(move || {
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = BufReader::new(StreamOwned::new(connection, listener.accept().unwrap().0));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let mut body = vec![0; header(&head, "content-length").parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
        sent.send((head, body)).unwrap();
    });
    (authority, url, received)
}

/// The value of a header.
fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).expect("the header").1
}

#[test]
fn sandbox_delivers_to_a_name_that_another_authority_vouches_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let (authority, url, received) = tls_receiver();
    fs::write(&file, authority).unwrap();
    let sandbox =
        Sandbox::start(&["--webhook-ca", file.to_str().unwrap(), "--webhook", &url, "--activity", "50"]);
    let (head, body) = received.recv_timeout(LIMIT).expect("a delivery");
    let verifier = Verifier::new(sandbox.secret()).unwrap();
    verifier.verify_now(header(&head, "X-Service-Signature"), &body).unwrap();
}

#[test]
fn sandbox_names_a_file_without_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, missing) = (folder.path().join("empty.pem"), folder.path().join("missing.pem"));
    fs::write(&empty, "no certificate\n").unwrap();
    for file in [empty, missing] {
        let file = file.to_str().unwrap();
        let problem = problem(&["--listen", "127.0.0.1:0", "--webhook-ca", file]);
        assert!(problem.contains(&format!("--webhook-ca {file}: ")), "{problem}");
    }
}
