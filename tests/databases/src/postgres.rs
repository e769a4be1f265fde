//! PostgreSQL for tests: clusters of their own from the server programs that are installed, and one server per process
//! for the databases of the `World`s.
//!
//! A cluster listens on a free loopback port, trusts every client there, and disappears with its process, however that
//! ends. Where there are no server programs, a message says once that what needs them did not run; with
//! `REQUIRE_POSTGRES=1` that is a failure.

mod home;
mod pooler;
mod programs;
pub mod protocol;
mod suite;
mod trips;

use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

pub use home::Home;
pub use pooler::Pooler;
pub use suite::{Fill, Fresh, fresh, is_available};
pub use trips::TripProxy;

/// Who owns a cluster and everything in it.
const SUPERUSER: &str = "postgres";
/// Additions to the cluster's own configuration, in a file of its own so that it can be written again.
const ADDED: &str = "tests.conf";
/// Ports that are tried: below those from which systems take the local ends of connections, so that a server that is
/// stopped finds its own again.
const PORTS: std::ops::Range<u16> = 15_000..32_000;
/// How many ports are tried before giving up.
const TRIES: u32 = 20;

/// How a cluster is set up.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether what was committed survives the machine (`fsync`): for tests that stop the server, and for measuring.
    pub durable: bool,
    /// Further lines of `postgresql.conf`, such as `wal_level = logical`.
    pub settings: Vec<String>,
}

/// A PostgreSQL server of this process, removed with all its data when it is dropped or the process is gone.
#[derive(Debug)]
pub struct Cluster {
    home: Home,
    port: u16,
}

/// True if there are server programs. Prints so, once, if there are none.
///
/// # Panics
/// If there are none and `REQUIRE_POSTGRES=1` says that there must be.
pub fn is_installed() -> bool {
    found().is_some()
}

/// The path of a program of the server; `None` if there is none.
pub fn program(name: &str) -> Option<PathBuf> {
    found().map(|programs| programs.path(name))
}

fn found() -> Option<&'static programs::Programs> {
    programs::Programs::find().inspect_err(|why| suite::is_missing(why)).ok()
}

impl Cluster {
    /// Makes a cluster and starts it; `None` if there are no server programs.
    pub fn start(options: &Options) -> Option<Self> {
        let home = Home::new()?;
        home.initialise(SUPERUSER);
        Some(Self::on(home, options))
    }

    /// Starts a server on what is in [`Home::data`]: a copy of another cluster's data. See [`Cluster::copy`].
    pub fn on(home: Home, options: &Options) -> Self {
        let mut refused = String::new();
        for port in (0..TRIES).filter_map(|_| free_port()) {
            configure(&home, port, options);
            match home.start() {
                Ok(()) => return Self { home, port },
                // Another process took the port meanwhile.
                Err(log) if log.contains("could not bind") => refused = log,
                Err(log) => panic!("PostgreSQL does not start: {log}"),
            }
        }
        panic!("PostgreSQL finds no port: {refused}");
    }

    /// Copies the data of the running server (`pg_basebackup`), set up as its standby. [`Cluster::on`] starts it.
    pub fn copy(&self) -> Home {
        let home = Home::new().expect("this one runs on the same programs");
        let data = home.data();
        let mut command = home.command("pg_basebackup");
        command.args(["--write-recovery-conf", "--no-sync", "--checkpoint=fast", "--wal-method=stream"]);
        command.arg("--pgdata").arg(data).args(["--host=127.0.0.1", "--username", SUPERUSER]);
        home::run(command.arg(format!("--port={}", self.port)));
        home
    }

    /// How to reach a database of this server.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{SUPERUSER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Creates an empty database and returns its URL.
    pub async fn create_database(&self, name: &str) -> String {
        self.execute("postgres", &format!("CREATE DATABASE \"{name}\"")).await;
        self.url(name)
    }

    /// Runs statements, each by itself if there is only one, in a database as its superuser.
    pub async fn execute(&self, database: &str, statements: &str) {
        let mut connection = PgConnection::connect(&self.url(database)).await.expect("the server answers");
        let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
        connection.execute(statements).await.expect("the statements run");
        let _ = connection.close().await;
    }

    /// Stops the server as a power cut would, but for what the operating system still holds, and starts it again.
    pub fn restart_immediate(&self) {
        self.stop_immediate();
        self.start_again();
    }

    /// Stops the server without letting anything end (`pg_ctl stop -m immediate`), and waits until it is gone.
    pub fn stop_immediate(&self) {
        self.home.stop("immediate");
    }

    /// Starts the server on its data and its port after it was stopped.
    pub fn start_again(&self) {
        if let Err(log) = self.home.start() {
            panic!("PostgreSQL does not start again: {log}");
        }
    }

    /// Writes the settings anew. Settings that need no restart hold at once.
    pub fn configure(&self, options: &Options) {
        configure(&self.home, self.port, options);
        home::run(&mut self.home.control("reload"));
    }

    /// Makes a primary of a standby, and waits until it is one.
    pub fn promote(&self) {
        home::run(self.home.control("promote").arg("--wait"));
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.home.data()
    }

    /// The log of the server.
    pub fn log(&self) -> String {
        self.home.log()
    }
}

/// A port without a listener, of a range of which the system gives none.
pub fn free_port() -> Option<u16> {
    let chance = std::collections::hash_map::RandomState::new().hash_one(std::process::id());
    let port = PORTS.start + u16::try_from(chance % u64::try_from(PORTS.len()).ok()?).ok()?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(|_| port)
}

fn configure(home: &Home, port: u16, options: &Options) {
    let mut lines = format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\nmax_connections = 400\n\
         log_line_prefix = '%m [%p] '\n"
    );
    if !options.durable {
        lines.push_str("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n");
    }
    for line in &options.settings {
        writeln!(lines, "{line}").expect("a text takes everything");
    }
    let data = home.data();
    home.write(&data.join(ADDED), &lines);
    include(home, &data.join("postgresql.conf"));
}

/// Makes the configuration end with ours. A copy of a cluster of ours does already.
fn include(home: &Home, configuration: &Path) {
    let line = format!("include = '{ADDED}'\n");
    let text = std::fs::read_to_string(configuration).expect("the data have a configuration");
    if !text.ends_with(&line) {
        home.write(configuration, &format!("{text}\n{line}"));
    }
}
