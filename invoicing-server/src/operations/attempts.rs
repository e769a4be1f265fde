//! Attempts of a change whose document is rendered before its transaction.

use invoicing_core::Conflict;

use crate::error::Error;

/// Number of times that a change is attempted if the record changes while its document is being
/// rendered.
pub(super) const ATTEMPTS: usize = 8;

/// Number of times that an issue is attempted. Of two other nodes that issue for the same company
/// without a pause, each takes the number in one of three cases.
pub(super) const ISSUE_ATTEMPTS: usize = 64;

/// Attempts a change until it is committed. An attempt returns `None` if its document shows
/// outdated data.
pub(super) async fn until_committed<T, F, A>(attempts: usize, mut attempt: F) -> Result<Option<T>, Error>
where
    F: FnMut() -> A,
    A: Future<Output = Result<Option<T>, Error>>,
{
    for _ in 0..attempts {
        if let Some(done) = attempt().await? {
            return Ok(Some(done));
        }
    }
    Ok(None)
}

/// The error of a change that began again too often.
pub(super) fn keeps_changing() -> Error {
    Conflict::new("the record keeps changing; try again").into()
}
