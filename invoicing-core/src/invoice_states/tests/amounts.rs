//! The amounts of an invoice after any sequence of payments, reversals, credits and refunds.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Pay(i64),
    Reverse(prop::sample::Index),
    Credit(prop::sample::Index),
    CreditRemaining,
    Refund(prop::sample::Index),
    TakeRefundBack(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (1_i64..40_000).prop_map(Step::Pay),
        2 => index().prop_map(Step::Reverse),
        3 => index().prop_map(Step::Credit),
        1 => Just(Step::CreditRemaining),
        3 => index().prop_map(Step::Refund),
        1 => index().prop_map(Step::TakeRefundBack),
    ]
}

/// What stands on the invoice, in cents.
#[derive(Debug, Default)]
struct Model {
    total: i64,
    rate: i64,
    credited: i64,
    payments: Vec<i64>,
    refunds: Vec<i64>,
}

/// The amounts that follow, in cents.
#[derive(Debug, PartialEq, Eq)]
struct Amounts {
    credited: i64,
    held: i64,
    held_due: i64,
    paid: i64,
    due: i64,
    overpaid: i64,
}

impl Model {
    fn paid(&self) -> i64 {
        self.payments.iter().sum::<i64>() - self.refunds.iter().sum::<i64>()
    }

    /// The formulas of the contract.
    fn amounts(&self) -> Amounts {
        let (invoiced, paid) = (self.total - self.credited, self.paid());
        // round2 half away from zero, in integers.
        let held = (invoiced * self.rate + 5_000) / 10_000;
        Amounts {
            credited: self.credited,
            held,
            held_due: (invoiced - paid).clamp(0, held),
            paid,
            due: (invoiced - held - paid).max(0),
            overpaid: (paid - invoiced).max(0),
        }
    }

    /// Between 1 and this many cents; `None` if there are none.
    fn part(index: prop::sample::Index, cents: i64) -> Option<i64> {
        let count = usize::try_from(cents).ok().filter(|count| *count > 0)?;
        Some(1 + i64::try_from(index.index(count)).unwrap())
    }

    fn take(&mut self, step: &Step, invoice: &Invoice, at: ChangeTime) -> Option<Changed<Invoice>> {
        let taken =
            |cents: &[i64], index: prop::sample::Index| (!cents.is_empty()).then(|| index.index(cents.len()));
        match *step {
            Step::Pay(cents) => {
                self.payments.push(cents);
                invoice.record_payment(money(cents), at).ok()
            }
            Step::Reverse(index) => {
                let place = taken(&self.payments, index)?;
                let changed = invoice.reverse_payment(money(self.payments[place]), at, today()).ok();
                if changed.is_some() {
                    self.payments.swap_remove(place);
                }
                changed
            }
            Step::Credit(index) => self.credit(Self::part(index, self.total - self.credited)?, invoice, at),
            Step::CreditRemaining if self.credited == self.total => None,
            Step::CreditRemaining => self.credit(self.total - self.credited, invoice, at),
            Step::Refund(index) => {
                let cents = Self::part(index, self.amounts().overpaid)?;
                self.refunds.push(cents);
                invoice.refund(money(cents), at).ok()
            }
            Step::TakeRefundBack(index) => {
                let cents = self.refunds.swap_remove(taken(&self.refunds, index)?);
                invoice.reverse_payment(money(-cents), at, today()).ok()
            }
        }
    }

    fn credit(&mut self, cents: i64, invoice: &Invoice, at: ChangeTime) -> Option<Changed<Invoice>> {
        self.credited += cents;
        invoice.credit(money(cents), at).ok()
    }
}

fn amounts(summary: &InvoiceSummary) -> Amounts {
    let cents = |amount: Money| i64::try_from(amount.get() * Decimal::ONE_HUNDRED).unwrap();
    Amounts {
        credited: cents(summary.amount_credited),
        held: cents(summary.retention_amount),
        held_due: cents(summary.retention_due),
        paid: cents(summary.amount_paid),
        due: cents(summary.amount_due),
        overpaid: cents(summary.amount_overpaid),
    }
}

/// The state that follows from the amounts alone; the due date is not over.
fn expected_state(model: &Model, before: InvoiceStatus) -> InvoiceStatus {
    let Amounts { credited, paid, due, .. } = model.amounts();
    match (credited == model.total, paid, due) {
        (true, 0, _) => InvoiceStatus::Canceled,
        (true, ..) => before,
        (false, _, 0) => InvoiceStatus::Paid,
        (false, ..) => InvoiceStatus::Sent,
    }
}

proptest! {
    /// Rules: INVOICE-20, INVOICE-23, INVOICE-24, MONEY-10, MONEY-11, MONEY-13
    #[test]
    fn the_amounts_are_those_of_the_contract_after_any_sequence(
        total in 1_i64..100_000,
        rate in 0_i64..=500,
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut invoice = invoice_over(total, rate);
        let mut model = Model { total, rate, ..Model::default() };
        for (n, step) in (10_i64..).zip(&steps) {
            let before = invoice.summary.status;
            let Some(changed) = model.take(step, &invoice, time(n)) else {
                continue;
            };
            invoice = changed.record;
            let summary = &invoice.summary;
            prop_assert_eq!(amounts(summary), model.amounts());
            prop_assert_eq!(summary.status, expected_state(&model, before));
            let becomes_paid = summary.status == InvoiceStatus::Paid && before != InvoiceStatus::Paid;
            let names: Vec<_> = changed.events.iter().map(Event::name).collect();
            prop_assert_eq!(names, if becomes_paid { vec!["invoice.paid"] } else { vec![] });
            let invoiced = summary.total_ttc.get() - summary.amount_credited.get();
            let max = (invoiced * Decimal::new(5, 2)).round_dp_with_strategy(
                2,
                rust_decimal::RoundingStrategy::MidpointAwayFromZero,
            );
            prop_assert!(summary.retention_amount.get() <= max);
            if summary.status == InvoiceStatus::Canceled {
                break;
            }
        }
    }
}
