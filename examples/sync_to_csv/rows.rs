//! The values of the columns.

use std::fmt::Display;

use invoicing_client::{Client, CreditNoteItem, InvoiceItem, QuoteItem};

/// A record as a row; the first cell is its id.
pub(crate) trait Row {
    const HEADER: &'static [&'static str];

    fn cells(&self) -> Vec<String>;
}

impl Row for QuoteItem {
    const HEADER: &'static [&'static str] = &[
        "id",
        "number",
        "status",
        "externalId",
        "clientId",
        "clientName",
        "totalHT",
        "totalTTC",
        "currency",
        "validUntil",
        "lines",
        "createdAt",
        "updatedAt",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.summary.id.to_string(),
            text(&self.summary.number),
            self.summary.status.to_string(),
            text(&or_empty(self.summary.external_id.as_ref())),
            self.summary.client_id.to_string(),
            text(&self.summary.client_name),
            self.summary.total_ht.to_string(),
            self.summary.total_ttc.to_string(),
            text(&self.summary.currency),
            or_empty(self.summary.valid_until),
            self.lines.as_ref().map_or(0, Vec::len).to_string(),
            self.summary.created_at.to_string(),
            self.summary.updated_at.to_string(),
        ]
    }
}

impl Row for InvoiceItem {
    const HEADER: &'static [&'static str] = &[
        "id",
        "number",
        "status",
        "quoteId",
        "clientId",
        "clientName",
        "totalHT",
        "totalTTC",
        "currency",
        "amountPaid",
        "amountDue",
        "issueDate",
        "dueDate",
        "createdAt",
        "updatedAt",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.summary.id.to_string(),
            text(&or_empty(self.summary.number.as_ref())),
            self.summary.status.to_string(),
            or_empty(self.summary.quote_id),
            self.summary.client_id.to_string(),
            text(&self.summary.client_name),
            self.summary.total_ht.to_string(),
            self.summary.total_ttc.to_string(),
            text(&self.summary.currency),
            self.summary.amount_paid.to_string(),
            self.summary.amount_due.to_string(),
            or_empty(self.summary.issue_date),
            or_empty(self.summary.due_date),
            self.summary.created_at.to_string(),
            self.summary.updated_at.to_string(),
        ]
    }
}

impl Row for CreditNoteItem {
    const HEADER: &'static [&'static str] = &[
        "id",
        "number",
        "invoiceId",
        "invoiceNumber",
        "clientId",
        "clientName",
        "totalHT",
        "totalTTC",
        "currency",
        "reason",
        "issueDate",
        "createdAt",
        "updatedAt",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.summary.id.to_string(),
            text(&self.summary.number),
            self.summary.invoice_id.to_string(),
            text(&self.summary.invoice_number),
            self.summary.client_id.to_string(),
            text(&self.summary.client_name),
            self.summary.total_ht.to_string(),
            self.summary.total_ttc.to_string(),
            text(&self.summary.currency),
            text(&self.summary.reason),
            self.summary.issue_date.to_string(),
            self.summary.created_at.to_string(),
            self.summary.updated_at.to_string(),
        ]
    }
}

impl Row for Client {
    const HEADER: &'static [&'static str] =
        &["id", "name", "email", "phone", "city", "zipCode", "type", "externalId", "createdAt", "updatedAt"];

    fn cells(&self) -> Vec<String> {
        let optional = |value: &Option<String>| text(&or_empty(value.as_ref()));
        vec![
            self.id.to_string(),
            text(&self.name),
            optional(&self.email),
            optional(&self.phone),
            optional(&self.city),
            optional(&self.zip_code),
            or_empty(self.r#type.as_ref()),
            optional(&self.external_id),
            self.created_at.to_string(),
            self.updated_at.to_string(),
        ]
    }
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A text as it was entered. A text that a spreadsheet would take for a formula gets an apostrophe in front.
fn text(value: &str) -> String {
    let is_formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{value}") } else { value.to_owned() }
}
