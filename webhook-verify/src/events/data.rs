//! The `data` of each kind, field by field as documented. Names of fields follow the wire.

use chrono::NaiveDate;
use invoicing_core::internal::exact_number;
use invoicing_core::{
    CreditNoteId, InvoiceId, InvoiceStatus, InvoiceType, Money, OpenEnum, Percent, ProjectId, ProjectStatus,
    QuoteId, QuoteStatus, Timestamp, WebhookId,
};
use serde::{Deserialize, Serialize};

/// The header and the totals of a quote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QuoteData {
    /// Identifier of the quote; the detail endpoint takes it.
    pub id: QuoteId,
    /// Number that people read, such as `DEV-2026-0042`.
    pub number: String,
    /// State of the quote when the event happened.
    pub status: OpenEnum<QuoteStatus>,
    /// Name of the client.
    pub client_name: String,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// Total excluding VAT.
    #[serde(rename = "totalHT", deserialize_with = "exact_number")]
    pub total_ht: Money,
    /// Total including VAT.
    #[serde(rename = "totalTTC", deserialize_with = "exact_number")]
    pub total_ttc: Money,
    /// VAT rate in percent; blended if the lines have several.
    #[serde(deserialize_with = "exact_number")]
    pub tva_rate: Percent,
    /// Instant of the client's signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_at: Option<Timestamp>,
    /// Instant of the acceptance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Timestamp>,
    /// Name of the signer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by_name: Option<String>,
    /// E-mail of the signer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by_email: Option<String>,
}

/// The header and the totals of an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InvoiceData {
    /// Identifier of the invoice; the detail endpoint takes it.
    pub id: InvoiceId,
    /// Number that people read, such as `FAC-2026-0042`; none if it has not been issued.
    pub number: Option<String>,
    /// State of the invoice when the event happened.
    pub status: OpenEnum<InvoiceStatus>,
    /// Kind of the invoice; an event without one is about a standard invoice.
    #[serde(default = "standard")]
    pub r#type: OpenEnum<InvoiceType>,
    /// The quote that the invoice was made from; none if it has another origin.
    pub quote_id: Option<QuoteId>,
    /// Name of the client.
    pub client_name: String,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// Total excluding VAT.
    #[serde(rename = "totalHT", deserialize_with = "exact_number")]
    pub total_ht: Money,
    /// Total including VAT.
    #[serde(rename = "totalTTC", deserialize_with = "exact_number")]
    pub total_ttc: Money,
    /// VAT rate in percent; blended if the lines have several.
    #[serde(deserialize_with = "exact_number")]
    pub tva_rate: Percent,
    /// Sum of the payments, less what was refunded.
    #[serde(deserialize_with = "exact_number")]
    pub amount_paid: Money,
    /// Amount that remains to be paid, without the retention.
    #[serde(deserialize_with = "exact_number")]
    pub amount_due: Money,
    /// Day of issue, in the time zone of the company; none if it has not been issued.
    pub issue_date: Option<NaiveDate>,
    /// Last day for paying, in the time zone of the company; none if it has not been issued.
    pub due_date: Option<NaiveDate>,
    /// Instant of the full payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<Timestamp>,
}

fn standard() -> OpenEnum<InvoiceType> {
    InvoiceType::Standard.into()
}

/// The header and the totals of a credit note. Amounts are positive: what is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreditNoteData {
    /// Identifier of the credit note; the detail endpoint takes it.
    pub id: CreditNoteId,
    /// Number that people read, such as `AVO-2026-0042`.
    pub number: String,
    /// The invoice that is credited.
    pub invoice_id: InvoiceId,
    /// Number of this invoice.
    pub invoice_number: String,
    /// Name of the client.
    pub client_name: String,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// Total excluding VAT.
    #[serde(rename = "totalHT", deserialize_with = "exact_number")]
    pub total_ht: Money,
    /// Total including VAT.
    #[serde(rename = "totalTTC", deserialize_with = "exact_number")]
    pub total_ttc: Money,
    /// VAT rate in percent; blended if the lines have several.
    #[serde(deserialize_with = "exact_number")]
    pub tva_rate: Percent,
    /// Day of issue, in the time zone of the company.
    pub issue_date: NaiveDate,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProjectData {
    /// Identifier of the project.
    pub id: ProjectId,
    /// Name of the project.
    pub name: String,
    /// State of the project when the event happened.
    pub status: OpenEnum<ProjectStatus>,
    /// Name of the client, if there is one.
    pub client_name: Option<String>,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// The quotes of the project.
    #[serde(default)]
    pub quote_ids: Vec<QuoteId>,
    /// Instant of the completion.
    pub completed_at: Option<Timestamp>,
}

/// A test delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PingData {
    /// The webhook under test.
    pub id: Option<WebhookId>,
    /// The message, for people.
    pub message: Option<String>,
}
