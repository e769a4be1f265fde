//! Limits on the resources that a peer can occupy, and their mapping to hyper's settings.

use std::time::Duration;

use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use serde::{Deserialize, Deserializer};

use super::http2_tasks::Http2Tasks;
use crate::config::{HEAD_BYTES, HEAD_FIELDS, HEAD_TIME_MS};
use crate::http::byte_budget::LOWEST_SPEED;

/// Interval of HTTP/2 pings.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Smallest buffer that hyper accepts, in bytes.
const MIN_BUFFER: usize = 8 * 1024;
/// hyper's own limit on header fields. Setting another one costs an allocation per request.
const HYPER_HEADERS: usize = 100;
/// Unread bytes of one HTTP/2 body.
const STREAM_WINDOW: u32 = 64 * 1024;
/// Unread bytes of all bodies of one HTTP/2 connection.
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Largest HTTP/2 frame, in bytes: the lowest limit that the protocol allows (RFC 9113, section
/// 4.2).
const FRAME: u32 = 16 * 1024;
/// Bytes of one HTTP/2 response that wait in hyper. The rest waits in the API, which can drop it.
const SEND_BUFFER: usize = 32 * 1024;
/// Streams that a peer may reset before they are accepted (CVE-2023-44487).
const PEER_RESETS: usize = 20;
/// Streams that the server resets for errors of the peer (CVE-2025-8671).
const LOCAL_RESETS: usize = 64;

/// Limits on the connections of [`serve`](crate::serve()).
///
/// | Limit | Default | Beyond it |
/// |---|---|---|
/// | [`connections`](Self::connections) | 8,192 | the connection that has waited longest for its peer is closed |
/// | [`connections_per_address`](Self::connections_per_address) | none | the new connection is closed |
/// | [`header_read`](Self::header_read) | 10 s | 408 after part of a head, otherwise closed |
/// | [`header_bytes`](Self::header_bytes) | 32 KiB | 431; 414 for a target of 64 KiB |
/// | [`headers`](Self::headers) | 100 | 431; its body is empty |
/// | [`response_read`](Self::response_read) | 30 s, and 1 s for each 16 KiB | the connection is dropped; over HTTP/2 the rest of the response, and its stream ends |
/// | [`connection_age`](Self::connection_age) | 10 min | no further request is taken |
/// | [`grace`](Self::grace) | 15 s | the connection is dropped |
/// | [`concurrent_streams`](Self::concurrent_streams) | 64 | HTTP/2 refuses the stream |
///
/// Fixed limits:
///
/// | Limit | Value | Beyond it |
/// |---|---|---|
/// | requests on one HTTP/1 connection | one after the other | the next is read when the peer has read the response |
/// | HTTP/1: body that has not arrived before its response | none | the connection ends after the response |
/// | chunk extensions, trailers | 16 KiB each | 400 `bad_request` |
/// | HTTP/2: unread bytes of bodies | 64 KiB a stream, 256 KiB a connection | the peer has to wait |
/// | HTTP/2: bytes of one answer that wait in hyper | 48 KiB | the rest waits in the API, which can drop it |
/// | an answer whose peer is behind 16 KiB a second while memory is needed | 3 s | its rest is dropped; if that does not suffice, the connection ends |
/// | HTTP/2: frame | 16 KiB | the connection ends |
/// | HTTP/2: resets before a response, errors | 20, 64 | the connection ends (`ENHANCE_YOUR_CALM`) |
/// | HTTP/2: `CONTINUATION` frames of one head | as many as [`header_bytes`](Self::header_bytes) needs | the connection ends |
/// | HTTP/2: answer to a ping, sent every 20 s | [`header_read`](Self::header_read) | the connection ends |
///
/// Limits on requests hold for every server: see [`RequestLimits`](crate::RequestLimits). A head
/// counts there while its body arrives. The rest is limited by [`connections`](Self::connections)
/// and [`concurrent_streams`](Self::concurrent_streams) only: one incomplete head for each
/// connection, and for each HTTP/2 stream its state, and its head until it is served.
///
/// # Serving with another server
///
/// With [`Invoicing::service`](crate::Invoicing::service) in another hyper or axum server, only
/// [`RequestLimits`](crate::RequestLimits) hold. The host then has to:
/// - limit the number of connections;
/// - set hyper's `header_read_timeout` (which needs a `timer`), `max_buf_size` and `max_headers`;
/// - set for HTTP/2 `max_concurrent_streams`, `max_header_list_size`,
///   `max_pending_accept_reset_streams`, window sizes and `keep_alive_interval`;
/// - close HTTP/1 connections of peers that do not read their responses, and set
///   `max_send_buf_size` for HTTP/2: a response that waits in hyper cannot be dropped;
/// - refuse requests that hyper accepts: without exactly one `Host`, with a `Transfer-Encoding`
///   other than `chunked`, or over HTTP/2 with too many header fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ServeLimits {
    /// Connections at once, at least 1; each is a file descriptor. A further one replaces the
    /// connection that has waited longest: first among those without a request, then between two
    /// requests, then with a body that is arriving. It waits only while the server works for all of
    /// them. If file descriptors run out, the limit is lower for a minute.
    pub connections: usize,
    /// Connections at once from one address; of an IPv6 address the first 64 bits count. `None`
    /// behind a proxy, from whose address all connections come.
    pub connections_per_address: Option<usize>,
    /// Time limit for the head of a request, from the opening of the connection or the response
    /// before. It also closes an idle connection. Over HTTP/2 it holds for the first head only.
    /// Deserialised from milliseconds as `headerReadMs`, like the other times.
    #[serde(rename = "headerReadMs", deserialize_with = "milliseconds")]
    pub header_read: Duration,
    /// Largest head of a request in bytes; at least 8 KiB are allowed.
    pub header_bytes: usize,
    /// Maximum number of header fields of a request.
    pub headers: usize,
    /// Time limit for a peer to read a small response. A larger one has a second more for each 16
    /// KiB.
    #[serde(rename = "responseReadMs", deserialize_with = "milliseconds")]
    pub response_read: Duration,
    /// Requests at once on one HTTP/2 connection. At least 1.
    pub concurrent_streams: u32,
    /// Age at which a connection ends after its requests in progress, so that a peer cannot keep it
    /// for ever.
    #[serde(rename = "connectionAgeMs", deserialize_with = "milliseconds")]
    pub connection_age: Duration,
    /// Time limit for requests in progress when a connection reaches its age and when the server
    /// stops.
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
            header_read: Duration::from_millis(HEAD_TIME_MS),
            header_bytes: HEAD_BYTES,
            headers: HEAD_FIELDS,
            response_read: Duration::from_secs(30),
            concurrent_streams: 64,
            connection_age: Duration::from_mins(10),
            grace: Duration::from_secs(15),
        }
    }
}

impl ServeLimits {
    /// Time limit for a peer to read a response of this size.
    pub(super) fn response_read_time(&self, bytes: usize) -> Duration {
        self.response_read + Duration::from_secs((bytes / LOWEST_SPEED) as u64)
    }

    /// The limits that hyper enforces.
    pub(super) fn builder(&self) -> Builder<Http2Tasks> {
        let header_bytes = self.header_bytes.max(MIN_BUFFER);
        let mut builder = Builder::new(Http2Tasks::default());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(self.header_read).max_buf_size(header_bytes);
        if self.headers != HYPER_HEADERS {
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
            .max_send_buf_size(SEND_BUFFER)
            .max_pending_accept_reset_streams(PEER_RESETS)
            .max_local_error_reset_streams(LOCAL_RESETS)
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
    fn limits_are_deserialised_and_unknown_names_are_refused() {
        let read = serde_json::from_value::<ServeLimits>;
        assert_eq!(read(json!({})).unwrap(), ServeLimits::default());
        let all = json!({
            "connections": 1, "connectionsPerAddress": 2, "headerReadMs": 3, "headerBytes": 4, "headers": 5,
            "responseReadMs": 6, "concurrentStreams": 7, "connectionAgeMs": 8, "graceMs": 9,
        });
        let expected = ServeLimits {
            connections: 1,
            connections_per_address: Some(2),
            header_read: Duration::from_millis(3),
            header_bytes: 4,
            headers: 5,
            response_read: Duration::from_millis(6),
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
