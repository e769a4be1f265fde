//! Errors of other libraries behind an error: their type, their texts, the cause behind all others.

use std::error::Error;
use std::fmt;

/// The cause of a failure, as an error of another library.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// The text of rustls for bytes that are no TLS record. There is no type to match: reqwest wraps
/// the error.
const NOT_TLS: &str = "InvalidContentType";

/// The text of the cause behind all others, which only name the step that failed.
pub(crate) fn root_cause(cause: &(dyn Error + 'static)) -> String {
    let root = std::iter::successors(Some(cause), |&cause| cause.source()).last().unwrap_or(cause);
    let text = root.to_string();
    if text.contains(NOT_TLS) {
        return "the server does not speak TLS on this port; should the URL begin with http://?".to_owned();
    }
    text
}

/// The text of an error and those of its sources, on one line.
pub(crate) fn fmt_chain(error: &(dyn Error + 'static), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    error.source().map_or(Ok(()), |source| {
        f.write_str(": ")?;
        fmt_chain(source, f)
    })
}

/// Gives errors a `Debug` that is their text and that of their sources, on one line: `main` prints
/// it of an error that it returns.
macro_rules! debug_as_chain {
    ($($error:ty)*) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::error_chain::fmt_chain(self, f)
            }
        }
    )*};
}

pub(crate) use debug_as_chain;
