//! The telemetry of a running service for its host: [spans], and metrics for a recorder of the
//! crate `metrics`.
//!
//! The metrics are in [`names`], as in the table of `docs/operate-observe.md`. Without the feature
//! `metrics` the measuring is empty.

#[cfg(any(feature = "metrics", test))]
mod names;
#[cfg(not(feature = "metrics"))]
mod noop;
#[cfg(feature = "metrics")]
mod recording;
pub(crate) mod spans;

#[cfg(not(feature = "metrics"))]
pub(crate) use noop::{Metrics, Timer};
#[cfg(feature = "metrics")]
pub(crate) use recording::{Metrics, Timer};

/// The end of an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AttemptEnd {
    Delivered,
    Retried,
    Failed,
}

/// The database that a page was read from.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy)]
pub(crate) enum PageSource {
    Primary,
    Replica,
}

/// The reason for refusing a request without serving it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    Quota,
    Overloaded,
}
