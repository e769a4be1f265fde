//! A body within a limit, as one piece.

use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;

use super::Refusal;

/// What is set aside on the word of `Content-Length` alone, in bytes. Real bodies fit.
const TRUSTED_LENGTH: u64 = 4 * 1024;

/// Reads to the end, or refuses as soon as the limit is passed: by what is announced, or by what came.
pub(super) async fn within<B: Body>(limit: usize, body: B) -> Result<Bytes, Refusal> {
    let mut body = pin!(body);
    let announced = body.size_hint().lower();
    if usize::try_from(announced).map_or(true, |announced| announced > limit) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let mut bytes = BytesMut::with_capacity(usize::try_from(announced.min(TRUSTED_LENGTH)).unwrap_or(0));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::BodyUnreadable)?.into_data() else { continue };
        if data.remaining() > limit - bytes.len() {
            return Err(Refusal::BodyTooLarge { limit });
        }
        bytes.put(data);
    }
    Ok(bytes.freeze())
}
