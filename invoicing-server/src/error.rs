//! What an operation can refuse, or fail with.

use invoicing_core::{Conflict, Invalid, Refusal};

use crate::documents::{RenderError, StoreError};

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why an operation did not happen. Nothing has changed and nothing was emitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such record, or it belongs to another company.
    #[error("not found")]
    NotFound,
    /// The input breaks a rule; the text names the field.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The record's state does not allow it.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The quote is still in DRAFT: it has no frozen document.
    #[error("the quote is still a draft: it has no document yet")]
    DocumentUnavailable,
    /// The database or the document store is unavailable; the same call may succeed later. Only here nothing is certain:
    /// where the answer to a commit was lost and PostgreSQL stays away for longer than it is waited for, the operation may
    /// have happened.
    #[error("storage is unavailable")]
    StorageUnavailable(#[source] Source),
    /// A bug, or a row that cannot be read. The source tells which.
    #[error("internal failure")]
    Internal(#[source] Source),
}

impl Error {
    pub(crate) fn internal(source: impl Into<Source>) -> Self {
        Self::Internal(source.into())
    }

    pub(crate) fn unavailable(source: impl Into<Source>) -> Self {
        Self::StorageUnavailable(source.into())
    }

    /// Whether PostgreSQL gave a statement up because it took too long: the same again would take as long.
    pub(crate) fn is_too_slow(&self) -> bool {
        let Self::StorageUnavailable(source) = self else { return false };
        // SQLSTATE query_canceled.
        source.downcast_ref::<Refused>().is_some_and(|refused| refused.code == "57014")
    }

    /// A row that does not hold what this version writes.
    pub(crate) fn bad_row(
        table: &'static str,
        column: &'static str,
        id: impl std::fmt::Display,
        cause: impl std::fmt::Display,
    ) -> Self {
        Self::internal(format!("table {table}, column {column}, row {id}: {cause}"))
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(invalid) => Self::Invalid(invalid),
            Refusal::Conflict(conflict) => Self::Conflict(conflict),
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::RowNotFound => Self::internal(error),
            sqlx::Error::Database(database) => {
                // A constraint that an operation did not foresee is a bug; anything else is the database's trouble.
                let is_ours = database.kind() != sqlx::error::ErrorKind::Other || is_ours(&*database);
                let refused = Refused::by(&*database);
                if is_ours { Self::internal(refused) } else { Self::unavailable(refused) }
            }
            error => Self::unavailable(error),
        }
    }
}

/// The answer to a commit was lost, and the status of the transaction could not be found out in time.
#[derive(Debug, thiserror::Error)]
#[error("it is not known yet whether it was committed")]
pub(crate) struct Unknown;

/// What a database said when it refused a statement, without the details in which PostgreSQL shows the row: there are
/// secrets in rows.
#[derive(Debug, thiserror::Error)]
#[error("the database refused a statement ({code}): {message}")]
pub(crate) struct Refused {
    pub(crate) code: String,
    message: String,
}

impl Refused {
    fn by(database: &dyn sqlx::error::DatabaseError) -> Self {
        Self {
            code: database.code().unwrap_or_default().into_owned(),
            message: database.message().to_owned(),
        }
    }
}

/// Whether PostgreSQL refuses a value or a statement of ours: SQLSTATE classes 22 (data exception) and 42 (syntax error or
/// access rule violation). SQLite's codes are shorter.
fn is_ours(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.code().is_some_and(|code| code.len() == 5 && (code.starts_with("22") || code.starts_with("42")))
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::unavailable(error)
    }
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Text(invalid) => Self::Invalid(invalid),
            error @ RenderError::Failed(_) => Self::internal(error),
        }
    }
}
