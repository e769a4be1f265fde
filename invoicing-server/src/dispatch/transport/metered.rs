//! A connection that reads no more than a budget for each exchange.
//!
//! Every byte counts as it arrives: interim responses, the head, chunk framing, trailers and TLS
//! records, and so also the bytes that the HTTP client does not show.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tunnel::TcpOrTls;
use super::{MAX_BODY, MAX_HEAD};

/// Maximum number of bytes that are read in one exchange, or in the TLS handshake before the first:
/// a head, a body, and as much as either for the framing around them.
pub(super) const MAX_EXCHANGE: usize = MAX_HEAD + MAX_BODY + 64 * 1024;

/// The bytes that an exchange may still read. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct ReadBudget(Arc<AtomicUsize>);

impl ReadBudget {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(MAX_EXCHANGE)))
    }

    /// Begins the next exchange.
    pub(super) fn renew(&self) {
        self.0.store(MAX_EXCHANGE, Ordering::Relaxed);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn spend(&self, bytes: usize) {
        let rest = |left: usize| Some(left.saturating_sub(bytes));
        // Cannot fail, as the closure always returns a value.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    }
}

/// A TCP stream with a read budget.
pub(super) struct Metered {
    stream: TokioIo<TcpOrTls>,
    budget: ReadBudget,
}

impl Metered {
    pub(super) fn new(stream: TcpOrTls) -> Self {
        Self { stream: TokioIo::new(stream), budget: ReadBudget::new() }
    }

    pub(super) fn budget(&self) -> ReadBudget {
        self.budget.clone()
    }
}

impl Connection for Metered {
    /// Each response carries the budget of its connection.
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.budget())
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.budget.is_spent() {
            let error = io::Error::new(io::ErrorKind::InvalidData, "more than an exchange may have is sent");
            return Poll::Ready(Err(error));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.budget.spend(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
