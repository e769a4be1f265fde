//! `PgBouncer` in transaction mode, in front of a database server.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use super::home::Home;
use super::{TRIES, free_port};
use crate::tool;

/// Where Debian puts it, which is not on the path of every user.
const DEBIAN: &str = "/usr/sbin/pgbouncer";
/// Stops it when the process that started it is gone or lets go.
const WATCHER: &str = r#""$0" "$1" & read -r line; kill $!; wait"#;
/// The first version that keeps the prepared statements of its clients: major and minor.
const PREPARES: (u32, u32) = (1, 21);
/// Longest time for its start.
const START: Duration = Duration::from_secs(10);

/// A pooler, removed when it is dropped or the process is gone.
#[derive(Debug)]
pub struct Pooler {
    /// The database through the pooler.
    pub url: String,
    watcher: Child,
    _home: Home,
}

impl Pooler {
    /// Starts one in front of the server of a database, with a number of connections to it; prints so and returns `None` if
    /// none is installed that keeps prepared statements.
    pub fn start(url: &str, connections: u32) -> Option<Self> {
        let program = find().inspect_err(|why| tool::PGBOUNCER.is_missing(why)).ok()?;
        let server: PgConnectOptions = url.parse().expect("a URL");
        let home = Home::new()?;
        let (settings, users) = (home.file("pgbouncer.ini"), home.file("users"));
        home.write(&users, &format!("\"{}\" \"\"\n", server.get_username()));
        let port = (0..TRIES).find_map(|_| free_port()).expect("a free port");
        let lines = configuration(&server, port, &users, connections);
        home.write(&settings, &lines);
        let watcher = home
            .command_at(Path::new("sh"))
            .args([OsStr::new("-c"), OsStr::new(WATCHER), program.as_os_str(), settings.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let url = server.host("127.0.0.1").port(port).to_url_lossy().to_string();
        let pooler = Self { url, watcher, _home: home };
        pooler.wait_until_it_listens(port);
        Some(pooler)
    }

    fn wait_until_it_listens(&self, port: u16) {
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(begun.elapsed() < START, "PgBouncer does not listen at {}", self.url);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // Waiting closes what the watcher reads from, which is its sign.
        let _ = self.watcher.wait();
    }
}

/// The program on the path, else Debian's; else why there is none.
fn find() -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders).map(|folder| folder.join("pgbouncer"));
    let found = on_path.chain([PathBuf::from(DEBIAN)]).find(|path| path.is_file());
    let program = found.ok_or_else(|| format!("there is none, neither on PATH nor at {DEBIAN}"))?;
    match version(&program) {
        version if version >= PREPARES => Ok(program),
        (major, minor) => Err(format!("{major}.{minor} does not keep prepared statements, 1.21 does")),
    }
}

/// `PgBouncer 1.24.1`, and more lines.
fn version(program: &Path) -> (u32, u32) {
    let output = Command::new(program).arg("--version").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.split_whitespace().nth(1).and_then(|version| {
        let mut numbers = version.split('.').map_while(|number| number.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    });
    numbers.unwrap_or_else(|| panic!("not a version: {text}"))
}

fn configuration(server: &PgConnectOptions, port: u16, users: &Path, connections: u32) -> String {
    format!(
        "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\nmax_client_conn = 400\n\
         default_pool_size = {connections}\nignore_startup_parameters = extra_float_digits\n\
         max_prepared_statements = 256\n",
        server.get_host(),
        server.get_port(),
        users.display(),
    )
}
