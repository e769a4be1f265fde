//! The schemas of credit notes, and of what an invoice has as a document.

use invoicing_core::{DocumentFormat, InvoiceType};
use serde_json::{Map, Value};

use super::records::{
    DOCUMENT_FORMAT, INVOICE_TYPE, LINES, LINES_OF_DETAIL, TVA_RATE, UPDATED_AT, VAT_BREAKDOWN, page, words,
};
use super::schema::Type::{Component, Date, Decimal, Instant, OrNull, Text, Uuid};
use super::schema::{Member, always, object, open_words};

const DEDUCTION: &[Member] = &[
    always("invoiceId", Uuid, "The deducted invoice."),
    always("number", Text, "Its number."),
    always("issueDate", Date, "Its day of issue."),
    always("totalHT", Decimal, "What is deducted, without VAT."),
    always("totalTTC", Decimal, "What is deducted, with VAT."),
];

const CREDIT_NOTE_REFERENCE: &[Member] = &[
    always("id", Uuid, "The credit note."),
    always("number", Text, "Its number."),
    always("issueDate", Date, "Its day of issue."),
    always("totalTTC", Decimal, "Its total with VAT."),
];

/// A credit note in a list.
const CREDIT_NOTE: &[Member] = &[
    always("id", Uuid, "Identifier of the credit note. Time-ordered (UUID version 7)."),
    always("number", Text, "Number for humans, such as `AVO-2026-0042`, without gaps in a year."),
    always("invoiceId", Uuid, "The invoice that is credited."),
    always("invoiceNumber", Text, "The number of this invoice."),
    always("quoteId", OrNull(&Uuid), "The quote of this invoice."),
    always("clientId", Uuid, "The client that the invoice is made out to."),
    always("clientName", Text, "Name of the client as on the invoice."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client as on the invoice."),
    always("issueDate", Date, "Day of issue in the company's time zone."),
    always("reason", Text, "Why the invoice is credited, as the client reads it."),
    always("documentFormat", OrNull(&Component("DocumentFormat")), DOCUMENT_FORMAT),
    always("totalHT", Decimal, "What is credited without VAT, in `currency`. Positive."),
    always("totalTTC", Decimal, "What is credited with VAT, in `currency`. Positive."),
    always("tvaRate", Decimal, TVA_RATE),
    always("currency", Text, "Currency of all amounts, as an ISO 4217 code."),
    always("createdAt", Instant, "When the record was created."),
    always("updatedAt", Instant, UPDATED_AT),
];

/// The schemas, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let item = CREDIT_NOTE.iter().chain([&LINES]);
    let detail = CREDIT_NOTE.iter().chain([&LINES_OF_DETAIL, &VAT_BREAKDOWN]);
    let schemas = [
        ("CreditNotePage", page("credit notes", "CreditNoteItem")),
        ("CreditNoteItem", object("A credit note in a list.", item)),
        ("CreditNote", object("A credit note in full. It never changes.", detail)),
        ("CreditNoteReference", object("A credit note, as its invoice names it.", CREDIT_NOTE_REFERENCE)),
        ("Deduction", object("An invoice whose amount another one deducts.", DEDUCTION)),
        ("DocumentFormat", open_words("Format of a document. More may be added.", formats())),
        ("InvoiceType", open_words(INVOICE_TYPE, types())),
    ];
    schemas.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect()
}

fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    words(DocumentFormat::ALL, DocumentFormat::as_str, |format| match format {
        DocumentFormat::Pdf => "A PDF for people (PDF/A-3).",
        DocumentFormat::FacturX => "A PDF with the same document as XML inside (Factur-X, profile EN 16931).",
        _ => "",
    })
}

fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    words(InvoiceType::ALL, InvoiceType::as_str, |kind| match kind {
        InvoiceType::Standard => "The invoice of a whole quote, net of its deposits.",
        InvoiceType::Deposit => "An invoice of a part, before the works.",
        InvoiceType::Progress => "An invoice of the works done so far.",
        _ => "",
    })
}
