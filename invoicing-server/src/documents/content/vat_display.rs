//! The way in which a document shows VAT.

use super::view::DocumentView;
use crate::documents::vat_exemption::VatExemption;

/// The way in which a document shows VAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VatDisplay {
    /// Rates and amounts, with totals without and with VAT.
    Charged,
    /// Totals without VAT, which the client owes.
    ReverseCharged,
    /// None: no rate, no amount, and no total "without" it (CGI, art. 293 B and 294).
    NotApplicable,
}

impl VatDisplay {
    pub(crate) fn of(view: &DocumentView<'_>) -> Self {
        let has_vat = view.vat_breakdown.iter().any(|share| !share.tva_rate.is_zero());
        match view.exemption.filter(|_| !has_vat) {
            None => Self::Charged,
            Some(VatExemption::ReverseCharge) => Self::ReverseCharged,
            Some(VatExemption::Franchise | VatExemption::Untaxed) => Self::NotApplicable,
        }
    }

    /// The end of the name of a total with VAT.
    pub(crate) const fn of_total(self) -> &'static str {
        match self {
            Self::Charged => " TTC",
            Self::ReverseCharged | Self::NotApplicable => "",
        }
    }
}

#[cfg(all(test, feature = "pdf"))]
mod tests {
    use invoicing_core::VatRegime;

    use super::*;
    use crate::documents::content::fixtures::{input, invoice_facts, invoice_of, line};
    use crate::documents::content::line_table::columns;
    use crate::documents::content::totals::totals;
    use crate::documents::{DocumentFacts, DocumentRef};

    /// The names of the columns and of the totals of an invoice at this rate.
    fn names(facts: &DocumentFacts, rate: &str) -> (Vec<&'static str>, Vec<String>) {
        let invoice = invoice_of(vec![line("Enduit", (None, None), rate)]);
        let view = DocumentView::of(&input(facts, DocumentRef::Invoice(&invoice)));
        let display = VatDisplay::of(&view);
        let columns = columns(display).iter().map(|column| column.label(display)).collect();
        let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
        (columns, totals(&view).into_iter().map(|total| plain(total.label)).collect())
    }

    #[test]
    fn a_document_without_vat_has_no_word_of_it() {
        let mut facts = invoice_facts();
        let (columns, totals) = names(&facts, "20");
        assert_eq!(columns, ["Désignation", "Quantité", "Unité", "Prix unitaire HT", "TVA", "Total HT"]);
        assert_eq!((&*totals[0], &*totals[2]), ("Total HT", "Total TTC"));
        assert!(totals[1].starts_with("TVA 20 % sur "), "{totals:?}");
        facts.reverse_charge = true;
        let (columns, totals) = names(&facts, "0");
        assert_eq!(columns, ["Désignation", "Quantité", "Unité", "Prix unitaire HT", "Total HT"]);
        assert_eq!(totals[..3], ["Total HT", "TVA due par le preneur (autoliquidation)", "Total"]);
        facts.parties.seller.identity.vat_regime = VatRegime::Franchise;
        let without = ["Désignation", "Quantité", "Unité", "Prix unitaire", "Total"];
        let (columns, totals) = names(&facts, "0");
        assert_eq!((columns, &*totals[0]), (without.to_vec(), "Total"));
        assert!(totals.iter().all(|total| !total.contains("TVA")), "{totals:?}");
        facts.parties.seller.identity.vat_regime = VatRegime::Standard;
        facts.parties.buyer.country = Some("GF".into());
        assert_eq!(names(&facts, "0").0, without);
    }
}
