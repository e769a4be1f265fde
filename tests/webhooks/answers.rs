//! Answers of which the receiver sends the head and not the whole body, and the request on the wire.

use std::time::Duration;

use invoicing_core::DeliveryStatus;
use invoicing_tests::{Database, World, on_each_database};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::support::{delivery, emit, hook};

/// The receiver's conduct behind the head of an answer.
#[derive(Debug, Clone, Copy)]
enum Behind {
    Closes,
    Hangs,
    Trickles,
}

/// Answers each connection with a head that promises 5,000 bytes. The channel carries the requests.
async fn answer(listener: TcpListener, status: u16, behind: Behind, requests: mpsc::UnboundedSender<String>) {
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let requests = requests.clone();
        connections.spawn(async move {
            requests.send(request(&mut stream).await).unwrap();
            let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: 5000\r\n\r\nbegun");
            stream.write_all(head.as_bytes()).await.unwrap();
            match behind {
                Behind::Closes => {}
                Behind::Hangs => tokio::time::sleep(Duration::from_mins(1)).await,
                Behind::Trickles => {
                    while stream.write_all(b".").await.is_ok() {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            }
        });
    }
}

/// Reads a delivery, whose body ends with the object of its data.
async fn request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"}}") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "it ends too soon");
    }
    String::from_utf8(request).unwrap()
}

/// Rules: ATTEMPT-6, ATTEMPT-8, ATTEMPT-9
#[on_each_database]
async fn a_head_decides_though_its_body_breaks_off_hangs_or_trickles(db: Database) {
    for behind in [Behind::Closes, Behind::Hangs, Behind::Trickles] {
        for (status, outcome) in [
            (200, DeliveryStatus::Delivered),
            (202, DeliveryStatus::Delivered),
            (404, DeliveryStatus::Failed),
            (500, DeliveryStatus::Pending),
        ] {
            let world = World::new(db).await;
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/hook", listener.local_addr().unwrap());
            let (sender, mut requests) = mpsc::unbounded_channel();
            let mut serving = JoinSet::new();
            serving.spawn(answer(listener, status, behind, sender));
            let webhook = hook(&world, &url).await.webhook.id;
            let event = emit(&world, 1).await[0];
            assert_eq!(world.dispatch().await.attempts, 1);
            let found = delivery(&world, event, webhook).await;
            assert_eq!((found.status, found.attempts), (outcome, 1), "{status}, {behind:?}");
            let attempt = world.company.webhooks().log(webhook, 10).await.unwrap().remove(0);
            assert_eq!((attempt.status, attempt.failure), (Some(status), None));
            assert!(attempt.duration_ms < 2_000, "{attempt:?}");
            requests.recv().await.unwrap();
        }
    }
}

/// Some receivers look the headers up in this case.
///
/// Rules: WEBHOOK-8
#[on_each_database]
async fn names_of_headers_begin_with_capitals_on_the_wire(db: Database) {
    let world = World::new(db).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, mut requests) = mpsc::unbounded_channel();
    let mut serving = JoinSet::new();
    serving.spawn(answer(listener, 200, Behind::Closes, sender));
    hook(&world, &url).await;
    emit(&world, 1).await;
    world.dispatch().await;
    let request = requests.recv().await.unwrap();
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    let mut names: Vec<&str> = head.lines().skip(1).map(|line| line.split_once(": ").unwrap().0).collect();
    names.sort_unstable();
    let expected = [
        "Content-Length",
        "Content-Type",
        "Host",
        "User-Agent",
        "X-Service-Event-Id",
        "X-Service-Signature",
        "X-Service-Webhook-Id",
    ];
    assert_eq!(names, expected);
}
