//! The amounts of an invoice, as a ladder: each row leads on from the ones above it, so that all of
//! them add up to the amount due.

use invoicing_core::{InvoiceStatus, InvoiceSummary};
use maud::{Markup, html};
use rust_decimal::Decimal;

use crate::console::figures::Figures;
use crate::console::request::PageRequest;

/// A row between the total and the amount due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Credited,
    Retained,
    Paid,
    WrittenOff,
    /// The part of the payments that went to the retention, which is not due here.
    PaidOfRetention,
    Overpaid,
    /// The amount due that a cancellation has let go.
    Canceled,
    /// A part of what was written off, and was paid all the same.
    NotNeeded,
}

/// The steps from the total to the amount due. Together with the total they add up to it.
fn steps(invoice: &InvoiceSummary) -> Vec<(Step, Decimal)> {
    let is_canceled = invoice.status == InvoiceStatus::Canceled;
    let retention_paid = invoice.retention_amount.get() - invoice.retention_due.get();
    let mut steps = vec![
        (Step::Credited, -invoice.amount_credited.get()),
        (Step::Retained, -invoice.retention_amount.get()),
        (Step::Paid, -invoice.amount_paid.get()),
        (Step::WrittenOff, -invoice.amount_written_off.get()),
        // A cancelled invoice owes no retention, though nothing of it was paid.
        (Step::PaidOfRetention, if is_canceled { Decimal::ZERO } else { retention_paid }),
        (Step::Overpaid, invoice.amount_overpaid.get()),
    ];
    let reached: Decimal = steps.iter().map(|(_, amount)| *amount).sum();
    let last = if is_canceled { Step::Canceled } else { Step::NotNeeded };
    steps.push((last, invoice.amount_due.get() - invoice.total_ttc.get() - reached));
    steps.retain(|(_, amount)| !amount.is_zero());
    steps
}

/// The way from the total to the amount due. Credit notes lower the retention, so it stands here.
pub(super) fn ladder(request: &PageRequest<'_>, invoice: &InvoiceSummary) -> Markup {
    let figures = Figures::new(request.language, &invoice.currency);
    let row = |name: &str, amount: Decimal| {
        html! { div { dt { (name) } dd { (figures.amount(amount)) } } }
    };
    html! {
        h2 { (request.pick("Amounts", "Montants")) }
        dl.facts.totals {
            (row(request.pick("Total incl. VAT", "Total TTC"), invoice.total_ttc.get()))
            @for (step, amount) in steps(invoice) { (row(&name(request, invoice, step), amount)) }
            div {
                dt { (request.pick("Amount due", "Reste à payer")) }
                dd { strong { (figures.amount(invoice.amount_due.get())) } }
            }
            @if !invoice.retention_due.is_zero() {
                (row(request.pick("Retention still due", "Retenue restant due"), invoice.retention_due.get()))
            }
            @if let Some(day) = invoice.retention_release_date {
                div { dt { (request.pick("Retention released", "Retenue libérée")) } dd { (request.clock().date(day)) } }
            }
        }
    }
}

fn name(request: &PageRequest<'_>, invoice: &InvoiceSummary, step: Step) -> String {
    let name = match step {
        Step::Credited => request.pick("Credited", "Avoirs"),
        Step::Retained => {
            let rate = Figures::new(request.language, &invoice.currency).percent(invoice.retention_rate);
            return format!("{} {rate}", request.pick("Retention", "Retenue de garantie"));
        }
        Step::Paid => request.pick("Paid", "Payé"),
        Step::WrittenOff => request.pick("Written off", "Abandonné"),
        Step::PaidOfRetention => request.pick("Paid of the retention", "Payé sur la retenue"),
        Step::Overpaid => request.pick("Overpaid", "Trop-perçu"),
        Step::Canceled => request.pick("Cancelled", "Annulée"),
        Step::NotNeeded => request.pick("Written off, then paid", "Abandonné, puis payé"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use invoicing_core::Money;
    use proptest::prelude::*;

    use super::*;

    const INVOICE: &str = r#"{
        "id": "018f0000-0000-7000-8000-000000000001", "number": "FAC-2026-0001", "status": "SENT", "type": "STANDARD",
        "quoteId": null, "amountCredited": 0, "amountWrittenOff": 0, "retentionDue": 0,
        "clientId": "018f0000-0000-7000-8000-000000000002", "clientName": "x", "clientEmail": null,
        "issueDate": "2026-09-14", "dueDate": "2026-10-14", "totalHT": 0, "totalTTC": 0, "tvaRate": 20,
        "currency": "EUR", "retentionRate": 5, "retentionAmount": 0, "amountPaid": 0, "amountDue": 0,
        "amountOverpaid": 0, "paidAt": null, "canceledAt": null, "createdAt": "2026-09-14T09:41:07.000Z",
        "updatedAt": "2026-09-14T09:41:07.000Z"
    }"#;

    fn invoice(total: i64, [credited, paid, written_off]: [i64; 3]) -> InvoiceSummary {
        let mut invoice: InvoiceSummary = serde_json::from_str(INVOICE).unwrap();
        let cents = |cents| Money::from_cents(cents).unwrap();
        invoice.total_ttc = cents(total);
        invoice.amount_credited = cents(credited);
        (invoice.amount_paid, invoice.amount_written_off) = (cents(paid), cents(written_off));
        invoice.update_amounts().unwrap();
        invoice
    }

    fn names(invoice: &InvoiceSummary) -> Vec<Step> {
        steps(invoice).into_iter().map(|(step, _)| step).collect()
    }

    proptest! {
        /// Rules: PAGE-8
        #[test]
        fn the_steps_add_up(total in 0_i64..20_000, parts in [0_i64..=100, 0..=150, 0..=100], canceled in any::<bool>()) {
            let mut invoice = invoice(total, [total * parts[0] / 100, total * parts[1] / 100, parts[2]]);
            if canceled {
                invoice.status = InvoiceStatus::Canceled;
                (invoice.amount_due, invoice.retention_due) = (Money::ZERO, Money::ZERO);
            }
            let sum: Decimal = steps(&invoice).iter().map(|(_, amount)| amount).sum();
            prop_assert_eq!(invoice.total_ttc.get() + sum, invoice.amount_due.get());
            // The last step stands for nothing but a write-off or a cancellation.
            let names = names(&invoice);
            prop_assert!(!names.contains(&Step::NotNeeded) || !invoice.amount_written_off.is_zero());
            prop_assert!(canceled || !names.contains(&Step::Canceled));
        }
    }

    #[test]
    fn a_step_without_an_amount_has_no_row() {
        use Step::{Credited, NotNeeded, Overpaid, Paid, PaidOfRetention, Retained, WrittenOff};
        assert_eq!(names(&invoice(0, [0, 0, 0])), []);
        assert_eq!(names(&invoice(1_000, [0, 950, 0])), [Retained, Paid]);
        assert_eq!(
            names(&invoice(1_000, [100, 950, 0])),
            [Credited, Retained, Paid, PaidOfRetention, Overpaid]
        );
        assert_eq!(names(&invoice(1_000, [0, 900, 50])), [Retained, Paid, WrittenOff]);
        assert_eq!(
            names(&invoice(1_000, [0, 1_000, 50])),
            [Retained, Paid, WrittenOff, PaidOfRetention, NotNeeded]
        );
    }
}
