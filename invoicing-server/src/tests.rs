//! Rules of the crate as a whole.

// Optimised code is inlined, so it has no calls to count.
#[cfg(all(feature = "console", feature = "postgres", debug_assertions))]
pub(crate) mod walks;
