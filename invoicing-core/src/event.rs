//! Events: the messages that receivers get.
//!
//! An event's data is the header and the totals of a document, never its lines.

use chrono::NaiveDate;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use strum::{Display, IntoStaticStr, VariantArray};

use crate::{
    CreditNote, CreditNoteId, Invoice, InvoiceId, InvoiceStatus, InvoiceType, Money, OpenEnum, Percent,
    Project, ProjectId, ProjectStatus, Quote, QuoteId, QuoteStatus, Timestamp, WebhookId,
};

/// The kinds of event that a webhook can subscribe to: `<resource>.<past-tense>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[non_exhaustive]
pub enum EventKind {
    /// A quote was saved, even as a draft.
    #[strum(to_string = "quote.created")]
    QuoteCreated,
    /// The client signed through the public link.
    #[strum(to_string = "quote.signed")]
    QuoteSigned,
    /// A quote moved to ACCEPTED, by signature or by hand.
    #[strum(to_string = "quote.accepted")]
    QuoteAccepted,
    /// An invoice was made from a quote.
    #[strum(to_string = "invoice.created")]
    InvoiceCreated,
    /// An invoice moved to PAID.
    #[strum(to_string = "invoice.paid")]
    InvoicePaid,
    /// A project moved to COMPLETED.
    #[strum(to_string = "project.completed")]
    ProjectCompleted,
    /// An invoice was issued: it got its number and its document.
    #[strum(to_string = "invoice.issued")]
    InvoiceIssued,
    /// A credit note was issued.
    #[strum(to_string = "credit_note.issued")]
    CreditNoteIssued,
}

/// One event: the body of a delivery, `{"event", "timestamp", "data"}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The kind; `None` is a ping.
    pub kind: Option<EventKind>,
    /// Instant of the event.
    pub timestamp: Timestamp,
    /// The data of the record.
    pub data: EventData,
}

impl Event {
    /// The `event` of a test delivery.
    pub const PING: &'static str = "ping";

    /// The kind as it is written on the wire.
    pub fn name(&self) -> &'static str {
        self.kind.map_or(Self::PING, EventKind::as_str)
    }

    /// A test delivery for a webhook.
    pub fn ping(webhook: WebhookId, timestamp: Timestamp) -> Self {
        let message = "This is a test delivery; nothing has happened.".to_owned();
        Self { kind: None, timestamp, data: EventData::Ping(PingEventData { id: webhook, message }) }
    }

    pub(crate) fn quote(kind: EventKind, quote: &Quote, timestamp: Timestamp) -> Self {
        Self { kind: Some(kind), timestamp, data: EventData::Quote(QuoteEventData::of(quote)) }
    }

    pub(crate) fn invoice(kind: EventKind, invoice: &Invoice, timestamp: Timestamp) -> Self {
        Self { kind: Some(kind), timestamp, data: EventData::Invoice(InvoiceEventData::of(invoice)) }
    }

    pub(crate) fn credit_note(note: &CreditNote, timestamp: Timestamp) -> Self {
        let data = EventData::CreditNote(CreditNoteEventData::of(note));
        Self { kind: Some(EventKind::CreditNoteIssued), timestamp, data }
    }

    pub(crate) fn project(kind: EventKind, project: &Project, timestamp: Timestamp) -> Self {
        Self { kind: Some(kind), timestamp, data: EventData::Project(ProjectEventData::of(project)) }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct("Event", 3)?;
        body.serialize_field("event", self.name())?;
        body.serialize_field("timestamp", &self.timestamp)?;
        body.serialize_field("data", &self.data)?;
        body.end()
    }
}

/// The `data` of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum EventData {
    /// The data of a quote event.
    Quote(QuoteEventData),
    /// The data of an invoice event.
    Invoice(InvoiceEventData),
    /// The data of an event of a credit note.
    CreditNote(CreditNoteEventData),
    /// The data of a project event.
    Project(ProjectEventData),
    /// The data of a test delivery.
    Ping(PingEventData),
}

/// The twelve fields of a quote in an event, as in [`QuoteSummary`](crate::QuoteSummary). The
/// conditional ones are left out if they do not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of the record have the same names")]
pub struct QuoteEventData {
    pub id: QuoteId,
    pub number: String,
    pub status: QuoteStatus,
    pub client_name: String,
    pub client_email: Option<String>,
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
    pub tva_rate: Percent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by_email: Option<String>,
}

impl QuoteEventData {
    fn of(quote: &Quote) -> Self {
        let summary = &quote.summary;
        Self {
            id: summary.id,
            number: summary.number.clone(),
            status: summary.status,
            client_name: summary.client_name.clone(),
            client_email: summary.client_email.clone(),
            total_ht: summary.total_ht,
            total_ttc: summary.total_ttc,
            tva_rate: summary.tva_rate,
            signed_at: summary.signed_at,
            accepted_at: summary.accepted_at,
            signed_by_name: summary.signed_by_name.clone(),
            signed_by_email: summary.signed_by_email.clone(),
        }
    }
}

/// The header and totals of an invoice in an event, as in
/// [`InvoiceSummary`](crate::InvoiceSummary); `paidAt` only if it applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of the record have the same names")]
pub struct InvoiceEventData {
    pub id: InvoiceId,
    pub number: Option<String>,
    pub status: InvoiceStatus,
    pub r#type: OpenEnum<InvoiceType>,
    pub quote_id: Option<QuoteId>,
    pub client_name: String,
    pub client_email: Option<String>,
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
    pub tva_rate: Percent,
    pub amount_paid: Money,
    pub amount_due: Money,
    pub issue_date: Option<NaiveDate>,
    pub due_date: Option<NaiveDate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<Timestamp>,
}

impl InvoiceEventData {
    fn of(invoice: &Invoice) -> Self {
        let summary = &invoice.summary;
        Self {
            id: summary.id,
            number: summary.number.clone(),
            status: summary.status,
            r#type: summary.r#type.clone(),
            quote_id: summary.quote_id,
            client_name: summary.client_name.clone(),
            client_email: summary.client_email.clone(),
            total_ht: summary.total_ht,
            total_ttc: summary.total_ttc,
            tva_rate: summary.tva_rate,
            amount_paid: summary.amount_paid,
            amount_due: summary.amount_due,
            issue_date: summary.issue_date,
            due_date: summary.due_date,
            paid_at: summary.paid_at,
        }
    }
}

/// The header and totals of a credit note in an event, as in
/// [`CreditNoteSummary`](crate::CreditNoteSummary).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of the record have the same names")]
pub struct CreditNoteEventData {
    pub id: CreditNoteId,
    pub number: String,
    pub invoice_id: InvoiceId,
    pub invoice_number: String,
    pub client_name: String,
    pub client_email: Option<String>,
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
    pub tva_rate: Percent,
    pub issue_date: NaiveDate,
}

impl CreditNoteEventData {
    fn of(note: &CreditNote) -> Self {
        let summary = &note.summary;
        Self {
            id: summary.id,
            number: summary.number.clone(),
            invoice_id: summary.invoice_id,
            invoice_number: summary.invoice_number.clone(),
            client_name: summary.client_name.clone(),
            client_email: summary.client_email.clone(),
            total_ht: summary.total_ht,
            total_ttc: summary.total_ttc,
            tva_rate: summary.tva_rate,
            issue_date: summary.issue_date,
        }
    }
}

/// A project in an event, with fields of [`Project`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of the record have the same names")]
pub struct ProjectEventData {
    pub id: ProjectId,
    pub name: String,
    pub status: ProjectStatus,
    pub client_name: Option<String>,
    pub client_email: Option<String>,
    pub quote_ids: Vec<QuoteId>,
    pub completed_at: Option<Timestamp>,
}

impl ProjectEventData {
    fn of(project: &Project) -> Self {
        Self {
            id: project.id,
            name: project.name.clone(),
            status: project.status,
            client_name: project.client_name.clone(),
            client_email: project.client_email.clone(),
            quote_ids: project.quote_ids.clone(),
            completed_at: project.completed_at,
        }
    }
}

/// The data of a test delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PingEventData {
    /// The webhook under test.
    pub id: WebhookId,
    /// The message, for humans.
    pub message: String,
}

#[cfg(test)]
mod tests;
