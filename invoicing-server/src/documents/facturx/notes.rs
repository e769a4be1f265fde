//! The notes of a bill (BG-1): the sentences that the law demands in every one.

use std::borrow::Cow;

use super::bill::Bill;
use super::xml::Xml;
use crate::documents::content::mentions::{self, payment_terms};

/// A note, with its subject (UNTDID 4451) if it has one.
type Note<'a> = (Option<&'static str>, Cow<'a, str>);

/// Writes the notes.
pub(super) fn write(xml: &mut Xml, bill: Bill<'_>) {
    for (subject, text) in subjects(bill).into_iter().chain(mentions(bill)) {
        xml.group("ram:IncludedNote", |xml| {
            xml.text("ram:Content", &text);
            xml.optional("ram:SubjectCode", subject);
        });
    }
}

/// The notes that French platforms demand once each, of private clients and credit notes too
/// (BR-FR-05, BR-FR-06, BR-FR-20).
fn subjects(bill: Bill<'_>) -> [Note<'_>; 4] {
    let terms = payment_terms(bill.view);
    let treatment = if bill.billing.buyer.is_business() { "B2B" } else { "B2C" };
    [
        (Some("PMD"), terms.penalty.into()),
        (Some("PMT"), terms.recovery.into()),
        (Some("AAB"), terms.discount.into()),
        (Some("BAR"), treatment.into()),
    ]
}

/// The other mentions, without a subject: those of the page, and the reason of a credit note.
fn mentions(bill: Bill<'_>) -> impl Iterator<Item = Note<'_>> {
    let reason = bill.billing.credited.map(|credited| format!("Motif : {}", credited.reason).into());
    let mentions = mentions::general(bill.view).into_iter().map(|mention| mention.text);
    mentions.chain(reason).map(|text| (None, text))
}
