//! The reason why a store cannot be set up.

use std::io;
use std::path::PathBuf;

/// The reason why a document store cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageSetupError {
    /// The text is no URL, or a URL of an unknown kind, or of a kind whose feature is not switched
    /// on.
    #[error("{0} is not the URL of a document store; s3, gcs and azure need the features of these names")]
    Url(String),
    /// The store has no such option.
    #[error("the document store has no option {0}")]
    Option(String),
    /// The folder cannot be made or opened.
    #[error("the folder {} cannot be used", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The options of the store are incomplete or unusable.
    #[error("the document store cannot be set up")]
    Store(#[from] object_store::Error),
}
