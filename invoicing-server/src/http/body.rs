//! Reading a request's body within limits. What is in it is not looked at here.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use super::error::ApiError;
use super::load::Held;
use crate::config::RequestLimits;

/// What a body's reader may fail with.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Largest body of a request, in bytes (WIRE-25).
pub(crate) const MOST_BYTES: usize = 256 * 1024;

/// What is read of a body that nobody wants, in bytes.
const UNWANTED_BYTES: usize = 1024 * 1024;
/// For how long.
const UNWANTED_TIME: Duration = Duration::from_secs(5);

/// Limits on the body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// Most bytes.
    pub(crate) bytes: usize,
    /// Longest time until the last of them has arrived.
    pub(crate) time: Duration,
}

impl BodyLimits {
    /// The contract's, and the host's.
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        Self { bytes: MOST_BYTES, time: Duration::from_millis(limits.body_time_ms) }
    }
}

/// A request's body that knows whether its end has been seen.
pub(crate) struct Coming<'b, B> {
    body: Pin<&'b mut B>,
    ended: bool,
}

impl<'b, B: Body> Coming<'b, B> {
    pub(crate) fn new(body: Pin<&'b mut B>) -> Self {
        let ended = body.is_end_stream();
        Self { body, ended }
    }

    /// Whether all of it has been read.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

impl<B: Body> Body for Coming<'_, B> {
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

/// Reads the whole body, and counts what has come of it.
///
/// # Errors
/// `payload_too_large`, also where the length that is announced is; `request_timeout`; `bad_request` where the
/// body breaks off; `overloaded` where too much is held already.
pub(crate) async fn read<B>(
    body: &mut B,
    headers: &HeaderMap,
    limits: BodyLimits,
    held: &mut Held,
) -> Result<Bytes, ApiError>
where
    B: Body<Data: Buf, Error: Into<BoxError>> + Unpin,
{
    if announced(body, headers) > limits.bytes as u64 {
        return Err(ApiError::PayloadTooLarge(limits.bytes));
    }
    let reading = collect(body, limits.bytes, held);
    timeout(limits.time, reading).await.unwrap_or(Err(ApiError::RequestTimeout))
}

async fn collect<B>(body: &mut B, most: usize, held: &mut Held) -> Result<Bytes, ApiError>
where
    B: Body<Data: Buf, Error: Into<BoxError>> + Unpin,
{
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let error: BoxError = error.into();
            tracing::debug!(error, "a request's body broke off");
            ApiError::bad_request("The body of the request ended early")
        })?;
        // Trailers say nothing here.
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.remaining() > most {
            return Err(ApiError::PayloadTooLarge(most));
        }
        held.more(data.remaining())?;
        bytes.put(data);
    }
    Ok(bytes.freeze())
}

/// Reads and drops what has not been read of a body that nobody wants, within limits.
///
/// A server that closes a connection on which unread bytes are waiting resets it, and the reset may overtake the
/// answer: the caller would see a broken connection instead of the error.
pub(crate) async fn discard<B>(body: &mut B)
where
    B: Body<Data: Buf, Error: Into<BoxError>> + Unpin,
{
    if body.is_end_stream() {
        return;
    }
    let mut body = Limited::new(body, UNWANTED_BYTES);
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    // Whether it came to its end is for the caller to ask.
    let _ = timeout(UNWANTED_TIME, reading).await;
}

fn announced<B: Body>(body: &B, headers: &HeaderMap) -> u64 {
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
    use crate::http::load::Load;

    const LIMITS: BodyLimits = BodyLimits { bytes: 10, time: Duration::from_millis(20) };

    fn load() -> Arc<Load> {
        Arc::new(Load::new(&RequestLimits { buffered_bytes: 20, ..RequestLimits::default() }))
    }

    fn held() -> Held {
        load().hold()
    }

    /// A body of these chunks; `None` breaks it off.
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
        read(&mut body, &HeaderMap::new(), LIMITS, &mut held()).await.map_err(|error| error.code())
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read() {
        assert_eq!(read_chunks([Some("01234"), Some("56789")]).await.unwrap(), "0123456789");
        assert_eq!(read_chunks([]).await.unwrap(), "");
    }

    #[tokio::test]
    async fn one_byte_more_is_too_large() {
        let code = read_chunks([Some("01234"), Some("567890")]).await.unwrap_err();
        assert_eq!(code, ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn an_announcement_is_believed() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, HeaderValue::from_static("11"))]);
        let mut body = pin!(Full::new(Bytes::from_static(b"{}")));
        let error = read(&mut body, &headers, LIMITS, &mut held()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_cannot_be_read() {
        assert_eq!(read_chunks([Some("{"), None]).await.unwrap_err(), ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let mut body = pin!(StreamBody::new(chunks([Some("{")]).chain(stream::pending())));
        let error = read(&mut body, &HeaderMap::new(), LIMITS, &mut held()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn bodies_are_refused_while_too_much_is_held() {
        let (mut first, mut second) = {
            let load = load();
            (load.hold(), load.hold())
        };
        first.more(15).unwrap();
        let mut body = pin!(StreamBody::new(chunks([Some("012345")])));
        let error = read(&mut body, &HeaderMap::new(), LIMITS, &mut second).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Overloaded);
    }

    #[tokio::test]
    async fn what_is_left_of_a_body_is_discarded_up_to_its_end_or_the_limit() {
        let large = "x".repeat(UNWANTED_BYTES / 2).leak();
        for (texts, ends) in [
            (vec![Some("01234"); 100], true),
            (vec![Some(&*large); 2], true),
            (vec![Some(&*large); 3], false),
        ] {
            let body = pin!(StreamBody::new(chunks(texts)));
            let mut body = Coming::new(body);
            assert!(!body.has_ended());
            discard(&mut body).await;
            assert_eq!(body.has_ended(), ends);
        }
    }

    #[tokio::test]
    async fn a_body_has_ended_when_its_last_byte_is_read_and_not_when_it_broke_off() {
        let empty = pin!(Full::<Bytes>::default());
        let mut empty = Coming::new(empty);
        assert!(empty.has_ended());
        discard(&mut empty).await;
        for (texts, ends) in [([Some("{"), Some("}")], true), ([Some("{"), None], false)] {
            let body = pin!(StreamBody::new(chunks(texts)));
            let mut body = Coming::new(body);
            let read = read(&mut body, &HeaderMap::new(), LIMITS, &mut held()).await;
            assert_eq!((read.is_ok(), body.has_ended()), (ends, ends));
        }
    }
}
