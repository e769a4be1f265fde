//! Over a real connection: what hyper makes of bodies and of clients that hang up.

use std::sync::Arc;

use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use webhook_verify::inbox::{Inbox, InboxService, MemoryInbox};

use crate::support::{PING, receiver, signature};

/// Sends bytes as they are, and reads the answer to its end.
async fn exchange(address: std::net::SocketAddr, request: String) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn chunks_casing_and_lengths_over_the_wire() {
    let inbox = Arc::new(MemoryInbox::new());
    let router = Router::new().route_service("/hook", InboxService::new(receiver(), inbox.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = async { axum::serve(listener, router).await.unwrap() };
    let head = "POST /hook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    let signature = signature(PING.as_bytes());
    let length = PING.len();
    let check = async {
        let (first, rest) = PING.split_at(20);
        let chunked = format!(
            "{head}x-SERVICE-signature: {signature}\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{first}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n",
            rest.len()
        );
        let plain =
            format!("{head}X-Service-Signature: {signature}\r\nContent-Length: {length}\r\n\r\n{PING}");
        let large =
            format!("{head}X-Service-Signature: {signature}\r\nContent-Length: 999999999\r\n\r\n{PING}");
        let unsigned = format!("{head}Content-Length: {length}\r\n\r\n{PING}");
        for (request, status) in [(chunked, "204"), (plain, "204"), (large, "413"), (unsigned, "400")] {
            let answer = exchange(address, request.clone()).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}\n{answer}");
        }
        let mut cut = TcpStream::connect(address).await.unwrap();
        let torn =
            format!("{head}X-Service-Signature: {signature}\r\nContent-Length: {length}\r\n\r\n{first}");
        cut.write_all(torn.as_bytes()).await.unwrap();
        drop(cut);
    };
    tokio::select! { () = serve => {}, () = check => {} }
    assert_eq!(inbox.waiting().await.unwrap(), 1, "two of one key, and nothing else");
}
