//! The totals of a document.

use invoicing_core::VatShare;
use rust_decimal::Decimal;

use super::french;
use super::payment::PAID;
use super::vat_display::VatDisplay;
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
    /// The amount that is held back, or paid already.
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

/// Total without VAT, VAT by rate, total with VAT, retention, payment at the issue.
pub(crate) fn totals(view: &DocumentView<'_>) -> Vec<Total> {
    let currency = view.currency;
    let row = |kind, label: String, amount| Total { kind, label, amount: french::amount(amount, currency) };
    let display = VatDisplay::of(view);
    let mut rows = Vec::new();
    if display != VatDisplay::NotApplicable {
        rows.push(row(TotalKind::Net, "Total HT".to_owned(), view.total_ht.get()));
        rows.extend(view.vat_breakdown.iter().map(|VatShare { tva_rate, base_ht, amount_tva }| {
            let (rate, base) = (french::percent(*tva_rate), french::amount(base_ht.get(), currency));
            let label = match display {
                VatDisplay::ReverseCharged => "TVA due par le preneur (autoliquidation)".to_owned(),
                _ => format!("TVA {rate} sur {base}"),
            };
            row(TotalKind::Vat, label, amount_tva.get())
        }));
    }
    let (of_what, payable) = labels(view.kind);
    let grand = format!("Total{}{of_what}", display.of_total());
    rows.push(row(TotalKind::Grand, grand, view.total_ttc.get()));
    if !view.retention_rate.is_zero() {
        let label = format!("Retenue de garantie {}", french::percent(view.retention_rate));
        rows.push(row(TotalKind::Retained, label, -view.retention_amount.get()));
        rows.push(row(TotalKind::Payable, payable.to_owned(), view.net()));
    }
    if let Some(on) = view.issued.as_ref().and_then(|issued| issued.paid_on) {
        let label = format!("{PAID} {}", french::date(on));
        rows.push(row(TotalKind::Retained, label, -view.total_ttc.get()));
        rows.push(row(TotalKind::Payable, payable.to_owned(), Decimal::ZERO));
    }
    rows
}

/// The end of the label of the total, and the label of the amount that is left without the
/// retention.
const fn labels(kind: DocumentKind) -> (&'static str, &'static str) {
    match kind {
        DocumentKind::Quote => ("", "Net à payer hors retenue"),
        DocumentKind::Invoice => ("", "Net à payer"),
        DocumentKind::CreditNote => (" de l’avoir", "Net à payer"),
    }
}
