//! Why [`Builder::open`](crate::Builder::open) fails: the errors of every part that it composes.

use crate::Error;
use crate::config::SettingError;
use crate::dispatch::transport::TransportError;
use crate::documents::StorageSetupError;
use crate::sealing::SealingError;
use crate::store::DatabaseError;

/// Why the service cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The service's own settings in the database cannot be read or written.
    #[error("the service cannot start")]
    Start(#[source] Error),
    /// The folder for documents beside the database cannot be used.
    #[error("the document store cannot be opened")]
    Documents(#[source] StorageSetupError),
    /// The sealing keys are not those that the database needs.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The webhook client cannot be set up.
    #[error("the webhook client cannot be set up")]
    Transport(#[from] TransportError),
    /// A setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
}
