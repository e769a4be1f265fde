//! The texts of errors of a failed connection.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::ready;
use std::process::Command;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::KEY;
use super::stub_server::StubServer;
use crate::{CatchUpError, CheckpointError, Error, ErrorKind, InvoicingClient, MemoryCheckpoint};

fn client(url: &str) -> InvoicingClient {
    InvoicingClient::builder(url, KEY).max_attempts(1).build().unwrap()
}

async fn refused(url: &str) -> Error {
    let error = client(url).quotes().list().send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n') && text == format!("{error:?}"), "{text}");
    // A printed chain does not repeat the cause.
    assert!(error.source().is_none() && error.cause().is_some());
    error
}

/// An address that nothing listens on.
fn closed() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[tokio::test]
async fn a_refused_connection_names_host_port_and_cause_in_one_line() {
    let address = closed();
    let text = refused(&format!("http://{address}")).await.to_string();
    let (head, cause) = text.split_at(format!("quotes.list: no connection to {address}: ").len());
    assert_eq!(head, format!("quotes.list: no connection to {address}: "));
    assert!(cause.to_lowercase().contains("refused") && cause.contains("(1 attempt, request "), "{text}");
}

#[tokio::test]
async fn tls_against_a_plain_port_says_so() {
    let server = StubServer::script([]).await;
    let text = refused(&server.url().replace("http://", "https://")).await.to_string();
    assert!(text.contains("does not speak TLS on this port") && text.contains("http://"), "{text}");
}

/// A port on loopback that speaks TLS with a certificate of its own.
async fn tls_port() -> String {
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = generated.signing_key.serialize_der().try_into().unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![generated.cert.into()], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    #[expect(clippy::disallowed_methods, reason = "it ends with the runtime of its test")]
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            drop(acceptor.accept(stream).await);
        }
    });
    format!("localhost:{port}")
}

#[tokio::test]
async fn a_certificate_of_an_unknown_issuer_is_refused() {
    let address = tls_port().await;
    let text = refused(&format!("https://{address}")).await.to_string();
    assert!(text.contains("UnknownIssuer"), "{text}");
}

/// As on a slim image. The handshake gets as far as the certificate, and plain HTTP needs none.
#[test]
fn a_machine_without_a_ca_store_speaks_http_and_https() {
    let here = module_path!().split_once("::").unwrap().1;
    for test in ["a_certificate_of_an_unknown_issuer_is_refused", "tls_against_a_plain_port_says_so"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{here}::{test}")])
            .env("SSL_CERT_FILE", "/nonexistent")
            .env("SSL_CERT_DIR", "/nonexistent")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}

#[tokio::test]
async fn the_debug_of_a_wrapping_error_is_its_chain() {
    let address = closed();
    let client = client(&format!("http://{address}"));
    let mut catch_up = client.quotes().catch_up(MemoryCheckpoint::new());
    let error = catch_up.pass(|_| ready(Ok::<(), Infallible>(()))).await.unwrap_err();
    let text = format!("{error:?}");
    assert!(text.starts_with("cannot read a page: quotes.list: no connection to "), "{text}");

    let io = std::io::Error::other("disk full");
    let error = CheckpointError::Io { path: "c.json".into(), action: "written", source: io };
    let error = CatchUpError::<Infallible>::Checkpoint(error);
    let expected =
        "cannot load or save the checkpoint: the checkpoint file c.json cannot be written: disk full";
    assert_eq!(format!("{error:?}"), expected);
}
