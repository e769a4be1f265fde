//! A proxy on loopback in front of PostgreSQL that counts trips, makes them longer, and holds one.
//!
//! A trip is what a client sends up to a `Sync`, or a simple query, until the server is ready for the next one.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BytesMut;
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::protocol::{connect, kinds};

/// The proxy. Ends, and cuts all connections, when it is dropped.
#[derive(Debug)]
pub struct TripProxy {
    url: String,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    host: String,
    port: u16,
    delay: Duration,
    answered: Mutex<Vec<String>>,
    /// A part of the statements of the trip that is to be held, and for how long.
    held: Mutex<Option<(String, Duration)>>,
}

impl TripProxy {
    /// In front of the server of a database. Each trip takes so much longer.
    pub async fn start(url: &str, delay: Duration) -> Self {
        let server: PgConnectOptions = url.parse().expect("a URL");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port on loopback");
        let here = listener.local_addr().expect("its address");
        let (host, port) = (server.get_host().to_owned(), server.get_port());
        let url = server.host(&here.ip().to_string()).port(here.port()).to_url_lossy().to_string();
        let shared =
            Arc::new(Shared { host, port, delay, answered: Mutex::default(), held: Mutex::default() });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Self { url, shared, _tasks: tasks }
    }

    /// The database through the proxy.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The statements of each trip that was answered since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.answered.lock().expect("no panic"))
    }

    /// The next trip with this in its statements reaches the server so much later. Its connection carries nothing meanwhile,
    /// not even its end.
    pub fn hold_next(&self, part: &str, by: Duration) {
        *self.shared.held.lock().expect("no panic") = Some((part.to_owned(), by));
    }

    /// Whether that trip has come.
    pub fn has_held(&self) -> bool {
        self.shared.held.lock().expect("no panic").is_none()
    }
}

impl Shared {
    /// How much longer a trip takes.
    fn delay_of(&self, statements: &str) -> Duration {
        let held =
            self.held.lock().expect("no panic").take_if(|(part, _)| statements.contains(part.as_str()));
        held.map_or(self.delay, |(_, by)| by)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // Both sides are closed, for any reason.
            let _ = carry(client, &shared).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(client: TcpStream, shared: &Shared) -> io::Result<()> {
    let (mut client, mut server) = connect(client, (shared.host.as_str(), shared.port)).await?;
    let (mut statements, mut trip) = (Statements::default(), Vec::new());
    let (mut unsent, mut unanswered) = (BytesMut::new(), VecDeque::new());
    loop {
        tokio::select! {
            message = client.requests.next() => {
                let message = message?;
                trip.extend(statements.in_message(&message));
                unsent.extend_from_slice(&message);
                match message[0] {
                    // The server need not answer these before it has a `Sync`.
                    b'P' | b'B' | b'D' | b'E' | b'C' => continue,
                    b'S' | b'Q' => {
                        let statements = std::mem::take(&mut trip).join("; ");
                        let delay = shared.delay_of(&statements);
                        unanswered.push_back(statements);
                        wait(delay).await;
                    }
                    _ => {}
                }
                server.requests.write_all(&unsent.split()).await?;
            }
            answers = server.answers.several() => {
                let answers = answers?;
                let ready = kinds(&answers).filter(|kind| *kind == b'Z').count();
                // The server also sends that it is ready after the start of a session.
                let ended = unanswered.drain(..ready.min(unanswered.len()));
                shared.answered.lock().expect("no panic").extend(ended);
                client.answers.write_all(&answers).await?;
            }
        }
    }
}

/// The timer of the runtime is too coarse for a millisecond.
async fn wait(delay: Duration) {
    if !delay.is_zero() {
        tokio::task::spawn_blocking(move || std::thread::sleep(delay)).await.expect("no panic");
    }
}

/// The prepared statements of a connection, by their names.
#[derive(Debug, Default)]
struct Statements(HashMap<String, String>);

impl Statements {
    /// The statement that a message of the client runs or prepares.
    fn in_message(&mut self, message: &[u8]) -> Option<String> {
        let mut texts = message[5..].split(|byte| *byte == 0);
        let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
        match message[0] {
            b'Q' => Some(text()),
            b'P' => {
                let (name, sql) = (text(), text());
                let prepares = format!("PREPARE {sql}");
                self.0.insert(name, sql);
                Some(prepares)
            }
            b'B' => {
                let (_portal, name) = (text(), text());
                self.0.get(&name).cloned()
            }
            _ => None,
        }
    }
}
