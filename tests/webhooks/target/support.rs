//! Support of the tests of webhook targets: a resolver with given answers, a forward proxy, a silent listener.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use invoicing_server::{Env, ForwardProxy, Invoicing, MemoryStore, Resolve, ResolveFuture, Settings};
use invoicing_tests::Place;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A public address that no test may reach.
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// A resolver with a list of answers for each name; the last answer repeats. Other names resolve to [`PUBLIC`].
#[derive(Clone, Default)]
pub(crate) struct Names {
    answers: Arc<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Arc<Mutex<HashMap<String, usize>>>,
}

impl Names {
    pub(crate) fn new(answers: impl IntoIterator<Item = (String, Vec<Vec<IpAddr>>)>) -> Self {
        Self { answers: Arc::new(answers.into_iter().collect()), asked: Arc::default() }
    }

    /// Number of lookups.
    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().values().sum()
    }
}

impl Resolve for Names {
    fn resolve(&self, host: &str) -> ResolveFuture {
        let mut asked = self.asked.lock().unwrap();
        let count = asked.entry(host.to_owned()).or_default();
        let answer = match self.answers.get(host) {
            Some(answers) => answers[(*count).min(answers.len() - 1)].clone(),
            None => vec![PUBLIC.parse().unwrap()],
        };
        *count += 1;
        Box::pin(
            async move { if answer.is_empty() { Err(io::Error::other("no such name")) } else { Ok(answer) } },
        )
    }
}

/// A forward proxy on loopback. It connects every request to one place, or answers 502.
pub(crate) struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(to: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (mut tasks, heard) = (JoinSet::new(), Arc::clone(&asked));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(connect(stream, to, Arc::clone(&heard)));
            }
        });
        Self { address, asked, _tasks: tasks }
    }

    pub(crate) fn setting(&self) -> ForwardProxy {
        ForwardProxy::from_str(&format!("http://{}", self.address)).unwrap()
    }

    /// The targets of the requests, as `host:port`, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn connect(mut stream: TcpStream, to: Option<SocketAddr>, asked: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let (method, rest) = head.split_once(' ').unwrap();
    assert_eq!(method, "CONNECT");
    asked.lock().unwrap().push(rest.split(' ').next().unwrap().to_owned());
    let Some(to) = to else {
        let answer = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(answer).await.unwrap_or_default();
    };
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let mut behind = TcpStream::connect(to).await.unwrap();
    // The tunnel ends when either side ends, with or without an error.
    let _ = copy_bidirectional(&mut stream, &mut behind).await;
}

/// A listener on loopback that only counts its connections.
pub(crate) struct Listener {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Listener {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let (mut tasks, count) = (JoinSet::new(), Arc::clone(&connections));
        tasks.spawn(async move {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, connections, _tasks: tasks }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Opens the service on a place, with a resolver of given answers. One attempt per delivery.
pub(crate) async fn open(place: &Place, mut settings: Settings, names: &Names) -> Invoicing {
    settings.dispatch.max_attempts = 1;
    let names = names.clone();
    place
        .builder()
        .env(Env::system())
        .document_store(Arc::new(MemoryStore::new()))
        .settings(settings)
        .webhook_transport(|transport| transport.resolver(names))
        .open()
        .await
        .unwrap()
}
