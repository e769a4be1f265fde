//! A TCP stream that stays writable after hyper has ended the connection, and that tracks what the peer has sent.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// First bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Value of `preface_length` after other bytes than the preface.
const NOT_HTTP_2: usize = usize::MAX;

/// The server's end of a connection. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Stream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tcp: TcpStream,
    /// Whether bytes have arrived since the head of the last request.
    has_received: AtomicBool,
    /// Bytes of the preface that have arrived.
    preface_length: AtomicUsize,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        // Responses are written whole. With Nagle's algorithm the last segment would wait for an acknowledgement.
        let _ = tcp.set_nodelay(true);
        Self(Arc::new(Inner {
            tcp,
            has_received: AtomicBool::new(false),
            preface_length: AtomicUsize::new(0),
        }))
    }

    /// Marks the head of a request as complete.
    pub(super) fn head_is_read(&self) {
        self.0.has_received.store(false, Ordering::Relaxed);
    }

    /// Whether part of a head has arrived.
    pub(super) fn is_in_head(&self) -> bool {
        self.0.has_received.load(Ordering::Relaxed)
    }

    /// Whether the whole HTTP/2 preface has arrived.
    pub(super) fn is_http_2(&self) -> bool {
        self.0.preface_length.load(Ordering::Relaxed) == PREFACE.len()
    }

    /// Writes bytes if that is possible without waiting.
    pub(super) fn try_write(&self, bytes: &[u8]) {
        // A peer that does not read gets no response.
        let _ = self.0.tcp.try_write(bytes);
    }
}

impl Inner {
    /// Tracks the bytes that have arrived.
    fn record_received(&self, bytes: &[u8]) {
        self.has_received.fetch_or(!bytes.is_empty(), Ordering::Relaxed);
        let length = self.preface_length.load(Ordering::Relaxed);
        if let Some(missing) = PREFACE.get(length..) {
            let compared = missing.len().min(bytes.len());
            let length =
                if bytes[..compared] == missing[..compared] { length + compared } else { NOT_HTTP_2 };
            self.preface_length.store(length, Ordering::Relaxed);
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            ready!(self.0.tcp.poll_read_ready(context))?;
            match self.0.tcp.try_read_buf(buffer) {
                Ok(_) => {
                    self.0.record_received(&buffer.filled()[before..]);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Stream {
    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.tcp.poll_write_ready(context))?;
            match write(&self.0.tcp) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |tcp| tcp.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |tcp| tcp.try_write_vectored(parts))
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
