//! One request on one connection, in plain text: its end may be the death of the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than a node takes to give up on its database: 8 s of tries and 20 s for the end of a commit.
const PATIENCE: Duration = Duration::from_secs(40);

/// An answer, and when the request was sent and answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    pub(crate) json: Value,
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
}

/// Sends a request; `None` if the connection ended before the answer was whole.
pub(crate) fn call(address: &str, key: &str, method: &str, path: &str, body: &str) -> Option<Answer> {
    let sent = Instant::now();
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let answered = Instant::now();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    let retry_after = headers.find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    let retry_after = retry_after.and_then(|(_, value)| value.parse().ok());
    Some(Answer { status, retry_after, json: serde_json::from_str(body).ok()?, sent, answered })
}

/// Whether more than `quota` of these requests were certainly accepted within one window.
pub(crate) fn exceeds(accepted: &[Answer], quota: usize, window: Duration) -> bool {
    let mut accepted: Vec<&Answer> = accepted.iter().collect();
    accepted.sort_by_key(|answer| answer.sent);
    accepted.windows(quota + 1).any(|some| {
        let last = some.iter().map(|answer| answer.answered).max();
        last.is_some_and(|last| last - some[0].sent <= window)
    })
}
