//! The interface of a renderer: its input and its errors. The layout is up to the renderer.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use invoicing_core::{CreditNote, Invalid, Invoice, Quote, Rule};

use super::{ContentHash, DocumentFacts, DocumentLogo};
use crate::error::Error;

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentKind {
    /// A quote, signed or not.
    Quote,
    /// An invoice.
    Invoice,
    /// A credit note.
    CreditNote,
}

impl DocumentKind {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::Quote, Self::Invoice, Self::CreditNote];
}

/// The record of a document.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum DocumentRef<'a> {
    /// A quote.
    Quote {
        /// The quote. Once it is signed, `quote.detail.signature` holds the signature to show.
        quote: &'a Quote,
        /// The copy that the client signed. Present exactly if `quote.detail.signature` is.
        sent_copy: Option<SentCopy<'a>>,
    },
    /// An invoice, with its number and dates.
    Invoice(&'a Invoice),
    /// A credit note.
    CreditNote {
        /// The credit note.
        note: &'a CreditNote,
        /// Day of issue of the credited invoice.
        invoice_date: NaiveDate,
        /// Day of the supply of that invoice; its day of issue if it states none.
        supplied_on: NaiveDate,
        /// Order number of that invoice.
        order_number: Option<&'a str>,
    },
}

impl<'a> DocumentRef<'a> {
    /// The kind of the document.
    pub const fn kind(self) -> DocumentKind {
        match self {
            Self::Quote { .. } => DocumentKind::Quote,
            Self::Invoice(_) => DocumentKind::Invoice,
            Self::CreditNote { .. } => DocumentKind::CreditNote,
        }
    }

    /// The number of the record, such as `FAC-2026-0042`.
    pub fn number(self) -> &'a str {
        match self {
            Self::Quote { quote, .. } => &quote.summary.number,
            // Only a draft has no number, and a draft has no document.
            Self::Invoice(invoice) => invoice.summary.number.as_deref().unwrap_or_default(),
            Self::CreditNote { note, .. } => &note.summary.number,
        }
    }
}

/// The data that a document may show.
#[derive(Debug, Clone, Copy)]
pub struct DocumentInput<'a> {
    /// The record.
    pub record: DocumentRef<'a>,
    /// The data besides the record.
    pub facts: &'a DocumentFacts,
    /// The company's logo.
    pub logo: Option<&'a DocumentLogo>,
    /// The same document as XML, to be embedded as `factur-x.xml`; `None` for a quote and for a
    /// plain PDF.
    pub factur_x: Option<&'a [u8]>,
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

/// Turns a quote, an invoice or a credit note into the bytes of a PDF.
///
/// Equal input gives equal bytes: a renderer reads no clock but the deadline's, makes no random
/// identifiers and reads no other data. It runs on a thread for blocking work. A rendering that
/// goes on after the deadline keeps one of its company's slots until it returns, and its document
/// is dropped.
///
/// A host gives one renderer for all kinds. If its own look is that of quotes only, it passes the
/// other kinds to `PdfRenderer`:
///
/// ```
/// use invoicing_server::{DocumentInput, DocumentRef, DocumentRenderer, PdfRenderer, Quote, RenderError};
///
/// struct Letterhead;
///
/// impl DocumentRenderer for Letterhead {
///     fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
///         match input.record {
///             DocumentRef::Quote { quote, .. } => letter(quote),
///             _ => PdfRenderer::new().render(input),
///         }
///     }
/// }
/// # fn letter(_: &Quote) -> Result<Vec<u8>, RenderError> { Ok(Vec::new()) }
/// ```
pub trait DocumentRenderer: Send + Sync {
    /// The kinds of documents that it renders, quotes among them; by default all. A record of
    /// another kind has no document.
    fn kinds(&self) -> &[DocumentKind] {
        DocumentKind::ALL
    }

    /// The finished document, `application/pdf`. If the input has
    /// [`factur_x`](DocumentInput::factur_x), it has to be a PDF/A-3 that embeds these bytes as
    /// Factur-X demands.
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
            RenderError::TimedOut => Self::Invalid(Invalid::new("lines", Rule::TooSlowToPrint)),
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
