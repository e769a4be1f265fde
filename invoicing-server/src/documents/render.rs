//! What a renderer is given, and what it gives back. How a document looks is the renderer's own affair.

use std::fmt;

use chrono::NaiveDate;
use invoicing_core::{Company, Invalid, Quote};
use serde::{Deserialize, Serialize};

use super::ContentHash;
use crate::Error;

/// What a document says besides the quote, as it stood when the quote was sent.
///
/// Kept with the document: the copy that is frozen at the signature says the same as the one that was signed, whatever
/// the company and the client have changed in the meantime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Particulars {
    pub(crate) company: Company,
    pub(crate) client_address: Option<String>,
    pub(crate) work_site: Option<String>,
    pub(crate) issued_on: NaiveDate,
}

/// Everything that a document may show. All of it is customer-visible: internal costs have no place in these types.
#[derive(Debug, Clone, Copy)]
pub struct DocumentInput<'a> {
    /// Who makes the offer.
    pub company: &'a Company,
    /// The quote. Once it is signed, `terms.signature` is the block to show.
    pub quote: &'a Quote,
    /// The client's postal address as it is printed, lines separated by `\n`.
    pub client_address: Option<&'a str>,
    /// Where the work is done, where that is not the client's address; lines separated by `\n`.
    pub work_site: Option<&'a str>,
    /// Date of the document: the local date of sending, in the company's time zone.
    pub issued_on: NaiveDate,
    /// The copy that the client signed. There exactly when `quote.detail.signature` is.
    pub signed_copy: Option<SignedCopy<'a>>,
}

impl<'a> DocumentInput<'a> {
    /// Puts together what the renderer is given.
    pub(crate) fn new(
        particulars: &'a Particulars,
        quote: &'a Quote,
        signed_copy: Option<SignedCopy<'a>>,
    ) -> Self {
        Self {
            company: &particulars.company,
            quote,
            client_address: particulars.client_address.as_deref(),
            work_site: particulars.work_site.as_deref(),
            issued_on: particulars.issued_on,
            signed_copy,
        }
    }
}

/// The frozen document that a signature refers to: the one that was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignedCopy<'a> {
    /// Its name, `DEV-2026-0042.pdf`.
    pub file_name: &'a str,
    /// SHA-256 of its bytes: `documentSha256` of the fingerprint.
    pub sha256: ContentHash,
    /// The bytes themselves, so that the signed document can carry them.
    pub bytes: &'a [u8],
}

/// Turns a quote into the bytes of a PDF.
///
/// Same input, same bytes: a renderer reads no clock, makes no random identifiers and looks nothing up. It may use
/// the processor as long as it needs; it runs on a thread for blocking work.
pub trait DocumentRenderer: Send + Sync {
    /// The finished document, `application/pdf`.
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError>;
}

impl fmt::Debug for SignedCopy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedCopy")
            .field("file_name", &self.file_name)
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// Why a document was not rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A text cannot be printed; whoever entered it can change it.
    #[error(transparent)]
    Text(#[from] Invalid),
    /// Anything else; the source says what.
    #[error("the document cannot be rendered")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Text(invalid) => Self::Invalid(invalid),
            error @ RenderError::Failed(_) => Self::internal(error),
        }
    }
}

impl RenderError {
    /// Wraps the reason: an error or a text.
    pub fn new(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(reason.into())
    }
}
