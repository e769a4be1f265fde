//! The XML of an invoice or a credit note inside its PDF: Factur-X 1.09, profile EN 16931.
//!
//! `cii` writes the XML from the same view as the page, so that both have the same figures: no
//! amount is computed again. `xmp` adds the metadata that make a PDF a Factur-X file; the renderer
//! attaches the XML itself. The legal gate lists what a platform would refuse.

mod address;
mod cii;
mod einvoice;
mod lines;
mod notes;
mod parties;
mod texts;
mod units;
mod vat;
mod xml;
#[cfg(feature = "pdf")]
mod xmp;

#[cfg(test)]
pub(super) mod tests;

pub(crate) use einvoice::{DIRECTORY, EMAIL, electronic_address_of_buyer};
#[cfg(feature = "pdf")]
pub(crate) use xmp::with_factur_x_metadata;

use invoicing_core::Invalid;

use self::cii::cross_industry_invoice;
use self::einvoice::EInvoice;
use super::DocumentInput;
use super::content::view::DocumentView;
use crate::records::ReadinessGap;

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

/// The texts of a document that XML cannot hold.
pub(crate) fn forbidden_texts(view: &DocumentView<'_>) -> Vec<ReadinessGap> {
    let invoice = EInvoice::of(view);
    let forbidden = invoice.into_iter().flat_map(texts::forbidden).map(|invalid| {
        let english = format!("This text {}.", invalid.rule);
        let french = "Ce texte contient un caractère que le format XML interdit.";
        ReadinessGap::of_text(invalid, "XML 1.0", english, french)
    });
    forbidden.collect()
}
