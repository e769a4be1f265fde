//! Rules of the crate as a whole.

#[cfg(all(feature = "console", feature = "postgres"))]
pub(crate) mod walks;
