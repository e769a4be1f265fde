//! The invoices and credit notes of the console's lists.

use invoicing_core::{CreditNoteId, CreditNoteSummary, InvoiceId, InvoiceStatus, InvoiceSummary};

use super::credit_notes::CreditNoteTable;
use super::invoices::InvoiceTable;
use super::newest::{NewestQuery, NewestStatements};
use crate::error::Error;

pub(super) const INVOICES: NewestStatements = NewestStatements {
    all: "
        SELECT id, created_at, summary || '}' AS record, version FROM invoice
        WHERE company_id = $1 AND (created_at, id) < ($2, $3)
        ORDER BY created_at DESC, id DESC LIMIT $4",
    in_status: "
        SELECT id, created_at, summary || '}' AS record, version FROM invoice
        WHERE company_id = $1 AND status = $5 AND (created_at, id) < ($2, $3)
        ORDER BY created_at DESC, id DESC LIMIT $4",
    created_at: "SELECT created_at FROM invoice WHERE company_id = $1 AND id = $2",
};

/// Credit notes have no status.
pub(super) const CREDIT_NOTES: NewestStatements = NewestStatements {
    all: NEWEST_CREDIT_NOTES,
    in_status: NEWEST_CREDIT_NOTES,
    created_at: "SELECT created_at FROM credit_note WHERE company_id = $1 AND id = $2",
};

const NEWEST_CREDIT_NOTES: &str = "
    SELECT id, created_at, summary || '}' AS record, version FROM credit_note
    WHERE company_id = $1 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4";

impl InvoiceTable<'_> {
    /// A page of the list, and the invoice behind which the next one begins.
    pub(crate) async fn newest(
        &mut self,
        status: Option<InvoiceStatus>,
        after: Option<InvoiceId>,
        limit: u32,
    ) -> Result<(Vec<InvoiceSummary>, Option<InvoiceId>), Error> {
        let (status, after) = (status.map(Into::into), after.map(|invoice| invoice.0));
        let query = NewestQuery { status, after, limit, is_found: None };
        let (items, next) = self.0.newest(&INVOICES, query).await?;
        Ok((items, next.map(InvoiceId)))
    }
}

impl CreditNoteTable<'_> {
    /// A page of the list, and the credit note behind which the next one begins.
    pub(crate) async fn newest(
        &mut self,
        after: Option<CreditNoteId>,
        limit: u32,
    ) -> Result<(Vec<CreditNoteSummary>, Option<CreditNoteId>), Error> {
        let query = NewestQuery { status: None, after: after.map(|note| note.0), limit, is_found: None };
        let (items, next) = self.0.newest(&CREDIT_NOTES, query).await?;
        Ok((items, next.map(CreditNoteId)))
    }
}
