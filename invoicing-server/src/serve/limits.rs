//! What a peer may hold on to, and how hyper is told.

use std::time::Duration;

use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use serde::{Deserialize, Deserializer};

use super::connection::Tasks;

/// How often an HTTP/2 peer is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Smallest buffer that hyper accepts, in bytes.
const SMALLEST_BUFFER: usize = 8 * 1024;
/// What hyper keeps without an allocation per request.
const HYPERS_HEADERS: usize = 100;
/// Bytes that an HTTP/2 peer may send of one body before somebody has read them.
const STREAM_WINDOW: u32 = 64 * 1024;
/// The same for all bodies of one connection.
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Largest frame of HTTP/2, in bytes: the smallest limit that the protocol allows (RFC 9113, section 4.2).
const FRAME: u32 = 16 * 1024;
/// Streams that a peer has reset before they were begun; one more ends the connection (CVE-2023-44487).
const RESETS_BY_PEER: usize = 20;
/// Streams that were reset for the peer's mistakes; one more ends the connection (CVE-2025-8671).
const RESETS_BY_US: usize = 64;
/// Bytes a second at which an answer must be taken, after the time that every answer has.
const SLOWEST_READER: usize = 16 * 1024;

/// What a peer may hold on to.
///
/// | Limit | Default | Beyond it |
/// |---|---|---|
/// | [`connections`](Self::connections) | 8,192 | whoever has waited longest makes room |
/// | [`connections_per_address`](Self::connections_per_address) | none | the new connection is closed |
/// | [`header_read`](Self::header_read) | 10 s | 408 where part of a head has come, else closed |
/// | [`header_bytes`](Self::header_bytes) | 32 KiB | 431; 414 for a target of 64 KiB |
/// | [`headers`](Self::headers) | 100 | 431; its body is empty |
/// | [`answer`](Self::answer) | 30 s, and 1 s for every 16 KiB | the connection is dropped |
/// | [`connection_age`](Self::connection_age) | 10 min | no further request is taken |
/// | [`grace`](Self::grace) | 15 s | the connection is dropped |
/// | [`concurrent_streams`](Self::concurrent_streams) | 64 | HTTP/2 refuses the stream |
///
/// These do not change:
///
/// | Limit | Value | Beyond it |
/// |---|---|---|
/// | requests on one HTTP/1 connection | one after the other | the next is read when the answer is taken |
/// | HTTP/1: body that did not come before its answer | none | the connection ends after the answer |
/// | extensions of chunks, trailers | 16 KiB each | 400 `bad_request` |
/// | HTTP/2: unread bytes of bodies | 64 KiB a stream, 256 KiB a connection | the peer has to wait |
/// | HTTP/2: frame | 16 KiB | the connection ends |
/// | HTTP/2: resets before an answer, mistakes | 20, 64 | the connection ends (`ENHANCE_YOUR_CALM`) |
/// | HTTP/2: `CONTINUATION` frames of one head | as many as [`header_bytes`](Self::header_bytes) needs | the connection ends |
/// | HTTP/2: answer to a ping, asked every 20 s | [`header_read`](Self::header_read) | the connection ends |
///
/// The limits on requests themselves hold wherever they come from: see [`RequestLimits`](crate::RequestLimits). Heads
/// count there while their bodies come. Nothing but [`connections`](Self::connections) and
/// [`concurrent_streams`](Self::concurrent_streams) limits what is left: for each connection one head that is not
/// complete, and for each stream of HTTP/2 its state, and its head until its turn comes.
///
/// # Serving with another server
///
/// A host that gives [`Invoicing::service`](crate::Invoicing::service) to its own hyper or axum server has only
/// [`RequestLimits`](crate::RequestLimits), and sets itself: the number of connections; hyper's
/// `header_read_timeout` (which needs a `timer`), `max_buf_size` and `max_headers`; for HTTP/2 `max_concurrent_streams`,
/// `max_header_list_size`, `max_pending_accept_reset_streams`, window sizes and `keep_alive_interval`; a time limit for
/// peers that do not read their answers; and the refusal of requests without exactly one `Host`, with a
/// `Transfer-Encoding` other than `chunked`, or over HTTP/2 with any number of fields, which hyper lets through.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServeLimits {
    /// Connections at once, at least 1; each is a file descriptor. A further one takes the place of the one that has
    /// waited longest: first of those without a request so far, then of those between two requests, then of those
    /// whose request's body is still coming. Only where all are being worked for does it wait. If the process runs
    /// out of descriptors earlier, the limit is lower for a minute.
    pub connections: usize,
    /// Connections at once from one address; 64 bits of an IPv6 address count as one. `None` behind a proxy, as all
    /// come from its address.
    pub connections_per_address: Option<usize>,
    /// Longest time for the head of a request, counted from the connection's opening or the answer before: an idle
    /// connection is closed after it too. Over HTTP/2 for the first head only. Read from settings in milliseconds, as
    /// `headerReadMs`; the other times likewise.
    #[serde(rename = "headerReadMs", deserialize_with = "milliseconds")]
    pub header_read: Duration,
    /// Largest head of a request in bytes; at least 8 KiB are allowed.
    pub header_bytes: usize,
    /// Most header fields of a request.
    pub headers: usize,
    /// Longest time for a peer to take a small answer. A larger one has a second more for every 16 KiB.
    #[serde(rename = "answerMs", deserialize_with = "milliseconds")]
    pub answer: Duration,
    /// Requests at once on one HTTP/2 connection. At least 1.
    pub concurrent_streams: u32,
    /// Age at which a connection is asked to end after the requests it is serving, so that none is held for ever.
    #[serde(rename = "connectionAgeMs", deserialize_with = "milliseconds")]
    pub connection_age: Duration,
    /// Longest time for those requests to end: then, and when the server stops.
    #[serde(rename = "graceMs", deserialize_with = "milliseconds")]
    pub grace: Duration,
}

fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_address: None,
            header_read: Duration::from_secs(10),
            header_bytes: 32 * 1024,
            headers: HYPERS_HEADERS,
            answer: Duration::from_secs(30),
            concurrent_streams: 64,
            connection_age: Duration::from_mins(10),
            grace: Duration::from_secs(15),
        }
    }
}

impl ServeLimits {
    /// Longest time for a peer to take an answer of that many bytes.
    pub(super) fn answer_time(&self, bytes: usize) -> Duration {
        self.answer + Duration::from_secs((bytes / SLOWEST_READER) as u64)
    }

    /// hyper's half of the limits.
    pub(super) fn builder(&self) -> Builder<Tasks> {
        let header_bytes = self.header_bytes.max(SMALLEST_BUFFER);
        let mut builder = Builder::new(Tasks::default());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(self.header_read).max_buf_size(header_bytes);
        if self.headers != HYPERS_HEADERS {
            http1.max_headers(self.headers);
        }
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.concurrent_streams.max(1))
            .max_header_list_size(u32::try_from(header_bytes).unwrap_or(u32::MAX))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME)
            .max_pending_accept_reset_streams(RESETS_BY_PEER)
            .max_local_error_reset_streams(RESETS_BY_US)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(self.header_read);
        builder
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_read_from_settings_and_nothing_is_guessed() {
        let read = serde_json::from_value::<ServeLimits>;
        assert_eq!(read(json!({})).unwrap(), ServeLimits::default());
        let all = json!({
            "connections": 1, "connectionsPerAddress": 2, "headerReadMs": 3, "headerBytes": 4, "headers": 5,
            "answerMs": 6, "concurrentStreams": 7, "connectionAgeMs": 8, "graceMs": 9,
        });
        let expected = ServeLimits {
            connections: 1,
            connections_per_address: Some(2),
            header_read: Duration::from_millis(3),
            header_bytes: 4,
            headers: 5,
            answer: Duration::from_millis(6),
            concurrent_streams: 7,
            connection_age: Duration::from_millis(8),
            grace: Duration::from_millis(9),
        };
        assert_eq!(read(all).unwrap(), expected);
        for unknown in ["headerRead", "header_read_ms", "timeout"] {
            assert!(read(json!({ unknown: 1 })).is_err(), "{unknown}");
        }
    }
}
