//! [`Limits`] of a call. The defaults suit those of the API contract.

use std::time::Duration;

use crate::ConfigError;

/// Maximum number of attempts per call, as the API contract limits them.
pub(crate) const MAX_ATTEMPTS: u32 = 4;
/// For one attempt, including the body of the response.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// For one call: the longest `Retry-After` that is waited for (90 s) and one attempt.
const DEADLINE: Duration = Duration::from_mins(2);
/// Larger than a page of 100 quotes with a few hundred lines each.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Limits of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_attempts: u32,
    pub(crate) attempt_timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) max_response_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_attempts: MAX_ATTEMPTS,
            attempt_timeout: ATTEMPT_TIMEOUT,
            deadline: DEADLINE,
            max_response_bytes: MAX_RESPONSE_BYTES,
        }
    }
}

impl Limits {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let invalid = |setting, rule| Err(ConfigError::OutOfRange { setting, rule });
        if !(1..=MAX_ATTEMPTS).contains(&self.max_attempts) {
            return invalid("max_attempts", "between 1 and 4");
        }
        if self.attempt_timeout.is_zero() {
            return invalid("attempt_timeout", "more than 0");
        }
        if self.deadline.is_zero() {
            return invalid("deadline", "more than 0");
        }
        Ok(())
    }
}
