//! The notes of an e-invoice (BG-1): the sentences that the law demands in every one.

use std::borrow::Cow;

use super::einvoice::EInvoice;
use super::xml::Xml;
use crate::documents::content::legal_notices::{self, payment_terms};

/// A note, with its subject (UNTDID 4451) if it has one.
type Note<'a> = (Option<&'static str>, Cow<'a, str>);

/// Writes the notes.
pub(super) fn write(xml: &mut Xml, invoice: EInvoice<'_>) {
    for (subject, text) in subjects(invoice).into_iter().chain(legal_notices(invoice)) {
        xml.group("ram:IncludedNote", |xml| {
            xml.text("ram:Content", &text);
            xml.optional("ram:SubjectCode", subject);
        });
    }
}

/// The notes that French platforms demand once each, of private clients and credit notes too
/// (BR-FR-05, BR-FR-06, BR-FR-20).
fn subjects(invoice: EInvoice<'_>) -> [Note<'_>; 4] {
    let terms = payment_terms(invoice.view);
    let treatment = if invoice.view.buyer.is_business() { "B2B" } else { "B2C" };
    [
        (Some("PMD"), terms.penalty.into()),
        (Some("PMT"), terms.recovery.into()),
        (Some("AAB"), terms.discount.into()),
        (Some("BAR"), treatment.into()),
    ]
}

/// The other legal notices, without a subject: those of the page, and the reason of a credit note.
fn legal_notices(invoice: EInvoice<'_>) -> impl Iterator<Item = Note<'_>> {
    let reason = invoice.issued.credited.map(|credited| format!("Motif : {}", credited.reason).into());
    let notices = legal_notices::general(invoice.view).into_iter().map(|notice| notice.text);
    notices.chain(reason).map(|text| (None, text))
}
