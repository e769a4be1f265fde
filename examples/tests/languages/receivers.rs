//! The receivers in `receivers/`, each with a sandbox: live deliveries, then some that were changed, kept back or
//! repeated on the way, and a time in which the API cannot be reached.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::json;
use webhook_verify::Signer;

use super::deliveries::{Delivery, Relay};
use super::tools;
use crate::sandbox::{LIMIT, Process, Sandbox, lines};

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
        let (mut server, mut worker) = (Command::new("php"), Command::new("php"));
        server.args(["-S", &format!("127.0.0.1:{port}")]).arg(source("receiver.php"));
        worker.arg(source("receiver.php"));
        vec![server, worker]
    });
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("receivers").join(name)
}

fn check(programs: Programs<'_>) {
    let relay = Relay::start();
    let sandbox = Sandbox::start(&["--activity", "20", "--webhook", &relay.url]);
    let folder = tempfile::tempdir().unwrap();
    let [base_url, _] = sandbox.api();
    let mut receiver = Receiver::start(programs, &sandbox, base_url, folder.path());
    relay.target.set(receiver.address).unwrap();

    let live = sandbox.one_of_each_kind();
    receiver.wait_for(&live);
    for [kind, id, _] in live.iter().filter(|[kind, ..]| kind == "quote.created") {
        let quote = sandbox.get(&format!("/quotes/{id}"));
        let number = quote["number"].as_str().unwrap();
        assert_eq!(quote["externalId"], format!("deal-{number}"), "{kind}");
    }
    let deliveries = relay.deliveries();
    let sender = Sender { signer: Signer::new(sandbox.secret()).unwrap(), genuine: deliveries[0].clone() };
    sender.is_refused_when_changed(receiver.address);
    sender.is_refused_when_stale(receiver.address);
    for delivery in &deliveries {
        assert_eq!(delivery.send(receiver.address), 204, "a repeat");
    }
    let mut posted = sender.is_taken(receiver.address);
    receiver.wait_for(&posted);

    // Without an API it answers all the same, and keeps what it cannot handle yet.
    let nowhere = "http://127.0.0.1:1";
    receiver = receiver.restart(programs, &sandbox, nowhere, folder.path());
    let kept = sender.new_event(3);
    assert_eq!(kept.send(receiver.address), 204);
    receiver.wait_for_problem(&kept.key()[0]);
    assert!(!receiver.handled.contains_key(&kept.key()));
    receiver = receiver.restart(programs, &sandbox, base_url, folder.path());
    posted.insert(kept.key());
    receiver.wait_for(&posted);

    let genuine: BTreeSet<_> = relay.deliveries().iter().map(Delivery::key).chain(posted).collect();
    let handled: BTreeSet<_> = receiver.handled.keys().cloned().collect();
    assert_eq!(handled.difference(&genuine).next(), None, "handled, though it was not genuine");
    let twice = receiver.handled.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "handled more than once");
}

/// Makes deliveries of a genuine one.
struct Sender {
    signer: Signer,
    genuine: Delivery,
}

impl Sender {
    fn is_refused_when_changed(&self, to: SocketAddr) {
        let Delivery { signature, body } = &self.genuine;
        let (t, v1) = signature.split_once(",v1=").unwrap();
        let earlier = Delivery { body: self.event(1), ..self.genuine.clone() };
        assert_ne!(earlier.body, *body);
        assert_eq!(earlier.send(to), 400, "another body");
        let of_another = Signer::new("whsec_another").unwrap().sign_now(body).as_str().to_owned();
        let signatures = [
            String::new(),
            t.to_owned(),
            format!("v1={v1}"),
            format!("{t}0,v1={v1}"),
            format!("{t},{t},v1={v1}"),
            format!("{t},v1={}", v1.to_uppercase()),
            format!("{t},v1={}", &v1[..63]),
            format!("{t},v0={v1}"),
            format!("t=now,v1={v1}"),
            of_another,
        ];
        for signature in signatures {
            let changed = Delivery { signature, body: body.clone() };
            assert_eq!(changed.send(to), 400, "{}", changed.signature);
        }
    }

    /// Ten seconds beside the 300 are for the test, which may be slow. The first one is exact: it only gets older.
    fn is_refused_when_stale(&self, to: SocketAddr) {
        for (age, status) in [(301, 400), (-310, 400), (290, 204), (-290, 204)] {
            assert_eq!(self.signed(self.genuine.body.clone(), age).send(to), status, "{age} s old");
        }
    }

    /// Deliveries that are unlike those before, but genuine.
    fn is_taken(&self, to: SocketAddr) -> BTreeSet<Key> {
        // While a secret is being replaced there are two signatures.
        let replaced = self.new_event(2);
        let (t, v1) = replaced.signature.split_once(",v1=").unwrap();
        let signature = format!("{t},v1={},v1={v1}", "0".repeat(64));
        let replaced = Delivery { signature, ..replaced };
        let mut later = self.genuine.json();
        later["event"] = json!("quote.archived");
        later["data"]["archivedBy"] = json!({"name": "Zoé"});
        let later = self.signed(later.to_string().into_bytes(), 0);
        assert_eq!(later.send(to), 204, "an event of a later version");
        let at_once: Vec<_> = (0..8).map(|_| replaced.clone()).collect();
        let at_once: Vec<_> = at_once.into_iter().map(|it| thread::spawn(move || it.send(to))).collect();
        for sent in at_once {
            assert_eq!(sent.join().unwrap(), 204, "a repeat at the same time");
        }
        [replaced.key(), later.key()].into()
    }

    /// The genuine event, had it happened some years earlier.
    fn event(&self, years: u32) -> Vec<u8> {
        let mut event = self.genuine.json();
        event["timestamp"] = json!(format!("{}-01-01T00:00:00.000Z", 2020 - years));
        event.to_string().into_bytes()
    }

    fn new_event(&self, years: u32) -> Delivery {
        self.signed(self.event(years), 0)
    }

    fn signed(&self, body: Vec<u8>, seconds_ago: i64) -> Delivery {
        let signature = self.signer.sign(Delivery::now() - seconds_ago, &body);
        Delivery { signature: signature.as_str().to_owned(), body }
    }
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
    fn start(programs: Programs<'_>, sandbox: &Sandbox, base_url: &str, folder: &Path) -> Self {
        for _ in 0..TRIES {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let ((sender, output), (problem, problems)) = (mpsc::channel(), mpsc::channel());
            let mut processes = Vec::new();
            for mut program in programs(address.port()) {
                program.env("SIGNING_SECRET", sandbox.secret()).env("API_KEY", sandbox.api()[1]);
                program.env("BASE_URL", base_url).env("PORT", address.port().to_string());
                program.env("INBOX", folder.join("inbox.db")).env("NODE_NO_WARNINGS", "1");
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
    fn restart(self, programs: Programs<'_>, sandbox: &Sandbox, base_url: &str, folder: &Path) -> Self {
        let Self { handled, output, _processes: processes, .. } = self;
        drop(processes);
        let mut next = Self::start(programs, sandbox, base_url, folder);
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

    /// Waits until it says that an event of this kind cannot be handled yet.
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
