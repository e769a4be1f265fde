//! The XML of an invoice or a credit note inside its PDF: Factur-X 1.09, profile EN 16931.
//!
//! `cii` writes the XML from the same view as the page, so that both have the same figures: no
//! amount is computed again. `readiness` lists everything that a platform would refuse; the issue
//! of an invoice checks it before its number is allocated. `xmp` adds the metadata that make a PDF
//! a Factur-X file; the renderer attaches the XML itself.

mod address;
mod cii;
mod einvoice;
mod lines;
mod notes;
mod parties;
mod readiness;
mod texts;
mod units;
mod vat;
mod xml;
#[cfg(feature = "pdf")]
mod xmp;

#[cfg(test)]
mod tests;

pub(crate) use readiness::{can_be_electronic, gaps, gaps_of_company};
#[cfg(feature = "pdf")]
pub(crate) use xmp::with_factur_x_metadata;

use invoicing_core::Invalid;

use self::cii::cross_industry_invoice;
use super::DocumentInput;
use super::content::view::DocumentView;

/// The XML of an invoice or a credit note.
///
/// # Errors
/// [`Invalid`] for a text that XML cannot hold, and for a rate of 0 without a reason in law.
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(unreachable_pub, reason = "public for the tests of other crates only")
)]
pub fn factur_x(input: &DocumentInput<'_>) -> Result<Vec<u8>, Invalid> {
    cross_industry_invoice(&DocumentView::of(input))
}
