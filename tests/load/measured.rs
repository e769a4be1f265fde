//! Callers that are a load, and the measurements beside them: another company's API is as fast as alone, and the people
//! and programs of the same company are served.
//!
//! Each measurement sends 200 requests as the other company, and permits five times as long as is promised: a build for
//! development, on a machine that may have other work. Figures beyond that are measured again, at most twice.
//! `KEYLESS_REQUESTS=1000` sets another number, and compares with the promises themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use invoicing_tests::tell;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::process::{Broken, Server, answer, answer_within, check, document_url};

/// Rounds; each measures once without load and once beside it.
pub(crate) const ROUNDS: usize = 4;
/// Limit of the other company's p99; a higher p99 may be up to twice that without load.
const P99: Duration = Duration::from_millis(50);
/// More memory under load and afterwards, in KiB; and the time until then.
const MAX_KIB: usize = 256 * 1024;
const LEFT_KIB: usize = 64 * 1024;
const UNTIL_FREED: Duration = Duration::from_secs(30);
/// Longest time that a caller of a load waits for one answer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

fn asked_requests() -> Option<usize> {
    Some(std::env::var("KEYLESS_REQUESTS").ok()?.parse().expect("a number"))
}

/// Requests of the other company in one round.
pub(crate) fn requests() -> usize {
    asked_requests().unwrap_or(200).div_ceil(ROUNDS)
}

/// The factor by which an answer may exceed the promised time.
pub(crate) fn slack() -> u32 {
    if asked_requests().is_some() { 1 } else { 5 }
}

pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into()
}

/// A form of the signing page.
pub(crate) fn form(path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into()
}

/// Callers that go on until they are stopped. They have a thread for themselves, so that the requests measured beside
/// them do not wait for their turns.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    callers: JoinSet<BTreeMap<u16, usize>>,
    runtime: Runtime,
}

impl Load {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { stop: Arc::default(), callers: JoinSet::new(), runtime }
    }

    /// One more caller: it goes on until the flag is set, and counts its answers by status.
    pub(crate) fn spawn<F>(&mut self, calls: impl FnOnce(Arc<AtomicBool>) -> F)
    where
        F: Future<Output = BTreeMap<u16, usize>> + Send + 'static,
    {
        self.callers.spawn_on(calls(Arc::clone(&self.stop)), self.runtime.handle());
    }

    /// Connections that send these requests in turn; each begins with another one.
    pub(crate) fn connections(
        server: &Arc<Server>,
        connections: usize,
        requests: &Arc<Vec<Vec<u8>>>,
    ) -> Self {
        let mut load = Self::new();
        for connection in 0..connections {
            let (server, requests) = (Arc::clone(server), Arc::clone(requests));
            load.spawn(async move |stop| {
                let (mut stream, mut statuses) = (server.connect().await, BTreeMap::new());
                for request in requests.iter().cycle().skip(connection) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = answer_within(PATIENCE, &mut stream, request).await;
                    *statuses.entry(answer[9..12].parse().unwrap()).or_default() += 1;
                }
                statuses
            });
        }
        load
    }

    /// The number of answers of each status.
    pub(crate) async fn end(self) -> BTreeMap<u16, usize> {
        self.stop.store(true, Ordering::Relaxed);
        let statuses = sum(self.callers.join_all().await);
        self.runtime.shutdown_background();
        statuses
    }
}

pub(crate) fn sum(all: Vec<BTreeMap<u16, usize>>) -> BTreeMap<u16, usize> {
    let mut sum = BTreeMap::new();
    for (status, count) in all.into_iter().flatten() {
        *sum.entry(status).or_default() += count;
    }
    sum
}

/// Measurements beside a load: the other company's answers, those of the same company, and the memory.
pub(crate) struct Measured<'s> {
    what: &'s str,
    server: &'s Arc<Server>,
    before: Option<usize>,
    max: Option<usize>,
    quiet: Vec<Duration>,
    loaded: Vec<Duration>,
    /// Times of the answers to the same company, and those that were not the expected ones.
    own: Vec<Duration>,
    refused: Vec<String>,
    /// Answers to the callers of each round.
    pub(crate) answers: Vec<BTreeMap<u16, usize>>,
}

impl<'s> Measured<'s> {
    pub(crate) async fn new(what: &'s str, server: &'s Arc<Server>) -> Self {
        let mut measured = Self {
            what,
            server,
            before: None,
            max: None,
            quiet: Vec::new(),
            loaded: Vec::new(),
            own: Vec::new(),
            refused: Vec::new(),
            answers: Vec::new(),
        };
        // One round before the measurement, so that lasting allocations are made.
        measured.ask_as_both(50).await;
        (measured.loaded, measured.own) = (Vec::new(), Vec::new());
        measured.before = server.memory();
        measured
    }

    async fn ask_as_other(&self, stream: &mut TcpStream) -> Duration {
        let key = &self.server.other_key;
        let request =
            format!("GET /api/v1/clients HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n");
        let begun = Instant::now();
        let answer = answer(stream, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{}: another company's {answer}", self.what);
        begun.elapsed()
    }

    pub(crate) async fn ask_quietly(&mut self) {
        let mut stream = self.server.connect().await;
        for _ in 0..requests() {
            self.quiet.push(self.ask_as_other(&mut stream).await);
        }
    }

    /// Sends requests as the other company, and now and then as one that has to do with the same one.
    pub(crate) async fn ask_as_both(&mut self, requests: usize) {
        let (mut other, mut own) = (self.server.connect().await, self.server.connect().await);
        for n in 0..requests {
            self.loaded.push(self.ask_as_other(&mut other).await);
            if n % 10 > 0 {
                continue;
            }
            let begun = Instant::now();
            self.ask_as_own(n / 10, &mut own).await;
            self.own.push(begun.elapsed());
            self.max = self.max.max(self.server.memory());
        }
    }

    /// Sends the request of an ordinary person or program of the same company: of its API, of a person behind another
    /// link, or of its staff.
    async fn ask_as_own(&mut self, n: usize, stream: &mut TcpStream) {
        let page = &self.server.pages[0].path;
        let (request, status) = match n % 5 {
            0 => match self.ask_for(&self.server.get_document_url(), 200, stream).await {
                Some(answer) => (get(&document_url(&answer)), 200),
                None => return,
            },
            1 => (get(page), 200),
            2 => (get(&format!("{page}/document.pdf")), 200),
            3 => (
                form(
                    page,
                    &[("name", "Léa"), ("email", "a@b.fr"), ("document", &self.server.pages[0].document)],
                ),
                303,
            ),
            _ => (b"GET /quotes HTTP/1.1\r\nhost: x\r\nx-staff: yes\r\n\r\n".to_vec(), 200),
        };
        self.ask_for(&request, status, stream).await;
    }

    async fn ask_for(&mut self, request: &[u8], status: u16, stream: &mut TcpStream) -> Option<String> {
        let answer = answer(stream, request).await;
        if answer.starts_with(&format!("HTTP/1.1 {status}")) {
            return Some(answer);
        }
        let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        self.refused.push(format!("{}: {}", line(&String::from_utf8_lossy(request)), line(&answer)));
        None
    }

    /// Prints the figures, and compares them with the promises. The callers got only answers of these statuses, and
    /// some of the first one.
    pub(crate) async fn end(mut self, statuses: &[u16]) -> Result<(), Broken> {
        for answers in &self.answers {
            let are_expected = answers.keys().all(|status| statuses.contains(status));
            let has_first = statuses.first().is_none_or(|first| answers.contains_key(first));
            check(are_expected && has_first, || format!("{}: {answers:?}", self.what))?;
        }
        let (quiet, loaded, own) = (p99(&mut self.quiet), p99(&mut self.loaded), p99(&mut self.own));
        let (count, refused) = (self.loaded.len(), &self.refused);
        check(refused.len() * 50 <= self.own.len(), || {
            format!(
                "{}: {} of {} of the same company refused: {refused:?}",
                self.what,
                refused.len(),
                self.own.len()
            )
        })?;
        tell(self.what, &format_args!("answers by status {:?}", sum(std::mem::take(&mut self.answers))));
        tell(
            self.what,
            &format_args!(
                "another company, {count} requests: p99 {loaded:?}, alone {quiet:?}; same company p99 {own:?}"
            ),
        );
        let Some((before, max)) = self.before.zip(self.max) else {
            println!("memory is not measured on this system");
            return Ok(());
        };
        let ended = Instant::now();
        let mut left = max;
        while ended.elapsed() < UNTIL_FREED {
            left = self.server.memory().unwrap_or(left);
            if left <= before + LEFT_KIB {
                break;
            }
            sleep(Duration::from_millis(500)).await;
        }
        let took = ended.elapsed();
        tell(
            self.what,
            &format_args!("memory {before} KiB before, {max} KiB at most, {left} KiB {took:?} after the end"),
        );
        let what = self.what;
        check(loaded <= slack() * P99.max(2 * quiet), || format!("{what}: p99 {loaded:?}, alone {quiet:?}"))?;
        check(max <= before + MAX_KIB, || format!("{what}: {} KiB more", max - before))?;
        check(left <= before + LEFT_KIB, || format!("{what}: {} KiB stay", left - before))
    }
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Measures without load and beside it in turn. The callers get only answers of these statuses, and some of the first
/// one.
pub(crate) async fn served_beside(
    what: &str,
    server: &Arc<Server>,
    statuses: &[u16],
    load: impl Fn(usize) -> Load,
) -> Result<(), Broken> {
    let mut measured = Measured::new(what, server).await;
    for round in 0..ROUNDS {
        measured.ask_quietly().await;
        let load = load(round);
        // The load is under way by then.
        sleep(Duration::from_millis(50)).await;
        measured.ask_as_both(requests()).await;
        measured.answers.push(load.end().await);
    }
    measured.end(statuses).await
}
