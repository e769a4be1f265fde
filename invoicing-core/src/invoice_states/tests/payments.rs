//! Payments, reversals and the sweep against a plain count of cents.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Pay(i64),
    MarkPaid,
    ReverseOne(prop::sample::Index),
    Tomorrow(u64),
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_i64..40_000).prop_map(Step::Pay),
        1 => Just(Step::MarkPaid),
        4 => any::<prop::sample::Index>().prop_map(Step::ReverseOne),
        1 => (1_u64..40).prop_map(Step::Tomorrow),
        1 => Just(Step::Sweep),
    ]
}

/// The same rules in plain cents, computed only from the valid payments.
#[derive(Debug)]
struct Model {
    payable: i64,
    payments: Vec<i64>,
    status: InvoiceStatus,
    today: NaiveDate,
    due: NaiveDate,
}

impl Model {
    fn paid(&self) -> i64 {
        self.payments.iter().sum()
    }

    /// Follows the payments. Returns true if the invoice moved into PAID.
    fn settle(&mut self) -> bool {
        let (covered, was_paid) = (self.paid() >= self.payable, self.status == InvoiceStatus::Paid);
        match (covered, was_paid) {
            (true, false) => self.status = InvoiceStatus::Paid,
            (false, true) if self.today > self.due => self.status = InvoiceStatus::Overdue,
            (false, true) => self.status = InvoiceStatus::Sent,
            _ => {}
        }
        covered && !was_paid
    }

    /// The change of the step, if it has one, and true if `invoice.paid` must be announced.
    fn take(&mut self, step: &Step, invoice: &Invoice, at: ChangeTime) -> Option<(Changed<Invoice>, bool)> {
        match step {
            Step::Pay(cents) => {
                let changed = invoice.record_payment(money(*cents), at).unwrap();
                self.payments.push(*cents);
                Some((changed, self.settle()))
            }
            Step::MarkPaid if self.status == InvoiceStatus::Paid => {
                assert!(invoice.mark_paid(at).is_err());
                None
            }
            Step::MarkPaid => {
                let changed = invoice.mark_paid(at).unwrap();
                self.payments.push(self.payable - self.paid());
                Some((changed, self.settle()))
            }
            Step::ReverseOne(_) if self.payments.is_empty() => None,
            Step::ReverseOne(index) => {
                let cents = self.payments.swap_remove(index.index(self.payments.len()));
                let changed = invoice.reverse_payment(money(cents), at, self.today).unwrap();
                Some((changed, self.settle()))
            }
            Step::Tomorrow(days) => {
                self.today = self.today + chrono::Days::new(*days);
                None
            }
            Step::Sweep => {
                let late = self.status == InvoiceStatus::Sent && self.today > self.due;
                let changed = invoice.mark_overdue(at.stamp, self.today);
                assert_eq!(changed.is_some(), late);
                if late {
                    self.status = InvoiceStatus::Overdue;
                }
                changed.map(|changed| (changed, false))
            }
        }
    }
}

proptest! {
    /// Rules: INVOICE-11, MONEY-11
    #[test]
    fn payments_and_reversals_agree_with_a_plain_count_of_cents(
        total in 1_i64..100_000,
        retention in 0_i64..=500,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut invoice = invoice_over(total, retention);
        // round2 half away from zero, in integers.
        let held = (total * retention + 5_000) / 10_000;
        let payable = total - held;
        let due = invoice.summary.due_date.unwrap();
        let mut model =
            Model { payable, payments: Vec::new(), status: InvoiceStatus::Sent, today: today(), due };
        for (n, step) in (10_i64..).zip(&steps) {
            let Some((changed, announced)) = model.take(step, &invoice, time(n)) else { continue };
            let names: Vec<_> = changed.events.iter().map(Event::name).collect();
            prop_assert_eq!(names, if announced { vec!["invoice.paid"] } else { vec![] });
            let paid_at = if announced { Some(at(n)) } else { invoice.summary.paid_at };
            invoice = changed.record;
            prop_assert_eq!(invoice.summary.status, model.status);
            prop_assert_eq!(invoice.summary.amount_paid, money(model.paid()));
            prop_assert_eq!(invoice.summary.amount_due, money((payable - model.paid()).max(0)));
            prop_assert_eq!(invoice.summary.retention_due, money((total - model.paid()).clamp(0, held)));
            prop_assert_eq!(invoice.summary.amount_overpaid, money((model.paid() - total).max(0)));
            prop_assert_eq!(invoice.summary.status == InvoiceStatus::Paid, invoice.summary.amount_due.is_zero());
            let expected = paid_at.filter(|_| model.status == InvoiceStatus::Paid);
            prop_assert_eq!(invoice.summary.paid_at, expected);
            prop_assert_eq!(invoice.summary.updated_at, at(n));
            prop_assert_eq!(invoice.check_cancelable().is_ok(), model.paid() == 0);
        }
    }
}
