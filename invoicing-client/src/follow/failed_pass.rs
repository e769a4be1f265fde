//! [`FailedPass`], reported to the listener of a [`Follow`](crate::Follow).

use std::fmt;
use std::time::Duration;

use crate::CatchUpError;

/// A pass that failed and will be made again.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedPass {
    /// [`CatchUpError::Read`] or [`CatchUpError::UnstableList`]: the others end [`Follow::run`](crate::Follow::run).
    pub error: CatchUpError,
    /// Time until the next pass.
    pub retry_in: Duration,
}

/// One line, such as `cannot read a page: quotes.list: no connection to …; the next pass is made in 30s`.
impl fmt::Display for FailedPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of the error has its cause.
        write!(f, "{:?}; the next pass is made in {:?}", self.error, self.retry_in)
    }
}
