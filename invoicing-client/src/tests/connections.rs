//! What the errors of a connection that fails say.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::ready;

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
