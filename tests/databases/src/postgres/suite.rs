//! One server per process for the databases of the `World`s: the one at `DATABASE_URL`, else a cluster of its own. With
//! `POOLER_URL` the services reach it through the pooler there, which is in transaction mode.
//!
//! A thread with a runtime of its own creates the databases, each as a copy of one that has the tables, and drops those
//! that are let go: tests come and go with their runtimes, and a `Drop` cannot wait.

use std::hash::BuildHasher as _;
use std::io::Write as _;
use std::sync::OnceLock;

use futures_util::future::LocalBoxFuture;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::{mpsc, oneshot};

use super::{Cluster, Options};
use crate::tool;

/// The prefix of the names of all databases of all runs.
const PREFIX: &str = "invoicing_tests_";

/// Creates the tables in the database at a URL.
pub type Fill = fn(String) -> LocalBoxFuture<'static, ()>;

/// A database of its own, dropped some time after it is let go.
#[derive(Debug)]
pub struct Fresh {
    name: String,
    url: String,
    requests: mpsc::UnboundedSender<Request>,
}

impl Fresh {
    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the pooler at `POOLER_URL` has it.
    pub fn pooled_url(&self) -> Option<String> {
        std::env::var("POOLER_URL").ok().map(|pooler| at(&pooler, &self.name))
    }

    /// The same one by a URL with a password, if the URL had none: a cluster of ours takes any.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        if let Some((user, rest)) = self.url.split_once('@')
            && user.matches(':').count() == 1
        {
            self.url = format!("{user}:{password}@{rest}");
        }
        self
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // At the end of the process the other thread is gone; then the next run, or the watcher, removes it.
        let _ = self.requests.send(Request::Drop(std::mem::take(&mut self.name)));
    }
}

#[derive(Debug)]
enum Request {
    Create { fill: Option<Fill>, to: oneshot::Sender<(String, String)> },
    Drop(String),
}

/// A fresh database, empty or with the tables, which are created once. There must be a server: see [`is_available`].
pub async fn fresh(fill: Option<Fill>) -> Fresh {
    let requests = suite().expect("a server, as the caller checked for it").clone();
    let (to, created) = oneshot::channel();
    requests.send(Request::Create { fill, to }).expect("the thread that creates databases lives");
    let (name, url) = created.await.expect("the thread that creates databases lives");
    Fresh { name, url, requests }
}

/// True if there is a server for the tests. Prints so, once, if there is none.
pub fn is_available() -> bool {
    suite().inspect_err(|why| is_missing(why)).is_ok()
}

pub(super) fn is_missing(why: &str) {
    tool::POSTGRES.is_missing(&format!("neither at DATABASE_URL, which is not set, nor here: {why}"));
}

fn say(line: &str) {
    // A closed standard error is no failure.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

fn suite() -> Result<&'static mpsc::UnboundedSender<Request>, String> {
    static SUITE: OnceLock<Result<mpsc::UnboundedSender<Request>, String>> = OnceLock::new();
    SUITE.get_or_init(start).as_ref().map_err(Clone::clone)
}

fn start() -> Result<mpsc::UnboundedSender<Request>, String> {
    let server = if let Ok(url) = std::env::var("DATABASE_URL") {
        Server { url, _cluster: None }
    } else {
        super::programs::Programs::find()?;
        let cluster = Cluster::start(&Options::default()).expect("the programs are there");
        Server { url: cluster.url("postgres"), _cluster: Some(cluster) }
    };
    let (requests, received) = mpsc::unbounded_channel();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(serve(&server, received));
    };
    std::thread::Builder::new().name("databases".into()).spawn(serve).expect("a thread");
    Ok(requests)
}

/// A server on which databases may be created.
struct Server {
    /// One of its databases.
    url: String,
    _cluster: Option<Cluster>,
}

/// The URL of another database of the same server.
fn at(url: &str, database: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}/{database}{mark}{query}")
}

async fn serve(server: &Server, mut requests: mpsc::UnboundedReceiver<Request>) {
    let mut connection = PgConnection::connect(&server.url).await.expect("the server answers");
    let version: String =
        sqlx::query_scalar("SHOW server_version").fetch_one(&mut connection).await.expect("one");
    say(&format!("PostgreSQL: runs here too, on {version}"));
    let run = std::hash::RandomState::new().hash_one(std::process::id()).cast_signed();
    // Held as long as this process lives: a run without its lock is over.
    assert!(lock(&mut connection, run).await, "a number of its own");
    drop_leftovers(&mut connection).await;

    let name = |what: &str| format!("{PREFIX}{run:016x}_{what}");
    let template = name("template");
    let strategy = strategy(&connection);
    let (mut has_template, mut count) = (false, 0_u32);
    while let Some(request) = requests.recv().await {
        match request {
            Request::Create { fill, to } => {
                count += 1;
                if let Some(fill) = fill.filter(|_| !has_template) {
                    create(&mut connection, &template, "template0", strategy).await;
                    fill(at(&server.url, &template)).await;
                    has_template = true;
                }
                let name = name(&count.to_string());
                let copied = if fill.is_none() { "template0" } else { &template };
                create(&mut connection, &name, copied, strategy).await;
                let url = at(&server.url, &name);
                // A test that no longer wants it leaves it to the end.
                let _ = to.send((name, url));
            }
            Request::Drop(name) => remove(&mut connection, &name).await,
        }
    }
}

/// Copying files takes half as long, and their copy has the caches with which connections begin. Before version 15 there is no
/// other way.
fn strategy(connection: &PgConnection) -> &'static str {
    if connection.server_version_num().is_some_and(|version| version >= 150_000) {
        "STRATEGY FILE_COPY"
    } else {
        ""
    }
}

async fn create(connection: &mut PgConnection, name: &str, template: &str, strategy: &str) {
    // Ids and texts are compared by their bytes, wherever that makes a difference: any locale must do.
    let statement = format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\" ENCODING 'UTF8' {strategy}");
    connection.execute(AssertSqlSafe(statement)).await.expect("a database");
}

async fn remove(connection: &mut PgConnection, name: &str) {
    let statement = format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)");
    connection.execute(AssertSqlSafe(statement)).await.expect("the database goes");
}

async fn lock(connection: &mut PgConnection, run: i64) -> bool {
    let statement = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(run);
    statement.fetch_one(connection).await.expect("an answer")
}

/// Drops what runs have left that ended before they could.
async fn drop_leftovers(connection: &mut PgConnection) {
    let statement = "SELECT datname::text FROM pg_database WHERE starts_with(datname, $1)";
    let names: Vec<String> =
        sqlx::query_scalar(statement).bind(PREFIX).fetch_all(&mut *connection).await.expect("names");
    for name in names {
        let run = name[PREFIX.len()..].split('_').next().and_then(|run| u64::from_str_radix(run, 16).ok());
        let Some(run) = run.map(u64::cast_signed) else { continue };
        if lock(connection, run).await {
            remove(connection, &name).await;
            let unlock = sqlx::query("SELECT pg_advisory_unlock($1)").bind(run);
            unlock.execute(&mut *connection).await.expect("an answer");
        }
    }
}
