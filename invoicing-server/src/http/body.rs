//! Reading a request's body within limits. What is in it is not looked at here.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::{HeaderMap, header};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::error::ApiError;

/// What a body's reader may fail with.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Limits on the body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// Most bytes.
    pub(crate) bytes: usize,
    /// Longest time until the last of them has arrived.
    pub(crate) time: Duration,
}

impl BodyLimits {
    /// 256 KiB (contract, section 1), and long enough for them on a slow line.
    pub(crate) const CONTRACT: Self = Self { bytes: 256 * 1024, time: Duration::from_secs(10) };
    /// What is read of a body that nobody wants.
    const UNWANTED: Self = Self { bytes: 1024 * 1024, time: Duration::from_secs(5) };
}

/// Reads the whole body.
///
/// # Errors
/// `payload_too_large`, also where the length that is announced is; `request_timeout`; `bad_request` where the
/// body breaks off.
pub(crate) async fn read<B>(
    mut body: Pin<&mut B>,
    headers: &HeaderMap,
    limits: BodyLimits,
) -> Result<Bytes, ApiError>
where
    B: Body<Data: Buf, Error: Into<BoxError>>,
{
    let too_large = ApiError::PayloadTooLarge(limits.bytes);
    if announced(&*body, headers) > limits.bytes as u64 {
        discard(body, headers).await;
        return Err(too_large);
    }
    let reading = Limited::new(body.as_mut(), limits.bytes).collect();
    match timeout(limits.time, reading).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(body, headers).await;
            Err(too_large)
        }
        Ok(Err(error)) => {
            tracing::debug!(error, "a request's body broke off");
            Err(ApiError::bad_request("The body of the request ended early"))
        }
        Err(_) => Err(ApiError::RequestTimeout),
    }
}

/// Reads and drops a body that nobody wants, within limits.
///
/// A server that closes a connection on which unread bytes are waiting resets it, and the reset may overtake the
/// answer: the caller would see a broken connection instead of the error. A caller that waits for `100 Continue` has
/// sent nothing yet.
pub(crate) async fn discard<B>(body: Pin<&mut B>, headers: &HeaderMap)
where
    B: Body<Data: Buf, Error: Into<BoxError>>,
{
    if body.is_end_stream() || headers.contains_key(header::EXPECT) {
        return;
    }
    let limits = BodyLimits::UNWANTED;
    let mut body = Limited::new(body, limits.bytes);
    let reading = async { while let Some(Ok(_)) = body.frame().await {} };
    // Whether it came to its end changes nothing for the answer.
    let _ = timeout(limits.time, reading).await;
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

    use futures_util::{Stream, StreamExt, stream};
    use http::HeaderValue;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};
    use invoicing_core::ErrorCode;

    use super::*;

    const LIMITS: BodyLimits = BodyLimits { bytes: 10, time: Duration::from_millis(20) };

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
        let body = pin!(StreamBody::new(chunks(texts)));
        read(body, &HeaderMap::new(), LIMITS).await.map_err(|error| error.code())
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
        let body = pin!(Full::new(Bytes::from_static(b"{}")));
        let error = read(body, &headers, LIMITS).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_cannot_be_read() {
        assert_eq!(read_chunks([Some("{"), None]).await.unwrap_err(), ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let body = pin!(StreamBody::new(chunks([Some("{")]).chain(stream::pending())));
        let error = read(body, &HeaderMap::new(), LIMITS).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_read_to_its_end() {
        let mut chunks = chunks([Some("01234"); 100]);
        let body = pin!(StreamBody::new(&mut chunks));
        assert!(read(body, &HeaderMap::new(), LIMITS).await.is_err());
        assert!(chunks.next().await.is_none());
    }
}
