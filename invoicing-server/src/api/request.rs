//! An authenticated request, and its typed input: the id in the path, the query, the JSON body.

use std::str::FromStr;

use bytes::Bytes;
use http::request::Parts;
use matchit::Params;
use serde::de::DeserializeOwned;

use super::{content_type, json};
use crate::error::Error;
use crate::http::byte_budget::{ByteReservation, SMALL};
use crate::http::error::ApiError;
use crate::list_query::PageWindow;
use crate::operations::CompanyHandle;

/// More bytes than most items of a list have, without large lines.
const USUAL_ITEM: usize = 2 * 1024;

/// A request that has passed authentication and quota.
#[derive(Debug)]
pub(super) struct ApiRequest<'r> {
    /// The company that the key belongs to.
    pub(super) company: CompanyHandle,
    /// The parameters of the path, still percent-encoded.
    pub(super) params: Params<'static, 'r>,
    /// Method, address and headers.
    pub(super) head: &'r Parts,
    /// The memory that the request and its response take.
    pub(super) reservation: &'r ByteReservation,
}

impl ApiRequest<'_> {
    /// The id in the path. A malformed id is answered like an unknown one.
    pub(super) fn id<T: FromStr>(&self) -> Result<T, ApiError> {
        let text = self.params.get("id").unwrap_or_default();
        let text =
            percent_encoding::percent_decode_str(text).decode_utf8().map_err(|_| ApiError::NOT_FOUND)?;
        text.parse().map_err(|_| ApiError::NOT_FOUND)
    }

    /// The query string; a missing one is empty.
    pub(super) fn query(&self) -> &str {
        self.head.uri.query().unwrap_or_default()
    }

    /// Reserves the bytes of a response before it is built.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), Error> {
        self.reservation.cover(bytes).map_err(|_| Error::Overloaded)
    }

    /// Reserves the usual size of a page, as its actual size is known only once it was read. Capped
    /// at [`SMALL`], so that large limits may still use the reserve for small answers.
    pub(super) fn reserve_page(&self, window: PageWindow) -> Result<(), Error> {
        self.reserve((window.limit as usize * USUAL_ITEM).min(SMALL))
    }

    /// The JSON body. `Content-Type` must be JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, body: &Bytes) -> Result<T, ApiError> {
        if !content_type::is_json(&self.head.headers) {
            return Err(ApiError::bad_request("The Content-Type must be application/json, in UTF-8"));
        }
        json::parse(body)
    }
}
