//! The totals of a record, by rate.

use invoicing_core::{Money, Percent, VatShare};
use maud::{Markup, html};
use rust_decimal::Decimal;

use super::figures::Figures;
use super::request::PageRequest;

/// The totals of a quote, an invoice or a credit note.
pub(super) struct RecordTotals<'r> {
    pub(super) currency: &'r str,
    pub(super) vat_breakdown: &'r [VatShare],
    pub(super) total_ht: Money,
    pub(super) total_ttc: Money,
    /// Rate and amount of the retention, if the totals show one.
    pub(super) retention: Option<(Percent, Money)>,
}

/// Maximum number of rates that the table shows one by one. A record of many lines may have
/// thousands.
const RATES: usize = 50;

/// VAT by rate, the totals, and the retention.
pub(super) fn totals(request: &PageRequest<'_>, record: &RecordTotals<'_>) -> Markup {
    let figures = Figures::new(request.language, record.currency);
    let amount = |amount: Decimal| figures.amount(amount);
    let (shown, others) = record.vat_breakdown.split_at(record.vat_breakdown.len().min(RATES));
    let (ht, ttc) = (record.total_ht.get(), record.total_ttc.get());
    html! {
        h2 { (request.pick("Totals", "Totaux")) }
        @if !shown.is_empty() {
            table {
                caption { (request.pick("VAT by rate", "TVA par taux")) }
                thead { tr {
                    th scope="col" { (request.pick("Rate", "Taux")) }
                    th.figure scope="col" { (request.pick("Total excl. VAT", "Total HT")) }
                    th.figure scope="col" { (request.pick("VAT", "TVA")) }
                } }
                tbody {
                    @for share in shown {
                        tr {
                            th scope="row" { (figures.percent(share.tva_rate)) }
                            td.figure { (amount(share.base_ht.get())) }
                            td.figure { (amount(share.amount_tva.get())) }
                        }
                    }
                    @if !others.is_empty() {
                        tr {
                            th scope="row" { (others.len()) " " (request.pick("further rates", "autres taux")) }
                            td.figure { (amount(sum(others, |share| share.base_ht.get()))) }
                            td.figure { (amount(sum(others, |share| share.amount_tva.get()))) }
                        }
                    }
                }
            }
        }
        dl.facts.totals {
            div { dt { (request.pick("Total excl. VAT", "Total HT")) } dd { (amount(ht)) } }
            div {
                dt { (request.pick("VAT", "TVA")) }
                dd { (amount(ttc - ht)) }
            }
            div { dt { (request.pick("Total incl. VAT", "Total TTC")) } dd { strong { (amount(ttc)) } } }
            @if let Some((rate, retained)) = record.retention {
                div {
                    dt { (request.pick("Retention", "Retenue de garantie")) " " (figures.percent(rate)) }
                    dd { (amount(-retained.get())) }
                }
                div {
                    dt { (request.pick("Due without the retention", "Net à payer hors retenue")) }
                    dd { (amount(ttc - retained.get())) }
                }
            }
        }
    }
}

fn sum(shares: &[VatShare], part: impl Fn(&VatShare) -> Decimal) -> Decimal {
    shares.iter().map(part).sum()
}
