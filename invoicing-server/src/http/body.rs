//! Reads the body of a request within limits. Does not parse it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::{Fuse, UnsyncBoxBody};
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use super::byte_budget::ByteReservation;
use super::error::ApiError;
use crate::config::MAX_BODY_BYTES;
use crate::log::ErrorChain;

/// The error of a body that cannot be read.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Maximum number of bytes that are discarded of an unread body.
const DISCARD_BYTES: usize = 1024 * 1024;
/// Time limit for discarding an unread body.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// The body of a request, with its frames as they arrive. It records whether its end is certain.
pub(crate) struct RequestBody {
    body: Fuse<UnsyncBoxBody<Bytes, BoxError>>,
    /// The bytes that it has at least, if that is known before they arrive.
    least_bytes: u64,
    is_broken: bool,
    has_trailers: bool,
}

impl RequestBody {
    pub(crate) fn new(body: impl Body<Data: Buf, Error: Into<BoxError>> + Send + 'static) -> Self {
        let least_bytes = body.size_hint().lower();
        let to_bytes = |frame: Frame<_>| frame.map_data(|mut data: _| bytes_of(&mut data));
        let body = body.map_frame(to_bytes).map_err(Into::into).boxed_unsync();
        Self { body: body.fuse(), least_bytes, is_broken: false, has_trailers: false }
    }

    /// True once the last byte has arrived, so that another request may follow on its connection.
    ///
    /// After trailers it may not: hyper ends them only at an empty line that CR and LF end. A proxy
    /// that lets LF alone end a line sees an earlier end, and another request behind it.
    pub(super) fn is_complete(&self) -> bool {
        self.body.is_end_stream() && !self.is_broken && !self.has_trailers
    }
}

fn bytes_of(data: &mut impl Buf) -> Bytes {
    data.copy_to_bytes(data.remaining())
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => self.has_trailers |= frame.is_trailers(),
            Some(Err(_)) => self.is_broken = true,
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads the whole body within a time limit, and reserves its bytes.
///
/// # Errors
/// `bad_request` for a body in an encoding, before it is read, and for one that ends early;
/// `payload_too_large`, for the announced length too; `request_timeout`; `overloaded` if its bytes
/// cannot be reserved.
pub(crate) async fn read(
    body: &mut RequestBody,
    headers: &HeaderMap,
    time: Duration,
    reservation: &ByteReservation,
) -> Result<Bytes, ApiError> {
    if is_encoded(headers) {
        return Err(ApiError::EncodedBody);
    }
    if announced_length(body, headers) > MAX_BODY_BYTES as u64 {
        return Err(ApiError::PayloadTooLarge);
    }
    timeout(time, collect(body, reservation)).await.unwrap_or(Err(ApiError::RequestTimeout))
}

async fn collect(body: &mut RequestBody, reservation: &ByteReservation) -> Result<Bytes, ApiError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            tracing::debug!(error = %ErrorChain(&*error), "request body ended early");
            ApiError::bad_request("The body of the request ended early")
        })?;
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_BODY_BYTES {
            return Err(ApiError::PayloadTooLarge);
        }
        reservation.grow(data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// Reads and drops the rest of a body, within limits.
///
/// Closing a connection with unread bytes resets it. The reset may overtake the response, and the
/// caller would see a broken connection instead of the error.
pub(super) async fn discard(body: &mut RequestBody) {
    if body.is_end_stream() {
        return;
    }
    let mut body = Limited::new(body, DISCARD_BYTES);
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    // No result: the caller checks whether the body has ended.
    let _ = timeout(DISCARD_TIME, reading).await;
}

/// True if `Content-Encoding` has anything but `identity`.
fn is_encoded(headers: &HeaderMap) -> bool {
    let is_plain = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    let are_plain =
        |value: &HeaderValue| value.to_str().is_ok_and(|list| list.split(',').map(str::trim).all(is_plain));
    !headers.get_all(header::CONTENT_ENCODING).iter().all(are_plain)
}

fn announced_length(body: &RequestBody, headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    body.least_bytes.max(length)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use futures_util::{Stream, StreamExt, stream};
    use http_body_util::{Full, StreamBody};
    use invoicing_core::{CompanyId, ErrorCode};
    use uuid::Uuid;

    use super::*;
    use crate::http::byte_budget::{ByteBudget, Holder, Owner};

    const TIME: Duration = Duration::from_millis(20);

    fn reservation(budget: &Arc<ByteBudget>) -> ByteReservation {
        let holder = Holder::Company(CompanyId(Uuid::from_u128(1)));
        budget.admit(Owner { connection: None, holder }).unwrap()
    }

    /// A reservation without others beside it.
    fn only_reservation() -> ByteReservation {
        reservation(&Arc::new(ByteBudget::new(2 * MAX_BODY_BYTES)))
    }

    /// A text of `bytes` bytes.
    fn text(bytes: usize) -> &'static str {
        "x".repeat(bytes).leak()
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
        let mut body = RequestBody::new(StreamBody::new(chunks(texts)));
        read(&mut body, &HeaderMap::new(), TIME, &only_reservation()).await.map_err(|error| error.code())
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read() {
        let half = text(MAX_BODY_BYTES / 2);
        assert_eq!(read_chunks([Some(half), Some(half)]).await.unwrap(), text(MAX_BODY_BYTES));
        assert_eq!(read_chunks([]).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_too_large() {
        let half = text(MAX_BODY_BYTES / 2);
        let code = read_chunks([Some(half), Some(half), Some("x")]).await.unwrap_err();
        assert_eq!(code, ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn an_announced_length_over_the_limit_is_too_large() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, (MAX_BODY_BYTES + 1).into())]);
        let mut body = RequestBody::new(Full::new(Bytes::from_static(b"{}")));
        let error = read(&mut body, &headers, TIME, &only_reservation()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_that_ends_early_is_a_bad_request() {
        assert_eq!(read_chunks([Some("{"), None]).await.unwrap_err(), ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn an_encoded_body_is_a_bad_request_before_it_is_read() {
        let mut body = RequestBody::new(StreamBody::new(chunks([Some("{")]).chain(stream::pending())));
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))]);
        let error = read(&mut body, &headers, TIME, &only_reservation()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::BadRequest);
        assert!(error.message().contains("Content-Encoding"));
    }

    #[tokio::test]
    async fn no_request_may_follow_on_a_body_with_trailers() {
        for (has_trailers, may_follow) in [(false, true), (true, false)] {
            let trailers = has_trailers.then(|| Ok(Frame::trailers(HeaderMap::new())));
            let frames = chunks([Some("{}")]).chain(stream::iter(trailers));
            let mut body = RequestBody::new(StreamBody::new(frames));
            read(&mut body, &HeaderMap::new(), TIME, &only_reservation()).await.unwrap();
            assert_eq!(body.is_complete(), may_follow);
        }
    }

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let mut body = RequestBody::new(StreamBody::new(chunks([Some("{")]).chain(stream::pending())));
        let error = read(&mut body, &HeaderMap::new(), TIME, &only_reservation()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_is_refused_while_its_bytes_cannot_be_reserved() {
        let budget = Arc::new(ByteBudget::new(MAX_BODY_BYTES));
        let (first, second) = (reservation(&budget), reservation(&budget));
        first.grow(MAX_BODY_BYTES - 5).unwrap();
        let mut body = RequestBody::new(StreamBody::new(chunks([Some("012345")])));
        let error = read(&mut body, &HeaderMap::new(), TIME, &second).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Overloaded);
    }

    #[tokio::test]
    async fn the_rest_of_a_body_is_discarded_up_to_its_end_or_the_limit() {
        let large = text(DISCARD_BYTES / 2);
        for (texts, ends) in
            [(vec![Some("01234"); 100], true), (vec![Some(large); 2], true), (vec![Some(large); 3], false)]
        {
            let mut body = RequestBody::new(StreamBody::new(chunks(texts)));
            assert!(!body.is_end_stream());
            discard(&mut body).await;
            assert_eq!(body.is_end_stream(), ends);
        }
    }
}
