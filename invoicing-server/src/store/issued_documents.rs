//! The frozen documents of invoices and credit notes, one for each.

use invoicing_core::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;
use uuid::Uuid;

use super::documents::{DocumentRow, FoundDocumentRow};
use super::rows::{from_json, to_json};
use super::scope::Scope;
use crate::error::Error;

#[derive(FromRow)]
struct ParticularsRow {
    particulars: String,
}

/// The frozen documents of a company's invoices and credit notes.
pub(crate) struct IssuedDocumentTable<'c>(pub(super) Scope<'c>);

impl IssuedDocumentTable<'_> {
    /// Adds the document of a record. `particulars` are the data that it shows besides the record.
    pub(crate) async fn insert(
        &mut self,
        record: Uuid,
        document: &DocumentRow,
        created_at: Timestamp,
        particulars: &impl Serialize,
    ) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO issued_document
                (company_id, record_id, upload_id, sha256, size_bytes, file_name, created_at, particulars)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let DocumentRow { upload, sha256, size_bytes, file_name } = document;
        let size = i64::try_from(*size_bytes).unwrap_or(i64::MAX);
        let particulars = to_json(particulars)?;
        let insert =
            self.0.query(INSERT, &[&record, upload, sha256, &size, file_name, &created_at, &particulars]);
        insert.execute().await?;
        Ok(())
    }

    /// The document of a record; `None` if it has none.
    pub(crate) async fn find(&mut self, record: Uuid) -> Result<Option<DocumentRow>, Error> {
        const FIND: &str = "
            SELECT upload_id, sha256, size_bytes, file_name FROM issued_document
            WHERE company_id = $1 AND record_id = $2";
        let row: Option<FoundDocumentRow> = self.0.query(FIND, &[&record]).fetch_optional().await?;
        Ok(row.map(FoundDocumentRow::document))
    }

    /// The data that the document of a record shows besides it; `None` if it has no document.
    pub(crate) async fn find_particulars<P: DeserializeOwned>(
        &mut self,
        record: Uuid,
    ) -> Result<Option<P>, Error> {
        const FIND: &str = "
            SELECT particulars FROM issued_document WHERE company_id = $1 AND record_id = $2";
        let row: Option<ParticularsRow> = self.0.query(FIND, &[&record]).fetch_optional().await?;
        row.map(|row| from_json(row.particulars, "issued_document", record)).transpose()
    }
}
