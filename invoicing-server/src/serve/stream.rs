//! A TCP stream that stays writable after hyper has ended the connection, and that tracks what the
//! peer has sent.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// First bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The server's end of a connection. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Stream(Arc<Mutex<StreamState>>);

#[derive(Debug)]
/// The stream, and the progress of its peer.
struct StreamState {
    tcp: TcpStream,
    /// True if bytes have arrived since the head of the last request.
    has_received: bool,
    /// The first bytes that have arrived, up to the length of the preface.
    first_bytes: Vec<u8>,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        // Responses are written whole. With Nagle's algorithm the last segment would wait for an
        // acknowledgement.
        let _ = tcp.set_nodelay(true);
        Self(Arc::new(Mutex::new(StreamState { tcp, has_received: false, first_bytes: Vec::new() })))
    }

    /// Marks the head of a request as complete.
    pub(super) fn head_is_read(&self) {
        self.0.lock().has_received = false;
    }

    /// True if part of a head has arrived.
    pub(super) fn is_in_head(&self) -> bool {
        self.0.lock().has_received
    }

    /// True if the whole HTTP/2 preface has arrived.
    pub(super) fn is_http_2(&self) -> bool {
        self.0.lock().first_bytes == PREFACE
    }

    /// Writes bytes if that is possible without waiting.
    pub(super) fn try_write(&self, bytes: &[u8]) {
        // A peer that does not read gets no response.
        let _ = self.0.lock().tcp.try_write(bytes);
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut inner.tcp).poll_read(context, buffer))?;
        let received = &buffer.filled()[before..];
        inner.has_received |= !received.is_empty();
        let missing = PREFACE.len() - inner.first_bytes.len();
        inner.first_bytes.extend(received.iter().take(missing));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0.lock().tcp).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0.lock().tcp).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
