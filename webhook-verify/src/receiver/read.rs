//! A body within a limit, as one piece.

use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;

use super::Rejection;

/// The maximum that is allocated because of `Content-Length` alone, in bytes. Real bodies fit.
const TRUSTED_LENGTH: u64 = 4 * 1024;

/// Reads the body, or rejects it as soon as its announced or actual length exceeds the limit.
pub(super) async fn within<B: Body>(limit: usize, body: B) -> Result<Bytes, Rejection> {
    let mut body = pin!(body);
    let announced = body.size_hint().lower();
    if usize::try_from(announced).map_or(true, |announced| announced > limit) {
        return Err(Rejection::BodyTooLarge { limit });
    }
    let mut bytes = BytesMut::with_capacity(usize::try_from(announced.min(TRUSTED_LENGTH)).unwrap_or(0));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Rejection::BodyUnreadable)?.into_data() else { continue };
        if data.remaining() > limit - bytes.len() {
            return Err(Rejection::BodyTooLarge { limit });
        }
        bytes.put(data);
    }
    Ok(bytes.freeze())
}
