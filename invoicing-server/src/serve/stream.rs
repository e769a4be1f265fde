//! A TCP stream that can still be written to after hyper has given up the connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What HTTP/2 begins with (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Instead of how much of the preface has come: something else has.
const OTHER: usize = usize::MAX;

/// One end of a connection; clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Stream(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    tcp: TcpStream,
    /// Whether the peer has sent something since the head of its last request.
    heard: AtomicBool,
    /// How much of the preface has come.
    preface: AtomicUsize,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        // Answers are written whole; without this the last segment of one could wait for an acknowledgement.
        let _ = tcp.set_nodelay(true);
        Self(Arc::new(Shared { tcp, heard: AtomicBool::new(false), preface: AtomicUsize::new(0) }))
    }

    /// The head of a request is complete.
    pub(super) fn head_is_read(&self) {
        self.0.heard.store(false, Ordering::Relaxed);
    }

    /// Whether a head has been begun and not completed.
    pub(super) fn is_in_head(&self) -> bool {
        self.0.heard.load(Ordering::Relaxed)
    }

    /// Whether the peer speaks HTTP/2, as far as it has said.
    pub(super) fn is_http_2(&self) -> bool {
        self.0.preface.load(Ordering::Relaxed) == PREFACE.len()
    }

    /// Writes some last bytes, where they can be written at once.
    pub(super) fn write_last(&self, bytes: &[u8]) {
        // A peer that takes nothing any more is told nothing.
        let _ = self.0.tcp.try_write(bytes);
    }
}

impl Shared {
    fn hear(&self, bytes: &[u8]) {
        self.heard.fetch_or(!bytes.is_empty(), Ordering::Relaxed);
        let come = self.preface.load(Ordering::Relaxed);
        if let Some(missing) = PREFACE.get(come..) {
            let now = missing.len().min(bytes.len());
            let come = if bytes[..now] == missing[..now] { come + now } else { OTHER };
            self.preface.store(come, Ordering::Relaxed);
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
                    self.0.hear(&buffer.filled()[before..]);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Stream {
    fn poll_written(
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
        self.poll_written(context, |tcp| tcp.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_written(context, |tcp| tcp.try_write_vectored(parts))
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
