//! The totals of a document.

use invoicing_core::VatShare;

use super::french;
use super::view::DocumentView;
use crate::documents::DocumentKind;

/// The kind of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TotalKind {
    /// The total without VAT.
    Net,
    /// The VAT of a rate.
    Vat,
    /// The total with VAT.
    Grand,
    /// The amount that is held back.
    Retained,
    /// The amount that is left to pay.
    Payable,
}

/// A row of the totals.
#[derive(Debug)]
pub(crate) struct Total {
    pub(crate) kind: TotalKind,
    pub(crate) label: String,
    pub(crate) amount: String,
}

/// Total without VAT, VAT by rate, total with VAT, retention.
pub(crate) fn totals(view: &DocumentView<'_>) -> Vec<Total> {
    let currency = view.currency;
    let row = |kind, label: String, amount| Total { kind, label, amount: french::amount(amount, currency) };
    let mut rows = vec![row(TotalKind::Net, "Total HT".to_owned(), view.total_ht.get())];
    for VatShare { tva_rate, base_ht, amount_tva } in view.vat_breakdown {
        let label =
            format!("TVA {} sur {}", french::percent(*tva_rate), french::amount(base_ht.get(), currency));
        rows.push(row(TotalKind::Vat, label, amount_tva.get()));
    }
    let (grand, payable) = labels(view.kind);
    rows.push(row(TotalKind::Grand, grand.to_owned(), view.total_ttc.get()));
    if !view.retention_rate.is_zero() {
        let label = format!("Retenue de garantie {}", french::percent(view.retention_rate));
        rows.push(row(TotalKind::Retained, label, -view.retention_amount.get()));
        rows.push(row(TotalKind::Payable, payable.to_owned(), view.net()));
    }
    rows
}

/// The labels of the total with VAT, and of the amount that is left without the retention.
const fn labels(kind: DocumentKind) -> (&'static str, &'static str) {
    match kind {
        DocumentKind::Quote => ("Total TTC", "Net à payer hors retenue"),
        DocumentKind::Invoice => ("Total TTC", "Net à payer"),
        DocumentKind::CreditNote => ("Total TTC de l’avoir", "Net à payer"),
    }
}
