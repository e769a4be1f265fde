//! The states of an invoice (INVOICE-1 to INVOICE-7): pure functions from a record and an instant to the new record
//! with its events.
//!
//! `at` is the modification stamp that the transaction assigned; `today` is its date in the company's time zone.

use chrono::NaiveDate;

use crate::date::{check_date, days_after};
use crate::{
    Changed, Conflict, Event, EventKind, Invalid, Invoice, InvoiceHead, InvoiceId, InvoiceStatus,
    InvoiceTerms, Money, Quote, QuoteStatus, Refusal, Timestamp,
};

/// Days between issue and due date where nobody says otherwise.
pub const PAYMENT_TERM_DAYS: u64 = 30;

/// What issuing gives an invoice.
#[derive(Debug, Clone, Copy)]
pub struct Issue<'a> {
    /// The number, allocated in the same transaction.
    pub number: &'a str,
    /// The day of issue in the company's time zone.
    pub issue_date: NaiveDate,
    /// Last day for paying; 30 days later where missing.
    pub due_date: Option<NaiveDate>,
}

impl Invoice {
    /// The draft that an ACCEPTED quote is converted to: `invoice.created`.
    pub fn from_quote(id: InvoiceId, quote: &Quote, at: Timestamp) -> Result<Changed<Self>, Refusal> {
        if quote.status != QuoteStatus::Accepted {
            let message = format!("a quote in {} cannot be converted; it must be ACCEPTED", quote.status);
            return Err(Conflict::new(message).into());
        }
        let of = &quote.head;
        let head = InvoiceHead {
            id,
            number: None,
            status: InvoiceStatus::Draft,
            quote_id: of.id,
            client_id: of.client_id,
            client_name: of.client_name.clone(),
            client_email: of.client_email.clone(),
            issue_date: None,
            due_date: None,
            total_ht: of.total_ht,
            total_ttc: of.total_ttc,
            tva_rate: of.tva_rate,
            currency: of.currency.clone(),
            retention_rate: quote.terms.retention_rate,
            retention_amount: quote.terms.retention_amount,
            amount_paid: Money::ZERO,
            amount_due: Money::ZERO,
            amount_overpaid: Money::ZERO,
            paid_at: None,
            canceled_at: None,
            created_at: at,
            updated_at: at,
        };
        let terms = InvoiceTerms { vat_breakdown: quote.terms.vat_breakdown.clone() };
        let mut invoice = Self { head, lines: quote.lines.clone(), terms };
        invoice.settle(Money::ZERO)?;
        let event = Event::invoice(EventKind::InvoiceCreated, &invoice, at);
        Ok(Changed { record: invoice, events: vec![event] })
    }

    /// DRAFT → SENT.
    pub fn issue(&self, issue: Issue<'_>, at: Timestamp) -> Result<Changed<Self>, Refusal> {
        self.require("issued", &[InvoiceStatus::Draft])?;
        let issue_date = check_date("issueDate", issue.issue_date)?;
        let due_date = match issue.due_date {
            Some(day) => check_date("dueDate", day)?,
            None => days_after("dueDate", issue_date, PAYMENT_TERM_DAYS)?,
        };
        if due_date < issue_date {
            return Err(Invalid::new("dueDate", "must not be before the day of issue").into());
        }
        let mut invoice = self.touched(InvoiceStatus::Sent, at);
        invoice.head.number = Some(issue.number.to_owned());
        invoice.head.issue_date = Some(issue_date);
        invoice.head.due_date = Some(due_date);
        Ok(Changed::silent(invoice))
    }

    /// A payment on an issued invoice. When nothing is due any more: PAID and `invoice.paid`. A partial payment
    /// changes the amounts only; an overpayment is recorded as such.
    pub fn pay(&self, amount: Money, at: Timestamp) -> Result<Changed<Self>, Refusal> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        if amount <= Money::ZERO {
            return Err(Invalid::new("amount", "must be above 0").into());
        }
        self.require("paid", &[Sent, Overdue, Paid])?;
        let mut invoice = self.touched(self.status, at);
        let paid = self.amount_paid.plus(amount).map_err(|invalid| Invalid::new("amount", invalid.rule))?;
        invoice.settle(paid)?;
        Ok(invoice.paid_if_settled(self.status, at))
    }

    /// SENT or OVERDUE → PAID by hand: what is due counts as paid. A draft has to be issued first.
    pub fn mark_paid(&self, at: Timestamp) -> Result<Changed<Self>, Refusal> {
        self.require("marked paid", &[InvoiceStatus::Sent, InvoiceStatus::Overdue])?;
        let mut invoice = self.touched(self.status, at);
        invoice.settle(self.amount_paid.plus(self.amount_due)?)?;
        Ok(invoice.paid_if_settled(self.status, at))
    }

    fn paid_if_settled(mut self, before: InvoiceStatus, at: Timestamp) -> Changed<Self> {
        let becomes_paid = before != InvoiceStatus::Paid && self.amount_due.is_zero();
        if !becomes_paid {
            return Changed::silent(self);
        }
        self.head.status = InvoiceStatus::Paid;
        self.head.paid_at = Some(at);
        let event = Event::invoice(EventKind::InvoicePaid, &self, at);
        Changed { record: self, events: vec![event] }
    }

    /// A payment taken back. A PAID invoice on which something is due again goes to SENT or OVERDUE.
    ///
    /// # Errors
    /// [`Conflict`] on an invoice that cannot have payments, [`Invalid`] for more than has been paid.
    pub fn reverse(&self, amount: Money, at: Timestamp, today: NaiveDate) -> Result<Changed<Self>, Refusal> {
        use InvoiceStatus::{Overdue, Paid, Sent};
        self.require("relieved of a payment", &[Sent, Overdue, Paid])?;
        if amount <= Money::ZERO || amount > self.amount_paid {
            return Err(Invalid::new("amount", "must be above 0 and not above what has been paid").into());
        }
        let mut invoice = self.touched(self.status, at);
        invoice.settle(self.amount_paid.minus(amount)?)?;
        if self.status == Paid && !invoice.amount_due.is_zero() {
            let overdue = self.due_date.is_some_and(|day| day < today);
            invoice.head.status = if overdue { Overdue } else { Sent };
            invoice.head.paid_at = None;
        }
        Ok(Changed::silent(invoice))
    }

    /// SENT → OVERDUE where the due date has passed and something is due; `None` where not.
    pub fn fall_overdue(&self, at: Timestamp, today: NaiveDate) -> Option<Changed<Self>> {
        let overdue = self.status == InvoiceStatus::Sent
            && self.due_date.is_some_and(|day| day < today)
            && !self.amount_due.is_zero();
        overdue.then(|| Changed::silent(self.touched(InvoiceStatus::Overdue, at)))
    }

    /// DRAFT, SENT or OVERDUE → CANCELED, only while nothing has been paid. The number stays.
    pub fn cancel(&self, at: Timestamp) -> Result<Changed<Self>, Conflict> {
        use InvoiceStatus::{Canceled, Draft, Overdue, Sent};
        self.require("cancelled", &[Draft, Sent, Overdue])?;
        if !self.amount_paid.is_zero() {
            return Err(Conflict::new("an invoice with payments cannot be cancelled; reverse them first"));
        }
        let mut invoice = self.touched(Canceled, at);
        invoice.head.canceled_at = Some(at);
        Ok(Changed::silent(invoice))
    }

    /// Sets the amounts that follow from what has been paid.
    fn settle(&mut self, amount_paid: Money) -> Result<(), Invalid> {
        let head = &mut self.head;
        let payable = head.total_ttc.minus(head.retention_amount)?;
        head.amount_paid = amount_paid;
        head.amount_due = payable.minus(amount_paid)?.at_least_zero();
        head.amount_overpaid = amount_paid.minus(payable)?.at_least_zero();
        Ok(())
    }

    fn require(&self, done: &str, allowed: &[InvoiceStatus]) -> Result<(), Conflict> {
        if allowed.contains(&self.status) {
            return Ok(());
        }
        Err(Conflict::new(format!("an invoice in {} cannot be {done}", self.status)))
    }

    fn touched(&self, status: InvoiceStatus, at: Timestamp) -> Self {
        let mut invoice = self.clone();
        invoice.head.status = status;
        invoice.head.updated_at = at;
        invoice
    }
}

#[cfg(test)]
mod tests;
