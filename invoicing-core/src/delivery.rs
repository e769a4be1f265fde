//! Decisions after a delivery attempt: delivered, retry, or failed; and when a webhook is disabled.

use strum::{Display, IntoStaticStr, VariantArray};

use crate::Timestamp;

/// Consecutive failed deliveries after which a webhook is disabled.
pub const DISABLE_AFTER_FAILURES: u32 = 10;

/// Most that `Retry-After` can lengthen a gap to, in milliseconds.
const RETRY_AFTER_LIMIT_MS: i64 = 30_000;

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DeliveryStatus {
    /// Waits for an attempt, or an attempt is being made.
    Pending,
    /// A receiver answered 2xx.
    Delivered,
    /// No attempt succeeded.
    Failed,
    /// Not attempted because the webhook is disabled; can be replayed.
    Skipped,
}

/// Why an attempt got no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum FailureClass {
    /// The attempt exceeded its time limit.
    Timeout,
    /// The name did not resolve.
    Dns,
    /// The connection failed or was lost.
    Network,
    /// The TLS handshake failed for another reason than the certificate: no TLS there, no version in common, an alert.
    Tls,
    /// A certificate of the peer's chain has expired.
    TlsExpired,
    /// A certificate of the peer's chain is not valid yet.
    TlsNotYetValid,
    /// The certificate is for other names than the URL's.
    TlsWrongName,
    /// The certificate leads to no authority that is trusted: self-signed, or an intermediate is missing.
    TlsUnknownIssuer,
    /// The certificate cannot be accepted for another reason: signature, purpose, encoding.
    TlsBadCertificate,
    /// The forward proxy, through which the host sends its webhooks, made no connection.
    Proxy,
    /// The peer does not speak HTTP.
    Protocol,
    /// The address is not one that webhooks may reach.
    TargetRefused,
    /// The delivery cannot be sent as it is stored (URL or secret unreadable).
    Unsendable,
    /// Claimed repeatedly by processes that ended before they recorded an outcome.
    Abandoned,
}

impl FailureClass {
    /// Whether another attempt may succeed.
    pub const fn is_transient(self) -> bool {
        match self {
            Self::Timeout
            | Self::Dns
            | Self::Network
            | Self::Protocol
            | Self::Proxy
            | Self::Tls
            | Self::TlsExpired
            | Self::TlsNotYetValid
            | Self::TlsWrongName
            | Self::TlsUnknownIssuer
            | Self::TlsBadCertificate => true,
            Self::TargetRefused | Self::Unsendable | Self::Abandoned => false,
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// `Retry-After` in seconds, where the answer carried one.
        retry_after: Option<u64>,
    },
    /// There was no usable answer.
    Failed(FailureClass),
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// With a 2xx.
    Delivered,
    /// After the last attempt.
    Failed,
}

/// The decision after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// The delivery has ended.
    End(DeliveryOutcome),
    /// Another attempt, not before this instant.
    RetryAt(Timestamp),
}

/// How often and when a delivery is attempted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in total, the first included. At least 1.
    pub max_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 3 }
    }
}

impl RetryPolicy {
    /// Gaps between attempts in milliseconds; the last one repeats where a host allows more attempts.
    const GAPS_MS: [i64; 3] = [1_000, 5_000, 30_000];

    /// Decides after attempt number `attempt` (the first is 1), which ended at `now`. `jitter` is a random number;
    /// it lengthens the gap by at most 10 % and never shortens it.
    pub fn after(&self, attempt: u32, outcome: AttemptOutcome, now: Timestamp, jitter: u16) -> NextStep {
        let retry_after = match outcome {
            AttemptOutcome::Answered { status: 200..=299, .. } => {
                return NextStep::End(DeliveryOutcome::Delivered);
            }
            AttemptOutcome::Answered { status: 429 | 503, retry_after } => retry_after,
            AttemptOutcome::Answered { status: 500..=599, .. } => None,
            AttemptOutcome::Failed(class) if class.is_transient() => None,
            AttemptOutcome::Answered { .. } | AttemptOutcome::Failed(_) => {
                return NextStep::End(DeliveryOutcome::Failed);
            }
        };
        if attempt >= self.max_attempts {
            return NextStep::End(DeliveryOutcome::Failed);
        }
        let index = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let gap = Self::GAPS_MS.get(index).copied().unwrap_or(Self::GAPS_MS[2]);
        let asked = retry_after.map_or(0, |seconds| {
            i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000).min(RETRY_AFTER_LIMIT_MS)
        });
        let added = gap / 10 * i64::from(jitter) / i64::from(u16::MAX);
        NextStep::RetryAt(now.plus_millis((gap + added).max(asked)))
    }
}

/// Consecutive failed deliveries of one webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailureCount(pub u32);

impl FailureCount {
    /// The count after another delivery ended. Pings do not count.
    #[must_use]
    pub fn after(self, end: DeliveryOutcome) -> Self {
        match end {
            DeliveryOutcome::Delivered => Self(0),
            DeliveryOutcome::Failed => Self(self.0.saturating_add(1)),
        }
    }

    /// Whether the webhook must be disabled.
    pub fn disables_webhook(self) -> bool {
        self.0 >= DISABLE_AFTER_FAILURES
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn gap(attempt: u32, outcome: AttemptOutcome, jitter: u16) -> Option<i64> {
        match (RetryPolicy { max_attempts: 9 }).after(attempt, outcome, NOW, jitter) {
            NextStep::RetryAt(at) => Some(at.as_millis() - NOW.as_millis()),
            NextStep::End(_) => None,
        }
    }

    fn answered(status: u16) -> AttemptOutcome {
        AttemptOutcome::Answered { status, retry_after: None }
    }

    /// Rules: ATTEMPT-2
    #[test]
    fn gaps_are_1_5_and_30_seconds() {
        let gaps: Vec<_> = (1..6).map(|n| gap(n, answered(500), 0).unwrap()).collect();
        assert_eq!(gaps, [1_000, 5_000, 30_000, 30_000, 30_000]);
    }

    /// Rules: ATTEMPT-1
    #[test]
    fn three_attempts_are_the_default() {
        let policy = RetryPolicy::default();
        let timeout = AttemptOutcome::Failed(FailureClass::Timeout);
        assert!(matches!(policy.after(2, timeout, NOW, 0), NextStep::RetryAt(_)));
        assert_eq!(policy.after(3, timeout, NOW, 0), NextStep::End(DeliveryOutcome::Failed));
    }

    /// Rules: ATTEMPT-4
    #[test]
    fn retry_after_lengthens_the_gap_up_to_30_seconds_on_429_and_503_only() {
        let asks = |status, seconds| AttemptOutcome::Answered { status, retry_after: Some(seconds) };
        assert_eq!(gap(1, asks(429, 7), 0), Some(7_000));
        assert_eq!(gap(1, asks(503, 7), 0), Some(7_000));
        assert_eq!(gap(1, asks(429, u64::MAX), 0), Some(30_000));
        assert_eq!(gap(2, asks(429, 2), 0), Some(5_000));
        assert_eq!(gap(1, asks(500, 7), 0), Some(1_000));
    }

    /// Rules: ATTEMPT-7, TARGET-6
    #[test]
    fn failures_on_the_way_are_attempted_again_and_those_before_it_are_final() {
        use FailureClass::{Abandoned, TargetRefused, Unsendable};
        for class in FailureClass::ALL {
            let is_final = matches!(class, TargetRefused | Unsendable | Abandoned);
            assert_eq!(gap(1, AttemptOutcome::Failed(*class), 0).is_none(), is_final, "{class}");
        }
    }

    proptest! {
        /// Rules: ATTEMPT-6, ATTEMPT-7, ATTEMPT-8
        #[test]
        fn every_status_ends_or_retries_as_the_contract_says(status in 100_u16..1_000) {
            let step = RetryPolicy::default().after(1, answered(status), NOW, 0);
            let expected = match status {
                200..=299 => "delivered",
                429 | 500..=599 => "retry",
                _ => "failed",
            };
            let found = match step {
                NextStep::End(DeliveryOutcome::Delivered) => "delivered",
                NextStep::End(DeliveryOutcome::Failed) => "failed",
                NextStep::RetryAt(_) => "retry",
            };
            prop_assert_eq!(found, expected);
        }

        /// Rules: ATTEMPT-3
        #[test]
        fn a_gap_is_never_shortened_and_at_most_a_tenth_longer(attempt in 1..u32::MAX, jitter: u16) {
            let bare = RetryPolicy { max_attempts: u32::MAX };
            let NextStep::RetryAt(at) = bare.after(attempt, answered(500), NOW, jitter) else { panic!("ended") };
            let base = match attempt { 1 => 1_000, 2 => 5_000, _ => 30_000 };
            let gap = at.as_millis() - NOW.as_millis();
            prop_assert!((base..=base + base / 10).contains(&gap));
        }

        /// Rules: WEBHOOK-11, WEBHOOK-12
        #[test]
        fn ten_failures_in_a_row_disable_and_a_success_starts_over(ends in proptest::collection::vec(any::<bool>(), 0..60)) {
            let mut count = FailureCount::default();
            let mut in_a_row = 0;
            for delivered in ends {
                in_a_row = if delivered { 0 } else { in_a_row + 1 };
                count = count.after(if delivered { DeliveryOutcome::Delivered } else { DeliveryOutcome::Failed });
                prop_assert_eq!(count.disables_webhook(), in_a_row >= 10);
            }
        }
    }
}
