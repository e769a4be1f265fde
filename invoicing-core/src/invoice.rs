//! The invoice: its record in the shapes of the contract.

use std::ops::Deref;

use chrono::NaiveDate;
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer, Serialize};

use crate::flat::{self, Beside, Slot};
use crate::open::closed_set;
use crate::{ClientId, InvoiceId, Line, Money, Percent, QuoteId, Timestamp, VatShare};

closed_set! {
    /// Where an invoice stands.
    InvoiceStatus {
        /// Converted, not issued yet; has no number.
        Draft = "DRAFT",
        /// Issued.
        Sent = "SENT",
        /// Nothing is due any more.
        Paid = "PAID",
        /// Issued, past its due date, and something is due.
        Overdue = "OVERDUE",
        /// Cancelled; keeps its number.
        Canceled = "CANCELED",
    }
}

/// The head of an invoice: what a list shows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>"))]
pub struct InvoiceHead<S = InvoiceStatus> {
    /// Identifier on the service's side.
    pub id: InvoiceId,
    /// Human-readable number, `FAC-2026-0042`; `None` while DRAFT.
    pub number: Option<String>,
    /// Where the invoice stands.
    pub status: S,
    /// The quote that it was converted from.
    pub quote_id: QuoteId,
    /// The client that it is made out to.
    pub client_id: ClientId,
    /// The client's name as on the quote.
    pub client_name: String,
    /// The client's e-mail as on the quote.
    pub client_email: Option<String>,
    /// Day of issue in the company's time zone.
    pub issue_date: Option<NaiveDate>,
    /// Last day for paying, in the company's time zone.
    pub due_date: Option<NaiveDate>,
    /// Total without VAT.
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    /// Total with VAT.
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
    /// VAT rate in percent; blended where the lines have several.
    pub tva_rate: Percent,
    /// ISO 4217 code.
    pub currency: String,
    /// Percent, 0 to 5 (loi 71-584, art. 1).
    pub retention_rate: Percent,
    /// What is held back of `totalTTC`.
    pub retention_amount: Money,
    /// Sum of the payments that stand.
    pub amount_paid: Money,
    /// `max(0, totalTTC − retentionAmount − amountPaid)`.
    pub amount_due: Money,
    /// What was paid beyond that.
    pub amount_overpaid: Money,
    /// When it was paid in full.
    pub paid_at: Option<Timestamp>,
    /// When it was cancelled.
    pub canceled_at: Option<Timestamp>,
    /// When the record was created.
    pub created_at: Timestamp,
    /// When the record was last modified.
    pub updated_at: Timestamp,
}

/// What only the detail of an invoice shows, besides its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvoiceTerms {
    /// One share per VAT rate.
    pub vat_breakdown: Vec<VatShare>,
}

/// An invoice as a list shows it; `lines` only with `include=lines`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvoiceItem<S = InvoiceStatus> {
    /// The head.
    #[serde(flatten)]
    pub head: InvoiceHead<S>,
    /// The lines, where the request asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<Line>>,
}

/// An invoice with everything that the API shows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invoice<S = InvoiceStatus> {
    /// The head.
    #[serde(flatten)]
    pub head: InvoiceHead<S>,
    /// The lines.
    pub lines: Vec<Line>,
    /// VAT shares.
    #[serde(flatten)]
    pub terms: InvoiceTerms,
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for InvoiceItem<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (head, flat::LinesBeside { lines }) = flat::deserialize(deserializer)?;
        Ok(Self { head, lines: lines.optional() })
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for Invoice<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (head, beside): (_, DetailBeside) = flat::deserialize(deserializer)?;
        let terms = InvoiceTerms { vat_breakdown: beside.vat_breakdown.required("vatBreakdown")? };
        Ok(Self { head, lines: beside.lines.required("lines")?, terms })
    }
}

/// What stands beside the head in a detail, as far as it has been read.
#[derive(Default)]
struct DetailBeside {
    lines: Slot<Vec<Line>>,
    vat_breakdown: Slot<Vec<VatShare>>,
}

impl<'de> Beside<'de> for DetailBeside {
    const NAMES: &'static [&'static str] = &["lines", "vatBreakdown"];

    fn take<A: MapAccess<'de>>(&mut self, place: usize, map: &mut A) -> Result<(), A::Error> {
        let name = Self::NAMES[place];
        match place {
            0 => self.lines.fill(name, map),
            _ => self.vat_breakdown.fill(name, map),
        }
    }
}

impl<S> Deref for InvoiceItem<S> {
    type Target = InvoiceHead<S>;

    fn deref(&self) -> &InvoiceHead<S> {
        &self.head
    }
}

impl<S> Deref for Invoice<S> {
    type Target = InvoiceHead<S>;

    fn deref(&self) -> &InvoiceHead<S> {
        &self.head
    }
}

#[cfg(test)]
mod tests;
