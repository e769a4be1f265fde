//! The `data` of each kind, field by field as documented. Names of fields follow the wire.

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{InvoiceStatus, ProjectStatus, QuoteStatus, number, time};

/// The header and the totals of a quote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QuoteData {
    /// Identifier of the quote; the detail endpoint takes it.
    pub id: Uuid,
    /// Number that people read, such as `DEV-2026-0042`.
    pub number: String,
    /// State of the quote when the event happened.
    pub status: QuoteStatus,
    /// Name of the client.
    pub client_name: String,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// Total excluding VAT.
    #[serde(rename = "totalHT", with = "number")]
    pub total_ht: Decimal,
    /// Total including VAT.
    #[serde(rename = "totalTTC", with = "number")]
    pub total_ttc: Decimal,
    /// VAT rate in percent; blended where the lines have several.
    #[serde(with = "number")]
    pub tva_rate: Decimal,
    /// When the client signed.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub signed_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub accepted_at: Option<DateTime<Utc>>,
    /// Who signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by_name: Option<String>,
    /// E-mail of who signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by_email: Option<String>,
}

/// The header and the totals of an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InvoiceData {
    /// Identifier of the invoice; the detail endpoint takes it.
    pub id: Uuid,
    /// Number that people read, such as `FAC-2026-0042`; none while it is a draft.
    pub number: Option<String>,
    /// State of the invoice when the event happened.
    pub status: InvoiceStatus,
    /// The quote that it was made from.
    pub quote_id: Uuid,
    /// Name of the client.
    pub client_name: String,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// Total excluding VAT.
    #[serde(rename = "totalHT", with = "number")]
    pub total_ht: Decimal,
    /// Total including VAT.
    #[serde(rename = "totalTTC", with = "number")]
    pub total_ttc: Decimal,
    /// VAT rate in percent; blended where the lines have several.
    #[serde(with = "number")]
    pub tva_rate: Decimal,
    /// Sum of the payments.
    #[serde(with = "number")]
    pub amount_paid: Decimal,
    /// What remains to be paid, without the retention.
    #[serde(with = "number")]
    pub amount_due: Decimal,
    /// Day of issue, in the time zone of the company; none while it is a draft.
    pub issue_date: Option<NaiveDate>,
    /// Day on which it is due, in the time zone of the company; none while it is a draft.
    pub due_date: Option<NaiveDate>,
    /// When it was paid in full.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub paid_at: Option<DateTime<Utc>>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProjectData {
    /// Identifier of the project.
    pub id: Uuid,
    /// What it is called.
    pub name: String,
    /// State of the project when the event happened.
    pub status: ProjectStatus,
    /// Name of the client, where there is one.
    pub client_name: Option<String>,
    /// E-mail of the client.
    pub client_email: Option<String>,
    /// The quotes that belong to it.
    #[serde(default)]
    pub quote_ids: Vec<Uuid>,
    /// When it was completed.
    #[serde(serialize_with = "time::serialize")]
    pub completed_at: Option<DateTime<Utc>>,
}

/// A test delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PingData {
    /// The webhook under test.
    pub id: Option<Uuid>,
    /// For people.
    pub message: Option<String>,
}
