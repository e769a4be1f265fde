//! The error of every operation.

use http::StatusCode;
use invoicing_core::{
    ApiErrorBody, ApiErrorDetail, Conflict, ConflictReason, DomainError, ErrorCode, Invalid,
};

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The reason why an operation did not happen. Nothing has changed and nothing was emitted; the
/// exception is [`StorageUnavailable`](Self::StorageUnavailable).
///
/// The routes of a host can answer like the API. The text of an error has no internal details: its
/// source has them, and belongs in the log.
///
/// ```
/// use http::StatusCode;
/// use invoicing_server::Error;
///
/// /// With axum: `(error.status(), Json(error.body())).into_response()`.
/// fn answer(error: &Error) -> serde_json::Result<(StatusCode, String)> {
///     Ok((error.status(), serde_json::to_string(&error.body())?))
/// }
/// let (status, json) = answer(&Error::NotFound)?;
/// assert_eq!(status, 404);
/// assert_eq!(json, r#"{"error":{"code":"not_found","message":"not found"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The record does not exist, or belongs to another company.
    #[error("not found")]
    NotFound,
    /// The input breaks a rule; the text names the field.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The record's state does not allow the operation.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The record has no frozen document: it is a draft or was discarded as one, or it was issued
    /// without a renderer of invoices.
    #[error("the record has no frozen document")]
    DocumentUnavailable,
    /// The company has used up its share of concurrent work, such as rendering. The same call may
    /// succeed later.
    #[error("too much is being done for the company at the moment")]
    Overloaded,
    /// The database or the document store is unavailable; the same call may succeed later. The
    /// operation may have happened after all if PostgreSQL lost the connection during the commit
    /// and did not come back in time.
    #[error("storage is unavailable")]
    StorageUnavailable(#[source] Source),
    /// A bug, or a row that cannot be read. The source has the cause.
    #[error("internal failure")]
    Internal(#[source] Source),
}

impl Error {
    /// The code with which the API answers the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::NotFound,
            Self::Invalid(_) => ErrorCode::ValidationError,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::DocumentUnavailable => ErrorCode::DocumentUnavailable,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::StorageUnavailable(_) => ErrorCode::StorageUnavailable,
            Self::Internal(_) => ErrorCode::ServerError,
        }
    }

    /// The status that goes with [`code`](Self::code).
    pub fn status(&self) -> StatusCode {
        status_of(&self.code())
    }

    /// The JSON body for an answer of the host, in the shape of the API's: [`code`](Self::code),
    /// and the text of the error.
    pub fn body(&self) -> ApiErrorBody {
        ApiErrorBody { error: ApiErrorDetail { code: self.code(), message: self.to_string() } }
    }

    pub(crate) fn internal(source: impl Into<Source>) -> Self {
        Self::Internal(source.into())
    }

    pub(crate) fn unavailable(source: impl Into<Source>) -> Self {
        Self::StorageUnavailable(source.into())
    }

    /// True if PostgreSQL canceled a statement at its time limit. A retry would take as long.
    pub(crate) fn is_statement_timeout(&self) -> bool {
        // SQLSTATE query_canceled.
        self.statement_code() == Some("57014")
    }

    /// True if PostgreSQL canceled a statement: at its time limit, or as it held up the replay of a
    /// standby.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_canceled_statement(&self) -> bool {
        // SQLSTATE serialization_failure.
        self.is_statement_timeout() || self.statement_code() == Some("40001")
    }

    /// The SQLSTATE of a statement that the database could not carry out.
    fn statement_code(&self) -> Option<&str> {
        let Self::StorageUnavailable(source) = self else { return None };
        source.downcast_ref::<StatementError>().map(|error| error.code.as_str())
    }

    /// A row with a value that this version does not write.
    pub(crate) fn bad_row(
        table: &'static str,
        column: &'static str,
        id: impl std::fmt::Display,
        cause: impl std::fmt::Display,
    ) -> Self {
        Self::internal(format!("table {table}, column {column}, row {id}: {cause}"))
    }
}

/// The status of a code: every known one has a valid one.
pub(crate) fn status_of(code: &ErrorCode) -> StatusCode {
    let status = code.status().and_then(|status| StatusCode::from_u16(status).ok());
    status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<DomainError> for Error {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Invalid(invalid) => Self::Invalid(invalid),
            DomainError::Conflict(conflict) => Self::Conflict(conflict),
            other => Self::internal(other),
        }
    }
}

impl From<ConflictReason> for Error {
    fn from(reason: ConflictReason) -> Self {
        Self::Conflict(reason.into())
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
                let code = database.code().unwrap_or_default().into_owned();
                let error = StatementError { code, message: database.message().to_owned() };
                if is_bug(&*database) { Self::internal(error) } else { Self::unavailable(error) }
            }
            error => Self::unavailable(error),
        }
    }
}

/// A database's error for one statement. PostgreSQL's detail text is left out: it shows the row,
/// and rows hold secrets.
#[derive(Debug, thiserror::Error)]
#[error("the database refused a statement ({code}): {message}")]
pub(crate) struct StatementError {
    pub(crate) code: String,
    message: String,
}

/// True if the statement is wrong rather than the database unavailable.
fn is_bug(error: &dyn sqlx::error::DatabaseError) -> bool {
    // Operations handle the constraints that they expect, so any other violation is a bug.
    let is_constraint = error.kind() != sqlx::error::ErrorKind::Other;
    // SQLSTATE classes 22 (data exception) and 42 (syntax error or access rule violation). SQLite's
    // codes are shorter.
    let is_class = |code: &str| code.len() == 5 && (code.starts_with("22") || code.starts_with("42"));
    is_constraint || error.code().is_some_and(|code| is_class(&code))
}
