//! The XML as another implementation reads it, its traps, the faults of other programs, and the
//! refusals.

mod bugs;
#[cfg(feature = "pdf")]
mod files;
mod fixtures;
mod gaps;
#[cfg(feature = "pdf")]
mod golden;
mod notes;
mod readiness;
mod reading;
mod samples;
mod traps;
#[cfg(feature = "pdf")]
mod xmp;
