//! Document stores: the trait that a host can implement, and the types of its calls.
//!
//! A store handles keys and bytes. It has no link from a document to the record that refers to it,
//! never lists its contents, and sets no time limit: the caller sets one. [`ObjectStorage`] is the
//! implementation of this crate.

#[cfg(feature = "cloud")]
mod cloud;
mod error;
mod folder;
mod object;
mod setup;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{self, BoxFuture, FutureExt};
use invoicing_core::CompanyId;
use uuid::Uuid;

use super::ContentHash;
use crate::error::Error;

pub use error::StorageSetupError;
pub use object::ObjectStorage;

/// The media type of every document.
pub(crate) const CONTENT_TYPE: &str = "application/pdf";

/// The file of a document in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredFile {
    pub(crate) key: DocumentKey,
    /// Hash that the bytes must have.
    pub(crate) sha256: ContentHash,
    /// Name of a download: `DEV-2026-0042.pdf`.
    pub(crate) file_name: String,
}

/// Stores documents under their company and the id of their upload.
///
/// Each upload has a new key, so no key is used for a second document. The service keeps the hash
/// of the bytes in its database and checks it whenever it reads a document.
///
/// The documents of a company lie under keys of that company only, so a store can be split by
/// company. Both parts of a key have a fixed form: no user input becomes part of a name.
pub trait DocumentStore: Send + Sync {
    /// Stores the bytes for good: `Ok` means that they survive a loss of power.
    ///
    /// A repeated put of the same bytes, such as a retry within the store, changes nothing. Stored
    /// bytes are never replaced: if other bytes lie under the key, the result is
    /// [`DocumentStoreError::Corrupt`], and they stay unchanged.
    ///
    /// Bytes may still arrive after the future has been dropped, but not more than an hour after
    /// the call: by then the service may have deleted the key, and does so only once.
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), DocumentStoreError>>;

    /// The stored bytes. The service checks them against their hash.
    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, DocumentStoreError>>;

    /// Number of stored bytes, without reading them; `None` if there is no document.
    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, DocumentStoreError>>;

    /// Deletes the document; `Ok` even if there is none. The service calls this for documents that
    /// no record refers to, an hour or more after their upload began, and may call it again for the
    /// same key.
    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), DocumentStoreError>>;

    /// Checks that documents can be put and read now, as far as a cheap check can find out. Probes
    /// of the health of the service call this about once a second, so it should cost little; the
    /// default checks nothing.
    fn check(&self) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        future::ready(Ok(())).boxed()
    }

    /// A URL of the store itself that gives access to the document for the given time and offers it
    /// under this file name; `None` if the store has no such URLs.
    fn presign(
        &self,
        key: DocumentKey,
        file_name: String,
        valid: Duration,
    ) -> BoxFuture<'_, Result<Option<String>, DocumentStoreError>> {
        let _ = (key, file_name, valid);
        future::ready(Ok(None)).boxed()
    }
}

/// The key of a stored document. Written `<company>/<upload>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// The company that owns the document.
    pub company: CompanyId,
    /// Id of the upload, a `UUIDv7`. Each upload has a new id, even if the bytes are the same.
    pub upload: Uuid,
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.company, self.upload)
    }
}

/// A document on its way into a store.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentFile {
    /// The whole document, a PDF.
    pub bytes: Bytes,
    /// The name of a download, for stores that serve their documents: `DEV-2026-0042.pdf`.
    pub file_name: String,
}

impl fmt::Debug for DocumentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentFile").field("file_name", &self.file_name).finish_non_exhaustive()
    }
}

impl From<DocumentStoreError> for Error {
    fn from(error: DocumentStoreError) -> Self {
        Self::unavailable(error)
    }
}

/// The reason why a call of a store has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentStoreError {
    /// There is no document under this key.
    #[error("the document is not in the store")]
    NotFound,
    /// The stored bytes differ from the frozen ones.
    #[error("the stored document is not the one that was frozen")]
    Corrupt,
    /// The store does not support or does not permit the call, and nothing has happened. A retry
    /// will not help.
    #[error("the document store refused the call")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store does not work as it should. The effect of the call may have happened all the same.
    #[error("the document store is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store did not answer in time. The effect of the call may have happened, or may happen
    /// later.
    #[error("the document store did not answer in time")]
    TimedOut,
}
