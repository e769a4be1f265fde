//! Why a pass ended early.

use std::convert::Infallible;

use crate::{CheckpointError, Error, Version};

/// A pass ended early. The checkpoint has not moved: the next pass begins where this one did, or goes on reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatchUpError<E = Infallible> {
    /// A page could not be read. Nothing of it was delivered; the next pass goes on with it.
    #[error("a page cannot be read")]
    Read(#[source] Error),
    /// The list moved by more than the overlap between too many pairs of pages, so that records may have been left
    /// out. Only with [`overlap`](crate::CatchUp::overlap): a larger one, or a quieter moment, helps.
    #[error("the list moves faster than it can be read with this overlap ({steps_back} steps back)")]
    Unsettled {
        /// How often the pass went back to find its place again.
        steps_back: u32,
    },
    /// The handler refused a record. Those before it were acknowledged; it and those after it come again.
    #[error("the handler failed on {}", version.id)]
    Handler {
        /// The record that it failed on.
        version: Version,
        /// What the handler says.
        source: E,
    },
    /// The checkpoint could not be read or kept.
    #[error("the checkpoint failed")]
    Checkpoint(#[source] CheckpointError),
}

/// What can go wrong before a handler is asked.
#[derive(Debug)]
pub(crate) enum ReadError {
    Request(Error),
    Unsettled { steps_back: u32 },
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
            ReadError::Unsettled { steps_back } => Self::Unsettled { steps_back },
        }
    }
}

impl<E> From<CheckpointError> for CatchUpError<E> {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}
