//! The common parts of the benchmarks: a core for each side, a peer process, a durable database server, an HTTP load, medians.
//!
//! Only ratios of one run mean anything, so a benchmark takes turns between the sides, round after round, and quotes
//! the median of the rounds' ratios. A database server is started by the peer that uses it, and so runs on its core.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use crate::postgres::{Cluster, Options};

/// Where what is measured runs.
pub const SERVER_CORE: &str = "0";
/// Where its load or its receiver runs.
pub const LOAD_CORE: &str = "1";

/// The first argument of a benchmark's executable that makes it the other side.
const PEER: &str = "--server";

/// The role of this process, from its arguments: `Some` for a peer, `None` for the benchmark itself,
/// which then moves to the load's core. To be called before any thread is started.
pub fn role() -> Option<String> {
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == PEER {
            return arguments.next();
        }
    }
    pin(LOAD_CORE);
    None
}

/// Whether a part of the benchmark is asked for: all are, unless the arguments name some (`cargo bench --bench api --
/// detail`).
pub fn wanted(part: &str) -> bool {
    let mut names = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).peekable();
    names.peek().is_none() || names.any(|name| part.contains(&name))
}

/// Moves this process, with the threads it has not started yet, to a core.
fn pin(core: &str) {
    let pid = std::process::id().to_string();
    let taskset =
        std::process::Command::new("taskset").args(["-cp", core, &pid]).stdout(Stdio::null()).status();
    if !taskset.is_ok_and(|status| status.success()) {
        eprintln!("taskset is missing: both sides share the cores, which blurs the ratios");
    }
}

/// Runs a benchmark's side on a runtime with as many threads as the process has cores.
pub fn block_on<T>(side: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(side)
}

/// The other side: this executable again, on the server's core. A line of JSON in, a line of JSON out.
#[derive(Debug)]
pub struct Peer {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    child: Child,
    /// The first process of the database server that it uses.
    postmaster: Option<u32>,
}

impl Peer {
    /// Starts it in a role.
    pub fn start(role: &str) -> Self {
        let executable = std::env::current_exe().expect("its own path");
        let pinned =
            Command::new("taskset").args(["-c", SERVER_CORE]).arg(&executable).args([PEER, role]).piped();
        let unpinned = || Command::new(&executable).args([PEER, role]).piped();
        let mut child = pinned.or_else(|_| unpinned()).expect("the peer starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { input, output, child, postmaster: None }
    }

    /// Asks for something and waits until it is done.
    pub async fn ask(&mut self, question: &Value) -> Value {
        self.input.write_all(format!("{question}\n").as_bytes()).await.expect("the peer listens");
        let answer = self.output.next_line().await.expect("the peer answers").expect("the peer lives");
        serde_json::from_str(&answer).expect("JSON")
    }

    /// Says which database server works for it: what that uses counts too.
    pub fn works_with(&mut self, postmaster: u32) {
        self.postmaster = Some(postmaster);
    }

    /// Processor time that it has used, with its database server, in seconds: steadier than the clock where other work
    /// shares the machine.
    pub fn processor_seconds(&self) -> f64 {
        used_by(self.child.id().expect("the peer lives")) + self.database_seconds()
    }

    /// Processor time that its database server has used, in seconds.
    pub fn database_seconds(&self) -> f64 {
        self.postmaster.map_or(0.0, used_by_database)
    }
}

/// Processor time that this process has used, with the database server that works for it, in seconds.
pub fn processor_seconds_with(postmaster: u32) -> f64 {
    used_by(std::process::id()) + used_by_database(postmaster)
}

fn used_by_database(postmaster: u32) -> f64 {
    let children = format!("/proc/{postmaster}/task/{postmaster}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let running: f64 = children.split_whitespace().filter_map(|pid| pid.parse().ok()).map(used_by).sum();
    let ended = processor_ticks(postmaster, OF_ENDED_CHILDREN).and_then(|ticks| u32::try_from(ticks).ok());
    used_by(postmaster) + running + ended.map_or(0.0, f64::from) / 100.0
}

/// Where [`processor_ticks`] are those of a process itself, and those of the processes that it has started and that have ended.
pub const OWN: usize = 14;
const OF_ENDED_CHILDREN: usize = 16;

/// Ticks of a processor (10 ms), for the user and the system, in two fields of `/proc/<pid>/stat`; `None` on systems without
/// that file.
pub fn processor_ticks(pid: u32, first_field: usize) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name, which may hold spaces.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(first_field - 3);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Processor time of a process, in seconds.
fn used_by(pid: u32) -> f64 {
    // A process or a thread may end between being listed and being read.
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let used = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_once(' ')?.0.parse::<f64>().ok()
    };
    threads.filter_map(used).sum::<f64>() / 1e9
}

/// A database server on the core of its caller: durable, and with the memory that its host would give it.
/// Without server programs, prints so and returns `None`.
pub fn durable_cluster() -> Option<Cluster> {
    let settings = ["shared_buffers = 512MB", "max_wal_size = 4GB"].map(str::to_owned).to_vec();
    Cluster::start(&Options { durable: true, settings })
}

/// The first process of a database server.
pub fn postmaster(cluster: &Cluster) -> u32 {
    let text = std::fs::read_to_string(cluster.data().join("postmaster.pid")).expect("it runs");
    text.lines().next().and_then(|pid| pid.parse().ok()).expect("its number")
}

trait Piped {
    fn piped(&mut self) -> std::io::Result<Child>;
}

impl Piped for Command {
    fn piped(&mut self) -> std::io::Result<Child> {
        self.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()
    }
}

/// The requests to this process, if it is a peer.
#[derive(Debug)]
pub struct Questions(Lines<BufReader<tokio::io::Stdin>>);

impl Default for Questions {
    fn default() -> Self {
        Self(BufReader::new(tokio::io::stdin()).lines())
    }
}

impl Questions {
    /// The next one; `None` once the benchmark is over.
    pub async fn next(&mut self) -> Option<Value> {
        let line = self.0.next_line().await.expect("standard input")?;
        Some(serde_json::from_str(&line).expect("JSON"))
    }
}

/// Answers the last question.
pub fn answer(answer: &Value) {
    println!("{answer}");
}

/// A connection that is kept.
pub async fn connect(address: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket option");
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("a connection");
    #[expect(clippy::disallowed_methods, reason = "it ends with its sender")]
    tokio::spawn(connection);
    sender
}

/// Sends a request and reads the whole answer.
pub async fn call(sender: &mut SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> Response<Bytes> {
    sender.ready().await.expect("a connection");
    let (parts, body) = sender.send_request(request).await.expect("an answer").into_parts();
    Response::from_parts(parts, body.collect().await.expect("a body").to_bytes())
}

/// Reads a body to its end and returns its length.
pub async fn drain(mut body: Incoming) -> usize {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame.expect("a body").data_ref().map_or(0, Bytes::len);
    }
    bytes
}

/// Sends requests over some kept connections for a while; how many were answered, each with 200.
pub async fn load(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    request: impl Fn(usize) -> Request<Full<Bytes>> + Clone + Send + 'static,
) -> usize {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for first in 0..connections {
        let request = request.clone();
        tasks.spawn(async move {
            let mut sender = connect(address).await;
            let mut done = 0;
            while begun.elapsed() < time {
                sender.ready().await.expect("a connection");
                let response =
                    sender.send_request(request(first + done * connections)).await.expect("an answer");
                assert_eq!(response.status(), 200);
                drain(response.into_body()).await;
                done += 1;
            }
            done
        });
    }
    tasks.join_all().await.into_iter().sum()
}

/// How many per second.
pub fn rate(count: usize, time: Duration) -> f64 {
    float(count) / time.as_secs_f64()
}

/// A moderate count.
pub fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("a moderate count"))
}

/// The value below which a part (0 to 1) of the values lies.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = u32::try_from(sorted.len().checked_sub(1).expect("values")).expect("a moderate count");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `last`")]
    let place = (f64::from(last) * part).round() as usize;
    sorted[place]
}

/// Prints the median of some rounds' ratios with their spread, and what it is to be.
pub fn report(what: &str, ratios: &[f64], target: &str) {
    let [low, median, high] = [0.0, 0.5, 1.0].map(|part| quantile(ratios, part));
    println!("{what:<58} {median:>8.3}   ({low:.3} to {high:.3}, {} rounds)   target {target}", ratios.len());
}

/// Prints a figure beside its limit. Returns true if the figure keeps it.
pub fn limit(what: &str, value: f64, limit: f64) -> bool {
    println!("{what:<58} {value:>10.1}   {:>5.2} of the limit {limit:.0}", value / limit);
    value <= limit
}

/// Prints a figure that only explains the ratios.
pub fn aside(what: &str, values: &[f64], unit: &str) {
    println!("    {what:<54} {:>8.1} {unit}", quantile(values, 0.5));
}
