//! The server as a test's child process: started, called, measured, and killed in the end.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use invoicing_tests::bench;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{sleep, timeout};

/// Longest time for one answer, under any load.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Places of the tests that run at the same time and leave the machine to others.
static MACHINE: Semaphore = Semaphore::const_new(ALL as usize);
const ALL: u32 = 64;
/// Runs of a measurement, the last of which must keep the promise.
const RUNS: usize = 3;

/// The place of a test beside others, until it is dropped.
pub(crate) async fn beside_others() -> SemaphorePermit<'static> {
    MACHINE.acquire().await.expect("it is never closed")
}

/// The machine for one test, until it is dropped.
pub(crate) async fn alone() -> SemaphorePermit<'static> {
    MACHINE.acquire_many(ALL).await.expect("it is never closed")
}

/// The figures that break a promise, as a text.
pub(crate) type Broken = String;

pub(crate) fn check(is_kept: bool, broken: impl FnOnce() -> Broken) -> Result<(), Broken> {
    if is_kept { Ok(()) } else { Err(broken()) }
}

/// Measures anew until a promise about times is kept, at most three times: another process slows one run, a fault all of
/// them.
pub(crate) async fn kept(measure: impl AsyncFn() -> Result<(), Broken>) {
    for _ in 1..RUNS {
        match measure().await {
            Ok(()) => return,
            Err(broken) => println!("measured again: {broken}"),
        }
    }
    measure().await.unwrap();
}

/// A running server. Killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
    /// The key of a second company.
    pub(crate) other_key: String,
    /// Further keys of the first company; the settings give their number.
    pub(crate) keys: Vec<String>,
    /// Path and query of documents' URLs, if the settings have documents.
    pub(crate) documents: Vec<String>,
    /// The API's path of the link to a document of the first company.
    pub(crate) document_link: String,
    /// Pages behind signing links of the first company, if the settings have them.
    pub(crate) pages: Vec<Page>,
    /// The page of a quote with many lines.
    pub(crate) long_page: Page,
    /// The path of a page whose link has ended.
    pub(crate) ended_page: String,
    _folder: TempDir,
}

/// A page behind a signing link.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Page {
    pub(crate) path: String,
    /// SHA-256 of its document.
    pub(crate) document: String,
}

impl Server {
    pub(crate) fn start(settings: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_api-server"))
            // With glibc, large buffers go back to the system once they are freed: the memory is what the server holds.
            .env("MALLOC_MMAP_THRESHOLD_", "131072")
            .arg(folder.path())
            .arg(settings.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("where it listens");
        let text = |name: &str| said[name].as_str().expect("a text").to_owned();
        let address = text("address").parse().expect("an address");
        let (key, other_key) = (text("key"), text("otherKey"));
        let texts = |name: &str| serde_json::from_value(said[name].clone()).expect("a list of texts");
        let (keys, documents) = (texts("keys"), texts("documents"));
        let pages: Vec<Page> = serde_json::from_value(said["pages"].clone()).expect("a list of pages");
        Self {
            child,
            address,
            key,
            other_key,
            keys,
            documents,
            document_link: text("documentLink"),
            pages,
            long_page: serde_json::from_value(said["longPage"].clone()).expect("a page"),
            ended_page: text("endedPage"),
            _folder: folder,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// A request's head with the key, without its last line.
    pub(crate) fn head(&self, line: &str) -> String {
        format!("{line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n", self.key)
    }

    pub(crate) fn get(&self) -> Vec<u8> {
        (self.head("GET /api/v1/clients") + "\r\n").into_bytes()
    }

    /// The request for the URL of a document of the first company.
    pub(crate) fn get_document_url(&self) -> Vec<u8> {
        (self.head(&format!("GET {}", self.document_link)) + "\r\n").into()
    }

    /// `POST /clients` with this body announced.
    pub(crate) fn post(&self, body: &str) -> Vec<u8> {
        let head = self.head("POST /api/v1/clients");
        format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into()
    }

    /// Sends a request on a new connection. Returns how long it took.
    pub(crate) async fn ask_anew(&self) -> Duration {
        let begun = Instant::now();
        let stream = timeout(PATIENCE, self.connect()).await.expect("no connection");
        ask(&mut { stream }, &self.get(), 200).await;
        begun.elapsed()
    }

    /// Resident memory in KiB; `None` if the system does not show it.
    pub(crate) fn memory(&self) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Waits until the server's processor time stands still, if the system shows it.
    pub(crate) async fn is_quiet(&self) {
        let mut before = self.ticks();
        loop {
            sleep(Duration::from_millis(500)).await;
            let now = self.ticks();
            // The server checks its connections now and then.
            if now <= before.map(|before| before + 1) {
                return;
            }
            before = now;
        }
    }

    /// Open sockets; `None` if the system does not show them.
    pub(crate) fn sockets(&self) -> Option<usize> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).ok()?;
        let targets = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
        Some(targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count())
    }

    /// Used ticks of a processor (10 ms); `None` if the system does not show them.
    pub(crate) fn ticks(&self) -> Option<u64> {
        bench::processor_ticks(self.child.id(), bench::OWN)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request and its answer on a connection, which has this status.
pub(crate) async fn ask(stream: &mut TcpStream, request: &[u8], status: u16) {
    let answer = answer(stream, request).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
}

/// One request and its answer on a connection.
pub(crate) async fn answer(stream: &mut TcpStream, request: &[u8]) -> String {
    answer_within(PATIENCE, stream, request).await
}

/// As [`answer`], for a caller that waits up to `patience`.
pub(crate) async fn answer_within(patience: Duration, stream: &mut TcpStream, request: &[u8]) -> String {
    let answer = async {
        stream.write_all(request).await.expect("the request is taken");
        let mut answer = Vec::new();
        while !is_whole(request, &answer) {
            let read = stream.read_buf(&mut answer).await.expect("an answer");
            assert_ne!(read, 0, "closed after {:?}", String::from_utf8_lossy(&answer));
        }
        answer
    };
    let answer = timeout(patience, answer).await.expect("no answer");
    String::from_utf8_lossy(&answer).into_owned()
}

/// The path and query of the document's URL in the answer to [`Server::get_document_url`].
pub(crate) fn document_url(answer: &str) -> String {
    let path = answer.split_once("127.0.0.1:8080").and_then(|(_, rest)| rest.split('"').next());
    path.unwrap_or_else(|| panic!("no URL in {answer}")).to_owned()
}

fn is_whole(request: &[u8], answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let (head, body) = (String::from_utf8_lossy(&answer[..end]), &answer[end + 4..]);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    request.starts_with(b"HEAD ") || length.is_none_or(|length| length.parse() == Ok(body.len()))
}
