//! A node as the test holds it: started, read, paused, killed. And what a node is started on.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use invoicing_server::{Invoicing, InvoicingBuilder, ObjectStorage, PostgresSettings};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

pub(crate) const NODE: &str = env!("CARGO_BIN_EXE_node");
/// Longest time for what a node does in a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Deliveries that have not ended, and those that are claimed.
pub(crate) const PENDING: &str = "SELECT count(*) FROM delivery WHERE status = 'pending'";
pub(crate) const CLAIMED: &str = "SELECT count(*) FROM delivery WHERE claim <> 0";
/// Row ids that were given out more than once.
pub(crate) const REPEATED_IDS: &str = "SELECT count(*) - count(DISTINCT id) FROM delivery";
/// Connections of others to the database.
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";

/// The place of nodes: a database, a folder for documents, settings, and the webhooks of the companies.
pub(crate) struct Site {
    folder: TempDir,
    /// Where PostgreSQL is; otherwise the database is a file in the folder.
    postgres: Option<String>,
    settings: Value,
    pub(crate) hooks: Vec<String>,
}

impl Site {
    pub(crate) fn on_sqlite(hooks: Vec<String>) -> Self {
        Self { hooks, ..Self::in_folder(tempfile::tempdir().expect("a temporary folder")) }
    }

    /// On SQLite in this folder, without webhooks.
    pub(crate) fn in_folder(folder: TempDir) -> Self {
        Self { folder, postgres: None, settings: json!({}), hooks: Vec::new() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// On an empty database of PostgreSQL, with settings as a host would write them.
    pub(crate) fn on_postgres(url: String, settings: Value, hooks: Vec<String>) -> Self {
        Self { postgres: Some(url), settings, ..Self::on_sqlite(hooks) }
    }

    /// The same documents and webhooks on PostgreSQL.
    pub(crate) fn moved_to(self, url: String, settings: Value) -> Self {
        Self { postgres: Some(url), settings, ..self }
    }

    /// Starts a process that copies the SQLite file to that database.
    pub(crate) fn start_copy(&self, url: &str) -> Node {
        Self::start_copy_of(self.file(), url)
    }

    /// As [`Self::start_copy`], of the file at a path.
    pub(crate) fn start_copy_of(file: impl AsRef<OsStr>, url: &str) -> Node {
        Node::start(Command::new(NODE).arg("copy").arg(file).arg(url))
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("invoicing.db")
    }

    fn documents(&self) -> PathBuf {
        self.folder.path().join("documents")
    }

    /// Starts a node that survives a limit of the size of its files.
    pub(crate) fn start_with_file_limit(&self, mode: &str, bytes: Option<u64>) -> Node {
        let limit = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec prlimit --fsize=\"$0:unlimited\" \"$@\"", &limit, NODE]);
        self.start_by(command, mode)
    }

    /// Starts a node.
    pub(crate) fn start(&self, mode: &str) -> Node {
        self.start_by(Command::new(NODE), mode)
    }

    pub(crate) fn start_by(&self, command: Command, mode: &str) -> Node {
        match &self.postgres {
            Some(url) => self.start_on(url, command, mode),
            None => self.start_on(self.file(), command, mode),
        }
    }

    /// Starts a node on a database that has another name than this site gives it.
    pub(crate) fn start_on(&self, database: impl AsRef<OsStr>, mut command: Command, mode: &str) -> Node {
        command
            .arg(database)
            .arg(self.documents())
            .arg(mode)
            .arg(self.settings.to_string())
            .args(&self.hooks);
        Node::start(&mut command)
    }

    /// The service in this process, on the same database.
    pub(crate) async fn open(&self) -> Invoicing {
        let builder = match &self.postgres {
            Some(url) => Invoicing::postgres(PostgresSettings::new(url.clone())),
            None => Invoicing::sqlite(self.file()),
        };
        self.with_documents(builder).open().await.expect("it opens")
    }

    /// With the documents of this site.
    pub(crate) fn with_documents(&self, builder: InvoicingBuilder) -> InvoicingBuilder {
        let documents = ObjectStorage::folder(self.documents()).expect("the folder opens");
        builder.document_store(Arc::new(documents))
    }

    /// A look at the tables, beside the processes that own them.
    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        if let Some(url) = &self.postgres {
            return count_at(url, sql).await;
        }
        let options = SqliteConnectOptions::new().filename(self.file()).read_only(true);
        let mut connection: SqliteConnection = options.connect().await.expect("the database");
        let count = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a count");
        // A thread of its own holds the file: without an end that is waited for, it may outlive the folder's file system.
        connection.close().await.expect("it closes");
        count
    }

    /// Waits until no delivery is pending. After the limit the deliveries that still are, are listed one by one.
    pub(crate) async fn wait_until_all_ended(&self) {
        self.wait_until_none(PENDING).await;
    }

    /// Waits until the database has ended what it was doing for processes that are gone.
    pub(crate) async fn wait_until_left_alone(&self) {
        if self.postgres.is_some() {
            assert!(self.wait_until_none(OTHERS).await, "a session is still connected");
        }
    }

    async fn wait_until_none(&self, sql: &'static str) -> bool {
        let begun = Instant::now();
        while self.count(sql).await > 0 {
            if begun.elapsed() > PATIENCE {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(75)).await;
        }
        true
    }
}

/// A look at the tables of a PostgreSQL database.
pub(crate) async fn count_at(url: &str, sql: &'static str) -> i64 {
    let options: PgConnectOptions = url.parse().expect("a URL");
    let mut connection: PgConnection = options.connect().await.expect("the database");
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a count")
}

#[derive(Default)]
struct Lines {
    lines: Mutex<(Vec<Value>, bool)>,
    changed: Condvar,
}

/// The line that a node prints when it has started.
#[derive(Debug, Clone)]
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
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the node starts");
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
        self.wait(|lines| lines.iter().find(|line| line.get(field).is_some()).cloned())
    }

    /// The first match in the lines; `None` if the node ends before, or takes too long.
    fn wait<T>(&self, find: impl Fn(&[Value]) -> Option<T>) -> Option<T> {
        let begun = Instant::now();
        let mut lines = self.lines.lines.lock().expect("no panic");
        loop {
            if let Some(found) = find(&lines.0) {
                return Some(found);
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

    /// Waits until it has announced so many more operations of each of two companies.
    pub(crate) fn wait_for_operations(&self, more: usize) {
        let said = self.lines.lines.lock().expect("no panic").0.len();
        let enough = self.wait(|lines| {
            let companies = || lines[said..].iter().filter_map(|line| line["company"].as_str());
            let first = companies().next()?;
            let of_first = companies().filter(|company| *company == first).count();
            (of_first >= more && companies().count() - of_first >= more).then_some(())
        });
        let last = || self.lines.lines.lock().expect("no panic").0[said..].last().cloned();
        assert!(enough.is_some(), "a node does not get on: {:?}", last());
    }

    /// Waits until it has announced a credit note.
    pub(crate) fn wait_for_credit_note(&self) {
        let credited = |lines: &[Value]| lines.iter().any(|line| line["kind"] == "credit note").then_some(());
        assert!(self.wait(credited).is_some(), "a node credits nothing");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it with `SIGSTOP`: it is not dead, it does not answer.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on after [`Self::pause`].
    pub(crate) fn wake(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").arg(signal).arg(self.child.id().to_string()).status();
        assert!(status.expect("the program kill").success());
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

    /// As [`Self::stop`]; it must end in good order.
    pub(crate) fn stop_well(self) -> Vec<Value> {
        let (status, lines) = self.stop();
        // The first failure stops it; what it said behind that follows from it.
        let failed = lines.iter().find(|line| line.get("failed").is_some());
        assert!(status.success(), "{status}: {:?}", failed.or(lines.last()));
        lines
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
