use std::collections::BTreeSet;

use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;
use crate::fixtures::*;
use crate::{Percent, price_lines};

/// The clock, and the stamp that is ahead of it.
const CLOCK: i64 = 900;
const LATE: i64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Issue,
    PayPart,
    PayAll,
    PayMore,
    MarkPaid,
    Reverse,
    MarkOverdue,
    Cancel,
}

const OPERATIONS: [Operation; 8] = [
    Operation::Issue,
    Operation::PayPart,
    Operation::PayAll,
    Operation::PayMore,
    Operation::MarkPaid,
    Operation::Reverse,
    Operation::MarkOverdue,
    Operation::Cancel,
];

fn number_seven() -> InvoiceIssue<'static> {
    InvoiceIssue { number: "FAC-2026-0007", issue_date: today(), due_date: None }
}

/// The result of an operation; `None` if it is refused. The amount to be paid is 323.
fn perform(operation: Operation, invoice: &Invoice) -> Option<Changed<Invoice>> {
    let (before_due, after_due, stamp) = (today(), day("2027-01-01"), at(LATE));
    let at = ChangeTime { now: at(CLOCK), stamp };
    match operation {
        Operation::Issue => invoice.issue(number_seven(), at).ok(),
        Operation::PayPart => invoice.record_payment(Money::from(100), at).ok(),
        Operation::PayAll => invoice.record_payment(Money::from(323), at).ok(),
        Operation::PayMore => invoice.record_payment(Money::from(400), at).ok(),
        Operation::MarkPaid => invoice.mark_paid(at).ok(),
        Operation::Reverse => invoice.reverse_payment(Money::from(100), stamp, before_due).ok(),
        Operation::MarkOverdue => invoice.mark_overdue(stamp, after_due),
        Operation::Cancel => invoice.cancel(at).ok(),
    }
}

/// The next state, the events, and the members that change besides `updatedAt`; `None` if the
/// operation is refused.
type Outcome = Option<(InvoiceStatus, &'static [&'static str], &'static [&'static str])>;

/// The outcome in the contract. `partly`: 100 of 323 has been paid (if the state has payments and
/// is not PAID).
fn allowed(from: InvoiceStatus, operation: Operation, partly: bool) -> Outcome {
    use InvoiceStatus::{Canceled, Draft, Overdue, Paid, Sent};
    const PAID: &[&str] = &["invoice.paid"];
    match (operation, from) {
        (Operation::Issue, Draft) => Some((Sent, &[], &["dueDate", "issueDate", "number", "status"])),
        (Operation::PayPart, Sent | Overdue) => Some((from, &[], &["amountDue", "amountPaid"])),
        (Operation::PayAll, Sent | Overdue) if !partly => {
            Some((Paid, PAID, &["amountDue", "amountPaid", "paidAt", "status"]))
        }
        (Operation::PayAll | Operation::PayMore, Sent | Overdue) => Some((
            Paid,
            PAID,
            &["amountDue", "amountOverpaid", "amountPaid", "paidAt", "retentionDue", "status"],
        )),
        (Operation::PayPart | Operation::PayAll | Operation::PayMore, Paid) => {
            Some((Paid, &[], &["amountOverpaid", "amountPaid", "retentionDue"]))
        }
        (Operation::MarkPaid, Sent | Overdue) => {
            Some((Paid, PAID, &["amountDue", "amountPaid", "paidAt", "status"]))
        }
        (Operation::Reverse, Sent | Overdue) if partly => Some((from, &[], &["amountDue", "amountPaid"])),
        (Operation::Reverse, Paid) => Some((Sent, &[], &["amountDue", "amountPaid", "paidAt", "status"])),
        (Operation::MarkOverdue, Sent) => Some((Overdue, &[], &["status"])),
        (Operation::Cancel, Draft | Sent | Overdue) if !partly => {
            Some((Canceled, &[], &["amountDue", "canceledAt", "retentionDue", "status"]))
        }
        _ => None,
    }
}

/// Rules: INVOICE-2, INVOICE-4, INVOICE-5, INVOICE-6, INVOICE-7, STAMP-7
#[test]
fn every_operation_in_every_state_does_what_the_contract_says() {
    for &from in InvoiceStatus::ALL {
        let takes_part = matches!(from, InvoiceStatus::Sent | InvoiceStatus::Overdue);
        for partly in [false, true].into_iter().take(1 + usize::from(takes_part)) {
            for operation in OPERATIONS {
                let mut invoice = invoice_in(from);
                if partly {
                    invoice = invoice.record_payment(Money::from(100), time(9)).unwrap().record;
                }
                check(&invoice, operation, allowed(from, operation, partly));
            }
        }
    }
}

fn check(invoice: &Invoice, operation: Operation, expected: Outcome) {
    let what =
        format!("{operation:?} in {} with {} paid", invoice.summary.status, invoice.summary.amount_paid);
    let changed = perform(operation, invoice);
    let Some((to, events, members)) = expected else {
        assert!(changed.is_none(), "{what} must be refused");
        return;
    };
    let changed = changed.unwrap_or_else(|| panic!("{what} must be allowed"));
    assert_eq!(changed.record.summary.status, to, "{what}");
    assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), events, "{what}");
    assert!(changed.events.iter().all(|event| event.timestamp == at(LATE)));
    let InvoiceSummary { updated_at, paid_at, canceled_at, .. } = changed.record.summary;
    assert_eq!(updated_at, at(LATE));
    assert!(![paid_at, canceled_at].contains(&Some(at(LATE))), "{what}: dated by the stamp");
    let members: BTreeSet<_> = members.iter().copied().chain(["updatedAt"]).collect();
    assert!(differences(invoice, &changed.record).iter().eq(members), "{what}");
}

/// Rules: INVOICE-1
#[test]
fn only_an_accepted_quote_is_converted() {
    for &status in QuoteStatus::ALL {
        let converted = Invoice::from_quote(InvoiceId(uuid(3)), &quote_in(status), time(3));
        assert_eq!(converted.is_ok(), status == QuoteStatus::Accepted, "{status}");
        if let Err(refusal) = converted {
            assert!(matches!(refusal, DomainError::Conflict(_)));
        }
    }
}

/// Rules: INVOICE-1, EVENT-5
#[test]
fn a_conversion_takes_over_the_quote_and_announces_itself() {
    let quote = quote_in(QuoteStatus::Accepted);
    let changed = Invoice::from_quote(InvoiceId(uuid(3)), &quote, time(3)).unwrap();
    assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), ["invoice.created"]);
    let invoice = changed.record;
    assert_eq!((invoice.summary.status, &invoice.summary.number), (InvoiceStatus::Draft, &None));
    assert_eq!(
        (invoice.summary.quote_id, invoice.summary.client_id),
        (Some(quote.summary.id), quote.summary.client_id)
    );
    assert_eq!((&invoice.lines, &invoice.detail.vat_breakdown), (&quote.lines, &quote.detail.vat_breakdown));
    assert_eq!(
        (invoice.summary.total_ht, invoice.summary.total_ttc),
        (quote.summary.total_ht, quote.summary.total_ttc)
    );
    assert_eq!(
        (invoice.summary.retention_amount, invoice.summary.amount_due),
        (Money::from(17), Money::from(323))
    );
    assert_eq!(
        (invoice.summary.issue_date, invoice.summary.due_date, invoice.summary.paid_at),
        (None, None, None)
    );
}

/// Rules: INVOICE-2, INVOICE-14
#[test]
fn issuing_gives_number_and_dates() {
    let draft = invoice_in(InvoiceStatus::Draft);
    let issued = draft.issue(number_seven(), time(4)).unwrap().record;
    assert_eq!(issued.summary.number.as_deref(), Some("FAC-2026-0007"));
    assert_eq!(
        (issued.summary.issue_date, issued.summary.due_date),
        (Some(today()), Some(day("2026-10-14")))
    );
    let due = |due_date| draft.issue(InvoiceIssue { due_date: Some(due_date), ..number_seven() }, time(4));
    assert_eq!(due(today()).unwrap().record.summary.due_date, Some(today()));
    assert_eq!(
        due(day("2026-09-13")).unwrap_err().to_string(),
        "dueDate: must not be before the issue date, 2026-09-14, which is never before that of the last invoice"
    );
    assert!(due(NaiveDate::MAX).is_err());
    assert!(draft.issue(InvoiceIssue { issue_date: NaiveDate::MAX, ..number_seven() }, time(4)).is_err());
    assert!(draft.issue(InvoiceIssue { issue_date: day("9999-12-31"), ..number_seven() }, time(4)).is_err());
}

/// Rules: INVOICE-13
#[test]
fn an_amount_that_is_no_payment_is_refused_by_name() {
    let sent = invoice_in(InvoiceStatus::Sent);
    for bad in [Money::ZERO, Money::from(-1)] {
        assert!(
            matches!(sent.record_payment(bad, time(5)), Err(DomainError::Invalid(invalid)) if invalid.field == "amount")
        );
    }
    let paid = sent.record_payment("9999999999999.99".parse().unwrap(), time(5)).unwrap().record;
    let more = paid.record_payment("0.01".parse().unwrap(), time(6)).unwrap_err();
    assert!(matches!(more, DomainError::Invalid(invalid) if invalid.field == "amount"));
}

#[test]
fn no_more_is_reversed_than_was_paid() {
    let partly = invoice_in(InvoiceStatus::Sent).record_payment(Money::from(100), time(5)).unwrap().record;
    for bad in ["0", "-5", "100.01"] {
        let refusal = partly.reverse_payment(bad.parse().unwrap(), at(6), today()).unwrap_err();
        assert!(matches!(refusal, DomainError::Invalid(invalid) if invalid.field == "amount"), "{bad}");
    }
    for status in [InvoiceStatus::Draft, InvoiceStatus::Canceled] {
        let refusal = invoice_in(status).reverse_payment(Money::from(1), at(6), today()).unwrap_err();
        assert!(matches!(refusal, DomainError::Conflict(_)), "{status}");
    }
}

/// Rules: INVOICE-6
#[test]
fn a_reversal_leads_to_sent_or_overdue_and_re_announces_the_next_payment() {
    let paid = invoice_in(InvoiceStatus::Paid);
    let due = paid.summary.due_date.unwrap();
    let reversed = |today| paid.reverse_payment(Money::from(323), at(9), today).unwrap();
    assert_eq!(reversed(due).record.summary.status, InvoiceStatus::Sent);
    let late = reversed(due.succ_opt().unwrap());
    assert_eq!((late.record.summary.status, late.record.summary.paid_at), (InvoiceStatus::Overdue, None));
    assert!(late.events.is_empty());
    let again = late.record.record_payment(Money::from(323), time(10)).unwrap();
    assert_eq!(again.events.iter().map(Event::name).collect::<Vec<_>>(), ["invoice.paid"]);
    assert_eq!(again.record.summary.paid_at, Some(at(10)));
}

/// Rules: INVOICE-5
#[test]
fn the_due_date_itself_is_not_late_and_nothing_due_is_never_late() {
    let sent = invoice_in(InvoiceStatus::Sent);
    assert!(sent.mark_overdue(at(9), sent.summary.due_date.unwrap()).is_none());
    assert!(invoice_over(0, 0).mark_overdue(at(9), day("2027-01-01")).is_none());
}

/// Rules: INVOICE-15
#[test]
fn an_invoice_with_nothing_due_is_paid_when_it_is_issued() {
    let issued = draft_over(0, 0).issue(number_seven(), time(9)).unwrap();
    assert_eq!(issued.events.iter().map(Event::name).collect::<Vec<_>>(), ["invoice.paid"]);
    let InvoiceSummary { status, paid_at, amount_paid, number, .. } = issued.record.summary.clone();
    assert_eq!((status, paid_at, amount_paid), (InvoiceStatus::Paid, Some(at(9)), Money::ZERO));
    assert_eq!(number.as_deref(), Some("FAC-2026-0007"));
    assert!(issued.record.mark_paid(time(10)).is_err());
}

/// An issued invoice over `cents` cents, with a retention in hundredths of a percent.
fn invoice_over(cents: i64, retention: i64) -> Invoice {
    draft_over(cents, retention).issue(number_seven(), time(3)).unwrap().record
}

fn draft_over(cents: i64, retention: i64) -> Invoice {
    let mut line = new_line("0", "0");
    line.quantity = 1.into();
    line.unit_price = Decimal::new(cents, 2).try_into().unwrap();
    let lines = price_lines(&[line]).unwrap().lines;
    let rate = Percent::new(Decimal::new(retention, 2)).unwrap();
    let quote = Quote::draft(origin(), &client(), lines, rate, None).unwrap().record;
    let quote = quote.accept(time(1)).unwrap().record;
    Invoice::from_quote(InvoiceId(uuid(3)), &quote, time(2)).unwrap().record
}

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

/// The same rules in plain cents, computed only from the payments that stand.
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
                let changed = invoice.reverse_payment(money(cents), at.stamp, self.today).unwrap();
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

fn money(cents: i64) -> Money {
    Money::new(Decimal::new(cents, 2)).unwrap()
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
            prop_assert_eq!(invoice.cancel(time(n)).is_ok(), model.paid() == 0);
        }
    }
}
