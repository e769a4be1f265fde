//! The part of a credit note that no other document has: the parts of the invoice that it takes
//! back. Rows of credit notes never change.

use invoicing_core::{CreditNote, CreditNoteDetail, CreditedPart, InvoiceId};
use sqlx::FromRow;

use super::documents::DocumentTable;
use super::rows::{from_json, to_json};
use crate::error::Error;

#[derive(FromRow)]
struct CreditedRow {
    parts: String,
    detail: String,
}

/// The credit notes of a company.
pub(crate) type CreditNoteTable<'c> = DocumentTable<'c, CreditNote>;

impl CreditNoteTable<'_> {
    /// The parts of lines and the VAT shares that the credit notes on an invoice have taken back,
    /// oldest first.
    pub(crate) async fn credited(
        &mut self,
        invoice: InvoiceId,
    ) -> Result<Vec<(Vec<CreditedPart>, CreditNoteDetail)>, Error> {
        const CREDITED: &str = "
            SELECT parts, '{' || detail AS detail FROM credit_note
            WHERE company_id = $1 AND invoice_id = $2 ORDER BY id";
        let rows: Vec<CreditedRow> = self.scope.query(CREDITED, &[&invoice]).fetch_all().await?;
        let read = |row: CreditedRow| {
            Ok((
                from_json(row.parts, "credit_note", invoice)?,
                from_json(row.detail, "credit_note", invoice)?,
            ))
        };
        rows.into_iter().map(read).collect()
    }

    pub(crate) async fn insert(&mut self, note: &CreditNote, parts: &[CreditedPart]) -> Result<(), Error> {
        self.insert_with(note, &[&to_json(&parts)?]).await
    }
}
