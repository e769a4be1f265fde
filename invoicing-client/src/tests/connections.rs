//! The texts of errors of a failed connection.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::ready;
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
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

/// A port on loopback that speaks TLS with a certificate of its own, given as DER.
async fn tls_port() -> (String, CertificateDer<'static>) {
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = generated.signing_key.serialize_der().try_into().unwrap();
    let certificate = CertificateDer::from(generated.cert);
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.clone()], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    #[expect(clippy::disallowed_methods, reason = "it ends with the runtime of its test")]
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            drop(acceptor.accept(stream).await);
        }
    });
    (format!("localhost:{port}"), certificate)
}

#[tokio::test]
async fn a_certificate_of_an_unknown_issuer_is_refused() {
    let (address, _) = tls_port().await;
    let text = refused(&format!("https://{address}")).await.to_string();
    assert!(text.contains("UnknownIssuer"), "{text}");
}

/// As on a slim image. The handshake gets as far as the certificate, and plain HTTP needs none.
#[test]
fn a_machine_without_a_ca_store_speaks_http_and_https() {
    for test in ["a_certificate_of_an_unknown_issuer_is_refused", "tls_against_a_plain_port_says_so"] {
        passes_alone(test, &[("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")]);
    }
}

/// Runs a test of this file in a process of its own, with these variables.
fn passes_alone(name: &str, variables: &[(&str, &str)]) {
    let here = module_path!().split_once("::").unwrap().1;
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", &format!("{here}::{name}")]).envs(variables.iter().copied());
    let output = process.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// A client in a process of its own, for which the certificate of the port is the machine's only CA.
#[tokio::test(flavor = "multi_thread")]
async fn a_ca_of_the_machine_is_trusted_by_who_asks_for_it_alone() {
    const ADDRESS: &str = "ADDRESS_OF_THE_TEST";
    if let Ok(address) = std::env::var(ADDRESS) {
        let url = format!("https://{address}");
        assert!(refused(&url).await.to_string().contains("UnknownIssuer"));
        let client = InvoicingClient::builder(&url, KEY).max_attempts(1).platform_roots().build().unwrap();
        // The port ends the connection after the handshake.
        let error = client.quotes().list().send().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        return;
    }
    let (address, certificate) = tls_port().await;
    let store = tempfile::NamedTempFile::new().unwrap();
    let base64 = STANDARD.encode(certificate);
    std::fs::write(&store, format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n"))
        .unwrap();
    let store = store.path().to_str().unwrap();
    let variables = [(ADDRESS, &*address), ("SSL_CERT_FILE", store), ("SSL_CERT_DIR", "/nonexistent")];
    passes_alone("a_ca_of_the_machine_is_trusted_by_who_asks_for_it_alone", &variables);
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
