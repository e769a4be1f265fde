//! What a renderer is given, and what it gives back. How a document looks is the renderer's own affair.

use chrono::NaiveDate;
use invoicing_core::{Company, Quote};

/// Everything that a document may show. All of it is customer-visible: internal costs have no place in these types.
#[derive(Debug, Clone, Copy)]
pub struct DocumentInput<'a> {
    /// Who makes the offer.
    pub company: &'a Company,
    /// The quote. Once it is signed, `terms.signature` is the block to show.
    pub quote: &'a Quote,
    /// The client's postal address as it is printed, lines separated by `\n`.
    pub client_address: Option<&'a str>,
    /// Date of the document: the local date of sending, in the company's time zone.
    pub issued_on: NaiveDate,
}

/// Turns a quote into the bytes of a PDF.
///
/// Same input, same bytes: a renderer reads no clock, makes no random identifiers and looks nothing up. It may use
/// the processor as long as it needs; it runs on a thread for blocking work.
pub trait DocumentRenderer: Send + Sync {
    /// The finished document, `application/pdf`.
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError>;
}

/// The document cannot be rendered; the source says why.
#[derive(Debug, thiserror::Error)]
#[error("the document cannot be rendered")]
pub struct RenderError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl RenderError {
    /// Wraps the reason: an error or a text.
    pub fn new(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}
