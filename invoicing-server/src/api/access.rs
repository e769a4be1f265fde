//! Access control: from the API key to the company, by key, plan and quota in this order.
//!
//! Identify first, then admit: unknown keys use no slot, and a request that is refused for lack of
//! a slot is not counted.

use std::sync::Arc;

use http::{HeaderMap, header};
use invoicing_core::QuotaDecision;

use super::ApiContext;
use super::rate_limit::{KeyQuota, RateLimit};
use crate::access::{PresentedKey, Verdict};
use crate::http::error::ApiError;
use crate::http::headers::only_value;
use crate::operations::CompanyHandle;

/// The key of a request.
pub(super) async fn identify(context: &ApiContext, headers: &HeaderMap) -> Result<PresentedKey, ApiError> {
    let key = bearer_token(headers).ok_or(ApiError::Unauthorized)?;
    context.access.identify(key).await?.ok_or(ApiError::Unauthorized)
}

/// The company of a request that may pass. `rate_limit` is set once the key is accepted, even for a
/// refusal.
pub(super) async fn admit(
    context: &ApiContext,
    key: PresentedKey,
    rate_limit: &KeyQuota,
) -> Result<CompanyHandle, ApiError> {
    let quota = context.access.quota;
    let (company, decision) = match context.access.admit(key).await? {
        Verdict::Unauthorized => return Err(ApiError::Unauthorized),
        Verdict::PlanRequired => {
            if quota > 0 {
                rate_limit.get_or_init(|| RateLimit::unused(quota));
            }
            return Err(ApiError::PlanRequired);
        }
        Verdict::Decided { company, decision } => (company, decision),
    };
    if quota > 0 {
        rate_limit.get_or_init(|| RateLimit::after(decision, quota));
    }
    match decision {
        QuotaDecision::Accepted { .. } => Ok(CompanyHandle::new(Arc::clone(&context.services), company)),
        QuotaDecision::Refused { wait_ms } => {
            Err(ApiError::QuotaUsedUp { retry_seconds: RateLimit::retry_seconds(wait_ms) })
        }
    }
}

/// The token of the only `Authorization` header, if its scheme is `Bearer` (RFC 6750, section 2.1).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = only_value(headers, header::AUTHORIZATION)?.split_once(' ')?;
    let key = key.trim();
    let is_key = !key.is_empty() && !key.contains([' ', '\t']);
    (scheme.eq_ignore_ascii_case("bearer") && is_key).then_some(key)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn headers<const N: usize>(values: [&[u8]; N]) -> HeaderMap {
        let value = |value| (header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        values.map(value).into_iter().collect()
    }

    #[test]
    fn the_scheme_is_case_insensitive() {
        for value in ["Bearer isk_x", "bearer isk_x", "BEARER  isk_x", "Bearer isk_x "] {
            assert_eq!(bearer_token(&headers([value.as_bytes()])), Some("isk_x"), "{value}");
        }
    }

    #[test]
    fn a_header_without_exactly_one_bearer_token_has_none() {
        for value in ["", "Bearer", "Bearer ", "isk_x", "Basic isk_x", "Bearerisk_x", "Bearer isk_x isk_y"] {
            assert_eq!(bearer_token(&headers([value.as_bytes()])), None, "{value}");
        }
        assert_eq!(bearer_token(&headers([b"Bearer \xff"])), None);
        assert_eq!(bearer_token(&HeaderMap::new()), None);
        assert_eq!(bearer_token(&headers([b"Bearer isk_x", b"Bearer isk_x"])), None);
    }

    proptest! {
        #[test]
        fn a_token_is_not_empty_and_has_no_white_space(value in "[Bb]earer[ -~]{0,30}") {
            if let Some(key) = bearer_token(&headers([value.as_bytes()])) {
                prop_assert!(!key.is_empty() && !key.contains(char::is_whitespace));
            }
        }
    }
}
