//! Access control: from the API key to the company, by key, plan and quota in this order.
//!
//! In two steps, as an unknown key takes no place, and a request without a place does not count in the quota.

use std::sync::Arc;

use http::{HeaderMap, header};
use invoicing_core::QuotaDecision;

use super::ApiContext;
use super::error::ApiError;
use super::headers::only_value;
use super::response::RateLimit;
use crate::access::{PresentedKey, Verdict};
use crate::operations::CompanyHandle;

/// The key of a request.
pub(super) async fn identify(context: &ApiContext, headers: &HeaderMap) -> Result<PresentedKey, ApiError> {
    let key = bearer_token(headers).ok_or(ApiError::Unauthorized)?;
    context.access.identify(key).await?.ok_or(ApiError::Unauthorized)
}

/// The company of a request that may pass. `rate_limit` is set as soon as the key is accepted, also for a refusal.
pub(super) async fn admit(
    context: &ApiContext,
    key: PresentedKey,
    rate_limit: &mut Option<RateLimit>,
) -> Result<CompanyHandle, ApiError> {
    let quota = context.access.quota;
    let (company, decision) = match context.access.admit(key).await? {
        Verdict::Unauthorized => return Err(ApiError::Unauthorized),
        Verdict::PlanRequired => {
            *rate_limit = (quota > 0).then(|| RateLimit::unused(quota));
            return Err(ApiError::PlanRequired);
        }
        Verdict::Decided { company, decision } => (company, decision),
    };
    *rate_limit = (quota > 0).then(|| RateLimit::after(decision, quota));
    match decision {
        QuotaDecision::Accepted { .. } => Ok(CompanyHandle::new(Arc::clone(&context.services), company)),
        QuotaDecision::Refused { wait_ms } => {
            Err(ApiError::QuotaUsedUp { retry_seconds: RateLimit::retry_seconds(wait_ms) })
        }
    }
}

/// The token of the only `Authorization` header, where its scheme is `Bearer` (RFC 6750, section 2.1).
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
