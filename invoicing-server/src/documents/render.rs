//! The interface of a renderer: its input and its errors. The layout is up to the renderer.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use invoicing_core::{ClientType, Company, Invalid, OperationNature, Quote};
use serde::{Deserialize, Serialize};

use super::{ContentHash, DocumentLogo};
use crate::error::Error;

/// The data of a document besides the quote, as they were when the quote was sent.
///
/// Stored with the document: the copy that is frozen at the signature repeats the data of the sent
/// one, even if the company or the client has changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Particulars {
    pub(crate) company: Company,
    pub(crate) client_address: Option<String>,
    pub(crate) client_phone: Option<String>,
    pub(crate) work_site: Option<String>,
    pub(crate) issued_on: NaiveDate,
    pub(crate) client_type: Option<ClientType>,
    pub(crate) client_siren: Option<String>,
    pub(crate) client_vat_number: Option<String>,
    pub(crate) operations: OperationNature,
    pub(crate) reverse_charge: bool,
}

impl Particulars {
    /// The input of a renderer for a document with these data.
    pub(crate) fn input<'a>(
        &'a self,
        quote: &'a Quote,
        logo: Option<&'a DocumentLogo>,
        sent_copy: Option<SentCopy<'a>>,
        deadline: RenderDeadline<'a>,
    ) -> DocumentInput<'a> {
        DocumentInput {
            company: &self.company,
            quote,
            client_address: self.client_address.as_deref(),
            client_phone: self.client_phone.as_deref(),
            work_site: self.work_site.as_deref(),
            issued_on: self.issued_on,
            client_type: self.client_type,
            client_siren: self.client_siren.as_deref(),
            client_vat_number: self.client_vat_number.as_deref(),
            operations: self.operations,
            reverse_charge: self.reverse_charge,
            logo,
            sent_copy,
            deadline,
        }
    }
}

/// The data that a document may show. Customers see all of it, so these types hold no internal
/// costs.
#[derive(Debug, Clone, Copy)]
pub struct DocumentInput<'a> {
    /// The company that makes the offer.
    pub company: &'a Company,
    /// The quote. Once it is signed, `quote.detail.signature` holds the signature to show.
    pub quote: &'a Quote,
    /// The client's postal address as printed below the name: street, postal code and town. Lines
    /// separated by `\n`.
    pub client_address: Option<&'a str>,
    /// The client's telephone number.
    pub client_phone: Option<&'a str>,
    /// The work site, if it is not the client's address; lines separated by `\n`.
    pub work_site: Option<&'a str>,
    /// Date of the document: the local date of sending, in the company's time zone.
    pub issued_on: NaiveDate,
    /// Private person or business, if known.
    pub client_type: Option<ClientType>,
    /// SIREN of a business.
    pub client_siren: Option<&'a str>,
    /// VAT number of a business.
    pub client_vat_number: Option<&'a str>,
    /// The nature of the operations.
    pub operations: OperationNature,
    /// True if the client owes the VAT (CGI, art. 283-2 nonies).
    pub reverse_charge: bool,
    /// The company's logo.
    pub logo: Option<&'a DocumentLogo>,
    /// The copy that the client signed. Present exactly if `quote.detail.signature` is.
    pub sent_copy: Option<SentCopy<'a>>,
    /// The time by which the document must be finished. It is no part of the content.
    pub deadline: RenderDeadline<'a>,
}

/// The time by which a document must be rendered. It is over earlier if the caller of the operation
/// has gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct RenderDeadline<'a> {
    at: Option<Instant>,
    is_abandoned: Option<&'a AtomicBool>,
}

impl<'a> RenderDeadline<'a> {
    /// No time limit.
    pub const NONE: Self = Self { at: None, is_abandoned: None };

    /// The end of a time that begins now.
    pub fn after(time: Duration) -> Self {
        Self { at: Instant::now().checked_add(time), is_abandoned: None }
    }

    /// The same deadline, which is also over as soon as `is_abandoned` is true.
    pub(crate) fn unless(self, is_abandoned: &'a AtomicBool) -> Self {
        Self { is_abandoned: Some(is_abandoned), ..self }
    }

    /// Checks the deadline. To be called now and then, such as for each page.
    ///
    /// # Errors
    /// [`RenderError::TimedOut`] after the deadline.
    pub fn check(self) -> Result<(), RenderError> {
        let is_late = self.at.is_some_and(|at| Instant::now() >= at);
        let is_abandoned = self.is_abandoned.is_some_and(|is_abandoned| is_abandoned.load(Ordering::Relaxed));
        if is_late || is_abandoned { Err(RenderError::TimedOut) } else { Ok(()) }
    }
}

/// The frozen document that a signature refers to: the one that was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SentCopy<'a> {
    /// The file name, `DEV-2026-0042.pdf`.
    pub file_name: &'a str,
    /// SHA-256 of its bytes: `documentSha256` of the fingerprint.
    pub sha256: ContentHash,
    /// The bytes themselves, so that the signed document can carry them.
    pub bytes: &'a [u8],
}

/// Turns a quote into the bytes of a PDF.
///
/// Equal input gives equal bytes: a renderer reads no clock but the deadline's, makes no random
/// identifiers and reads no other data. It runs on a thread for blocking work. A rendering that
/// goes on after the deadline keeps one of its company's slots until it returns, and its document
/// is dropped.
pub trait DocumentRenderer: Send + Sync {
    /// The finished document, `application/pdf`.
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError>;

    /// The texts that the document cannot show, at most 100. By default the one that
    /// [`render`](Self::render) refuses.
    fn check(&self, input: &DocumentInput<'_>) -> Result<Vec<Invalid>, RenderError> {
        match self.render(input) {
            Ok(_) => Ok(Vec::new()),
            Err(RenderError::Text(invalid)) => Ok(vec![invalid]),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for SentCopy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentCopy")
            .field("file_name", &self.file_name)
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// The reason why a document was not rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A text cannot be printed. The rule names the field, so that the user can change it.
    #[error(transparent)]
    Text(#[from] Invalid),
    /// The document was not finished by its deadline.
    #[error("the document was not rendered in time")]
    TimedOut,
    /// Any other failure; the source holds the reason.
    #[error("the document cannot be rendered")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Text(invalid) => Self::Invalid(invalid),
            // Not `Overloaded`: the same document would take as long again.
            RenderError::TimedOut => Self::Invalid(Invalid::new("lines", "take too long to print")),
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
