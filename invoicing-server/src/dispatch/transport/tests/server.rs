//! A scripted HTTP server on loopback, also for behaviour that breaks the protocol.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;

pub(super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// A step of the server's reaction to a request. After the last step it waits for the next request.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Send(Vec<u8>),
    /// Reads another request.
    Read,
    /// Sends this again and again, slowly.
    Drip(Vec<u8>),
    /// Sends this again and again, as fast as the client reads.
    Flood(Vec<u8>),
    /// Does nothing until the client closes.
    Hang,
    Close,
}

impl Step {
    pub(super) fn send(bytes: &[u8]) -> Self {
        Self::Send(bytes.to_vec())
    }
}

/// Ends, with all its connections, when dropped.
pub(super) struct ScriptedServer {
    listener: SocketAddr,
    state: Arc<ServerState>,
    requests: Mutex<mpsc::UnboundedReceiver<Vec<u8>>>,
    _tasks: JoinSet<()>,
}

struct ServerState {
    steps: Vec<Step>,
    /// True if the steps begin before anything was read.
    greets: bool,
    connections: AtomicUsize,
    requests: AtomicUsize,
    received: mpsc::UnboundedSender<Vec<u8>>,
    closed: watch::Sender<usize>,
    flooded: watch::Sender<Option<usize>>,
}

impl ScriptedServer {
    /// Gives this answer to every request, and keeps the connection.
    pub(super) async fn answering(response: &str) -> Self {
        Self::new(vec![Step::send(response.as_bytes())]).await
    }

    pub(super) async fn new(steps: Vec<Step>) -> Self {
        Self::start(steps, false).await
    }

    /// Begins its steps without waiting for a request.
    pub(super) async fn greeting(steps: Vec<Step>) -> Self {
        Self::start(steps, true).await
    }

    async fn start(steps: Vec<Step>, greets: bool) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (received, requests) = mpsc::unbounded_channel();
        let state = Arc::new(ServerState {
            steps,
            greets,
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            received,
            closed: watch::Sender::new(0),
            flooded: watch::Sender::new(None),
        });
        let listener = socket.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(socket, Arc::clone(&state)));
        Self { listener, state, requests: Mutex::new(requests), _tasks: tasks }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.listener
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.listener)
    }

    /// Connections accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Requests read so far.
    pub(super) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// The next request, byte for byte.
    pub(super) async fn received(&self) -> Vec<u8> {
        self.requests.lock().await.recv().await.unwrap()
    }

    /// Waits until this many connections have ended, closed by either side.
    pub(super) async fn closed(&self, connections: usize) {
        self.state.closed.subscribe().wait_for(|closed| *closed >= connections).await.unwrap();
    }

    /// Waits until a flood has ended, and returns the number of bytes that could be sent.
    pub(super) async fn flooded(&self) -> usize {
        self.state.flooded.subscribe().wait_for(Option::is_some).await.unwrap().unwrap()
    }
}

async fn accept(listener: TcpListener, state: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.connections.fetch_add(1, Ordering::SeqCst);
        let state = Arc::clone(&state);
        connections.spawn(async move {
            serve(stream, &state).await;
            state.closed.send_modify(|closed| *closed += 1);
        });
    }
}

async fn serve(mut stream: TcpStream, state: &ServerState) {
    loop {
        if !state.greets && read_and_note(&mut stream, state).await.is_none() {
            return;
        }
        for step in &state.steps {
            if perform(step, &mut stream, state).await.is_none() {
                return;
            }
        }
    }
}

async fn read_and_note(stream: &mut TcpStream, state: &ServerState) -> Option<()> {
    let request = read_request(stream).await?;
    state.requests.fetch_add(1, Ordering::SeqCst);
    state.received.send(request).ok()
}

/// `None`: the connection is done with.
async fn perform(step: &Step, stream: &mut TcpStream, state: &ServerState) -> Option<()> {
    match step {
        Step::Send(bytes) => stream.write_all(bytes).await.ok(),
        Step::Read => read_and_note(stream, state).await,
        Step::Drip(bytes) => loop {
            stream.write_all(bytes).await.ok()?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        },
        Step::Flood(bytes) => {
            let mut sent = 0;
            while stream.write_all(bytes).await.is_ok() {
                sent += bytes.len();
            }
            state.flooded.send_replace(Some(sent));
            None
        }
        Step::Hang => {
            let mut rest = [0; 1024];
            while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
            None
        }
        Step::Close => None,
    }
}

/// Head and body of a request with `Content-Length`.
pub(super) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        if let Some(length) = length_of(&request)
            && request.len() >= length
        {
            return Some(request);
        }
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
}

/// The length of the whole request, once its head is there.
fn length_of(request: &[u8]) -> Option<usize> {
    let head = request.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
    let (_, after) = text.split_once("content-length: ")?;
    let body: usize = after.split_once("\r\n")?.0.parse().ok()?;
    Some(head + body)
}
