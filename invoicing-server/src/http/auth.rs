//! Who is calling, and whether they may: key, plan, quota, in this order.

use http::{HeaderMap, header};
use invoicing_core::Admission;

use super::error::ApiError;
use super::reply::RateLimit;
use crate::operations::CompanyHandle;
use crate::{Error, Invoicing};

/// How often a key that is being changed is read again.
const TRIES: u32 = 5;

/// Lets the caller in, or says why not. Where the quota stands is put down either way, for the answer's headers.
///
/// A refusal for the plan counts nothing and shows the quota as if nobody had touched it.
pub(crate) async fn admit(
    invoicing: &Invoicing,
    headers: &HeaderMap,
    rate: &mut Option<RateLimit>,
) -> Result<CompanyHandle, ApiError> {
    let key = bearer(headers).ok_or(ApiError::Unauthorized)?;
    let limit = invoicing.settings().quota;
    let mut tries = 0;
    let (caller, admission) = loop {
        let caller = invoicing.inner().authenticate(key).await?.ok_or(ApiError::Unauthorized)?;
        *rate = (limit > 0).then(|| RateLimit::untouched(limit));
        if !caller.plan.has_api() {
            return Err(ApiError::PlanRequired);
        }
        // Otherwise the key has just been changed by another node: who calls is to be found out again.
        if let Some(admission) = invoicing.inner().admit(&caller).await? {
            break (caller, admission);
        }
        tries += 1;
        if tries == TRIES {
            return Err(Error::internal("the key keeps changing").into());
        }
    };
    if let Some(rate) = rate {
        *rate = RateLimit::after(admission, limit);
    }
    match admission {
        Admission::Accepted { .. } => Ok(invoicing.company(caller.company)),
        Admission::Refused { wait_ms } => {
            Err(ApiError::QuotaUsedUp { retry_seconds: RateLimit::retry_seconds(wait_ms) })
        }
    }
}

/// The key of the one `Authorization` header, if that is what it holds (RFC 6750, section 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
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
    fn the_scheme_is_blind_to_case() {
        for value in ["Bearer isk_x", "bearer isk_x", "BEARER  isk_x", "Bearer isk_x "] {
            assert_eq!(bearer(&headers([value.as_bytes()])), Some("isk_x"), "{value}");
        }
    }

    #[test]
    fn anything_but_one_bearer_key_is_none() {
        for value in ["", "Bearer", "Bearer ", "isk_x", "Basic isk_x", "Bearerisk_x", "Bearer isk_x isk_y"] {
            assert_eq!(bearer(&headers([value.as_bytes()])), None, "{value}");
        }
        assert_eq!(bearer(&headers([b"Bearer \xff"])), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
        assert_eq!(bearer(&headers([b"Bearer isk_x", b"Bearer isk_x"])), None);
    }

    proptest! {
        #[test]
        fn a_key_has_no_white_space(value in "[Bb]earer[ -~]{0,30}") {
            if let Some(key) = bearer(&headers([value.as_bytes()])) {
                prop_assert!(!key.is_empty() && !key.contains(char::is_whitespace));
            }
        }
    }
}
