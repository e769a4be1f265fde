//! Deliveries through a forward proxy: the requests it gets, those it never gets, and the class of
//! its failures.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Mutex;

use FailureClass::Proxy as ProxyFailed;
use rcgen::{CertificateParams, DnType};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::tls::{TlsServer, acceptor, certificate};
use super::*;

const PUBLIC: &str = "93.184.216.34";

/// The proxy's reaction to a `CONNECT`.
enum ProxyAnswer {
    /// Connects to this port on loopback, ignoring the requested target.
    Tunnel(u16),
    Say(&'static str),
    Hang,
}

/// A proxy on loopback that keeps the heads of all requests.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Starts a proxy whose answer depends on the requested `host:port`.
    async fn start(answer: impl Fn(&str) -> ProxyAnswer + Send + Sync + 'static) -> Self {
        Self::with(None, answer).await
    }

    /// A proxy that expects TLS if an acceptor is given.
    async fn with(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(&str) -> ProxyAnswer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, tls, Arc::new(answer), Arc::clone(&heads)));
        Self { address, heads, _tasks: tasks }
    }

    fn setting(&self) -> ForwardProxy {
        ForwardProxy::from_str(&format!("http://{}", self.address)).unwrap()
    }

    /// The targets of its requests so far, in order.
    fn asked(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        heads.iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect()
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    answer: Arc<impl Fn(&str) -> ProxyAnswer + Send + Sync + 'static>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, answer, heads) = (tls.clone(), Arc::clone(&answer), Arc::clone(&heads));
        connections.spawn(async move {
            match tls {
                None => serve(stream, &*answer, &heads).await,
                Some(tls) => {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    serve(stream, &*answer, &heads).await;
                }
            }
        });
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &impl Fn(&str) -> ProxyAnswer,
    heads: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let answer = answer(head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap());
    heads.lock().unwrap().push(head);
    match answer {
        ProxyAnswer::Hang => drop(stream.read_u8().await),
        ProxyAnswer::Say(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
        ProxyAnswer::Tunnel(port) => {
            stream.write_all(b"HTTP/1.1 200 Connection established\r\nvia: 1.1 proxy\r\n\r\n").await.unwrap();
            let mut behind = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            // Ends when one side does.
            drop(copy_bidirectional(&mut stream, &mut behind).await);
        }
    }
}

fn through(policy: TargetPolicy, proxy: &Proxy, answers: &[&[&str]]) -> TransportBuilder {
    Transport::builder(policy).resolver(Fixed::new(answers)).proxy(Some(proxy.setting()), false)
}

// --- The requests it gets

#[tokio::test]
async fn the_proxy_is_asked_for_the_checked_address_and_tls_verifies_the_name() {
    let server = TlsServer::start(false).await;
    let port = server.port;
    let proxy = Proxy::start(move |_| ProxyAnswer::Tunnel(port)).await;
    let client = through(STRICT, &proxy, &[&[PUBLIC]]).root_certificate(server.root.clone()).build().unwrap();
    for _ in 0..3 {
        assert_eq!(post(&client, "https://hooks.example/a", AMPLE).await, answered(200));
    }
    assert_eq!(proxy.asked(), ["93.184.216.34:443"], "one connection, used again");
    // The certificate is for another name; the request to the proxy named the right target.
    assert_eq!(post(&client, "https://other.example:8443/", AMPLE).await, failed(TlsWrongName));
    assert_eq!(proxy.asked()[1..], ["93.184.216.34:8443"]);
    assert_eq!(post(&client, "https://[2606:4700::1111]/", AMPLE).await, failed(TlsWrongName));
    assert_eq!(proxy.asked()[2..], ["[2606:4700::1111]:443"]);
    assert_eq!(server.handshakes.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn plain_http_uses_a_tunnel_too_and_sends_its_host_header() {
    let server = ScriptedServer::answering(server::OK).await;
    let port = server.address().port();
    let proxy = Proxy::start(move |_| ProxyAnswer::Tunnel(port)).await;
    let client = through(HTTP_ONLY, &proxy, &[&[PUBLIC]]).build().unwrap();
    assert_eq!(post(&client, "http://hooks.example/a", AMPLE).await, answered(200));
    assert_eq!(proxy.asked(), ["93.184.216.34:80"]);
    let received = String::from_utf8(server.received().await).unwrap();
    assert!(received.starts_with("POST /a HTTP/1.1\r\nHost: hooks.example\r\n"), "{received}");
}

#[tokio::test]
async fn credentials_are_sent_to_the_proxy_only() {
    let server = ScriptedServer::answering(server::OK).await;
    let port = server.address().port();
    let proxy = Proxy::start(move |_| ProxyAnswer::Tunnel(port)).await;
    let setting = ForwardProxy::from_str(&format!("http://user:pass@{}", proxy.address)).unwrap();
    let client = through(HTTP_ONLY, &proxy, &[&[PUBLIC]]).proxy(Some(setting), false).build().unwrap();
    assert_eq!(post(&client, "http://hooks.example/", AMPLE).await, answered(200));
    let head = proxy.heads.lock().unwrap()[0].to_lowercase();
    assert!(head.contains("\r\nproxy-authorization: basic dxnlcjpwyxnz\r\n"), "{head}");
    let received = String::from_utf8(server.received().await).unwrap().to_lowercase();
    assert!(!received.contains("proxy-authorization"), "{received}");
}

#[tokio::test]
async fn one_further_address_is_tried_preferably_of_the_other_family() {
    let server = ScriptedServer::answering(server::OK).await;
    let port = server.address().port();
    let proxy = Proxy::start(move |asked| match asked {
        "93.184.216.34:80" => ProxyAnswer::Tunnel(port),
        "[2606:4700::3]:80" => ProxyAnswer::Hang,
        _ => ProxyAnswer::Say("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"),
    })
    .await;
    let unreachable = &["2606:4700::1", "2606:4700::2", PUBLIC][..];
    let slow = &["2606:4700::3", PUBLIC][..];
    let dead = &["2606:4700::1", "2606:4700::2", "2606:4700::3"][..];
    let url = "http://hooks.example/";
    for (answer, expected, asked) in [
        (unreachable, answered(200), &["[2606:4700::1]:80", "93.184.216.34:80"]),
        (slow, answered(200), &["[2606:4700::3]:80", "93.184.216.34:80"]),
        (dead, failed(ProxyFailed), &["[2606:4700::1]:80", "[2606:4700::2]:80"]),
    ] {
        let client = through(HTTP_ONLY, &proxy, &[answer]).connect_timeout(SHORT * 5).build().unwrap();
        assert_eq!(post(&client, url, AMPLE).await, expected, "{answer:?}");
        assert_eq!(proxy.asked(), asked);
        proxy.heads.lock().unwrap().clear();
    }
}

// --- The requests it never gets

#[tokio::test]
async fn a_forbidden_target_never_reaches_the_proxy() {
    let proxy = Proxy::start(|_| ProxyAnswer::Say("HTTP/1.1 502 Bad Gateway\r\n\r\n")).await;
    for answer in [
        &["10.0.0.1"][..],
        &[PUBLIC, "127.0.0.1"],
        &["2606:4700::1", PUBLIC, "::ffff:93.184.216.34"],
        &["64:ff9b::a00:1"],
    ] {
        let client = through(STRICT, &proxy, &[answer]).build().unwrap();
        assert_eq!(post(&client, "https://hooks.example/", AMPLE).await, failed(TargetRefused), "{answer:?}");
    }
    let client = through(STRICT, &proxy, &[&[PUBLIC]]).build().unwrap();
    for url in ["https://127.0.0.1/", "https://[::1]/", "https://0x7f.1:8443/", "http://hooks.example/"] {
        assert_eq!(post(&client, url, AMPLE).await, failed(TargetRefused), "{url}");
    }
    let nameless = through(STRICT, &proxy, &[&[]]).build().unwrap();
    assert_eq!(post(&nameless, "https://hooks.example/", AMPLE).await, failed(Dns));
    assert!(proxy.asked().is_empty());
}

/// DNS rebinding: permitted at first, forbidden at the next lookup.
#[tokio::test]
async fn a_name_that_changes_its_answer_is_refused_at_the_next_connection() {
    let closing = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let server = ScriptedServer::new(vec![
        Step::send(server::OK.as_bytes()),
        Step::Read,
        Step::send(closing),
        Step::Close,
    ])
    .await;
    let port = server.address().port();
    let proxy = Proxy::start(move |_| ProxyAnswer::Tunnel(port)).await;
    let resolver = Fixed::new(&[&[PUBLIC], &[PUBLIC, "10.0.0.1"], &["10.0.0.1"]]);
    let lookups = Arc::clone(&resolver.lookups);
    let client = through(HTTP_ONLY, &proxy, &[&[]]).resolver(resolver).build().unwrap();
    let url = "http://hooks.example/";
    // The second delivery reuses the permitted connection, without another lookup.
    assert_eq!(post(&client, url, AMPLE).await, answered(200));
    assert_eq!(post(&client, url, AMPLE).await, answered(200));
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
    for _ in 0..2 {
        assert_eq!(post(&client, url, AMPLE).await, failed(TargetRefused));
    }
    assert_eq!(lookups.load(Ordering::SeqCst), 3);
    assert_eq!((proxy.asked().len(), server.connections(), server.requests()), (1, 1, 2));
}

#[tokio::test]
async fn names_may_be_left_to_the_proxy_but_literals_are_still_checked() {
    let server = ScriptedServer::answering(server::OK).await;
    let port = server.address().port();
    let proxy = Proxy::start(move |_| ProxyAnswer::Tunnel(port)).await;
    let resolver = Fixed::new(&[&["10.0.0.1"]]);
    let lookups = Arc::clone(&resolver.lookups);
    let client = Transport::builder(HTTP_ONLY).resolver(resolver).proxy(Some(proxy.setting()), true);
    let client = client.build().unwrap();
    assert_eq!(post(&client, "http://hooks.example:8080/", AMPLE).await, answered(200));
    assert_eq!(post(&client, "http://8.8.8.8/", AMPLE).await, answered(200));
    for url in ["http://127.0.0.1/", "http://[::ffff:10.0.0.1]/"] {
        assert_eq!(post(&client, url, AMPLE).await, failed(TargetRefused), "{url}");
    }
    assert_eq!(proxy.asked(), ["hooks.example:8080", "8.8.8.8:80"]);
    assert_eq!(lookups.load(Ordering::SeqCst), 0);
}

// --- Its failures

#[tokio::test]
async fn failures_of_the_proxy_have_their_own_class() {
    for answer in [
        "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200",
        "",
    ] {
        let proxy = Proxy::start(move |_| ProxyAnswer::Say(answer)).await;
        for (policy, url) in [(STRICT, "https://hooks.example/"), (HTTP_ONLY, "http://hooks.example/")] {
            let client = through(policy, &proxy, &[&[PUBLIC]]).build().unwrap();
            assert_eq!(post(&client, url, AMPLE).await, failed(ProxyFailed), "{answer}");
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = ForwardProxy::from_str(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    // A label longer than 63 bytes cannot be resolved.
    let nowhere = ForwardProxy::from_str(&format!("http://{}.example", "a".repeat(64))).unwrap();
    for setting in [closed, nowhere] {
        let client = Transport::builder(STRICT).resolver(Fixed::new(&[&[PUBLIC]]));
        let client = client.proxy(Some(setting), false).build().unwrap();
        assert_eq!(post(&client, "https://hooks.example/", AMPLE).await, failed(ProxyFailed));
    }
    let proxy = Proxy::start(|_| ProxyAnswer::Hang).await;
    let client = through(STRICT, &proxy, &[&[PUBLIC]]).build().unwrap();
    assert_eq!(post(&client, "https://hooks.example/", SHORT).await, failed(Timeout));
}

/// TLS to the receiver goes within TLS to the proxy, and each certificate is checked against its
/// own name.
#[tokio::test]
async fn a_proxy_may_be_reached_over_tls() {
    let server = TlsServer::start(false).await;
    let of_its_own =
        |params: &mut CertificateParams| params.distinguished_name.push(DnType::CommonName, "proxy");
    let (acceptor, proxys_root) = acceptor(certificate(of_its_own), false);
    let port = server.port;
    let proxy = Proxy::with(Some(acceptor), move |_| ProxyAnswer::Tunnel(port)).await;
    let setting = ForwardProxy::from_str(&format!("https://{}", proxy.address)).unwrap();
    let client = |roots: &[&Vec<u8>]| {
        let client = Transport::builder(STRICT).resolver(Fixed::new(&[&[PUBLIC]]));
        let client = client.proxy(Some(setting.clone()), false);
        roots.iter().fold(client, |client, root| client.root_certificate((*root).clone())).build().unwrap()
    };
    let url = "https://hooks.example/";
    assert_eq!(post(&client(&[&server.root]), url, AMPLE).await, failed(ProxyFailed));
    assert!(proxy.asked().is_empty());
    assert_eq!(post(&client(&[&proxys_root]), url, AMPLE).await, failed(TlsUnknownIssuer));
    assert_eq!(post(&client(&[&proxys_root, &server.root]), url, AMPLE).await, answered(200));
    assert_eq!(proxy.asked(), ["93.184.216.34:443", "93.184.216.34:443"]);
}
