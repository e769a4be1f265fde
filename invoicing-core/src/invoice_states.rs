//! The states of an invoice: pure functions from a record and an instant to the new record
//! with its events.
//!
//! `stamp` is the modification stamp that the transaction assigned. `at` adds the clock's instant,
//! if the change is dated. `today` is the clock's date in the company's time zone.

use chrono::NaiveDate;

use crate::date::{check_date, days_after};
use crate::text::optional_order_number;
use crate::{
    ChangeTime, Changed, Conflict, ConflictReason, DocumentFormat, DomainError, Event, EventKind, Invalid,
    Invoice, InvoiceDetail, InvoiceId, InvoiceStatus, InvoiceSummary, InvoiceType, Money, Quote, QuoteStatus,
    Rule, Timestamp,
};

/// Days between issue and due date, unless the caller sets a due date.
pub const DEFAULT_PAYMENT_DAYS: u64 = 30;

/// The data that an invoice gets when it is issued.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvoiceIssue<'a> {
    /// The number, allocated in the same transaction.
    pub number: &'a str,
    /// The day of issue in the company's time zone, not before the last one of the series.
    pub issue_date: NaiveDate,
    /// Last day for paying; 30 days later if missing.
    pub due_date: Option<NaiveDate>,
    /// Day of the supply, if it is not the day of issue.
    pub supplied_on: Option<NaiveDate>,
    /// First and last day of the period that the invoice is about, if it is about one.
    pub period: Option<(NaiveDate, NaiveDate)>,
    /// The number of the client's order, if it is another one than that of the draft; an empty one
    /// removes it.
    pub order_number: Option<&'a str>,
    /// The format of the document; `None` if the service makes none.
    pub document_format: Option<DocumentFormat>,
}

impl<'a> InvoiceIssue<'a> {
    /// An issue with a due date 30 days later.
    pub const fn new(number: &'a str, issue_date: NaiveDate) -> Self {
        Self {
            number,
            issue_date,
            due_date: None,
            supplied_on: None,
            period: None,
            order_number: None,
            document_format: None,
        }
    }

    /// Sets [`due_date`](Self#structfield.due_date).
    pub fn due_date(mut self, day: NaiveDate) -> Self {
        self.due_date = Some(day);
        self
    }

    /// Sets [`supplied_on`](Self#structfield.supplied_on).
    pub fn supplied_on(mut self, day: NaiveDate) -> Self {
        self.supplied_on = Some(day);
        self
    }

    /// Sets [`period`](Self#structfield.period).
    pub fn period(mut self, first: NaiveDate, last: NaiveDate) -> Self {
        self.period = Some((first, last));
        self
    }

    /// Sets [`order_number`](Self#structfield.order_number).
    pub fn order_number(mut self, number: &'a str) -> Self {
        self.order_number = Some(number);
        self
    }

    /// Sets [`document_format`](Self#structfield.document_format).
    pub fn document_format(mut self, format: DocumentFormat) -> Self {
        self.document_format = Some(format);
        self
    }

    /// The supply and the period, checked.
    fn check_supply(&self) -> Result<(), Invalid> {
        if let Some(day) = self.supplied_on {
            check_date("suppliedOn", day)?;
        }
        let Some((start, end)) = self.period else { return Ok(()) };
        check_date("periodStart", start)?;
        check_date("periodEnd", end)?;
        if end < start {
            return Err(Invalid::new("periodEnd", Rule::Before { first: "periodStart" }));
        }
        Ok(())
    }
}

impl Invoice {
    /// The draft that an ACCEPTED quote is converted to: `invoice.created`.
    pub fn from_quote(id: InvoiceId, quote: &Quote, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        if quote.summary.status != QuoteStatus::Accepted {
            return Err(ConflictReason::NotAccepted { status: quote.summary.status }.into());
        }
        let source = &quote.summary;
        let summary = InvoiceSummary {
            id,
            number: None,
            status: InvoiceStatus::Draft,
            r#type: InvoiceType::Standard.into(),
            quote_id: Some(source.id),
            client_id: source.client_id,
            client_name: source.client_name.clone(),
            client_email: source.client_email.clone(),
            issue_date: None,
            due_date: None,
            supplied_on: None,
            period_start: None,
            period_end: None,
            document_format: None,
            position: None,
            progress_rate: None,
            total_ht: source.total_ht,
            total_ttc: source.total_ttc,
            tva_rate: source.tva_rate,
            currency: source.currency.clone(),
            amount_credited: Money::ZERO,
            amount_written_off: Money::ZERO,
            retention_rate: quote.detail.retention_rate,
            retention_amount: quote.detail.retention_amount,
            retention_release_date: None,
            retention_due: Money::ZERO,
            amount_paid: Money::ZERO,
            amount_due: Money::ZERO,
            amount_overpaid: Money::ZERO,
            paid_at: None,
            canceled_at: None,
            created_at: at.now,
            updated_at: at.stamp,
        };
        let detail = InvoiceDetail {
            vat_breakdown: quote.detail.vat_breakdown.clone(),
            deductions: Vec::new(),
            credit_notes: Vec::new(),
            order_number: quote.detail.order_number.clone(),
        };
        let mut invoice = Self { summary, lines: quote.lines.clone(), detail };
        invoice.set_amount_paid(Money::ZERO)?;
        let event = Event::invoice(EventKind::InvoiceCreated, &invoice, at.stamp);
        Ok(Changed { record: invoice, events: vec![event] })
    }

    /// DRAFT → SENT: `invoice.issued`. If no amount is due, PAID at once, and then `invoice.paid`.
    pub fn issue(&self, issue: InvoiceIssue<'_>, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        self.require("issued", &[InvoiceStatus::Draft])?;
        let issue_date = check_date("issueDate", issue.issue_date)?;
        let due_date = match issue.due_date {
            Some(day) => check_date("dueDate", day)?,
            None => days_after("dueDate", issue_date, DEFAULT_PAYMENT_DAYS)?,
        };
        if due_date < issue_date {
            return Err(Invalid::new("dueDate", Rule::BeforeIssue { issued: issue_date }).into());
        }
        issue.check_supply()?;
        let mut invoice = self.modified(InvoiceStatus::Sent, at.stamp);
        if issue.order_number.is_some() {
            invoice.detail.order_number = optional_order_number(issue.order_number)?;
        }
        let summary = &mut invoice.summary;
        summary.number = Some(issue.number.to_owned());
        summary.issue_date = Some(issue_date);
        summary.due_date = Some(due_date);
        summary.supplied_on = issue.supplied_on.filter(|day| *day != issue_date);
        (summary.period_start, summary.period_end) = issue.period.unzip();
        summary.document_format = issue.document_format.map(Into::into);
        let issued = Event::invoice(EventKind::InvoiceIssued, &invoice, at.stamp);
        let mut changed = invoice.paid_if_nothing_due(InvoiceStatus::Sent, at);
        changed.events.insert(0, issued);
        Ok(changed)
    }

    /// A payment on an issued invoice. If no amount is due any more: PAID and `invoice.paid`. A
    /// partial payment changes the amounts only. A payment beyond the amount due pays the
    /// retention, and a payment beyond what is not credited of `totalTTC` is overpaid.
    pub fn record_payment(&self, amount: Money, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        if amount <= Money::ZERO {
            return Err(Invalid::new("amount", Rule::Above0).into());
        }
        self.require("paid", &[Sent, Overdue, Paid])?;
        let mut invoice = self.modified(self.summary.status, at.stamp);
        let paid = self.summary.amount_paid.plus(amount).map_err(|invalid| invalid.in_field("amount"))?;
        invoice.set_amount_paid(paid)?;
        Ok(invoice.paid_if_nothing_due(self.summary.status, at))
    }

    /// SENT or OVERDUE → PAID by hand: the amount due counts as paid. A draft has to be issued
    /// first.
    pub fn mark_paid(&self, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        self.require("marked paid", &[InvoiceStatus::Sent, InvoiceStatus::Overdue])?;
        if self.summary.is_credited_in_full() {
            return Err(ConflictReason::CreditedInFull.into());
        }
        let mut invoice = self.modified(self.summary.status, at.stamp);
        invoice.set_amount_paid(self.summary.amount_paid.plus(self.summary.amount_due)?)?;
        Ok(invoice.paid_if_nothing_due(self.summary.status, at))
    }

    fn paid_if_nothing_due(mut self, before: InvoiceStatus, at: ChangeTime) -> Changed<Self> {
        // An invoice that is credited in full keeps its state until what was paid is refunded.
        let becomes_paid = before != InvoiceStatus::Paid
            && self.summary.amount_due.is_zero()
            && !self.summary.is_credited_in_full();
        if !becomes_paid {
            return Changed::without_events(self);
        }
        self.summary.status = InvoiceStatus::Paid;
        self.summary.paid_at = Some(at.now);
        let event = Event::invoice(EventKind::InvoicePaid, &self, at.stamp);
        Changed { record: self, events: vec![event] }
    }

    /// A payment taken back, or a refund, whose amount is below 0. A PAID invoice with an amount
    /// due again moves to SENT or OVERDUE. One that is credited in full and has no valid payment
    /// left is CANCELED. A refund that is taken back may pay the invoice: PAID and `invoice.paid`.
    ///
    /// # Errors
    /// [`Conflict`] on an invoice that cannot have payments, and for more than has been paid: the
    /// payment was refunded. [`Invalid`] for 0.
    pub fn reverse_payment(
        &self,
        amount: Money,
        at: ChangeTime,
        today: NaiveDate,
    ) -> Result<Changed<Self>, DomainError> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        self.require("relieved of a payment", &[Sent, Overdue, Paid])?;
        if amount.is_zero() {
            return Err(Invalid::new("amount", Rule::Not0).into());
        }
        if amount > self.summary.amount_paid {
            return Err(ConflictReason::Refunded.into());
        }
        let mut invoice = self.modified(self.summary.status, at.stamp);
        invoice.set_amount_paid(self.summary.amount_paid.minus(amount)?)?;
        if self.summary.status == Paid && !invoice.summary.amount_due.is_zero() {
            let overdue = self.summary.due_date.is_some_and(|day| day < today);
            invoice.summary.status = if overdue { Overdue } else { Sent };
            invoice.summary.paid_at = None;
        }
        // A refund taken back may be what paid the invoice.
        Ok(invoice.canceled_if_nothing_left(at).paid_if_nothing_due(self.summary.status, at))
    }

    /// A part of what was overpaid paid back. CANCELED if the invoice is credited in full and has
    /// no valid payment left.
    ///
    /// # Errors
    /// [`Conflict`] on an invoice that cannot have payments, [`Invalid`] for more than
    /// `amountOverpaid`.
    pub fn refund(&self, amount: Money, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        self.require("refunded", &[Sent, Overdue, Paid])?;
        let overpaid = self.summary.amount_overpaid;
        if amount <= Money::ZERO || amount > overpaid {
            return Err(
                Invalid::new("amount", Rule::MoreThanOverpaid { overpaid: overpaid.to_string() }).into()
            );
        }
        let mut invoice = self.modified(self.summary.status, at.stamp);
        invoice.set_amount_paid(self.summary.amount_paid.minus(amount)?)?;
        Ok(Changed::without_events(invoice.canceled_if_nothing_left(at)))
    }

    /// A credit note of this total on an issued invoice. Credited in full with no payment:
    /// CANCELED. No amount due and something paid: PAID and `invoice.paid`. A credit note of 0
    /// cancels an invoice of 0.
    ///
    /// # Errors
    /// [`Conflict`] on an invoice that is not issued, for more than is left of it, and on an invoice
    /// of 0 with payments; [`Invalid`] for nothing.
    pub fn credit(&self, total_ttc: Money, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        self.require("credited", &[Sent, Overdue, Paid])?;
        if total_ttc.is_zero() && self.summary.total_ttc.is_zero() {
            self.check_cancelable()?;
            return Ok(Changed::without_events(self.modified(self.summary.status, at.stamp).canceled(at)));
        }
        if total_ttc <= Money::ZERO {
            return Err(Invalid::new("totalTTC", Rule::Above0).into());
        }
        let credited = self.summary.amount_credited.plus(total_ttc)?;
        if credited > self.summary.total_ttc {
            return Err(ConflictReason::CreditedTooMuch.into());
        }
        let mut invoice = self.modified(self.summary.status, at.stamp);
        invoice.summary.amount_credited = credited;
        invoice.summary.update_amounts()?;
        Ok(invoice.canceled_if_nothing_left(at).paid_if_nothing_due(self.summary.status, at))
    }

    /// CANCELED if the invoice is credited in full and has no valid payment.
    fn canceled_if_nothing_left(self, at: ChangeTime) -> Self {
        let is_left = !self.summary.is_credited_in_full() || !self.summary.amount_paid.is_zero();
        if is_left { self } else { self.canceled(at) }
    }

    fn canceled(mut self, at: ChangeTime) -> Self {
        self.summary.status = InvoiceStatus::Canceled;
        self.summary.canceled_at = Some(at.now);
        self.summary.paid_at = None;
        self.summary.owe_nothing();
        self
    }

    /// SENT → OVERDUE if the due date has passed and an amount is due; `None` otherwise.
    pub fn mark_overdue(&self, stamp: Timestamp, today: NaiveDate) -> Option<Changed<Self>> {
        let summary = self.summary.mark_overdue(stamp, today)?;
        Some(Changed::without_events(Self { summary, ..self.clone() }))
    }

    /// Checks that the invoice can be cancelled: in DRAFT, SENT or OVERDUE, or PAID with a total of
    /// 0, and without a payment. An issued one is cancelled by a credit note of what is left of it:
    /// see [`CreditNote::issue`](crate::CreditNote::issue).
    pub fn check_cancelable(&self) -> Result<(), Conflict> {
        use InvoiceStatus::{Draft, Overdue, Paid, Sent};
        if !self.summary.total_ttc.is_zero() {
            self.require("cancelled", &[Draft, Sent, Overdue])?;
        }
        self.require("cancelled", &[Draft, Sent, Overdue, Paid])?;
        if self.summary.amount_paid.is_zero() {
            return Ok(());
        }
        Err(ConflictReason::HasPayments.into())
    }

    /// DRAFT → CANCELED. The invoice has no number, now or later.
    pub fn cancel_draft(&self, at: ChangeTime) -> Result<Changed<Self>, Conflict> {
        self.require("cancelled without a credit note", &[InvoiceStatus::Draft])?;
        Ok(Changed::without_events(self.modified(InvoiceStatus::Draft, at.stamp).canceled(at)))
    }

    /// Sets the paid amount and the amounts derived from it.
    fn set_amount_paid(&mut self, amount_paid: Money) -> Result<(), Invalid> {
        self.summary.amount_paid = amount_paid;
        self.summary.update_amounts()
    }

    fn require(&self, done: &'static str, allowed: &[InvoiceStatus]) -> Result<(), Conflict> {
        if allowed.contains(&self.summary.status) {
            return Ok(());
        }
        Err(ConflictReason::InvoiceStatus { status: self.summary.status, done }.into())
    }

    fn modified(&self, status: InvoiceStatus, stamp: Timestamp) -> Self {
        let mut invoice = self.clone();
        invoice.summary.status = status;
        invoice.summary.updated_at = stamp;
        invoice
    }
}

/// The changes that do not need the lines, which may be large.
impl InvoiceSummary {
    fn owe_nothing(&mut self) {
        (self.amount_due, self.retention_due) = (Money::ZERO, Money::ZERO);
    }

    /// The same as [`Invoice::mark_overdue`].
    pub fn mark_overdue(&self, stamp: Timestamp, today: NaiveDate) -> Option<Self> {
        let overdue = self.status == InvoiceStatus::Sent
            && self.due_date.is_some_and(|day| day < today)
            && !self.amount_due.is_zero();
        overdue.then(|| Self { status: InvoiceStatus::Overdue, updated_at: stamp, ..self.clone() })
    }
}

#[cfg(test)]
mod tests;
