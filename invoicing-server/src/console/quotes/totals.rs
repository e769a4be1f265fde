//! The totals of a quote, by rate.

use invoicing_core::{Quote, VatShare};
use maud::{Markup, html};
use rust_decimal::Decimal;

use crate::console::figures::Figures;
use crate::console::request::PageRequest;

/// Most rates that the table shows one by one. A quote of many lines may have thousands.
const RATES: usize = 50;

/// VAT by rate, the totals, and the retention.
pub(super) fn totals(request: &PageRequest<'_>, quote: &Quote) -> Markup {
    let (head, terms) = (&quote.summary, &quote.detail);
    let figures = Figures::new(request.language, &head.currency);
    let amount = |amount: Decimal| figures.amount(amount);
    let (shown, others) = terms.vat_breakdown.split_at(terms.vat_breakdown.len().min(RATES));
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
            div { dt { (request.pick("Total excl. VAT", "Total HT")) } dd { (amount(head.total_ht.get())) } }
            div {
                dt { (request.pick("VAT", "TVA")) }
                dd { (amount(head.total_ttc.get() - head.total_ht.get())) }
            }
            div { dt { (request.pick("Total incl. VAT", "Total TTC")) } dd { strong { (amount(head.total_ttc.get())) } } }
            @if !terms.retention_rate.is_zero() {
                div {
                    dt { (request.pick("Retention", "Retenue de garantie")) " " (figures.percent(terms.retention_rate)) }
                    dd { (amount(-terms.retention_amount.get())) }
                }
                div {
                    dt { (request.pick("Due without the retention", "Net à payer hors retenue")) }
                    dd { (amount(head.total_ttc.get() - terms.retention_amount.get())) }
                }
            }
        }
    }
}

fn sum(shares: &[VatShare], part: impl Fn(&VatShare) -> Decimal) -> Decimal {
    shares.iter().map(part).sum()
}
