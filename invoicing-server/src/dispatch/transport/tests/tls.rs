//! TLS: the authorities that the client trusts, and the failures that count as TLS failures.

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::server::{OK, read_request};
use super::*;

/// A self-signed certificate for `hooks.example` and `127.0.0.1`, adjusted before it is signed.
pub(super) fn certificate(adjust: impl FnOnce(&mut CertificateParams)) -> (CertificateDer<'static>, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["hooks.example".into(), "127.0.0.1".into()]).unwrap();
    adjust(&mut params);
    (params.self_signed(&key).unwrap().into(), key)
}

/// An HTTPS server that answers 200 and counts its handshakes.
pub(super) struct TlsServer {
    pub(super) port: u16,
    pub(super) root: Vec<u8>,
    pub(super) handshakes: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl TlsServer {
    pub(super) async fn start(wants_client_certificate: bool) -> Self {
        Self::with(certificate(|_| ()), wants_client_certificate).await
    }

    async fn with(own: (CertificateDer<'static>, KeyPair), wants_client_certificate: bool) -> Self {
        let (acceptor, root) = acceptor(own, wants_client_certificate);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let handshakes = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, acceptor, Arc::clone(&handshakes)));
        Self { port, root, handshakes, _tasks: tasks }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/", self.port)
    }

    /// A client that finds this server under every name, and trusts it or not.
    fn client(&self, trusts: bool) -> Transport {
        let builder = Transport::builder(OPEN).resolver(Fixed::new(&[&["127.0.0.1"]]));
        if trusts { builder.root_certificate(self.root.clone()) } else { builder }.build().unwrap()
    }
}

/// A server's half of TLS, and its certificate as DER.
pub(super) fn acceptor(
    (certificate, key): (CertificateDer<'static>, KeyPair),
    wants_client_certificate: bool,
) -> (TlsAcceptor, Vec<u8>) {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = if wants_client_certificate {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        config.with_client_cert_verifier(verifier)
    } else {
        config.with_no_client_auth()
    };
    let root = certificate.to_vec();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = config.with_single_cert(vec![certificate], key.into()).unwrap();
    (TlsAcceptor::from(Arc::new(config)), root)
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, handshakes: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, handshakes) = (acceptor.clone(), Arc::clone(&handshakes));
        connections.spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            handshakes.fetch_add(1, Ordering::SeqCst);
            while read_request(&mut stream).await.is_some() {
                if stream.write_all(OK.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
    }
}

#[tokio::test]
async fn a_trusted_server_is_reached_by_name_or_address_and_reused() {
    let server = TlsServer::start(false).await;
    let client = server.client(true);
    for _ in 0..5 {
        assert_eq!(post(&client, &server.url("hooks.example"), AMPLE).await, answered(200));
    }
    assert_eq!(server.handshakes.load(Ordering::SeqCst), 1);
    assert_eq!(post(&client, &server.url("127.0.0.1"), AMPLE).await, answered(200));
    assert_eq!(post(&client, &server.url("hooks.example."), AMPLE).await, answered(200));
}

#[tokio::test]
async fn an_unknown_authority_and_a_wrong_name_are_told_apart() {
    let server = TlsServer::start(false).await;
    let (stranger, friend) = (server.client(false), server.client(true));
    assert_eq!(post(&stranger, &server.url("hooks.example"), AMPLE).await, failed(TlsUnknownIssuer));
    assert_eq!(post(&friend, &server.url("other.example"), AMPLE).await, failed(TlsWrongName));
    assert_eq!(server.handshakes.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_bad_certificate_has_the_class_of_its_fault() {
    type Adjust = fn(&mut CertificateParams);
    let cases: [(Adjust, FailureClass); 4] = [
        (|params| params.not_after = rcgen::date_time_ymd(2020, 1, 1), TlsExpired),
        (|params| params.not_before = rcgen::date_time_ymd(4000, 1, 1), TlsNotYetValid),
        (|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth], TlsBadCertificate),
        // An authority's own certificate, as `openssl req -x509` makes them.
        (|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained), TlsCaCertificate),
    ];
    for (adjust, class) in cases {
        let server = TlsServer::with(certificate(adjust), false).await;
        assert_eq!(post(&server.client(true), &server.url("hooks.example"), AMPLE).await, failed(class));
        assert_eq!(server.handshakes.load(Ordering::SeqCst), 0);
    }
}

/// With TLS 1.3 the refusal arrives when the client already takes the handshake for done.
#[tokio::test]
async fn a_server_that_requires_a_client_certificate_is_a_tls_failure() {
    let server = TlsServer::start(true).await;
    assert_eq!(post(&server.client(true), &server.url("hooks.example"), AMPLE).await, failed(Tls));
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_tls_failure() {
    for steps in [
        vec![Step::send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"), Step::Hang],
        // Alerts: handshake failure; protocol version, which is what a server of TLS 1.1 answers.
        vec![Step::send(b"\x15\x03\x03\x00\x02\x02\x28"), Step::Hang],
        vec![Step::send(b"\x15\x03\x02\x00\x02\x02\x46"), Step::Hang],
        // A `ServerHello` of TLS 1.1, from a server that does not mind: version, random, no
        // session, a cipher.
        vec![Step::Send(server_hello_of_tls_1_1()), Step::Hang],
        vec![Step::send(&[0xff; 64]), Step::Hang],
        vec![Step::send(b"SSH-2.0-OpenSSH_9.2\r\n"), Step::Hang],
        vec![Step::Close],
    ] {
        let server = ScriptedServer::greeting(steps).await;
        let url = server.url().replace("http:", "https:");
        assert_eq!(post(&transport(), &url, AMPLE).await, failed(Tls));
    }
}

/// RFC 4346: a handshake record with a `ServerHello` for `TLS_RSA_WITH_AES_128_CBC_SHA`.
fn server_hello_of_tls_1_1() -> Vec<u8> {
    let mut record = vec![0x16, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    record.extend([7; 32]);
    record.extend([0, 0x00, 0x2f, 0]);
    record
}

#[tokio::test]
async fn private_addresses_are_refused_before_tls() {
    let server = TlsServer::start(false).await;
    let strict = Transport::builder(STRICT)
        .resolver(Fixed::new(&[&["127.0.0.1"]]))
        .root_certificate(server.root.clone())
        .build()
        .unwrap();
    assert_eq!(post(&strict, &server.url("hooks.example"), AMPLE).await, failed(TargetRefused));
    assert_eq!(post(&strict, &server.url("127.0.0.1"), AMPLE).await, failed(TargetRefused));
    assert_eq!(server.handshakes.load(Ordering::SeqCst), 0);
}

#[test]
fn an_invalid_root_certificate_is_an_error() {
    let built = Transport::builder(OPEN).root_certificate(b"not a certificate".to_vec()).build();
    assert!(matches!(built, Err(TransportSetupError::RootCertificate(_))));
}
