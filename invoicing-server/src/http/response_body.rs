//! The body of a response. It leaves in pieces, so that bytes which a peer does not read stay here
//! and can be dropped.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Version;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use super::byte_budget::{ByteReservation, PIECE, SendingPiece, UnreadAnswer};

/// First piece over HTTP/2. hyper takes it before the peer's window is open, so it stays in memory
/// with a stalled stream.
const FIRST_PIECE_OVER_HTTP_2: usize = 1024;
/// Growth factor of HTTP/2 pieces, up to [`PIECE`].
const PIECE_GROWTH: usize = 4;

/// Body of every response.
///
/// Its bytes leave in pieces of at most 16 KiB, over HTTP/2 of 1 KiB at first; one of at most 128
/// KiB may leave at once over HTTP/1. A body that is the same for all callers, such as the
/// description of the API, leaves at once and takes no further memory. A peer that reads
/// another body too slowly may lose the rest: see
/// [`RequestLimits::buffered_bytes`](crate::RequestLimits::buffered_bytes).
#[derive(Default)]
pub struct Body {
    content: BodyContent,
    /// Dropped with the last piece.
    guard: Option<Guard>,
}

type Guard = Box<dyn Send + Sync>;

#[derive(Default)]
enum BodyContent {
    #[default]
    Empty,
    /// Leaves at once. `None` if the bytes count for no caller, such as those that all answers
    /// share.
    Whole(Bytes, Option<SendingPiece>),
    /// Leaves in pieces. The budget holds the rest.
    Large { answer: UnreadAnswer, left: usize, next_piece: usize },
}

/// Error of a response whose rest was dropped, because its peer read it too slowly and others needed
/// the memory, or its time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the response was not read in time")]
#[non_exhaustive]
pub struct UnreadResponse;

impl Body {
    /// The body of an answer, whose bytes count instead of the reserved ones.
    pub(super) fn new(bytes: Bytes, mut reservation: ByteReservation, version: Version) -> Self {
        let left = bytes.len();
        reservation.resize(left);
        let (next_piece, at_once) = if version < Version::HTTP_2 {
            (PIECE, reservation.max_at_once())
        } else {
            (FIRST_PIECE_OVER_HTTP_2, FIRST_PIECE_OVER_HTTP_2)
        };
        let content = if left == 0 {
            BodyContent::Empty
        } else if left <= at_once {
            BodyContent::Whole(bytes, Some(reservation.send()))
        } else {
            BodyContent::Large { answer: reservation.hold(bytes), left, next_piece }
        };
        Self { content, guard: None }
    }

    /// Keeps the guard until the last piece has left.
    #[must_use]
    pub(crate) fn guarded(mut self, guard: impl Send + Sync + 'static) -> Self {
        if self.left() > 0 {
            self.guard = Some(Box::new(guard));
        }
        self
    }

    /// Lets the rest be dropped after this instant.
    pub(crate) fn end_after(&self, deadline: Instant) {
        if let BodyContent::Large { answer, .. } = &self.content {
            answer.set_deadline(deadline);
        }
    }

    /// Bytes that have not left.
    pub(crate) fn left(&self) -> usize {
        match &self.content {
            BodyContent::Empty => 0,
            BodyContent::Whole(bytes, _) => bytes.len(),
            BodyContent::Large { left, .. } => *left,
        }
    }

    fn next_piece(&mut self) -> Option<Result<Bytes, UnreadResponse>> {
        match std::mem::take(&mut self.content) {
            BodyContent::Empty => None,
            BodyContent::Whole(bytes, None) if self.guard.is_none() => Some(Ok(bytes)),
            BodyContent::Whole(bytes, piece) => Some(Ok(guarded_bytes(bytes, (piece, self.guard.take())))),
            BodyContent::Large { answer, left, next_piece } => {
                let Some((piece, bytes)) = answer.take_piece(next_piece) else {
                    return Some(Err(UnreadResponse));
                };
                let left = left - bytes.len();
                if left == 0 {
                    return Some(Ok(guarded_bytes(bytes, (piece, self.guard.take()))));
                }
                let next_piece = PIECE.min(next_piece * PIECE_GROWTH);
                self.content = BodyContent::Large { answer, left, next_piece };
                Some(Ok(guarded_bytes(bytes, piece)))
            }
        }
    }
}

/// The same bytes, which drop the guard together with the last clone of them.
fn guarded_bytes(bytes: Bytes, guard: impl Send + 'static) -> Bytes {
    Bytes::from_owner(GuardedBytes { bytes, _guard: guard })
}

struct GuardedBytes<G> {
    bytes: Bytes,
    _guard: G,
}

impl<G> AsRef<[u8]> for GuardedBytes<G> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that leaves at once and counts in no limit: for bytes that are the same for all callers,
/// and for pages of the host beside the API.
impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self { content: BodyContent::Whole(bytes, None), guard: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = UnreadResponse;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UnreadResponse>>> {
        Poll::Ready(self.next_piece().map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left() as u64)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("left", &self.left()).finish_non_exhaustive()
    }
}
