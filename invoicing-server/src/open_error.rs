//! The error of [`InvoicingBuilder::open`](crate::InvoicingBuilder::open), with the errors of every part that it
//! composes.

use crate::config::SettingError;
use crate::dispatch::transport::TransportSetupError;
use crate::documents::StorageSetupError;
use crate::error::Error;
use crate::sealing::SealingError;
use crate::store::DatabaseError;

/// The reason why the service cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The settings that the service keeps in the database cannot be read or written.
    #[error("the service cannot start")]
    Start(#[source] Error),
    /// The folder for documents beside the database cannot be used.
    #[error("the document store cannot be opened")]
    Documents(#[source] StorageSetupError),
    /// The database needs other sealing keys.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The webhook client cannot be set up.
    #[error("the webhook client cannot be set up")]
    Transport(#[from] TransportSetupError),
    /// A setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
}
