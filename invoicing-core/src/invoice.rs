//! The invoice: its record in the shapes of the contract.

use chrono::NaiveDate;
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer, Serialize};

use strum::{Display, IntoStaticStr, VariantArray};

use crate::flatten::{self, Member, SideMembers};
use crate::{
    ClientId, CreditNoteId, DocumentFormat, Invalid, InvoiceId, InvoiceStatus, Line, Money, OpenEnum,
    Percent, QuoteId, Timestamp, VatShare,
};

/// The kind of an invoice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Display, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum InvoiceType {
    /// The invoice of a whole quote, net of its deposits.
    #[default]
    Standard,
    /// An invoice of a part before the works. Reserved: this version makes none.
    Deposit,
    /// An invoice of the works done so far. Reserved: this version makes none.
    Progress,
}

/// The fields of an invoice that a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>"))]
pub struct InvoiceSummary<S = InvoiceStatus> {
    /// Identifier on the service's side.
    pub id: InvoiceId,
    /// Human-readable number, `FAC-2026-0042`; `None` while DRAFT, and for good if it was cancelled
    /// as a DRAFT.
    pub number: Option<String>,
    /// The state.
    pub status: S,
    /// The kind. Open in the service too, as a node may read invoices of a newer one.
    pub r#type: OpenEnum<InvoiceType>,
    /// The quote that the invoice was converted from. Every invoice of today has one; a later
    /// version may import others.
    pub quote_id: Option<QuoteId>,
    /// The client to whom the invoice is made out.
    pub client_id: ClientId,
    /// The client's name as on the quote.
    pub client_name: String,
    /// The client's e-mail as on the quote.
    pub client_email: Option<String>,
    /// Day of issue in the company's time zone; `None` if it has not been issued.
    pub issue_date: Option<NaiveDate>,
    /// Last day for paying, in the company's time zone; `None` if it has not been issued.
    pub due_date: Option<NaiveDate>,
    /// Day of the supply, if it is not the day of issue.
    pub supplied_on: Option<NaiveDate>,
    /// First day of the period that the invoice is about, if it is about one.
    pub period_start: Option<NaiveDate>,
    /// Last day of this period.
    pub period_end: Option<NaiveDate>,
    /// The format of the document; `None` while DRAFT, and if the host's renderer makes
    /// none.
    pub document_format: Option<OpenEnum<DocumentFormat>>,
    /// Place among the progress invoices of the quote. `null` in this version. Reserved for
    /// progress invoices.
    pub position: Option<u32>,
    /// Part of the works that a progress invoice brings the quote to, in percent of its total
    /// without VAT. `null` in this version. Reserved for progress invoices.
    pub progress_rate: Option<Percent>,
    /// Total without VAT.
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    /// Total with VAT.
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
    /// VAT rate in percent; blended if the lines have several.
    pub tva_rate: Percent,
    /// ISO 4217 code.
    pub currency: String,
    /// Sum of the credit notes on the invoice, with VAT.
    pub amount_credited: Money,
    /// 0 in this version. Reserved for small differences that are written off.
    pub amount_written_off: Money,
    /// Percent, 0 to 5 (loi 71-584, art. 1).
    pub retention_rate: Percent,
    /// Part of `totalTTC` − `amountCredited` that is held back.
    pub retention_amount: Money,
    /// `null` in this version. Reserved for the release of the retention.
    pub retention_release_date: Option<NaiveDate>,
    /// Part of `retentionAmount` that is not paid yet; 0 if CANCELED.
    pub retention_due: Money,
    /// Sum of the valid payments, less what was refunded.
    pub amount_paid: Money,
    /// `max(0, totalTTC − amountCredited − retentionAmount − amountPaid − amountWrittenOff)`; 0 if
    /// CANCELED.
    pub amount_due: Money,
    /// Amount paid beyond `totalTTC` − `amountCredited`, which can be refunded.
    pub amount_overpaid: Money,
    /// Instant of the full payment.
    pub paid_at: Option<Timestamp>,
    /// Instant of the cancellation.
    pub canceled_at: Option<Timestamp>,
    /// Instant of creation.
    pub created_at: Timestamp,
    /// Instant of the last change.
    pub updated_at: Timestamp,
}

impl<S> InvoiceSummary<S> {
    /// Computes the amounts that follow from `totalTTC`, the retention's rate, and what is
    /// credited, paid and written off, as of an invoice that is not CANCELED.
    pub fn update_amounts(&mut self) -> Result<(), Invalid> {
        let invoiced = self.total_ttc.minus(self.amount_credited)?;
        self.retention_amount = invoiced.percent(self.retention_rate)?;
        let payable = invoiced.minus(self.retention_amount)?;
        let settled = self.amount_paid.plus(self.amount_written_off)?;
        // A payment beyond the amount due pays the retention first.
        let excess = settled.minus(payable)?.at_least_zero();
        self.amount_due = payable.minus(settled)?.at_least_zero();
        self.retention_due = self.retention_amount.minus(excess)?.at_least_zero();
        self.amount_overpaid = self.amount_paid.minus(invoiced)?.at_least_zero();
        Ok(())
    }

    /// True if credit notes have taken back the whole invoice.
    pub fn is_credited_in_full(&self) -> bool {
        !self.amount_credited.is_zero() && self.amount_credited == self.total_ttc
    }
}

/// The fields of an invoice that only its detail shows, besides the lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvoiceDetail {
    /// One share per VAT rate.
    pub vat_breakdown: Vec<VatShare>,
    /// The invoices whose amounts this one deducts. Empty in this version. Reserved for deposits.
    pub deductions: Vec<Deduction>,
    /// The credit notes on the invoice, oldest first.
    pub credit_notes: Vec<CreditNoteReference>,
    /// The number of the client's order, 1 to 50 characters.
    pub order_number: Option<String>,
}

/// An invoice whose amount another one deducts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deduction {
    /// The deducted invoice.
    pub invoice_id: InvoiceId,
    /// Its number.
    pub number: String,
    /// Its day of issue.
    pub issue_date: NaiveDate,
    /// Deducted amount without VAT.
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    /// Deducted amount with VAT.
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
}

/// A credit note, as the invoice names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditNoteReference {
    /// The credit note.
    pub id: CreditNoteId,
    /// Its number.
    pub number: String,
    /// Its day of issue.
    pub issue_date: NaiveDate,
    /// Its total with VAT.
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
}

/// An item of a list of invoices; `lines` only with `include=lines`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvoiceItem<S = InvoiceStatus> {
    /// The fields of a list item.
    #[serde(flatten)]
    pub summary: InvoiceSummary<S>,
    /// The lines, if the request included them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<Line>>,
}

/// An invoice in full, as in the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invoice<S = InvoiceStatus> {
    /// The fields of a list item.
    #[serde(flatten)]
    pub summary: InvoiceSummary<S>,
    /// The lines.
    pub lines: Vec<Line>,
    /// VAT shares, deductions, credit notes and order number.
    #[serde(flatten)]
    pub detail: InvoiceDetail,
}

impl<S> InvoiceItem<S> {
    /// The lines; empty if the request did not include them.
    pub fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }
}

impl<S> Invoice<S> {
    /// The lines, as on an item of a list.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for InvoiceItem<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (summary, flatten::LinesMember { lines }) = flatten::deserialize(deserializer)?;
        Ok(Self { summary, lines: lines.optional() })
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for Invoice<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (summary, side): (_, DetailMembers) = flatten::deserialize(deserializer)?;
        let detail = InvoiceDetail {
            vat_breakdown: side.vat_breakdown.required("vatBreakdown")?,
            deductions: side.deductions.required("deductions")?,
            credit_notes: side.credit_notes.required("creditNotes")?,
            order_number: side.order_number.optional(),
        };
        Ok(Self { summary, lines: side.lines.required("lines")?, detail })
    }
}

/// The members beside the summary, while they are read.
#[derive(Default)]
struct DetailMembers {
    lines: Member<Vec<Line>>,
    vat_breakdown: Member<Vec<VatShare>>,
    deductions: Member<Vec<Deduction>>,
    credit_notes: Member<Vec<CreditNoteReference>>,
    order_number: Member<Option<String>>,
}

impl<'de> SideMembers<'de> for DetailMembers {
    const NAMES: &'static [&'static str] =
        &["lines", "vatBreakdown", "deductions", "creditNotes", "orderNumber"];

    fn read<A: MapAccess<'de>>(&mut self, index: usize, map: &mut A) -> Result<(), A::Error> {
        let name = Self::NAMES[index];
        match index {
            0 => self.lines.fill(name, map),
            1 => self.vat_breakdown.fill(name, map),
            2 => self.deductions.fill(name, map),
            3 => self.credit_notes.fill(name, map),
            _ => self.order_number.fill(name, map),
        }
    }
}

#[cfg(test)]
mod tests;
