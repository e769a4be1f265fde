//! The XML as another implementation reads it, its traps, and the refusals.

#[cfg(feature = "pdf")]
mod files;
mod fixtures;
mod gaps;
mod readiness;
mod reading;
mod samples;
mod traps;
#[cfg(feature = "pdf")]
mod xmp;
