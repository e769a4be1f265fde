//! Invoices and their payments.

use chrono::{Datelike, NaiveDate};
use serde_json::{Value, json};

use super::credit_notes::CreditNote;
use super::documents::Priced;
use super::money::{divide, money, number};
use super::{
    Company, Millis, Outcome, Refused, Seen, date_or_null, days_after, instant, instant_or_null, unless,
};

/// The states in which an invoice takes payments, refunds and credit notes.
pub(super) const ISSUED: [&str; 3] = ["SENT", "OVERDUE", "PAID"];

/// An invoice.
#[derive(Debug, Clone)]
pub(crate) struct Invoice {
    pub(crate) id: String,
    pub(crate) number: Option<String>,
    pub(crate) status: &'static str,
    pub(super) quote: String,
    pub(super) client: (String, String, Option<String>),
    pub(super) priced: Priced,
    pub(super) issued: Option<NaiveDate>,
    due_date: Option<NaiveDate>,
    pub(super) paid: i128,
    paid_at: Option<Millis>,
    canceled_at: Option<Millis>,
    pub(crate) notes: Vec<CreditNote>,
    pub(crate) created: Millis,
    pub(crate) updated: Millis,
    pub(crate) payments: Vec<Payment>,
}

/// A payment.
#[derive(Debug, Clone)]
pub(crate) struct Payment {
    pub(crate) id: String,
    pub(crate) cents: i128,
    pub(crate) reference: Option<String>,
    pub(crate) is_reversed: bool,
}

impl Invoice {
    /// The part of the total that is not credited.
    fn left(&self) -> i128 {
        self.priced.ttc - self.credited()
    }

    fn retention(&self) -> i128 {
        divide(self.left() * self.priced.retention_rate, 10_000)
    }

    pub(crate) fn due(&self) -> i128 {
        if self.is_canceled() { 0 } else { (self.left() - self.retention() - self.paid).max(0) }
    }

    fn retention_due(&self) -> i128 {
        if self.is_canceled() { 0 } else { (self.left() - self.paid).clamp(0, self.retention()) }
    }

    pub(crate) fn overpaid(&self) -> i128 {
        (self.paid - self.left()).max(0)
    }

    fn is_canceled(&self) -> bool {
        self.status == "CANCELED"
    }

    pub(crate) fn item(&self, with_lines: bool) -> Value {
        let mut json = json!({
            "id": self.id, "number": self.number, "status": self.status, "type": "STANDARD", "quoteId": self.quote,
            "suppliedOn": null, "periodStart": null, "periodEnd": null, "position": null, "progressRate": null,
            "documentFormat": self.issued.map(|_| "PDF"), "retentionReleaseDate": null,
            "amountCredited": money(self.credited()), "amountWrittenOff": 0,
            "clientId": self.client.0, "clientName": self.client.1, "clientEmail": self.client.2,
            "issueDate": date_or_null(self.issued), "dueDate": date_or_null(self.due_date),
            "totalHT": money(self.priced.ht), "totalTTC": money(self.priced.ttc),
            "tvaRate": number(self.priced.rate, 2), "currency": "EUR",
            "retentionRate": number(self.priced.retention_rate, 2),
            "retentionAmount": money(self.retention()),
            "retentionDue": money(self.retention_due()),
            "amountPaid": money(self.paid),
            "amountDue": money(self.due()), "amountOverpaid": money(self.overpaid()),
            "paidAt": instant_or_null(self.paid_at), "canceledAt": instant_or_null(self.canceled_at),
            "createdAt": instant(self.created), "updatedAt": instant(self.updated),
        });
        if with_lines {
            json["lines"] = self.priced.lines.clone().into();
        }
        json
    }

    pub(crate) fn detail(&self) -> Value {
        let mut json = self.item(true);
        json["vatBreakdown"] = self.priced.shares.iter().map(|share| share.json()).collect();
        json["deductions"] = json!([]);
        json["orderNumber"] = Value::Null;
        json["creditNotes"] = self.notes.iter().map(CreditNote::reference).collect();
        json
    }

    fn data(&self) -> Value {
        let item = self.item(false);
        let names = [
            "id",
            "number",
            "status",
            "type",
            "quoteId",
            "clientName",
            "clientEmail",
            "totalHT",
            "totalTTC",
            "tvaRate",
            "amountPaid",
            "amountDue",
            "issueDate",
            "dueDate",
        ];
        let mut data = serde_json::Map::new();
        for name in names.into_iter().chain(self.paid_at.is_some().then_some("paidAt")) {
            data.insert(name.to_owned(), item[name].clone());
        }
        data.into()
    }
}

impl Company {
    pub(super) fn push_invoice(&mut self, quote: usize, id: String, seen: &Seen<'_>) {
        let quote = &self.quotes[quote];
        let invoice = Invoice {
            id,
            number: None,
            status: "DRAFT",
            quote: quote.id.clone(),
            client: quote.client.clone(),
            priced: quote.priced.clone(),
            issued: None,
            due_date: None,
            paid: 0,
            paid_at: None,
            canceled_at: None,
            notes: Vec::new(),
            created: seen.now,
            updated: seen.at,
            payments: Vec::new(),
        };
        let data = invoice.data();
        self.invoices.push(invoice);
        self.last_stamp = seen.at;
        self.emit("invoice.created", seen, &data);
    }

    pub(crate) fn convert_quote(&mut self, place: Option<usize>, seen: &Seen<'_>) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let quote = &self.quotes[place];
        let is_live = |invoice: &Invoice| invoice.quote == quote.id && invoice.status != "CANCELED";
        if quote.status != "ACCEPTED" || self.invoices.iter().any(is_live) {
            return Err(vec![Refused::Conflict]);
        }
        self.push_invoice(place, seen.id(), seen);
        Ok(())
    }

    fn issue(&mut self, place: usize, due: Option<NaiveDate>, seen: &Seen<'_>) {
        let (date, number) = (self.issue_date(seen.now), self.number("FAC", seen.now));
        self.issued.insert(date.year(), date);
        let invoice = &mut self.invoices[place];
        invoice.number = Some(number);
        invoice.status = "SENT";
        invoice.issued = Some(date);
        invoice.due_date = Some(due.unwrap_or_else(|| days_after(date, 30)));
        invoice.updated = seen.at;
        self.last_stamp = seen.at;
        let data = self.invoices[place].data();
        self.emit("invoice.issued", seen, &data);
    }

    pub(crate) fn issue_invoice(
        &mut self,
        place: Option<usize>,
        due: Option<NaiveDate>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let mut reasons = Vec::new();
        if self.invoices[place].status != "DRAFT" {
            reasons.push(Refused::Conflict);
        }
        if due.is_some_and(|due| due < self.issue_date(seen.now)) {
            reasons.push(Refused::Invalid);
        }
        unless(reasons)?;
        self.issue(place, due, seen);
        self.add(place, 0, seen);
        Ok(())
    }

    /// Returns the place of the payment, and true if it is new.
    pub(crate) fn pay_invoice(
        &mut self,
        place: Option<usize>,
        cents: i128,
        reference: Option<&str>,
        seen: &Seen<'_>,
    ) -> Result<(usize, bool), Vec<Refused>> {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let invoice = &mut self.invoices[place];
        let is_known = |payment: &Payment| {
            reference.is_some() && payment.reference.as_deref() == reference && !payment.is_reversed
        };
        if let Some(known) = invoice.payments.iter().position(is_known) {
            let same = invoice.payments[known].cents == cents;
            return if same { Ok((known, false)) } else { Err(vec![Refused::Conflict]) };
        }
        let mut reasons = Vec::new();
        if cents <= 0 {
            reasons.push(Refused::Invalid);
        }
        if !ISSUED.contains(&invoice.status) {
            reasons.push(Refused::Conflict);
        }
        unless(reasons)?;
        let id = seen.answer["payment"].as_str().unwrap_or_default().to_owned();
        let reference = reference.map(str::to_owned);
        invoice.payments.push(Payment { id, cents, reference, is_reversed: false });
        let payment = invoice.payments.len() - 1;
        self.add(place, cents, seen);
        Ok((payment, true))
    }

    fn add(&mut self, place: usize, cents: i128, seen: &Seen<'_>) {
        let invoice = &mut self.invoices[place];
        invoice.paid += cents;
        self.settle(place, seen);
    }

    /// The state that follows from the amounts, once payments or credit notes have changed.
    pub(super) fn settle(&mut self, place: usize, seen: &Seen<'_>) {
        let today = self.day(seen.now);
        let invoice = &mut self.invoices[place];
        invoice.updated = seen.at;
        self.last_stamp = seen.at;
        if invoice.is_credited() {
            if invoice.paid == 0 {
                (invoice.status, invoice.canceled_at) = ("CANCELED", Some(seen.now));
                invoice.paid_at = None;
            }
        } else if invoice.due() > 0 {
            if invoice.status == "PAID" {
                let is_late = invoice.due_date.is_some_and(|day| day < today);
                invoice.status = if is_late { "OVERDUE" } else { "SENT" };
                invoice.paid_at = None;
            }
        } else if invoice.status != "PAID" {
            (invoice.status, invoice.paid_at) = ("PAID", Some(seen.now));
            let data = invoice.data();
            self.emit("invoice.paid", seen, &data);
        }
    }

    /// `payment`: the id of the recorded payment, if an amount was due.
    pub(crate) fn mark_paid(
        &mut self,
        place: Option<usize>,
        payment: Option<String>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let invoice = &self.invoices[place];
        if !["DRAFT", "SENT", "OVERDUE"].contains(&invoice.status) || invoice.is_credited() {
            return Err(vec![Refused::Conflict]);
        }
        if self.invoices[place].status == "DRAFT" {
            // Paid at the issue, unless a part is held back.
            let is_paid = self.invoices[place].retention() == 0;
            let due = is_paid.then(|| self.issue_date(seen.now));
            self.issue(place, due, seen);
        }
        let cents = self.invoices[place].due();
        if cents > 0 {
            let id = payment.unwrap_or_default();
            let payment = Payment { id, cents, reference: None, is_reversed: false };
            self.invoices[place].payments.push(payment);
        }
        self.add(place, cents, seen);
        Ok(())
    }

    pub(crate) fn refund_invoice(&mut self, place: Option<usize>, cents: i128, seen: &Seen<'_>) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let invoice = &mut self.invoices[place];
        let mut reasons = Vec::new();
        if cents <= 0 || cents > invoice.overpaid() {
            reasons.push(Refused::Invalid);
        }
        if !ISSUED.contains(&invoice.status) {
            reasons.push(Refused::Conflict);
        }
        unless(reasons)?;
        let id = seen.answer["payment"].as_str().unwrap_or_default().to_owned();
        invoice.payments.push(Payment { id, cents: -cents, reference: None, is_reversed: false });
        self.add(place, -cents, seen);
        Ok(())
    }

    pub(crate) fn reverse(
        &mut self,
        place: Option<usize>,
        payment: Option<usize>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let (Some(place), Some(payment)) = (place, payment) else { return Err(vec![Refused::NotFound]) };
        let invoice = &mut self.invoices[place];
        let payment = &mut invoice.payments[payment];
        if payment.is_reversed || invoice.status == "CANCELED" || invoice.paid < payment.cents {
            return Err(vec![Refused::Conflict]);
        }
        payment.is_reversed = true;
        let cents = payment.cents;
        self.add(place, -cents, seen);
        Ok(())
    }

    pub(crate) fn cancel_invoice(&mut self, place: Option<usize>, seen: &Seen<'_>) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let invoice = &mut self.invoices[place];
        let is_of_0 = invoice.status == "PAID" && invoice.priced.ttc == 0;
        let is_open = ["DRAFT", "SENT", "OVERDUE"].contains(&invoice.status);
        if !(is_open || is_of_0) || invoice.paid != 0 {
            return Err(vec![Refused::Conflict]);
        }
        if invoice.issued.is_some() {
            self.push_credit_note(place, None, seen);
            return Ok(());
        }
        (invoice.status, invoice.canceled_at) = ("CANCELED", Some(seen.now));
        invoice.updated = seen.at;
        self.last_stamp = seen.at;
        Ok(())
    }

    /// Invoices that are overdue for a sweep on that day.
    pub(crate) fn late_invoices(&self, today: NaiveDate) -> Vec<usize> {
        let is_late = |invoice: &Invoice| {
            invoice.status == "SENT" && invoice.due_date.is_some_and(|day| day < today) && invoice.due() > 0
        };
        (0..self.invoices.len()).filter(|place| is_late(&self.invoices[*place])).collect()
    }
}
