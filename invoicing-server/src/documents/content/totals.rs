//! The totals of a quote.

use invoicing_core::VatShare;

use super::french;
use crate::documents::DocumentInput;

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
    Rest,
}

/// A row of the totals.
#[derive(Debug)]
pub(crate) struct Total {
    pub(crate) kind: TotalKind,
    pub(crate) label: String,
    pub(crate) amount: String,
}

/// Total without VAT, VAT by rate, total with VAT, retention.
pub(crate) fn totals(input: &DocumentInput<'_>) -> Vec<Total> {
    let (head, terms) = (&input.quote.summary, &input.quote.detail);
    let currency = head.currency.as_str();
    let row = |kind, label: String, amount| Total { kind, label, amount: french::amount(amount, currency) };
    let mut rows = vec![row(TotalKind::Net, "Total HT".to_owned(), head.total_ht.get())];
    for VatShare { tva_rate, base_ht, amount_tva } in &terms.vat_breakdown {
        let label =
            format!("TVA {} sur {}", french::percent(*tva_rate), french::amount(base_ht.get(), currency));
        rows.push(row(TotalKind::Vat, label, amount_tva.get()));
    }
    rows.push(row(TotalKind::Grand, "Total TTC".to_owned(), head.total_ttc.get()));
    if !terms.retention_rate.is_zero() {
        let label = format!("Retenue de garantie {}", french::percent(terms.retention_rate));
        rows.push(row(TotalKind::Retained, label, -terms.retention_amount.get()));
        let rest = head.total_ttc.get() - terms.retention_amount.get();
        rows.push(row(TotalKind::Rest, "Net à payer hors retenue".to_owned(), rest));
    }
    rows
}
