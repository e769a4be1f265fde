//! What a host can see of a running service: [spans], and what is measured, which goes to a recorder of the crate `metrics`.
//!
//! The names are in [`names`], their labels in [`labels`], and both in the table of OPERATIONS.md. Each handle is registered
//! once and kept, so that a measurement costs no allocation. Without the feature `metrics` the measuring is empty.

#[cfg(any(feature = "metrics", test))]
mod labels;
#[cfg(any(feature = "metrics", test))]
mod names;
#[cfg(not(feature = "metrics"))]
mod nothing;
#[cfg(feature = "metrics")]
mod recording;
pub(crate) mod spans;

#[cfg(not(feature = "metrics"))]
pub(crate) use nothing::{EventCounts, Metrics, Timer};
#[cfg(feature = "metrics")]
pub(crate) use recording::{EventCounts, Metrics, Timer};

/// How an attempt went on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AttemptEnd {
    Delivered,
    Retried,
    Failed,
}

/// Where a page came from.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy)]
pub(crate) enum PageSource {
    Primary,
    Replica,
}

/// Why a request was refused without being served.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    Quota,
    Overloaded,
}
