//! Work without a key: forms that are refused, signatures, long pages, files that nobody reads, and unknown tokens. Beside
//! each, another company's API is as fast as alone, and the API and the pages of the same company are served.
//!
//! Each measurement sends 200 requests as the other company, and permits five times as long as is promised: a build for
//! development, on a machine that may have other work. Figures beyond that are measured again on a new server, at most
//! twice: another process slows one run, a fault all of them. `KEYLESS_REQUESTS=1000` sets another number, and compares
//! with the promises themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use invoicing_tests::tell;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::http2::UnreadGets;
use crate::process::{Page, Server, alone, answer, answer_within};

/// Connections that send forms.
const FORMS: usize = 48;
/// Connections that request long pages, or files that they do not read, and streams on each of the latter.
const CONNECTIONS: usize = 16;
const STREAMS: usize = 60;
/// Streams on which unknown tokens are presented, 60 on a connection.
const UNKNOWN: usize = 2_400;
/// Rounds; each measures once without load and once beside it.
const ROUNDS: usize = 4;
/// Limit of the other company's p99; a higher p99 may be up to twice that without load.
const P99: Duration = Duration::from_millis(50);
/// More memory under load and afterwards, in KiB; and the time until then.
const MAX_KIB: usize = 256 * 1024;
const LEFT_KIB: usize = 64 * 1024;
const UNTIL_FREED: Duration = Duration::from_secs(30);
/// Slowest page behind a good link beside unknown tokens.
const SLOWEST: Duration = Duration::from_secs(1);

/// Lines of the long quote: the most that a quote may have.
const LINES: usize = 5_000;
/// Quotes that are signed under load in each round.
const QUOTES: usize = 48;
/// Longest time that a caller waits for one answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// Runs of a measurement, the last of which must keep the promise.
const RUNS: usize = 3;

fn server(quotes: usize) -> Arc<Server> {
    let pages = json!({ "quotes": quotes, "lines": LINES });
    let serve = json!({ "headerReadMs": 600_000 });
    Arc::new(Server::start(&json!({ "documentLines": 20, "pages": pages, "serve": serve })))
}

fn asked_requests() -> Option<usize> {
    Some(std::env::var("KEYLESS_REQUESTS").ok()?.parse().expect("a number"))
}

/// Requests of the other company in one round.
fn requests() -> usize {
    asked_requests().unwrap_or(200).div_ceil(ROUNDS)
}

/// The factor by which an answer may exceed the promised time.
fn slack() -> u32 {
    if asked_requests().is_some() { 1 } else { 5 }
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into()
}

/// A form of the signing page.
fn form(path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into()
}

fn signature(path: &str, name: &str, email: &str, document: &str) -> Vec<u8> {
    form(path, &[("name", name), ("email", email), ("document", document), ("confirmed", "yes")])
}

/// The second form of a signature, which its first form leads to.
async fn second_form(server: &Server, page: &Page, name: &str, email: &str) -> Vec<u8> {
    let fields = [("name", name), ("email", email), ("document", &*page.document)];
    let answer = answer_within(PATIENCE, &mut server.connect().await, &form(&page.path, &fields)).await;
    let (_, address) = answer.split_once("location: ").expect("the address of the second form");
    let address = address.lines().next().unwrap().trim();
    // Links may be absolute; the path is what is asked for.
    let path = &address[address.find("/sign/").expect("a path of the link")..];
    let shown = answer_within(PATIENCE, &mut server.connect().await, &get(path)).await;
    let (_, rest) = shown.split_once("name=\"confirmed\" value=\"").expect("the second form");
    let [name, email, document] = fields;
    form(&page.path, &[name, email, document, ("confirmed", &rest[..64])])
}

/// Callers that go on until they are stopped. They have a thread for themselves, so that the requests measured beside
/// them do not wait for their turns.
struct Load {
    stop: Arc<AtomicBool>,
    callers: JoinSet<BTreeMap<u16, usize>>,
    runtime: Runtime,
}

impl Load {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { stop: Arc::default(), callers: JoinSet::new(), runtime }
    }

    /// Connections that send these requests in turn; each begins with another one.
    fn connections(server: &Arc<Server>, connections: usize, requests: &Arc<Vec<Vec<u8>>>) -> Self {
        let mut load = Self::new();
        for connection in 0..connections {
            let (server, requests) = (Arc::clone(server), Arc::clone(requests));
            let stop = Arc::clone(&load.stop);
            let calls = async move {
                let (mut stream, mut statuses) = (server.connect().await, BTreeMap::new());
                for request in requests.iter().cycle().skip(connection) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = answer_within(PATIENCE, &mut stream, request).await;
                    *statuses.entry(answer[9..12].parse().unwrap()).or_default() += 1;
                }
                statuses
            };
            load.callers.spawn_on(calls, load.runtime.handle());
        }
        load
    }

    /// Streams of HTTP/2 connections, each of which presents one unknown token after the other.
    fn unknown_tokens(server: &Arc<Server>) -> Self {
        let mut load = Self::new();
        for connection in 0..UNKNOWN / STREAMS {
            let (server, stop) = (Arc::clone(server), Arc::clone(&load.stop));
            let calls = async move {
                let io = TokioIo::new(server.connect().await);
                let (sender, connecting) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
                let mut streams = JoinSet::new();
                for stream in 0..STREAMS {
                    let (mut sender, stop) = (sender.clone(), Arc::clone(&stop));
                    streams.spawn(async move {
                        let mut statuses = BTreeMap::new();
                        for n in 0.. {
                            if stop.load(Ordering::Relaxed) {
                                break;
                            }
                            // Every other stream presents a token that others of its connection present, too.
                            let stream = if stream % 2 == 0 { stream } else { 1 };
                            let token = format!("{connection:05}{stream:05}{n:033}");
                            let request = Request::get(format!("http://x/sign/sgn_{token}"));
                            let request = request.body(Empty::<Bytes>::new()).unwrap();
                            let (head, body) = sender.send_request(request).await.unwrap().into_parts();
                            body.collect().await.unwrap();
                            *statuses.entry(head.status.as_u16()).or_default() += 1;
                        }
                        statuses
                    });
                }
                let all = async { sum(streams.join_all().await) };
                let statuses = tokio::select! {
                    statuses = all => statuses,
                    _ = connecting => panic!("the connection has ended"),
                };
                // The sender lives until here: a connection without one ends.
                drop(sender);
                statuses
            };
            load.callers.spawn_on(calls, load.runtime.handle());
        }
        load
    }

    /// The number of answers of each status.
    async fn end(self) -> BTreeMap<u16, usize> {
        self.stop.store(true, Ordering::Relaxed);
        let statuses = sum(self.callers.join_all().await);
        self.runtime.shutdown_background();
        statuses
    }
}

fn sum(all: Vec<BTreeMap<u16, usize>>) -> BTreeMap<u16, usize> {
    let mut sum = BTreeMap::new();
    for (status, count) in all.into_iter().flatten() {
        *sum.entry(status).or_default() += count;
    }
    sum
}

/// Measurements beside a load: the other company's answers, those of the same company, and the memory.
struct Measured<'s> {
    what: &'s str,
    server: &'s Arc<Server>,
    before: Option<usize>,
    max: Option<usize>,
    quiet: Vec<Duration>,
    loaded: Vec<Duration>,
    /// Times of the answers to the same company.
    own: Vec<Duration>,
    /// Answers to the callers of each round.
    answers: Vec<BTreeMap<u16, usize>>,
}

impl<'s> Measured<'s> {
    async fn new(what: &'s str, server: &'s Arc<Server>) -> Self {
        let mut measured = Self {
            what,
            server,
            before: None,
            max: None,
            quiet: Vec::new(),
            loaded: Vec::new(),
            own: Vec::new(),
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

    async fn ask_quietly(&mut self) {
        let mut stream = self.server.connect().await;
        for _ in 0..requests() {
            self.quiet.push(self.ask_as_other(&mut stream).await);
        }
    }

    /// Sends requests as the other company, and now and then as the same one: for a document, and for a page behind
    /// another link.
    async fn ask_as_both(&mut self, requests: usize) {
        let (mut other, mut own) = (self.server.connect().await, self.server.connect().await);
        for n in 0..requests {
            self.loaded.push(self.ask_as_other(&mut other).await);
            if n % 10 > 0 {
                continue;
            }
            let begun = Instant::now();
            if n % 20 == 0 {
                self.download(&mut own).await;
            } else {
                let answer = answer(&mut own, &get(&self.server.pages[0].path)).await;
                assert!(answer.starts_with("HTTP/1.1 200"), "{}: the same company's {answer}", self.what);
            }
            self.own.push(begun.elapsed());
            self.max = self.max.max(self.server.memory());
        }
    }

    /// Downloads a document through the API's link.
    async fn download(&self, stream: &mut TcpStream) {
        let request = self.server.head(&format!("GET {}", self.server.document_link)) + "\r\n";
        let linked = answer(stream, request.as_bytes()).await;
        let path = linked.split_once("127.0.0.1:8080").and_then(|(_, rest)| rest.split('"').next());
        let path = path.unwrap_or_else(|| panic!("{}: the same company's {linked}", self.what));
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nrange: bytes=0-7\r\n\r\n");
        let answer = answer(stream, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 206"), "{}: the same company's {answer}", self.what);
    }

    /// Prints the figures, and compares them with the promises.
    async fn end(mut self, statuses: &[u16]) -> Result<(), Broken> {
        for answers in &self.answers {
            let are_expected = answers.keys().all(|status| statuses.contains(status));
            check(are_expected && answers.contains_key(&statuses[0]), || {
                format!("{}: {answers:?}", self.what)
            })?;
        }
        let (quiet, loaded, own) = (p99(&mut self.quiet), p99(&mut self.loaded), p99(&mut self.own));
        let count = self.loaded.len();
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

/// The figures that break a promise, as a text.
type Broken = String;

fn check(is_kept: bool, broken: impl FnOnce() -> Broken) -> Result<(), Broken> {
    if is_kept { Ok(()) } else { Err(broken()) }
}

/// Measures on a new server with `quotes` quotes until the promise is kept.
async fn kept(quotes: usize, measure: impl AsyncFn(&Arc<Server>) -> Result<(), Broken>) {
    let _alone = alone().await;
    for _ in 1..RUNS {
        match measure(&server(quotes)).await {
            Ok(()) => return,
            Err(broken) => println!("measured again: {broken}"),
        }
    }
    measure(&server(quotes)).await.unwrap();
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Measures without load and beside it in turn. The callers get only answers of these statuses, and some of the first
/// one.
async fn served_beside(
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

/// Rules: SIGN-10, SIGN-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_forms_delay_no_other_company() {
    let old = "0".repeat(64);
    for (what, name, email, statuses) in [
        ("a private-use name", "\u{e000}", "a@b.fr", &[400][..]),
        ("no name", "", "a@b.fr", &[400]),
        ("a bad e-mail", "Léa", "a@b", &[400]),
        ("the hash of an older document", "Léa", "a@b.fr", &[409, 503]),
        ("a link that has ended", "Léa", "a@b.fr", &[404]),
    ] {
        let what = format!("forms with {what}");
        kept(1, async |server| {
            let long = &server.long_page;
            let (path, document) = match statuses {
                [404] => (&server.ended_page, &old),
                [409, ..] => (&long.path, &old),
                _ => (&long.path, &long.document),
            };
            let requests = Arc::new(vec![signature(path, name, email, document)]);
            served_beside(&what, server, statuses, |_| Load::connections(server, FORMS, &requests)).await
        })
        .await;
    }
}

/// Rules: SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_with_a_name_that_the_fonts_lack_delay_no_other_company() {
    // The first page is the measured one.
    kept(1 + ROUNDS * QUOTES, async |server| {
        let mut rounds = Vec::new();
        for pages in server.pages[1..].chunks(QUOTES) {
            let pages = pages.iter().chain([&server.long_page]);
            let forms = pages.map(|page| second_form(server, page, "王小明", "a@b.fr"));
            rounds.push(Arc::new(join_all(forms).await));
        }
        // The same form again gets the answer of the first time.
        let load = |round: usize| Load::connections(server, FORMS, &rounds[round]);
        served_beside("signatures", server, &[303], load).await
    })
    .await;
}

/// Rules: SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_5000_lines_delay_no_other_company() {
    kept(1, async |server| {
        let path = &server.long_page.path;
        let requests =
            Arc::new((1..=100).map(|part| get(&format!("{path}?part={part}"))).collect::<Vec<_>>());
        let load = |_| Load::connections(server, CONNECTIONS, &requests);
        served_beside("pages of 5,000 lines", server, &[200], load).await
    })
    .await;
}

/// Rules: FAIR-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_error_pages_that_nobody_reads_leave_those_of_others() {
    kept(1, files_that_nobody_reads).await;
}

async fn files_that_nobody_reads(server: &Arc<Server>) -> Result<(), Broken> {
    let page = answer(&mut server.connect().await, &get(&server.pages[0].path)).await;
    let asset = |extension: &str| {
        let (path, _) = page.split_once(extension).unwrap();
        format!("{}{extension}", &path[path.rfind("/assets/").unwrap()..])
    };
    let paths = [asset(".css"), asset(".js"), "/nothing".to_owned(), format!("/sign/sgn_{:043}", 1)];
    let mut measured = Measured::new("files that nobody reads", server).await;
    for _ in 0..ROUNDS {
        measured.ask_quietly().await;
        let mut unread = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = server.connect().await;
            let gets = UnreadGets::default().of((0..STREAMS).map(|stream| &*paths[stream % paths.len()]));
            stream.write_all(&gets).await.unwrap();
            while let Ok(Ok(1..)) = timeout(Duration::from_millis(20), stream.read_buf(&mut Vec::new())).await
            {
            }
            unread.push(stream);
        }
        measured.ask_as_both(requests()).await;
        let (mut stranger, mut answers) = (server.connect().await, BTreeMap::new());
        for path in &paths {
            let answer = answer(&mut stranger, &get(path)).await;
            *answers.entry(answer[9..12].parse().unwrap()).or_default() += 1;
        }
        assert_eq!(answers, BTreeMap::from([(200, 2), (404, 2)]));
        measured.answers.push(answers);
    }
    measured.end(&[200, 404]).await
}

/// Rules: SIGN-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_links_are_served_beside_unknown_tokens_on_2400_streams() {
    kept(1, good_links).await;
}

async fn good_links(server: &Arc<Server>) -> Result<(), Broken> {
    let what = "unknown tokens";
    let mut measured = Measured::new(what, server).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        measured.ask_quietly().await;
        let load = Load::unknown_tokens(server);
        sleep(Duration::from_millis(200)).await;
        measured.ask_as_both(requests()).await;
        for _ in 0..5 {
            let begun = Instant::now();
            let answer = answer(&mut server.connect().await, &get(&server.pages[0].path)).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "a good link: {answer}");
            times.push(begun.elapsed());
        }
        measured.answers.push(load.end().await);
    }
    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    tell(what, &format_args!("good links: median {median:?}, slowest {slowest:?}"));
    check(slowest < slack().min(3) * SLOWEST, || format!("a good link took {slowest:?}"))?;
    measured.end(&[404]).await
}
