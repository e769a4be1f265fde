//! Thousands of hostile connections, and a client that still gets its answers. The server is a separate process; its
//! memory is printed (`--nocapture`) and has a limit. Hundreds of slow webhooks, and one that is prompt. Callers
//! without a key, whose requests are the most expensive ones, and readers who are slow.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

mod hanging_endpoint;
mod http2;
mod keyless;
mod measured;
mod process;
mod slow_endpoints;
mod slow_readers;
mod unknown_keys;
mod unread;

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing_tests::tell;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::process::{PATIENCE, Server, ask, beside_others};

const IDLE: usize = 5_000;
const SLOW: usize = 500;
/// Requests of the benign client.
const REQUESTS: usize = 200;
/// Slowest answer to the benign client, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(2);
/// Memory of the server for a connection, in KiB.
const PER_CONNECTION: usize = 24;
/// Longer than any test here, so that no time limit ends the connections.
const NEVER_MS: u64 = 600_000;

/// Limits under which no client is too slow.
fn patient() -> Value {
    json!({ "headerReadMs": NEVER_MS })
}

/// Number of `wanted` connections that this process may open. Prints a line if it is lower.
fn allowed(wanted: usize) -> usize {
    /// File descriptors of the other tests of this process.
    const OTHERS: usize = 3_500;
    let wanted_files = (wanted + OTHERS) as u64;
    let files = rlimit::increase_nofile_limit(wanted_files).unwrap_or(1_024);
    let allowed = wanted.min(usize::try_from(files).unwrap_or(wanted).saturating_sub(OTHERS));
    if allowed < wanted {
        println!("only {files} file descriptors: {allowed} connections instead of {wanted}");
    }
    allowed
}

/// Idle connections: every other one has had an answer before.
async fn idle(server: &Arc<Server>, count: usize) -> Vec<TcpStream> {
    let mut opening = JoinSet::new();
    for worker in 0..16 {
        let server = Arc::clone(server);
        opening.spawn(async move {
            let mut streams = Vec::new();
            for n in (worker..count).step_by(16) {
                let mut stream = server.connect().await;
                if n % 2 == 0 {
                    ask(&mut stream, &server.get(), 200).await;
                }
                streams.push(stream);
            }
            streams
        });
    }
    opening.join_all().await.into_iter().flatten().collect()
}

/// Connections on which a byte is sent now and then: of a head, or of a body.
async fn slow(server: &Arc<Server>, count: usize) -> JoinSet<()> {
    let mut dripping = JoinSet::new();
    for n in 0..count {
        let mut stream = server.connect().await;
        let (begin, rest) = if n % 2 == 0 {
            (Vec::new(), (server.head("GET /api/v1/clients") + "x-long: ").into_bytes())
        } else {
            let whole = server.post(&format!("{{\"name\":\"{}\"}}", "x".repeat(100_000)));
            (whole[..400].to_vec(), whole[400..].to_vec())
        };
        dripping.spawn(async move {
            stream.write_all(&begin).await.unwrap();
            for byte in rest.into_iter().chain(std::iter::repeat(b'x')) {
                // The server may close the connection.
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                sleep(Duration::from_millis(250)).await;
            }
        });
    }
    dripping
}

/// Sends the requests of the benign client: half of them on one connection, half on a new one each.
async fn well_served(server: &Server) {
    let mut kept = server.connect().await;
    let mut times = Vec::new();
    for n in 0..REQUESTS {
        if n % 2 == 0 {
            times.push(server.ask_anew().await);
        } else {
            let begun = Instant::now();
            let body = format!("{{\"name\":\"Client {n}\"}}");
            let (request, status) = if n % 10 == 1 { (server.post(&body), 201) } else { (server.get(), 200) };
            ask(&mut kept, &request, status).await;
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    let (median, slowest) = (times[REQUESTS / 2], times[REQUESTS - 1]);
    tell(
        "a client that means well",
        &format_args!("{REQUESTS} answers, median {median:?}, slowest {slowest:?}"),
    );
    assert!(slowest < SLOWEST, "{slowest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_served_beside_5000_idle_and_500_slow_connections() {
    let _beside = beside_others().await;
    let idle_count = allowed(IDLE + SLOW) - SLOW;
    let server = Server::start(&json!({ "serve": patient(), "requests": { "bodyTimeMs": NEVER_MS } }));
    let server = Arc::new(server);
    well_served(&server).await;
    let before = server.memory();
    let begun = Instant::now();
    let idle = idle(&server, idle_count).await;
    let with_idle = server.memory();
    let slow = slow(&server, SLOW).await;
    tell("idle and slow connections", &format_args!("{idle_count} and {SLOW} after {:?}", begun.elapsed()));
    well_served(&server).await;
    let Some(((before, with_idle), (after, sockets))) =
        before.zip(with_idle).zip(server.memory().zip(server.sockets()))
    else {
        return println!("memory is not measured on this system");
    };
    let each = (after - before) / (idle_count + SLOW);
    let memory =
        format_args!("{before} KiB before, {with_idle} KiB with idle, {after} KiB with all: {each} KiB each");
    tell("memory of idle and slow connections", &memory);
    assert!(sockets > idle_count + SLOW, "the server holds only {sockets} sockets: nothing was measured");
    assert!(each <= PER_CONNECTION, "{each} KiB for a connection");
    drop((idle, slow));
    well_served(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_served_when_more_connect_than_may() {
    let _beside = beside_others().await;
    let count = allowed(2_000);
    let serve = json!({ "connections": 500, "headerReadMs": NEVER_MS });
    let server = Server::start(&json!({ "serve": serve, "requests": { "bodyTimeMs": NEVER_MS } }));
    let server = Arc::new(server);
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(server.connect().await);
    }
    let slow = slow(&server, 200).await;
    well_served(&server).await;
    if let Some(sockets) = server.sockets() {
        assert!((500..510).contains(&sockets), "{sockets} sockets");
    }
    drop((streams, slow));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_file_descriptors_lets_idle_connections_go() {
    let _beside = beside_others().await;
    let count = allowed(1_000);
    let server = Server::start(&json!({ "files": 300, "serve": patient() }));
    let server = Arc::new(server);
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(server.connect().await);
    }
    well_served(&server).await;
    if let Some(before) = server.ticks() {
        sleep(Duration::from_secs(1)).await;
        let used = server.ticks().unwrap() - before;
        tell("no file descriptors", &format_args!("{used} ticks of 100 while nothing happened"));
        assert!(used < 30, "it runs in circles: {used} ticks of 100");
    }
    drop(streams);
    well_served(&server).await;
}

/// Sends requests for large answers and reads none of them.
async fn ask_and_do_not_read(server: &Server, connections: usize, requests: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    let request = server.head("GET /api/v1/clients?limit=100") + "\r\n";
    for _ in 0..connections {
        let mut stream = server.connect().await;
        // The server may leave requests unread that it cannot answer yet.
        let _ =
            timeout(Duration::from_millis(20), stream.write_all(request.repeat(requests).as_bytes())).await;
        streams.push(stream);
    }
    streams
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_have_a_limit_in_bytes() {
    const HELD_KIB: usize = 8 * 1024;
    const IN_FLIGHT: usize = 32;
    /// A page of 100 clients with 8,000 bytes of notes each.
    const ANSWER_KIB: usize = 900;
    let _beside = beside_others().await;
    let limits = json!({ "bufferedBytes": HELD_KIB * 1024, "inFlight": IN_FLIGHT });
    let server = Server::start(&json!({ "serve": patient(), "requests": limits }));
    let mut client = server.connect().await;
    for n in 0..100 {
        let body = json!({ "name": format!("Client {n}"), "notes": "😀".repeat(2_000) }).to_string();
        ask(&mut client, &server.post(&body), 201).await;
    }
    let before = server.memory();
    let streams = ask_and_do_not_read(&server, 300, 40).await;
    sleep(Duration::from_secs(1)).await;
    if let Some((before, after)) = before.zip(server.memory()) {
        tell("memory of unread answers", &format_args!("{before} KiB before, {after} KiB with them"));
        // The allocator may keep twice the memory.
        let max = 2 * (HELD_KIB + IN_FLIGHT * ANSWER_KIB) + streams.len() * PER_CONNECTION;
        assert!(after - before < max, "{} KiB more, not {max}", after - before);
    }
    drop(streams);
    // The server has to detect the closed connections first.
    server.is_quiet().await;
    well_served(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_take_no_answers_are_dropped() {
    const CONNECTIONS: usize = 4;
    let _beside = beside_others().await;
    let server = Server::start(&json!({ "serve": { "responseReadMs": 1_000, "headerReadMs": NEVER_MS } }));
    let mut client = server.connect().await;
    let body = json!({ "name": "Client", "notes": "😀".repeat(2_000) }).to_string();
    for _ in 0..2 {
        ask(&mut client, &server.post(&body), 201).await;
    }
    let Some(before) = server.sockets() else { return println!("sockets are not counted on this system") };
    // Far more than the buffers of the system hold.
    let streams = ask_and_do_not_read(&server, CONNECTIONS, 5_000).await;
    let dropped = async {
        while server.sockets().unwrap() > before {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE * 2, dropped).await.expect("connections that take nothing stay open");
    drop(streams);
    well_served(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_without_a_body_have_a_limit_too() {
    /// Pieces to send, of which the server takes a part; and the memory that they may cost.
    const PIECES: usize = 3_000;
    const MAX_KIB: usize = 4 * 1024;
    let _beside = beside_others().await;
    let server = Server::start(&json!({ "serve": patient() }));
    well_served(&server).await;
    let before = server.memory();
    let request = "HEAD / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\nx";
    let piece = request.repeat(50);
    let mut stream = server.connect().await;
    for _ in 0..PIECES {
        let sending = timeout(PATIENCE, stream.write_all(piece.as_bytes()));
        if !matches!(sending.await, Ok(Ok(()))) {
            break;
        }
    }
    if let Some((before, after)) = before.zip(server.memory()) {
        tell(
            "memory of unread answers without a body",
            &format_args!("{before} KiB before, {after} KiB with them"),
        );
        assert!(after < before + MAX_KIB, "{} KiB more", after - before);
    }
    drop(stream);
    well_served(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_of_many_small_fields_are_not_kept_for_their_bodies() {
    const CONNECTIONS: usize = 20;
    const STREAMS: usize = 64;
    /// The most fields that pass in less than 32 KiB; in memory they take twice that.
    const FIELDS: usize = 950;
    /// Memory of a stream in KiB, with the rest that an allocator keeps.
    const PER_STREAM: usize = 24;
    let _beside = beside_others().await;
    let server = Server::start(&json!({ "serve": patient(), "requests": { "bodyTimeMs": NEVER_MS } }));
    well_served(&server).await;
    let before = server.memory();
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = server.connect().await;
        stream.write_all(&http2::heads(&server.key, STREAMS, FIELDS)).await.unwrap();
        streams.push(stream);
    }
    server.is_quiet().await;
    if let Some((before, after)) = before.zip(server.memory()) {
        tell("memory of heads", &format_args!("{before} KiB before, {after} KiB with {FIELDS} fields each"));
        let max = CONNECTIONS * (PER_CONNECTION + STREAMS * PER_STREAM);
        assert!(after < before + max, "{} KiB more, not {max}", after - before);
    }
    well_served(&server).await;
    drop(streams);
}
