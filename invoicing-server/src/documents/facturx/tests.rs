//! The XML as another implementation reads it, its traps, and the faults of other programs.

mod bugs;
#[cfg(feature = "pdf")]
mod files;
pub(crate) mod fixtures;
mod gaps;
#[cfg(feature = "pdf")]
mod golden;
mod notes;
mod reading;
mod samples;
mod traps;
#[cfg(feature = "pdf")]
mod xmp;
