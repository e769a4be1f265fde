//! The credit note: its record in the shapes of the contract. It never changes.

use chrono::NaiveDate;
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer, Serialize};

use crate::flatten::{self, Member, SideMembers};
use crate::{
    ClientId, CreditNoteId, CreditNoteReference, DocumentFormat, InvoiceId, Line, Money, OpenEnum, Percent,
    QuoteId, Timestamp, VatShare,
};

/// The fields of a credit note that a list shows. Amounts are positive: what is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditNoteSummary {
    /// Identifier on the service's side.
    pub id: CreditNoteId,
    /// Human-readable number, `AVO-2026-0042`.
    pub number: String,
    /// The invoice that is credited.
    pub invoice_id: InvoiceId,
    /// The number of this invoice.
    pub invoice_number: String,
    /// The quote of this invoice.
    pub quote_id: Option<QuoteId>,
    /// The client to whom the invoice was made out.
    pub client_id: ClientId,
    /// The client's name as on the invoice.
    pub client_name: String,
    /// The client's e-mail as on the invoice.
    pub client_email: Option<String>,
    /// Day of issue in the company's time zone.
    pub issue_date: NaiveDate,
    /// The reason, as the client reads it.
    pub reason: String,
    /// The format of the document; `None` if the host's renderer makes none.
    pub document_format: Option<OpenEnum<DocumentFormat>>,
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
    /// Instant of creation.
    pub created_at: Timestamp,
    /// Stamp of the creation.
    pub updated_at: Timestamp,
}

impl CreditNoteSummary {
    /// The credit note as its invoice names it.
    pub fn reference(&self) -> CreditNoteReference {
        CreditNoteReference {
            id: self.id,
            number: self.number.clone(),
            issue_date: self.issue_date,
            total_ttc: self.total_ttc,
        }
    }
}

/// The fields of a credit note that only its detail shows, besides the lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditNoteDetail {
    /// One share per VAT rate.
    pub vat_breakdown: Vec<VatShare>,
}

/// An item of a list of credit notes; `lines` only with `include=lines`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreditNoteItem {
    /// The fields of a list item.
    #[serde(flatten)]
    pub summary: CreditNoteSummary,
    /// The lines, if the request included them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<Line>>,
}

/// A credit note in full, as in the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreditNote {
    /// The fields of a list item.
    #[serde(flatten)]
    pub summary: CreditNoteSummary,
    /// The lines.
    pub lines: Vec<Line>,
    /// VAT shares.
    #[serde(flatten)]
    pub detail: CreditNoteDetail,
}

impl CreditNoteItem {
    /// The lines; empty if the request did not include them.
    pub fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }
}

impl CreditNote {
    /// The lines, as on an item of a list.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

impl<'de> Deserialize<'de> for CreditNoteItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (summary, flatten::LinesMember { lines }) = flatten::deserialize(deserializer)?;
        Ok(Self { summary, lines: lines.optional() })
    }
}

impl<'de> Deserialize<'de> for CreditNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (summary, side): (_, DetailMembers) = flatten::deserialize(deserializer)?;
        let detail = CreditNoteDetail { vat_breakdown: side.vat_breakdown.required("vatBreakdown")? };
        Ok(Self { summary, lines: side.lines.required("lines")?, detail })
    }
}

/// The members beside the summary, while they are read.
#[derive(Default)]
struct DetailMembers {
    lines: Member<Vec<Line>>,
    vat_breakdown: Member<Vec<VatShare>>,
}

impl<'de> SideMembers<'de> for DetailMembers {
    const NAMES: &'static [&'static str] = &["lines", "vatBreakdown"];

    fn read<A: MapAccess<'de>>(&mut self, index: usize, map: &mut A) -> Result<(), A::Error> {
        let name = Self::NAMES[index];
        match index {
            0 => self.lines.fill(name, map),
            _ => self.vat_breakdown.fill(name, map),
        }
    }
}

#[cfg(test)]
mod tests;
