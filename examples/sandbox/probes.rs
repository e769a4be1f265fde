//! `/livez` and `/readyz` on an address of their own, and the program's own question to them: an image with nothing but this
//! program has no other that could ask.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use invoicing_examples::Failure;
use invoicing_server::HealthService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::stop::Stop;

/// For each step of a question: less than supervisors wait.
const LIMIT: Duration = Duration::from_secs(2);
/// Far more than an answer has.
const MAX_ANSWER: u64 = 64 * 1024;
/// When no connection can be accepted, such as without a free descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until it is to stop.
pub(crate) async fn serve(listener: TcpListener, health: HealthService, stop: &Stop) {
    let mut connections = JoinSet::new();
    // Without a timer hyper waits for slow heads for ever.
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    loop {
        tokio::select! {
            () = stop.wait() => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(http.serve_connection(TokioIo::new(stream), health.clone()));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
}

/// Asks the sandbox with its probes at this address if it is ready.
///
/// # Errors
/// It does not answer, or it gives reasons why it is not ready.
pub(crate) fn check(address: &str) -> Result<(), Failure> {
    let address = address.to_socket_addrs()?.next().ok_or("the name has no address")?;
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER).read_to_string(&mut answer).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("no answer within {LIMIT:?}").into(),
        _ => Failure::from(error),
    })?;
    match answer.split_once("\r\n\r\n") {
        Some((head, _)) if head.starts_with("HTTP/1.1 200 ") => Ok(()),
        Some((_, reasons)) => Err(reasons.into()),
        None => Err("no probe answers there".into()),
    }
}
