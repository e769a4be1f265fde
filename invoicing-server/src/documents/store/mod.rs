//! Where documents lie: the trait that a host can implement, and what goes over it.
//!
//! A store knows keys and bytes. It does not know which record refers to a document, never lists what it has, and has
//! no limit of time of its own: the caller sets one. What it ships with is [`ObjectStorage`].

#[cfg(feature = "cloud")]
mod cloud;
mod folder;
mod object;
mod setup;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{self, BoxFuture, FutureExt};
use invoicing_core::CompanyId;

use super::ContentHash;
use crate::Error;

pub use object::ObjectStorage;
pub use setup::StorageSetupError;

/// The media type of every document.
pub(crate) const CONTENT_TYPE: &str = "application/pdf";

/// Keeps documents under their company and the hash of their bytes.
///
/// Nothing of one company is ever at another's key, so that a store can be split by company, and what goes wrong with
/// one company's documents touches no other's. Both parts of a key are of fixed form: nothing that a user types in
/// becomes part of a name.
pub trait DocumentStore: Send + Sync {
    /// Keeps the bytes for good: `Ok` means that they survive a loss of power.
    ///
    /// Putting the same bytes again changes nothing. Bytes that are stored are never replaced by others: where other
    /// bytes lie under the key, that is [`StoreError::Corrupt`], and they stay as they are.
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The bytes, whole and unchanged, or [`StoreError::Corrupt`].
    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, StoreError>>;

    /// How many bytes are stored, without reading them; `None` where there are none.
    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, StoreError>>;

    /// Deletes the document; `Ok` also where there was none. It is called for what no record refers to, an hour or
    /// more after it was put.
    ///
    /// Once the future has ended or has been dropped for a minute, nothing of it may still happen: the same bytes may
    /// have been put again by then.
    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), StoreError>>;

    /// A URL of the store itself under which anybody may download the document for so long, offered under this file
    /// name; `None` where the store has no such URLs.
    fn presign(
        &self,
        _key: DocumentKey,
        _file_name: String,
        _valid: Duration,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        future::ready(Ok(None)).boxed()
    }
}

/// Where a document lies. Written `<company>/<hash>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// Whose it is.
    pub company: CompanyId,
    /// SHA-256 of its bytes.
    pub sha256: ContentHash,
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.company, self.sha256)
    }
}

/// A document on its way into a store.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentFile {
    /// The whole document, a PDF.
    pub bytes: Bytes,
    /// The name to offer it under, for stores that serve what they hold: `DEV-2026-0042.pdf`.
    pub file_name: String,
}

impl fmt::Debug for DocumentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentFile").field("file_name", &self.file_name).finish_non_exhaustive()
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::unavailable(error)
    }
}

/// Why a store cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no document under this key.
    #[error("the document is not in the store")]
    NotFound,
    /// What lies under this key is not what was frozen.
    #[error("the stored document is not the one that was frozen")]
    Corrupt,
    /// The store does not do this, or not for us, and nothing has happened. Asking again will not help.
    #[error("the document store refuses")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store does not answer as it should. What it was asked for may have happened all the same.
    #[error("the document store is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store did not answer in time. What it was asked for may have happened, or happen yet.
    #[error("the document store did not answer in time")]
    TimedOut,
}
