use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::*;
use crate::fixtures::*;
use crate::{NewLine, Percent, QuoteTerms, price_lines};

mod amounts;
mod payments;

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
    CancelDraft,
    CreditPart,
    CreditAll,
    Refund,
}

const OPERATIONS: [Operation; 11] = [
    Operation::Issue,
    Operation::PayPart,
    Operation::PayAll,
    Operation::PayMore,
    Operation::MarkPaid,
    Operation::Reverse,
    Operation::MarkOverdue,
    Operation::CancelDraft,
    Operation::CreditPart,
    Operation::CreditAll,
    Operation::Refund,
];

/// The invoice before an operation: 323 of 340 are to be paid in time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    /// As [`invoice_in`] makes it.
    Plain,
    /// 100 are paid, and the invoice is not PAID.
    PartlyPaid,
    /// 110 are credited.
    PartlyCredited,
    /// 340 are credited, and 100 were paid before; or 323 if PAID.
    CreditedAndPaid,
}

fn number_seven() -> InvoiceIssue<'static> {
    InvoiceIssue::new("FAC-2026-0007", today())
}

fn pay(invoice: &Invoice, amount: i32, at: ChangeTime) -> Invoice {
    invoice.record_payment(Money::from(amount), at).unwrap().record
}

/// The invoice; `None` if its state does not occur so.
fn invoice_before(status: InvoiceStatus, before: Before) -> Option<Invoice> {
    use InvoiceStatus::{Overdue, Paid, Sent};
    let invoice = invoice_in(status);
    let credit = |invoice: &Invoice, amount: i32| invoice.credit(amount.into(), time(9)).unwrap().record;
    match (before, status) {
        (Before::Plain, _) => Some(invoice),
        (Before::PartlyPaid, Sent | Overdue) => Some(pay(&invoice, 100, time(9))),
        (Before::PartlyCredited, Sent | Overdue | Paid) => Some(credit(&invoice, 110)),
        (Before::CreditedAndPaid, Sent | Overdue) => Some(credit(&pay(&invoice, 100, time(8)), 340)),
        (Before::CreditedAndPaid, Paid) => Some(credit(&invoice, 340)),
        _ => None,
    }
}

/// The result of an operation; `None` if it is refused.
fn perform(operation: Operation, invoice: &Invoice) -> Option<Changed<Invoice>> {
    let at = ChangeTime { now: at(CLOCK), stamp: at(LATE) };
    let left = invoice.summary.total_ttc.minus(invoice.summary.amount_credited).unwrap();
    let paid = invoice.summary.amount_paid;
    match operation {
        Operation::Issue => invoice.issue(number_seven(), at).ok(),
        Operation::PayPart => invoice.record_payment(Money::from(100), at).ok(),
        Operation::PayAll => invoice.record_payment(Money::from(323), at).ok(),
        Operation::PayMore => invoice.record_payment(Money::from(400), at).ok(),
        Operation::MarkPaid => invoice.mark_paid(at).ok(),
        Operation::Reverse => invoice.reverse_payment(paid.max(Money::from(1)), at, today()).ok(),
        Operation::MarkOverdue => invoice.mark_overdue(at.stamp, day("2027-01-01")),
        Operation::CancelDraft => invoice.cancel_draft(at).ok(),
        Operation::CreditPart => invoice.credit(Money::from(10), at).ok(),
        Operation::CreditAll => invoice.credit(left, at).ok(),
        Operation::Refund => invoice.refund(paid.max(Money::from(1)), at).ok(),
    }
}

/// The next state and the events; `None` if the operation is refused.
type Outcome = Option<(InvoiceStatus, &'static [&'static str])>;

const NONE: &[&str] = &[];
const PAID: &[&str] = &["invoice.paid"];

/// The outcome in the contract.
fn allowed(from: InvoiceStatus, operation: Operation, before: Before) -> Outcome {
    use InvoiceStatus::{Canceled, Draft, Overdue, Paid, Sent};
    let credited = before == Before::CreditedAndPaid;
    let has_paid = from == Paid || matches!(before, Before::PartlyPaid | Before::CreditedAndPaid);
    match (operation, from) {
        (Operation::Issue, Draft) => Some((Sent, &["invoice.issued"])),
        (Operation::CancelDraft, Draft) => Some((Canceled, NONE)),
        (_, Draft | Canceled) | (Operation::Issue | Operation::CancelDraft, _) => None,
        (Operation::PayAll | Operation::PayMore | Operation::MarkPaid, Sent | Overdue) if !credited => {
            Some((Paid, PAID))
        }
        (Operation::PayPart | Operation::PayAll | Operation::PayMore, _) => Some((from, NONE)),
        (Operation::Reverse | Operation::Refund, _) if credited => Some((Canceled, NONE)),
        (Operation::Reverse, Paid) => Some((Sent, NONE)),
        (Operation::Reverse, _) if has_paid => Some((from, NONE)),
        (Operation::MarkOverdue, Sent) if !credited => Some((Overdue, NONE)),
        (Operation::CreditPart, _) if !credited => Some((from, NONE)),
        (Operation::CreditAll, _) if !credited && has_paid => Some((from, NONE)),
        (Operation::CreditAll, _) if !credited => Some((Canceled, NONE)),
        _ => None,
    }
}

/// Rules: INVOICE-2, INVOICE-4, INVOICE-5, INVOICE-6, INVOICE-7, INVOICE-22, INVOICE-25, STAMP-7
#[test]
fn every_operation_in_every_state_does_what_the_contract_says() {
    let all = [Before::Plain, Before::PartlyPaid, Before::PartlyCredited, Before::CreditedAndPaid];
    for &from in InvoiceStatus::ALL {
        for before in all {
            let Some(invoice) = invoice_before(from, before) else { continue };
            assert_eq!(invoice.summary.status, from, "{before:?}");
            for operation in OPERATIONS {
                check(&invoice, operation, allowed(from, operation, before));
            }
        }
    }
}

fn check(invoice: &Invoice, operation: Operation, expected: Outcome) {
    let InvoiceSummary { status, amount_paid, amount_credited, .. } = &invoice.summary;
    let what = format!("{operation:?} in {status}, {amount_paid} paid, {amount_credited} credited");
    let changed = perform(operation, invoice);
    let Some((to, events)) = expected else {
        assert!(changed.is_none(), "{what} must be refused");
        return;
    };
    let changed = changed.unwrap_or_else(|| panic!("{what} must be allowed"));
    assert_eq!(changed.record.summary.status, to, "{what}");
    assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), events, "{what}");
    assert!(changed.events.iter().all(|event| event.timestamp == at(LATE)));
    check_instants(&changed.record.summary, &what);
    assert_only_money_moves(operation, invoice, &changed.record);
}

fn check_instants(summary: &InvoiceSummary, what: &str) {
    use InvoiceStatus::{Canceled, Paid};
    assert_eq!(summary.updated_at, at(LATE));
    assert!(![summary.paid_at, summary.canceled_at].contains(&Some(at(LATE))), "{what}: dated by the stamp");
    assert_eq!(summary.paid_at.is_some(), summary.status == Paid, "{what}");
    assert_eq!(summary.canceled_at.is_some(), summary.status == Canceled, "{what}");
}

/// From the issue on, only the state and the amounts change.
fn assert_only_money_moves(operation: Operation, before: &Invoice, after: &Invoice) {
    let state = ["status", "updatedAt", "paidAt", "canceledAt"];
    let amounts =
        ["amountCredited", "amountDue", "amountOverpaid", "amountPaid", "retentionAmount", "retentionDue"];
    let issue = ["number", "issueDate", "dueDate"];
    let movable: BTreeSet<_> = match operation {
        Operation::Issue => state.into_iter().chain(issue).collect(),
        Operation::MarkOverdue => state.into_iter().collect(),
        _ => state.into_iter().chain(amounts).collect(),
    };
    for member in differences(before, after) {
        assert!(movable.contains(&*member), "{operation:?} changes {member}");
    }
}

/// Rules: INVOICE-7, CREDIT-4
#[test]
fn an_issued_invoice_is_cancelled_by_a_credit_note_of_all_that_remains() {
    for status in [InvoiceStatus::Sent, InvoiceStatus::Overdue] {
        let invoice = invoice_in(status);
        assert!(invoice.check_cancelable().is_ok() && invoice.cancel_draft(time(9)).is_err());
        let (note, changed) = credit_remaining(&invoice, time(9));
        let summary = &changed.record.summary;
        assert_eq!((summary.status, summary.canceled_at), (InvoiceStatus::Canceled, Some(at(9))));
        assert_eq!(summary.number, invoice.summary.number);
        assert_eq!(summary.amount_credited, summary.total_ttc);
        assert!(
            [summary.amount_due, summary.retention_due, summary.retention_amount].iter().all(|m| m.is_zero())
        );
        assert_eq!(changed.record.detail.credit_notes, [note.summary.reference()]);
        let members = [
            "amountCredited",
            "amountDue",
            "canceledAt",
            "creditNotes",
            "retentionAmount",
            "retentionDue",
            "status",
            "updatedAt",
        ];
        assert_eq!(differences(&invoice, &changed.record), members);
    }
    assert!(invoice_in(InvoiceStatus::Draft).check_cancelable().is_ok());
    let partly = invoice_before(InvoiceStatus::Sent, Before::PartlyPaid).unwrap();
    for refused in [partly, invoice_in(InvoiceStatus::Paid), invoice_in(InvoiceStatus::Canceled)] {
        assert!(refused.check_cancelable().is_err(), "{}", refused.summary.status);
    }
}

/// Rules: INVOICE-30, CREDIT-3
#[test]
fn a_credit_note_of_0_cancels_an_invoice_of_0() {
    let lines = [1, -1].map(|quantity| NewLine::new("Pose", quantity, 100, 20));
    let issued = issued_of(&lines);
    assert_eq!((issued.summary.status, issued.summary.total_ttc), (InvoiceStatus::Paid, Money::ZERO));
    let (note, changed) = credit_remaining(&issued, time(9));
    assert_eq!((note.lines.len(), note.summary.total_ttc), (2, Money::ZERO));
    let InvoiceSummary { status, canceled_at, paid_at, .. } = changed.record.summary;
    assert_eq!((status, canceled_at, paid_at), (InvoiceStatus::Canceled, Some(at(9)), None));
    assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), ["credit_note.issued"]);
    assert!(changed.record.credit(Money::ZERO, time(10)).is_err(), "twice");
    let paid = pay(&issued, 5, time(8));
    assert!(matches!(paid.credit(Money::ZERO, time(9)), Err(DomainError::Conflict(_))), "with a payment");
    let (unmeasured, _) = credit_remaining(&issued_of(&[NewLine::new("Pose", 0, 100, 20)]), time(9));
    assert_eq!((unmeasured.lines.len(), unmeasured.detail.vat_breakdown.len()), (1, 1));
    let other = invoice_in(InvoiceStatus::Sent);
    assert!(matches!(other.credit(Money::ZERO, time(9)), Err(DomainError::Invalid(_))), "of another");
}

/// Rules: INVOICE-19, MONEY-11
#[test]
fn a_credit_that_leaves_what_was_paid_makes_the_invoice_paid() {
    let partly = invoice_before(InvoiceStatus::Sent, Before::PartlyPaid).unwrap();
    let changed = partly.credit(Money::from(235), time(9)).unwrap();
    assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), ["invoice.paid"]);
    let summary = changed.record.summary;
    assert_eq!((summary.status, summary.paid_at), (InvoiceStatus::Paid, Some(at(9))));
    // 105 are invoiced, 5.25 of them held back; 100 are paid, 0.25 of them on the retention.
    let amounts =
        [summary.retention_amount, summary.retention_due, summary.amount_due, summary.amount_overpaid];
    assert_eq!(amounts.map(|amount| amount.to_string()), ["5.25", "5.00", "0.00", "0.00"]);
}

/// Rules: INVOICE-24
#[test]
fn a_refund_is_at_most_what_was_overpaid() {
    let paid = invoice_in(InvoiceStatus::Paid);
    assert!(matches!(paid.refund(Money::from(1), time(9)), Err(DomainError::Invalid(_))));
    let credited = paid.credit(Money::from(100), time(9)).unwrap().record;
    assert_eq!(credited.summary.amount_overpaid, Money::from(83));
    for bad in ["0", "-1", "83.01"] {
        let refusal = credited.refund(bad.parse().unwrap(), time(10)).unwrap_err();
        assert!(matches!(refusal, DomainError::Invalid(invalid) if invalid.field == "amount"), "{bad}");
    }
    let refunded = credited.refund(Money::from(83), time(10)).unwrap();
    let InvoiceSummary { status, amount_paid, amount_due, amount_overpaid, .. } = refunded.record.summary;
    assert_eq!((status, amount_paid), (InvoiceStatus::Paid, Money::from(240)));
    assert!(refunded.events.is_empty() && amount_due.is_zero() && amount_overpaid.is_zero());
}

/// Rules: INVOICE-13, INVOICE-24
#[test]
fn a_refund_taken_back_can_pay_the_invoice() {
    let paid = pay(&invoice_in(InvoiceStatus::Paid), 77, time(6));
    let refunded = paid.refund(Money::from(60), time(7)).unwrap().record;
    let reversed = refunded.reverse_payment(Money::from(77), time(8), today()).unwrap().record;
    assert_eq!(
        (reversed.summary.status, reversed.summary.amount_due),
        (InvoiceStatus::Sent, Money::from(60))
    );
    let again = reversed.reverse_payment(Money::from(-60), time(9), today()).unwrap();
    assert_eq!(again.record.summary.status, InvoiceStatus::Paid);
    assert_eq!(again.events.iter().map(Event::name).collect::<Vec<_>>(), ["invoice.paid"]);
    assert_eq!(again.record.summary.paid_at, Some(at(9)));
}

/// Rules: MONEY-13
#[test]
fn what_is_written_off_is_not_due_and_not_refundable() {
    let mut invoice = pay(&invoice_in(InvoiceStatus::Sent), 322, time(5));
    invoice.summary.amount_written_off = "0.75".parse().unwrap();
    invoice.summary.update_amounts().unwrap();
    assert_eq!(invoice.summary.amount_due.to_string(), "0.25");
    invoice.summary.amount_written_off = Money::from(1);
    invoice.summary.update_amounts().unwrap();
    let InvoiceSummary { amount_due, retention_due, amount_overpaid, .. } = invoice.summary;
    assert_eq!((amount_due, retention_due, amount_overpaid), (Money::ZERO, Money::from(17), Money::ZERO));
}

/// Rules: CREDIT-3
#[test]
fn no_more_than_the_invoice_is_credited_and_never_nothing() {
    let credited = invoice_before(InvoiceStatus::Sent, Before::PartlyCredited).unwrap();
    assert!(matches!(credited.credit("230.01".parse().unwrap(), time(9)), Err(DomainError::Conflict(_))));
    for nothing in [Money::ZERO, Money::from(-1)] {
        assert!(matches!(credited.credit(nothing, time(9)), Err(DomainError::Invalid(_))));
    }
}

/// Rules: INVOICE-21
#[test]
fn an_issue_keeps_supply_period_and_format() {
    let draft = invoice_in(InvoiceStatus::Draft);
    let (first, last) = (day("2026-08-01"), day("2026-08-31"));
    let issue = number_seven()
        .supplied_on(day("2026-09-01"))
        .period(first, last)
        .document_format(DocumentFormat::Pdf);
    let summary = draft.issue(issue, time(4)).unwrap().record.summary;
    assert_eq!(summary.supplied_on, Some(day("2026-09-01")));
    assert_eq!((summary.period_start, summary.period_end), (Some(first), Some(last)));
    assert_eq!(summary.document_format, Some(DocumentFormat::Pdf.into()));
    let same_day = draft.issue(number_seven().supplied_on(today()), time(4)).unwrap().record;
    assert_eq!(same_day.summary.supplied_on, None);
    let field = |issue| match draft.issue(issue, time(4)) {
        Err(DomainError::Invalid(invalid)) => invalid.field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(number_seven().period(last, first)), "periodEnd");
    assert_eq!(field(number_seven().period(NaiveDate::MIN, last)), "periodStart");
    assert_eq!(field(number_seven().period(first, NaiveDate::MAX)), "periodEnd");
    assert_eq!(field(number_seven().supplied_on(NaiveDate::MAX)), "suppliedOn");
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

/// Rules: INVOICE-32
#[test]
fn an_invoice_has_the_order_number_of_its_quote_or_of_its_issue() {
    let terms = QuoteTerms { order_number: Some("PO-1".into()), ..QuoteTerms::default() };
    let quote = Quote::draft(origin(), &client(), lines(), &terms).unwrap().record;
    let accepted = quote.accept(time(1)).unwrap().record;
    let draft = Invoice::from_quote(InvoiceId(uuid(3)), &accepted, time(2)).unwrap().record;
    let number = |invoice: &Invoice| invoice.detail.order_number.clone();
    assert_eq!(number(&draft).as_deref(), Some("PO-1"));
    let issued = |entered| draft.issue(number_seven().order_number(entered), time(3)).map(|new| new.record);
    assert_eq!(number(&draft.issue(number_seven(), time(3)).unwrap().record).as_deref(), Some("PO-1"));
    assert_eq!(number(&issued(" PO-2 ").unwrap()).as_deref(), Some("PO-2"));
    assert_eq!(number(&issued(" ").unwrap()), None);
    let long = "x".repeat(51);
    for bad in [&long, "a\nb"] {
        let refusal = issued(bad).unwrap_err();
        assert!(
            matches!(refusal, DomainError::Invalid(invalid) if invalid.field == "orderNumber"),
            "{bad:?}"
        );
    }
    // Later changes leave it.
    let paid = issued("PO-2").unwrap().mark_paid(time(4)).unwrap().record;
    assert_eq!(number(&credit_remaining(&paid, time(5)).1.record).as_deref(), Some("PO-2"));
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
    let nothing = partly.reverse_payment(Money::ZERO, time(6), today()).unwrap_err();
    assert!(matches!(nothing, DomainError::Invalid(invalid) if invalid.field == "amount"));
    let more = partly.reverse_payment("100.01".parse().unwrap(), time(6), today()).unwrap_err();
    assert!(matches!(more, DomainError::Conflict(_)));
    for status in [InvoiceStatus::Draft, InvoiceStatus::Canceled] {
        let refusal = invoice_in(status).reverse_payment(Money::from(1), time(6), today()).unwrap_err();
        assert!(matches!(refusal, DomainError::Conflict(_)), "{status}");
    }
}

/// Rules: INVOICE-6
#[test]
fn a_reversal_leads_to_sent_or_overdue_and_re_announces_the_next_payment() {
    let paid = invoice_in(InvoiceStatus::Paid);
    let due = paid.summary.due_date.unwrap();
    let reversed = |today| paid.reverse_payment(Money::from(323), time(9), today).unwrap();
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
    let names: Vec<_> = issued.events.iter().map(Event::name).collect();
    assert_eq!(names, ["invoice.issued", "invoice.paid"]);
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
    let quote = Quote::draft(origin(), &client(), lines, &terms(rate, None)).unwrap().record;
    let quote = quote.accept(time(1)).unwrap().record;
    Invoice::from_quote(InvoiceId(uuid(3)), &quote, time(2)).unwrap().record
}

fn money(cents: i64) -> Money {
    Money::new(Decimal::new(cents, 2)).unwrap()
}
