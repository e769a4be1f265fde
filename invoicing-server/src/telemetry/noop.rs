//! The metrics without the feature `metrics`: the same calls, which do nothing.

#![expect(clippy::unused_self, reason = "the calls are those of the other form")]

use std::time::Duration;

use http::{Method, StatusCode};
use invoicing_core::{AttemptOutcome, Timestamp};

#[cfg(feature = "postgres")]
use super::PageSource;
use super::{AttemptEnd, Limit};

/// Metrics that measure nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics;

/// A timer that measures nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer;

impl Metrics {
    pub(crate) fn start(&self) -> Timer {
        Timer
    }

    pub(crate) fn request(&self, _route: &str, _method: &Method, _status: StatusCode, _timer: Timer) {}

    pub(crate) fn limited(&self, _limit: Limit) {}

    pub(crate) fn operation(&self, _operation: &'static str, _result: &str, _timer: Timer) {}

    pub(crate) fn committed(&self, _timer: Timer) {}

    pub(crate) fn event(&self, _kind: &'static str) {}

    pub(crate) fn attempt(&self, _outcome: AttemptOutcome, _end: AttemptEnd, _duration: Duration) {}

    pub(crate) fn delivered_after(&self, _delay_ms: i64) {}

    pub(crate) fn claims_lost(&self, _count: u64) {}

    pub(crate) fn webhooks_disabled(&self, _count: u64) {}

    pub(crate) fn turned(&self, _now: Timestamp, _attempts: usize) {}

    pub(crate) fn swept(&self, _now: Timestamp) {}

    #[cfg(feature = "postgres")]
    pub(crate) fn page(&self, _source: PageSource) {}

    #[cfg(feature = "postgres")]
    pub(crate) fn clock_was_off(&self, _millis: i64) {}
}
