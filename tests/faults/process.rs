//! A node as the test holds it: started, read, killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longest time for what a node does in a moment.
const PATIENCE: Duration = Duration::from_secs(30);

/// The files of a service and the webhooks that its companies have.
pub(crate) struct Site {
    folder: TempDir,
    pub(crate) hooks: Vec<String>,
}

impl Site {
    pub(crate) fn new(hooks: Vec<String>) -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder"), hooks }
    }

    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("invoicing.db")
    }

    pub(crate) fn documents(&self) -> std::path::PathBuf {
        self.folder.path().join("documents")
    }

    /// Starts a node on these files.
    pub(crate) fn start(&self, mode: &str) -> Node {
        Node::start(&self.database(), &self.documents(), mode, &self.hooks)
    }
}

#[derive(Default)]
struct Lines {
    lines: Mutex<(Vec<Value>, bool)>,
    changed: Condvar,
}

/// What a node says when it has started.
pub(crate) struct Started {
    pub(crate) address: String,
    pub(crate) key: String,
    pub(crate) spare: String,
}

/// A running node. Killed when it is dropped.
pub(crate) struct Node {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Arc<Lines>,
    reader: Option<JoinHandle<()>>,
}

impl Node {
    fn start(database: &Path, documents: &Path, mode: &str, hooks: &[String]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_node"))
            .args([database, documents])
            .arg(mode)
            .args(hooks)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the node starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("its output"));
        let lines = Arc::new(Lines::default());
        let shared = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // The last line of a killed process may be cut.
                if let Ok(line) = serde_json::from_str(&line) {
                    shared.lines.lock().expect("no panic").0.push(line);
                    shared.changed.notify_all();
                }
            }
            shared.lines.lock().expect("no panic").1 = true;
            shared.changed.notify_all();
        });
        Self { child, stdin, lines, reader: Some(reader) }
    }

    /// The first line with that field, as soon as there is one; none if the node ends before.
    pub(crate) fn line_with(&self, field: &str) -> Option<Value> {
        let begun = Instant::now();
        let mut lines = self.lines.lines.lock().expect("no panic");
        loop {
            if let Some(line) = lines.0.iter().find(|line| line.get(field).is_some()) {
                return Some(line.clone());
            }
            if lines.1 || begun.elapsed() > PATIENCE {
                return None;
            }
            lines = self.lines.changed.wait_timeout(lines, Duration::from_millis(100)).expect("no panic").0;
        }
    }

    /// Where its API is, and two fresh keys.
    pub(crate) fn started(&self) -> Started {
        let line = self.line_with("started").expect("the node has started");
        let field = |name: &str| line[name].as_str().expect("a text").to_owned();
        Started { address: field("started"), key: field("key"), spare: field("spare") }
    }

    /// Kills it with `SIGKILL`; everything it has said.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
        self.said()
    }

    /// Asks it to stop; how it ended, and everything it has said.
    pub(crate) fn stop(mut self) -> (ExitStatus, Vec<Value>) {
        drop(self.stdin.take());
        (self.ended(), self.said())
    }

    /// As [`Self::stop`], once it has started.
    pub(crate) fn stop_when_started(self) -> (ExitStatus, Vec<Value>) {
        self.started();
        self.stop()
    }

    /// How it ends by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("its state") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the node does not end");
    }

    fn said(&mut self) -> Vec<Value> {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends with the output");
        }
        std::mem::take(&mut self.lines.lines.lock().expect("no panic").0)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
