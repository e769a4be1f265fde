//! The quota of a key, for the headers of a response.

use std::sync::OnceLock;

use http::{HeaderMap, HeaderName};
use invoicing_core::QuotaDecision;

const RATE_LIMIT_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The quota of the key of a request; empty without a valid key or without a quota.
pub(crate) type KeyQuota = OnceLock<RateLimit>;

/// State of a key's quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Requests in 60 s.
    limit: u32,
    /// Requests that would pass now.
    remaining: u32,
    /// Seconds until more requests would pass, rounded up.
    reset_seconds: u64,
}

impl RateLimit {
    /// The state after a request was counted or refused.
    pub(super) fn after(admission: QuotaDecision, limit: u32) -> Self {
        match admission {
            QuotaDecision::Accepted { remaining, reset_ms } => {
                Self { limit, remaining, reset_seconds: seconds(reset_ms) }
            }
            QuotaDecision::Refused { wait_ms } => {
                Self { limit, remaining: 0, reset_seconds: seconds(wait_ms) }
            }
        }
    }

    /// The state of a key without counted requests.
    pub(super) const fn unused(limit: u32) -> Self {
        Self { limit, remaining: limit, reset_seconds: 0 }
    }

    pub(super) fn set(self, headers: &mut HeaderMap) {
        headers.insert(RATE_LIMIT_LIMIT, self.limit.into());
        headers.insert(RATE_LIMIT_REMAINING, self.remaining.into());
        headers.insert(RATE_LIMIT_RESET, self.reset_seconds.into());
    }

    /// The value of `Retry-After`, at least 1.
    pub(super) fn retry_seconds(wait_ms: i64) -> u64 {
        seconds(wait_ms).max(1)
    }
}

/// Milliseconds in whole seconds, rounded up so that a wait of that length is enough.
fn seconds(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_are_rounded_up() {
        for (wait_ms, expected) in [(1, 1), (999, 1), (1_000, 1), (1_001, 2), (59_901, 60), (60_001, 61)] {
            let rate_limit = RateLimit::after(QuotaDecision::Refused { wait_ms }, 30);
            assert_eq!(rate_limit, RateLimit { limit: 30, remaining: 0, reset_seconds: expected });
            assert_eq!(RateLimit::retry_seconds(wait_ms), expected);
        }
    }

    #[test]
    fn the_quota_is_sent_in_seconds() {
        let rate_limit = RateLimit::after(QuotaDecision::Accepted { remaining: 29, reset_ms: 60_001 }, 30);
        let mut headers = HeaderMap::new();
        rate_limit.set(&mut headers);
        let header = |name| headers[name].to_str().unwrap();
        assert_eq!(
            [header(RATE_LIMIT_LIMIT), header(RATE_LIMIT_REMAINING), header(RATE_LIMIT_RESET)],
            ["30", "29", "61"]
        );
    }
}
