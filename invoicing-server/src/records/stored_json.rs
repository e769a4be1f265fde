//! JSON of the API, as it is stored.

use crate::Error;

/// JSON of the API, read from its rows, or the size of JSON that has large lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredJson {
    Whole(Vec<u8>),
    /// The JSON has large lines, so memory for it is to be reserved before it is read.
    Large {
        /// Its size.
        bytes: usize,
    },
}

impl StoredJson {
    /// The JSON of a read that leaves no large lines out.
    pub(crate) fn whole(self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Whole(json) => Ok(json),
            Self::Large { .. } => Err(Error::internal("large lines were left out")),
        }
    }
}
