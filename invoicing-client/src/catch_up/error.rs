//! Errors of a pass.

use std::convert::Infallible;
use std::fmt;

use crate::{CheckpointError, Error, RecordVersion};

/// A pass ended early. The checkpoint has not moved; the next pass repeats or continues this one.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CatchUpError<E = Infallible> {
    /// A page could not be read. None of its records was delivered; the next pass continues with it.
    #[error("cannot read a page")]
    Read(#[source] Error),
    /// Too often, records moved by more than the [`overlap`](crate::CatchUp::overlap) between two pages. Occurs only with
    /// an overlap; a larger one, or a time with fewer changes, helps.
    #[error("the list changes too fast for this overlap ({steps_back} steps back)")]
    UnstableList {
        /// How often the pass stepped back.
        steps_back: u32,
    },
    /// The handler failed. The records before this one are acknowledged; it and the following ones are delivered again.
    #[error("the handler failed on {}", version.id)]
    Handler {
        /// The version that the handler failed on.
        version: RecordVersion,
        /// The error of the handler.
        source: E,
    },
    /// The checkpoint could not be loaded or saved.
    #[error("cannot load or save the checkpoint")]
    Checkpoint(#[source] CheckpointError),
}

/// The text with that of the cause, on one line: `main` prints it of an error that it returns.
impl<E: fmt::Debug> fmt::Debug for CatchUpError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{self}: {error:?}"),
            Self::Checkpoint(error) => write!(f, "{self}: {error:?}"),
            Self::Handler { source, .. } => write!(f, "{self}: {source:?}"),
            Self::UnstableList { .. } => write!(f, "{self}"),
        }
    }
}

/// An error before any delivery.
#[derive(Debug)]
pub(crate) enum ReadError {
    Request(Error),
    UnstableList { steps_back: u32 },
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}

impl<E> From<ReadError> for CatchUpError<E> {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Request(error) => Self::Read(error),
            ReadError::UnstableList { steps_back } => Self::UnstableList { steps_back },
        }
    }
}

impl<E> From<CheckpointError> for CatchUpError<E> {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}
