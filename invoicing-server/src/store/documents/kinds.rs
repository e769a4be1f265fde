//! The kinds of documents, and their columns.

use std::sync::LazyLock;

use invoicing_core::{
    CreditNote, CreditNoteDetail, CreditNoteId, CreditNoteSummary, Invoice, InvoiceDetail, InvoiceId,
    InvoiceSummary, Line, Quote, QuoteDetail, QuoteId, QuoteSummary, Timestamp,
};

use super::StoredDocument;
use super::statements::{Apart, ColumnType, Columns, Statements, date, id, integer, text};

impl StoredDocument for Quote {
    type Id = QuoteId;
    type Summary = QuoteSummary;
    type Detail = QuoteDetail;

    const NAME: &'static str = "the quote";
    const COLUMNS: Columns<Self> = Columns {
        fixed: &[integer("created_at", |quote| &quote.created_at)],
        changing: &[
            text("status", |quote| &quote.status),
            date("valid_until", |quote| &quote.valid_until),
            integer("updated_at", |quote| &quote.updated_at),
            integer("total_ht_cents", |quote| &quote.total_ht),
            integer("total_ttc_cents", |quote| &quote.total_ttc),
            integer("tva_rate_bp", |quote| &quote.tva_rate),
        ],
        of_detail: &[
            integer("retention_rate_bp", |detail| &detail.retention_rate),
            integer("retention_amount_cents", |detail| &detail.retention_amount),
        ],
        beside: &[
            ("work_site", ColumnType::Text),
            ("operations", ColumnType::Text),
            ("reverse_charge", ColumnType::Integer),
            ("housing_works", ColumnType::Integer),
        ],
        apart: Some(Apart { table: "quote_costing", key: "quote_id", column: "costings" }),
    };

    fn statements() -> &'static Statements {
        static QUOTES: LazyLock<Statements> = LazyLock::new(Statements::of::<Quote>);
        &QUOTES
    }

    fn parts(&self) -> (&QuoteSummary, &[Line], &QuoteDetail) {
        (&self.summary, &self.lines, &self.detail)
    }

    fn id(summary: &QuoteSummary) -> &QuoteId {
        &summary.id
    }

    fn updated_at(summary: &QuoteSummary) -> Timestamp {
        summary.updated_at
    }
}

impl StoredDocument for Invoice {
    type Id = InvoiceId;
    type Summary = InvoiceSummary;
    type Detail = InvoiceDetail;

    const NAME: &'static str = "the invoice";
    const COLUMNS: Columns<Self> = Columns {
        fixed: &[
            id("quote_id", |invoice| &invoice.quote_id),
            integer("created_at", |invoice| &invoice.created_at),
            integer("total_ht_cents", |invoice| &invoice.total_ht),
            integer("total_ttc_cents", |invoice| &invoice.total_ttc),
            integer("tva_rate_bp", |invoice| &invoice.tva_rate),
            integer("retention_rate_bp", |invoice| &invoice.retention_rate),
        ],
        changing: &[
            text("status", |invoice| &invoice.status),
            date("due_date", |invoice| &invoice.due_date),
            integer("updated_at", |invoice| &invoice.updated_at),
            integer("retention_amount_cents", |invoice| &invoice.retention_amount),
            integer("retention_due_cents", |invoice| &invoice.retention_due),
            integer("amount_paid_cents", |invoice| &invoice.amount_paid),
            integer("amount_due_cents", |invoice| &invoice.amount_due),
            integer("amount_overpaid_cents", |invoice| &invoice.amount_overpaid),
            integer("amount_credited_cents", |invoice| &invoice.amount_credited),
            integer("amount_written_off_cents", |invoice| &invoice.amount_written_off),
        ],
        of_detail: &[],
        beside: &[],
        apart: None,
    };

    fn statements() -> &'static Statements {
        static INVOICES: LazyLock<Statements> = LazyLock::new(Statements::of::<Invoice>);
        &INVOICES
    }

    fn parts(&self) -> (&InvoiceSummary, &[Line], &InvoiceDetail) {
        (&self.summary, &self.lines, &self.detail)
    }

    fn id(summary: &InvoiceSummary) -> &InvoiceId {
        &summary.id
    }

    fn updated_at(summary: &InvoiceSummary) -> Timestamp {
        summary.updated_at
    }
}

impl StoredDocument for CreditNote {
    type Id = CreditNoteId;
    type Summary = CreditNoteSummary;
    type Detail = CreditNoteDetail;

    const NAME: &'static str = "the credit note";
    const COLUMNS: Columns<Self> = Columns {
        fixed: &[
            id("invoice_id", |note| &note.invoice_id),
            integer("created_at", |note| &note.created_at),
            integer("updated_at", |note| &note.updated_at),
            integer("total_ht_cents", |note| &note.total_ht),
            integer("total_ttc_cents", |note| &note.total_ttc),
            integer("tva_rate_bp", |note| &note.tva_rate),
        ],
        changing: &[],
        of_detail: &[],
        beside: &[("parts", ColumnType::Text)],
        apart: None,
    };

    fn statements() -> &'static Statements {
        static CREDIT_NOTES: LazyLock<Statements> = LazyLock::new(Statements::of::<CreditNote>);
        &CREDIT_NOTES
    }

    fn parts(&self) -> (&CreditNoteSummary, &[Line], &CreditNoteDetail) {
        (&self.summary, &self.lines, &self.detail)
    }

    fn id(summary: &CreditNoteSummary) -> &CreditNoteId {
        &summary.id
    }

    fn updated_at(summary: &CreditNoteSummary) -> Timestamp {
        summary.updated_at
    }
}
