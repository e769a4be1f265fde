//! The receivers in `receivers/`, each with a sandbox: live deliveries, then some that were changed, kept back or
//! repeated on the way, and a time in which the API cannot be reached.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::deliveries::{Delivery, Recorded, Relay};
use super::sender::Sender;
use super::tools;
use super::waits::Stub;
use crate::sandbox::{LIMIT, Process, Sandbox, lines};

/// How long the sender waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Events that always fail. With a wait after each they would hold up the next one for longer than `PROMPT`.
const POISON: u32 = 8;
const PROMPT: Duration = Duration::from_secs(20);
/// How often a port is tried: another process may take it first.
const TRIES: usize = 20;

/// The programs of a receiver that listens on a port.
type Programs<'a> = &'a dyn Fn(u16) -> Vec<Command>;
type Key = [String; 3];

#[test]
fn a_receiver_in_python_handles_each_event_once() {
    let Some(python) = tools::python() else { return };
    check(&|_| {
        let mut receiver = python.program("python");
        receiver.arg(source("receiver.py"));
        vec![receiver]
    });
}

#[test]
fn a_receiver_in_typescript_handles_each_event_once() {
    let Some(node) = tools::node() else { return };
    check(&|_| vec![node.script(source("receiver.ts"))]);
}

#[test]
fn a_receiver_in_php_handles_each_event_once() {
    let Some(_) = tools::php() else { return };
    check(&|port| {
        let mut worker = Command::new("php");
        worker.arg(source("receiver.php"));
        vec![php_server(port), worker]
    });
}

#[test]
fn a_receiver_in_php_does_not_confirm_what_it_cannot_keep() {
    let Some(_) = tools::php() else { return };
    let Recorded { secret, deliveries } = Recorded::get();
    let folder = tempfile::tempdir().unwrap();
    let works = Settings {
        secret,
        key: "",
        base_url: "http://127.0.0.1:1",
        inbox: folder.path().join("inbox.db"),
        name: "",
    };
    let has_no_secret = Settings { secret: "", ..works.clone() };
    let has_no_inbox = Settings { inbox: folder.path().join("missing/inbox.db"), ..works.clone() };
    // The server serves the files of the folder that it is started in.
    let in_web_root = std::env::current_dir().unwrap().join("inbox-in-web-root.db");
    let is_served = Settings { inbox: in_web_root.clone(), ..works.clone() };
    for (settings, status) in [(has_no_secret, 500), (has_no_inbox, 500), (is_served, 500), (works, 204)] {
        let receiver = Receiver::start(&|port| vec![php_server(port)], &settings);
        let delivery = Sender::new(secret, &deliveries[0]).new_event(1);
        assert_eq!(delivery.send(receiver.address), status, "{settings:?}");
    }
    assert!(!in_web_root.exists());
}

/// As without a `php.ini`, which shows errors to the sender.
fn php_server(port: u16) -> Command {
    let mut server = Command::new("php");
    server.args(["-d", "display_errors=1", "-S", &format!("127.0.0.1:{port}")]).arg(source("receiver.php"));
    server
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../receivers").join(name)
}

fn check(programs: Programs<'_>) {
    let relay = Relay::start();
    let sandbox = Sandbox::start(&["--activity", "20", "--webhook", &relay.url]);
    let folder = tempfile::tempdir().unwrap();
    let [base_url, key] = sandbox.api();
    let settings =
        Settings { secret: sandbox.secret(), key, base_url, inbox: folder.path().join("inbox.db"), name: "" };
    let mut receiver = Receiver::start(programs, &settings);
    relay.target.set(receiver.address).unwrap();

    let live = sandbox.one_of_each_kind();
    receiver.wait_for(&live);
    for [kind, id, _] in live.iter().filter(|[kind, ..]| kind == "quote.created") {
        let quote = sandbox.get(&format!("/quotes/{id}"));
        let number = quote["number"].as_str().unwrap();
        assert_eq!(quote["externalId"], format!("deal-{number}"), "{kind}");
    }
    let deliveries = relay.deliveries();
    let sender = Sender::new(sandbox.secret(), &deliveries[0]);
    refuses_what_is_not_genuine(&sender, receiver.address);
    for delivery in &deliveries {
        assert_eq!(delivery.send(receiver.address), 204, "a repeat");
    }
    let mut posted = takes_what_is_unusual(&sender, receiver.address);
    receiver.wait_for(&posted);
    posted.insert(receiver.is_not_held_up(&sender));

    // Without an API it answers all the same, and keeps what it cannot handle yet.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hangs = format!("http://{}", silent.local_addr().unwrap());
    receiver = receiver.restart(programs, &Settings { base_url: &hangs, ..settings.clone() });
    posted.extend(answers_while_the_api_hangs(&sender, receiver.address, silent));
    receiver = receiver.restart(programs, &Settings { base_url: "http://127.0.0.1:1", ..settings.clone() });
    let kept = sender.new_event(5);
    assert_eq!(kept.send(receiver.address), 204);
    receiver.wait_for_problem(&kept.key()[0]);
    assert!(!receiver.handled.contains_key(&kept.key()));
    receiver = receiver.restart(programs, &settings);
    posted.insert(kept.key());
    receiver.wait_for(&posted);

    let mode = std::fs::metadata(&settings.inbox).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "an inbox is for its owner");
    shares_its_inbox(programs, &settings, &sender);
    waits_for_a_busy_api(programs, &settings, &sender);

    let genuine: BTreeSet<_> = relay.deliveries().iter().map(Delivery::key).chain(posted).collect();
    let handled: BTreeSet<_> = receiver.handled.keys().cloned().collect();
    assert_eq!(handled.difference(&genuine).next(), None, "handled, though it was not genuine");
    let twice = receiver.handled.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "handled more than once");
}

fn refuses_what_is_not_genuine(sender: &Sender, to: SocketAddr) {
    for forged in sender.forged() {
        assert_eq!(forged.send(to), 400, "{}", forged.signature);
    }
    for (aged, is_taken) in sender.aged() {
        assert_eq!(aged.send(to), if is_taken { 204 } else { 400 }, "{}", aged.signature);
    }
}

/// Sends deliveries that are unlike those before, but genuine, and each of them again.
fn takes_what_is_unusual(sender: &Sender, to: SocketAddr) -> BTreeSet<Key> {
    let unusual = [sender.replaced(), sender.later()].concat();
    let at_once: Vec<_> = [&unusual[..]; 4].concat();
    let at_once: Vec<_> = at_once.into_iter().map(|it| thread::spawn(move || it.send(to))).collect();
    for sent in at_once {
        assert_eq!(sent.join().unwrap(), 204, "a repeat at the same time");
    }
    unusual.iter().map(Delivery::key).collect()
}

/// An API that takes a request and is silent does not keep the sender waiting.
fn answers_while_the_api_hangs(sender: &Sender, to: SocketAddr, api: TcpListener) -> [Key; 2] {
    let [asks, waits] = [3, 4].map(|years| sender.new_event(years));
    assert_eq!(asks.send(to), 204);
    let (request, requests) = mpsc::channel();
    thread::spawn(move || request.send(api.accept()));
    let _open = requests.recv_timeout(LIMIT).expect("a request").unwrap();
    let sent = Instant::now();
    assert_eq!(waits.send(to), 204);
    assert!(sent.elapsed() < PATIENCE, "answered after {:?}", sent.elapsed());
    [asks.key(), waits.key()]
}

/// An event that is delivered to two receivers with one inbox is handled by each.
fn shares_its_inbox(programs: Programs<'_>, settings: &Settings<'_>, sender: &Sender) {
    let other = sender.new_event(2);
    let mut named = Receiver::start(programs, &Settings { name: "other", ..settings.clone() });
    assert_eq!(other.send(named.address), 204);
    named.wait_for(&[other.key()].into());
}

/// A receiver retries a busy service a few times, then puts the event off; and follows no redirect with the key.
fn waits_for_a_busy_api(programs: Programs<'_>, settings: &Settings<'_>, sender: &Sender) {
    let (busy, elsewhere) = (Stub::busy("soon"), Stub::busy("1"));
    let redirects = Stub::redirecting_to(elsewhere.address);
    for (api, requests, name) in [(&busy, 5, "waits"), (&redirects, 1, "is-sent-away")] {
        let base_url = format!("http://{}", api.address);
        let mut receiver =
            Receiver::start(programs, &Settings { base_url: &base_url, name, ..settings.clone() });
        let event = sender.new_event(7);
        assert_eq!(event.send(receiver.address), 204);
        receiver.wait_for_problem(&event.key()[0]);
        assert_eq!(api.requests(), requests, "{name}");
    }
    assert_eq!(elsewhere.requests(), 0);
}

/// The environment of a receiver.
#[derive(Debug, Clone)]
struct Settings<'a> {
    secret: &'a str,
    key: &'a str,
    base_url: &'a str,
    inbox: PathBuf,
    /// In an inbox that several receivers share.
    name: &'a str,
}

/// A running receiver.
struct Receiver {
    address: SocketAddr,
    /// How often it has handled each event, earlier instances included.
    handled: BTreeMap<Key, usize>,
    output: mpsc::Receiver<String>,
    problems: mpsc::Receiver<String>,
    _processes: Vec<Process>,
}

impl Receiver {
    fn start(programs: Programs<'_>, settings: &Settings<'_>) -> Self {
        for _ in 0..TRIES {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let ((sender, output), (problem, problems)) = (mpsc::channel(), mpsc::channel());
            let mut processes = Vec::new();
            for mut program in programs(address.port()) {
                // As from a file.
                program.env("SIGNING_SECRET", format!("{}\n", settings.secret));
                program.env("API_KEY", settings.key).env("RECEIVER", settings.name);
                program.env("BASE_URL", settings.base_url).env("PORT", address.port().to_string());
                program.env("INBOX", &settings.inbox).env("NODE_NO_WARNINGS", "1");
                let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                lines(child.stdout.take().unwrap(), Some, sender.clone());
                lines(child.stderr.take().unwrap(), Some, problem.clone());
                processes.push(Process(child));
            }
            if listens(address, &mut processes[0]) {
                return Self { address, handled: BTreeMap::new(), output, problems, _processes: processes };
            }
        }
        panic!("the receiver does not start");
    }

    /// Kills it and starts another one on its inbox.
    fn restart(self, programs: Programs<'_>, settings: &Settings<'_>) -> Self {
        let Self { handled, output, _processes: processes, .. } = self;
        drop(processes);
        let mut next = Self::start(programs, settings);
        next.handled = handled;
        for line in output {
            next.note(&line);
        }
        next
    }

    /// Waits until it has handled all of these.
    fn wait_for(&mut self, events: &BTreeSet<Key>) {
        while let Some(missing) = events.iter().find(|event| !self.handled.contains_key(*event)) {
            let Ok(line) = self.output.recv_timeout(LIMIT) else {
                panic!("{missing:?}: {:#?}", self.problems.try_iter().collect::<Vec<_>>())
            };
            self.note(&line);
        }
    }

    /// Events that always fail do not hold up the next one.
    fn is_not_held_up(&mut self, sender: &Sender) -> Key {
        for years in 0..POISON {
            assert_eq!(sender.of_nothing(years).send(self.address), 204);
        }
        let next = sender.new_event(6);
        assert_eq!(next.send(self.address), 204);
        let sent = Instant::now();
        self.wait_for(&[next.key()].into());
        assert!(sent.elapsed() < PROMPT, "handled after {:?}", sent.elapsed());
        next.key()
    }

    /// Waits until it prints that an event of this kind cannot be handled yet.
    fn wait_for_problem(&mut self, kind: &str) {
        while !self.problems.recv_timeout(LIMIT).expect("a problem").starts_with(kind) {}
    }

    fn note(&mut self, line: &str) {
        let mut words = line.splitn(4, ' ').map(str::to_owned);
        let key = [(); 3].map(|()| words.next().expect("kind, id and timestamp"));
        *self.handled.entry(key).or_default() += 1;
    }
}

/// Whether the process accepts connections; `false` once it has ended.
fn listens(address: SocketAddr, process: &mut Process) -> bool {
    loop {
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        if process.0.try_wait().unwrap().is_some() {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
