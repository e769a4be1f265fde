//! Everything that a platform would refuse an invoice for, before it gets a number.
//!
//! Each gap names its rule: of EN 16931 (`BR-…`), of the French platforms (`BR-FR-…`), or of XML.
//! The checks are stricter than the official ones on check digits and keys, which these do not
//! compute.

mod client;
mod company;
mod document;
mod vat;

use invoicing_core::Company;

use super::einvoice::EInvoice;
use super::texts;
use crate::documents::content::view::DocumentView;
use crate::records::ReadinessGap;

/// The gaps of an invoice or a credit note; none for a quote. The electronic address of a private
/// client is none of them: see [`can_be_electronic`].
pub(crate) fn gaps(view: &DocumentView<'_>) -> Vec<ReadinessGap> {
    let Some(invoice) = EInvoice::of(view) else { return Vec::new() };
    let mut gaps = Vec::new();
    gaps.extend(company::gaps(view.company, view.reverse_charge));
    gaps.extend(client::gaps(invoice));
    gaps.extend(document::gaps(invoice));
    gaps.extend(vat::gaps(invoice));
    gaps.extend(texts::forbidden(invoice).map(|invalid| {
        let french = "Ce texte contient un caractère que le format XML interdit.";
        ReadinessGap::new(invalid.field, "XML 1.0", format!("This text {}.", invalid.rule), french)
    }));
    gaps
}

/// The legal data that a company lacks for any Factur-X document.
pub(crate) fn gaps_of_company(company: &Company) -> Vec<ReadinessGap> {
    company::gaps(company, false).chain(document::currency(&company.currency)).collect()
}

/// True if an invoice has an electronic address to be sent to (BT-49). A private client without an
/// e-mail has none, and gets a plain PDF.
pub(crate) fn can_be_electronic(view: &DocumentView<'_>) -> bool {
    EInvoice::of(view)
        .is_some_and(|invoice| invoice.issued.buyer.is_business() || invoice.buyer_address().is_some())
}

/// True if no visible character is left of a text.
fn is_blank(text: &str) -> bool {
    invoicing_core::internal::trim_invisible(text).is_empty()
}
