//! The states of an invoice: pure functions from a record and an instant to the new record
//! with its events.
//!
//! `stamp` is the modification stamp that the transaction assigned. `at` adds the clock's instant,
//! if the change is dated. `today` is the clock's date in the company's time zone.

use chrono::NaiveDate;

use crate::date::{check_date, days_after};
use crate::{
    ChangeTime, Changed, Conflict, DomainError, Event, EventKind, Invalid, Invoice, InvoiceDetail, InvoiceId,
    InvoiceStatus, InvoiceSummary, Money, Quote, QuoteStatus, Timestamp,
};

/// Days between issue and due date, unless the caller sets a due date.
pub const DEFAULT_PAYMENT_DAYS: u64 = 30;

/// The data that an invoice gets when it is issued.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub struct InvoiceIssue<'a> {
    /// The number, allocated in the same transaction.
    pub number: &'a str,
    /// The day of issue in the company's time zone, not before the last one of the series.
    pub issue_date: NaiveDate,
    /// Last day for paying; 30 days later if missing.
    pub due_date: Option<NaiveDate>,
}

impl<'a> InvoiceIssue<'a> {
    /// An issue with a due date 30 days later.
    pub const fn new(number: &'a str, issue_date: NaiveDate) -> Self {
        Self { number, issue_date, due_date: None }
    }

    /// Sets [`due_date`](Self#structfield.due_date).
    pub fn due_date(mut self, day: NaiveDate) -> Self {
        self.due_date = Some(day);
        self
    }
}

impl Invoice {
    /// The draft that an ACCEPTED quote is converted to: `invoice.created`.
    pub fn from_quote(id: InvoiceId, quote: &Quote, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        if quote.summary.status != QuoteStatus::Accepted {
            let message =
                format!("a quote in {} cannot be converted; it must be ACCEPTED", quote.summary.status);
            return Err(Conflict::new(message).into());
        }
        let source = &quote.summary;
        let summary = InvoiceSummary {
            id,
            number: None,
            status: InvoiceStatus::Draft,
            quote_id: Some(source.id),
            client_id: source.client_id,
            client_name: source.client_name.clone(),
            client_email: source.client_email.clone(),
            issue_date: None,
            due_date: None,
            total_ht: source.total_ht,
            total_ttc: source.total_ttc,
            tva_rate: source.tva_rate,
            currency: source.currency.clone(),
            retention_rate: quote.detail.retention_rate,
            retention_amount: quote.detail.retention_amount,
            retention_due: Money::ZERO,
            amount_paid: Money::ZERO,
            amount_due: Money::ZERO,
            amount_overpaid: Money::ZERO,
            paid_at: None,
            canceled_at: None,
            created_at: at.now,
            updated_at: at.stamp,
        };
        let detail = InvoiceDetail { vat_breakdown: quote.detail.vat_breakdown.clone() };
        let mut invoice = Self { summary, lines: quote.lines.clone(), detail };
        invoice.set_amount_paid(Money::ZERO)?;
        let event = Event::invoice(EventKind::InvoiceCreated, &invoice, at.stamp);
        Ok(Changed { record: invoice, events: vec![event] })
    }

    /// DRAFT → SENT; if no amount is due, PAID at once, and `invoice.paid`.
    pub fn issue(&self, issue: InvoiceIssue<'_>, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        self.require("issued", &[InvoiceStatus::Draft])?;
        let issue_date = check_date("issueDate", issue.issue_date)?;
        let due_date = match issue.due_date {
            Some(day) => check_date("dueDate", day)?,
            None => days_after("dueDate", issue_date, DEFAULT_PAYMENT_DAYS)?,
        };
        if due_date < issue_date {
            let rule = format!(
                "must not be before the issue date, {issue_date}, which is never before that of the last invoice"
            );
            return Err(Invalid::new("dueDate", rule).into());
        }
        let mut invoice = self.modified(InvoiceStatus::Sent, at.stamp);
        invoice.summary.number = Some(issue.number.to_owned());
        invoice.summary.issue_date = Some(issue_date);
        invoice.summary.due_date = Some(due_date);
        Ok(invoice.paid_if_nothing_due(InvoiceStatus::Sent, at))
    }

    /// A payment on an issued invoice. If no amount is due any more: PAID and `invoice.paid`. A
    /// partial payment changes the amounts only. A payment beyond the amount due pays the
    /// retention, and a payment beyond `totalTTC` is overpaid.
    pub fn record_payment(&self, amount: Money, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        if amount <= Money::ZERO {
            return Err(Invalid::new("amount", "must be above 0").into());
        }
        self.require("paid", &[Sent, Overdue, Paid])?;
        let mut invoice = self.modified(self.summary.status, at.stamp);
        let paid =
            self.summary.amount_paid.plus(amount).map_err(|invalid| Invalid::new("amount", invalid.rule))?;
        invoice.set_amount_paid(paid)?;
        Ok(invoice.paid_if_nothing_due(self.summary.status, at))
    }

    /// SENT or OVERDUE → PAID by hand: the amount due counts as paid. A draft has to be issued
    /// first.
    pub fn mark_paid(&self, at: ChangeTime) -> Result<Changed<Self>, DomainError> {
        self.require("marked paid", &[InvoiceStatus::Sent, InvoiceStatus::Overdue])?;
        let mut invoice = self.modified(self.summary.status, at.stamp);
        invoice.set_amount_paid(self.summary.amount_paid.plus(self.summary.amount_due)?)?;
        Ok(invoice.paid_if_nothing_due(self.summary.status, at))
    }

    fn paid_if_nothing_due(mut self, before: InvoiceStatus, at: ChangeTime) -> Changed<Self> {
        let becomes_paid = before != InvoiceStatus::Paid && self.summary.amount_due.is_zero();
        if !becomes_paid {
            return Changed::without_events(self);
        }
        self.summary.status = InvoiceStatus::Paid;
        self.summary.paid_at = Some(at.now);
        let event = Event::invoice(EventKind::InvoicePaid, &self, at.stamp);
        Changed { record: self, events: vec![event] }
    }

    /// A payment taken back. A PAID invoice with an amount due again moves to SENT or OVERDUE.
    ///
    /// # Errors
    /// [`Conflict`] on an invoice that cannot have payments, [`Invalid`] for more than has been
    /// paid.
    pub fn reverse_payment(
        &self,
        amount: Money,
        stamp: Timestamp,
        today: NaiveDate,
    ) -> Result<Changed<Self>, DomainError> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        self.require("relieved of a payment", &[Sent, Overdue, Paid])?;
        if amount <= Money::ZERO || amount > self.summary.amount_paid {
            return Err(Invalid::new("amount", "must be above 0 and not above what has been paid").into());
        }
        let mut invoice = self.modified(self.summary.status, stamp);
        invoice.set_amount_paid(self.summary.amount_paid.minus(amount)?)?;
        if self.summary.status == Paid && !invoice.summary.amount_due.is_zero() {
            let overdue = self.summary.due_date.is_some_and(|day| day < today);
            invoice.summary.status = if overdue { Overdue } else { Sent };
            invoice.summary.paid_at = None;
        }
        Ok(Changed::without_events(invoice))
    }

    /// SENT → OVERDUE if the due date has passed and an amount is due; `None` otherwise.
    pub fn mark_overdue(&self, stamp: Timestamp, today: NaiveDate) -> Option<Changed<Self>> {
        let summary = self.summary.mark_overdue(stamp, today)?;
        Some(Changed::without_events(Self { summary, ..self.clone() }))
    }

    /// DRAFT, SENT or OVERDUE → CANCELED, only if no payment stands. The number stays, and no
    /// amount is owed any more.
    pub fn cancel(&self, at: ChangeTime) -> Result<Changed<Self>, Conflict> {
        use InvoiceStatus::{Canceled, Draft, Overdue, Sent};
        self.require("cancelled", &[Draft, Sent, Overdue])?;
        if !self.summary.amount_paid.is_zero() {
            return Err(Conflict::new("an invoice with payments cannot be cancelled; reverse them first"));
        }
        let mut invoice = self.modified(Canceled, at.stamp);
        invoice.summary.canceled_at = Some(at.now);
        invoice.summary.owe_nothing();
        Ok(Changed::without_events(invoice))
    }

    /// Sets the paid amount and the amounts derived from it.
    fn set_amount_paid(&mut self, amount_paid: Money) -> Result<(), Invalid> {
        self.summary.amount_paid = amount_paid;
        self.summary.update_amounts()
    }

    fn require(&self, done: &str, allowed: &[InvoiceStatus]) -> Result<(), Conflict> {
        if allowed.contains(&self.summary.status) {
            return Ok(());
        }
        Err(Conflict::new(format!("an invoice in {} cannot be {done}", self.summary.status)))
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
    /// The invoice with nothing owed, if it is CANCELED and still owes an amount, as earlier
    /// versions stored it. `None` for any other invoice.
    pub fn settle_canceled(&self, stamp: Timestamp) -> Option<Self> {
        let owes = !self.amount_due.is_zero() || !self.retention_due.is_zero();
        if self.status != InvoiceStatus::Canceled || !owes {
            return None;
        }
        let mut settled = Self { updated_at: stamp, ..self.clone() };
        settled.owe_nothing();
        Some(settled)
    }

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
