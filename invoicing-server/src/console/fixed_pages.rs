//! Error pages that are the same for all callers: made once, so that no request takes memory for
//! them.

use std::sync::OnceLock;

use bytes::Bytes;

use super::Language;
use super::error::PageError;
use crate::error::Error;
use crate::http::error::ApiError;

/// Pages of errors without details of the request, in each language, with and without a link to the
/// first page.
#[derive(Default)]
pub(super) struct FixedPages([OnceLock<Bytes>; 4 * 2 * 2]);

impl FixedPages {
    /// The page of an error; `None` if it is not the same for all.
    pub(super) fn get(
        &self,
        error: &PageError,
        language: Language,
        has_home: bool,
        make: impl FnOnce() -> Bytes,
    ) -> Option<Bytes> {
        let kind = match error {
            PageError::CrossSite => 0,
            PageError::Forbidden => 1,
            PageError::Api(ApiError::Operation(Error::NotFound)) => 2,
            PageError::Api(ApiError::Overloaded | ApiError::Operation(Error::Overloaded)) => 3,
            PageError::Api(_) | PageError::SignedOut(_) => return None,
        };
        let place = 4 * kind + 2 * usize::from(language == Language::French) + usize::from(has_home);
        Some(self.0[place].get_or_init(make).clone())
    }
}
