//! Reads the body of a request within limits. Does not parse it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use super::capacity::ByteReservation;
use super::error::ApiError;
use crate::config::{MAX_BODY_BYTES, RequestLimits};

/// The error of a body that cannot be read.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Most bytes that are discarded of an unread body.
const DISCARD_BYTES: usize = 1024 * 1024;
/// Time limit for discarding an unread body.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Limits on the body of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// Most bytes.
    pub(super) bytes: usize,
    /// Time limit for the last of them.
    pub(super) time: Duration,
}

impl BodyLimits {
    /// The size of the contract, and the time that the host sets.
    pub(super) fn new(limits: &RequestLimits) -> Self {
        Self { bytes: MAX_BODY_BYTES, time: Duration::from_millis(limits.body_time_ms) }
    }
}

/// The body of a request, which knows whether it has been read to its end.
pub(super) struct RequestBody<'b, B> {
    body: Pin<&'b mut B>,
    ended: bool,
}

impl<'b, B: Body> RequestBody<'b, B> {
    pub(super) fn new(body: Pin<&'b mut B>) -> Self {
        let ended = body.is_end_stream();
        Self { body, ended }
    }

    /// Whether the whole body has been read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}

impl<B: Body> Body for RequestBody<'_, B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(self.body.as_mut().poll_frame(context));
        self.ended = frame.is_none() || self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads the whole body, and reserves its bytes.
///
/// # Errors
/// `payload_too_large`, also for the announced length; `request_timeout`; `bad_request` where the body ends early;
/// `overloaded` where its bytes cannot be reserved.
pub(super) async fn read<B>(
    body: &mut B,
    headers: &HeaderMap,
    limits: BodyLimits,
    reservation: &mut ByteReservation,
) -> Result<Bytes, ApiError>
where
    B: Body<Data: Buf, Error: Into<BoxError>> + Unpin,
{
    if announced_length(body, headers) > limits.bytes as u64 {
        return Err(ApiError::PayloadTooLarge(limits.bytes));
    }
    let reading = collect(body, limits.bytes, reservation);
    timeout(limits.time, reading).await.unwrap_or(Err(ApiError::RequestTimeout))
}

async fn collect<B>(
    body: &mut B,
    max_bytes: usize,
    reservation: &mut ByteReservation,
) -> Result<Bytes, ApiError>
where
    B: Body<Data: Buf, Error: Into<BoxError>> + Unpin,
{
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let error: BoxError = error.into();
            tracing::debug!(error, "request body ended early");
            ApiError::bad_request("The body of the request ended early")
        })?;
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.remaining() > max_bytes {
            return Err(ApiError::PayloadTooLarge(max_bytes));
        }
        reservation.grow(data.remaining())?;
        bytes.put(data);
    }
    Ok(bytes.freeze())
}

/// Reads and drops the rest of a body, within limits.
///
/// Closing a connection with unread bytes resets it. The reset may overtake the response, and the caller would see a
/// broken connection instead of the error.
pub(super) async fn discard<B>(body: &mut B)
where
    B: Body<Data: Buf, Error: Into<BoxError>> + Unpin,
{
    if body.is_end_stream() {
        return;
    }
    let mut body = Limited::new(body, DISCARD_BYTES);
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    // The caller asks the body whether it has ended.
    let _ = timeout(DISCARD_TIME, reading).await;
}

fn announced_length<B: Body>(body: &B, headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    body.size_hint().lower().max(length)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::{Stream, StreamExt, stream};
    use http::HeaderValue;
    use http_body_util::{Full, StreamBody};
    use invoicing_core::ErrorCode;

    use super::*;
    use crate::api::capacity::Capacity;

    const LIMITS: BodyLimits = BodyLimits { bytes: 10, time: Duration::from_millis(20) };

    fn capacity() -> Arc<Capacity> {
        Arc::new(Capacity::new(&RequestLimits { buffered_bytes: 20, ..RequestLimits::default() }))
    }

    fn reservation() -> ByteReservation {
        capacity().reserve_bytes()
    }

    /// A body of these chunks; `None` is a connection error.
    fn chunks(
        texts: impl IntoIterator<Item = Option<&'static str>>,
    ) -> impl Stream<Item = io::Result<Frame<Bytes>>> {
        let chunk = |text: &'static str| Frame::data(Bytes::from_static(text.as_bytes()));
        stream::iter(
            texts.into_iter().map(move |text| text.map(chunk).ok_or_else(|| io::Error::other("reset"))),
        )
    }

    async fn read_chunks<const N: usize>(texts: [Option<&'static str>; N]) -> Result<Bytes, ErrorCode> {
        let mut body = pin!(StreamBody::new(chunks(texts)));
        read(&mut body, &HeaderMap::new(), LIMITS, &mut reservation()).await.map_err(|error| error.code())
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read() {
        assert_eq!(read_chunks([Some("01234"), Some("56789")]).await.unwrap(), "0123456789");
        assert_eq!(read_chunks([]).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_too_large() {
        let code = read_chunks([Some("01234"), Some("567890")]).await.unwrap_err();
        assert_eq!(code, ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn an_announced_length_over_the_limit_is_too_large() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from_static("11"))]);
        let mut body = pin!(Full::new(Bytes::from_static(b"{}")));
        let error = read(&mut body, &headers, LIMITS, &mut reservation()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_that_ends_early_is_a_bad_request() {
        assert_eq!(read_chunks([Some("{"), None]).await.unwrap_err(), ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let mut body = pin!(StreamBody::new(chunks([Some("{")]).chain(stream::pending())));
        let error = read(&mut body, &HeaderMap::new(), LIMITS, &mut reservation()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_is_refused_while_its_bytes_cannot_be_reserved() {
        let (mut first, mut second) = {
            let capacity = capacity();
            (capacity.reserve_bytes(), capacity.reserve_bytes())
        };
        first.grow(15).unwrap();
        let mut body = pin!(StreamBody::new(chunks([Some("012345")])));
        let error = read(&mut body, &HeaderMap::new(), LIMITS, &mut second).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Overloaded);
    }

    #[tokio::test]
    async fn the_rest_of_a_body_is_discarded_up_to_its_end_or_the_limit() {
        let large = "x".repeat(DISCARD_BYTES / 2).leak();
        for (texts, ends) in [
            (vec![Some("01234"); 100], true),
            (vec![Some(&*large); 2], true),
            (vec![Some(&*large); 3], false),
        ] {
            let body = pin!(StreamBody::new(chunks(texts)));
            let mut body = RequestBody::new(body);
            assert!(!body.has_ended());
            discard(&mut body).await;
            assert_eq!(body.has_ended(), ends);
        }
    }

    #[tokio::test]
    async fn a_body_has_ended_after_its_last_byte_but_not_after_an_error() {
        let empty = pin!(Full::<Bytes>::default());
        let mut empty = RequestBody::new(empty);
        assert!(empty.has_ended());
        discard(&mut empty).await;
        for (texts, ends) in [([Some("{"), Some("}")], true), ([Some("{"), None], false)] {
            let body = pin!(StreamBody::new(chunks(texts)));
            let mut body = RequestBody::new(body);
            let read = read(&mut body, &HeaderMap::new(), LIMITS, &mut reservation()).await;
            assert_eq!((read.is_ok(), body.has_ended()), (ends, ends));
        }
    }
}
