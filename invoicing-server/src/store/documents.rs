//! Frozen documents, and uploads: documents on their way into the document store.
//!
//! The row of an upload is inserted before the bytes are put, and deleted by the transaction that
//! refers to the document. A remaining row means that there may be a document that no record refers
//! to. The sweep marks such rows abandoned before it deletes the documents; from then on no
//! transaction can refer to them. So the sweep never deletes a document that a record refers to,
//! and the document store need not be listed.

use invoicing_core::{QuoteId, QuoteStatus, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Sql;
use super::rows::from_json;
use super::scope::Scope;
use crate::error::Error;
use crate::records::DocumentRecord;

/// A document that a record refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentRow {
    /// The upload that stored it; its id names the document in the store.
    pub(crate) upload: Uuid,
    /// SHA-256 of its bytes, 64 lowercase hex digits.
    pub(crate) sha256: String,
    pub(crate) size_bytes: u64,
    pub(crate) file_name: String,
}

#[derive(FromRow)]
struct DocumentRecordRow {
    sha256: String,
    size_bytes: i64,
    file_name: String,
    created_at: i64,
}

#[derive(FromRow)]
pub(super) struct FoundDocumentRow {
    upload_id: Uuid,
    sha256: String,
    size_bytes: i64,
    file_name: String,
}

impl FoundDocumentRow {
    pub(super) fn document(self) -> DocumentRow {
        let Self { upload_id, sha256, size_bytes, file_name } = self;
        let size_bytes = u64::try_from(size_bytes).unwrap_or(0);
        DocumentRow { upload: upload_id, sha256, size_bytes, file_name }
    }
}

#[derive(FromRow)]
struct ParticularsRow {
    #[sqlx(flatten)]
    found: FoundDocumentRow,
    particulars: String,
}

#[derive(FromRow)]
struct LatestRow {
    status: String,
    upload_id: Option<Uuid>,
    sha256: Option<String>,
    size_bytes: Option<i64>,
    file_name: Option<String>,
}

impl LatestRow {
    /// The document; `None` if the quote has none.
    fn document(self) -> Option<DocumentRow> {
        Some(DocumentRow {
            upload: self.upload_id?,
            sha256: self.sha256?,
            size_bytes: u64::try_from(self.size_bytes?).unwrap_or(0),
            file_name: self.file_name?,
        })
    }
}

/// The frozen documents of a company's quotes.
pub(crate) struct DocumentTable<'c>(pub(super) Scope<'c>);

impl DocumentTable<'_> {
    /// Adds the latest document of a quote. `particulars` are the data that it shows besides the
    /// quote, as JSON.
    pub(crate) async fn insert(
        &mut self,
        quote: QuoteId,
        document: &DocumentRow,
        created_at: Timestamp,
        particulars: &str,
    ) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO document
                (company_id, quote_id, number, upload_id, sha256, size_bytes, file_name, created_at, particulars)
            SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7, $8 FROM document
            WHERE company_id = $1 AND quote_id = $2";
        let DocumentRow { upload, sha256, size_bytes, file_name } = document;
        let size = i64::try_from(*size_bytes).unwrap_or(i64::MAX);
        let insert =
            self.0.query(INSERT, &[&quote, upload, sha256, &size, file_name, &created_at, &particulars]);
        insert.execute().await?;
        Ok(())
    }

    /// Every document of a quote, oldest first.
    pub(crate) async fn list(&mut self, quote: QuoteId) -> Result<Vec<DocumentRecord>, Error> {
        const LIST: &str = "
            SELECT sha256, size_bytes, file_name, created_at FROM document
            WHERE company_id = $1 AND quote_id = $2 ORDER BY number";
        let rows: Vec<DocumentRecordRow> = self.0.query(LIST, &[&quote]).fetch_all().await?;
        let record = |row: DocumentRecordRow| DocumentRecord {
            sha256: row.sha256,
            size_bytes: u64::try_from(row.size_bytes).unwrap_or(0),
            file_name: row.file_name,
            created_at: Timestamp::from_millis(row.created_at),
        };
        Ok(rows.into_iter().map(record).collect())
    }

    /// The document of a quote with this hash; the latest if there are several.
    pub(crate) async fn find(&mut self, quote: QuoteId, sha256: &str) -> Result<DocumentRow, Error> {
        const FIND: &str = "
            SELECT upload_id, sha256, size_bytes, file_name FROM document
            WHERE company_id = $1 AND quote_id = $2 AND sha256 = $3 ORDER BY number DESC LIMIT 1";
        let row: Option<FoundDocumentRow> = self.0.query(FIND, &[&quote, &sha256]).fetch_optional().await?;
        Ok(row.ok_or(Error::NotFound)?.document())
    }

    /// The status of a quote and its latest document.
    pub(crate) async fn latest(
        &mut self,
        quote: QuoteId,
    ) -> Result<(QuoteStatus, Option<DocumentRow>), Error> {
        const LATEST: &str = "
            SELECT q.status, d.upload_id, d.sha256, d.size_bytes, d.file_name FROM quote q
            LEFT JOIN document d ON d.company_id = q.company_id AND d.quote_id = q.id
            WHERE q.company_id = $1 AND q.id = $2 ORDER BY d.number DESC LIMIT 1";
        let row: Option<LatestRow> = self.0.query(LATEST, &[&quote]).fetch_optional().await?;
        let row = row.ok_or(Error::NotFound)?;
        let status = row.status.parse();
        let status = status.map_err(|cause| Error::bad_row("quote", "status", quote, cause))?;
        Ok((status, row.document()))
    }

    /// The latest document of a quote, with the data that it shows besides the quote; `None` if the
    /// quote has none.
    pub(crate) async fn latest_with_particulars<P: DeserializeOwned>(
        &mut self,
        quote: QuoteId,
    ) -> Result<Option<(DocumentRow, P)>, Error> {
        const LATEST: &str = "
            SELECT upload_id, sha256, size_bytes, file_name, particulars FROM document
            WHERE company_id = $1 AND quote_id = $2 ORDER BY number DESC LIMIT 1";
        let row: Option<ParticularsRow> = self.0.query(LATEST, &[&quote]).fetch_optional().await?;
        let Some(ParticularsRow { found, particulars }) = row else { return Ok(None) };
        Ok(Some((found.document(), from_json(particulars, "document", quote)?)))
    }
}

/// The uploads of a company that are not finished.
pub(crate) struct UploadTable<'c>(pub(super) Scope<'c>);

impl UploadTable<'_> {
    /// Begins an upload, before the bytes are put.
    pub(crate) async fn begin(&mut self, id: Uuid, at: Timestamp) -> Result<(), Error> {
        const BEGIN: &str = "INSERT INTO upload (company_id, id, began_at) VALUES ($1, $2, $3)";
        self.0.query(BEGIN, &[&id, &at]).execute().await?;
        Ok(())
    }

    /// Finishes an upload, in the transaction that refers to the document. Returns false if the
    /// upload is abandoned: then no record may refer to the document.
    pub(crate) async fn finish(&mut self, id: Uuid) -> Result<bool, Error> {
        const FINISH: &str = "
            DELETE FROM upload WHERE company_id = $1 AND id = $2 AND abandoned_at IS NULL";
        let done = self.0.query(FINISH, &[&id]).execute().await?;
        Ok(done == 1)
    }

    /// Marks uploads abandoned that began before an instant.
    pub(crate) async fn abandon(&mut self, before: Timestamp, now: Timestamp) -> Result<(), Error> {
        const ABANDON: &str = "
            UPDATE upload SET abandoned_at = $3
            WHERE company_id = $1 AND began_at < $2 AND abandoned_at IS NULL";
        self.0.query(ABANDON, &[&before, &now]).execute().await?;
        Ok(())
    }

    /// Abandoned uploads after this one, in the order of their ids.
    pub(crate) async fn abandoned(&mut self, after: Uuid, limit: u32) -> Result<Vec<Uuid>, Error> {
        const ABANDONED: &str = "
            SELECT id FROM upload WHERE company_id = $1 AND id > $2 AND abandoned_at IS NOT NULL
            ORDER BY id LIMIT $3";
        Ok(self.0.query(ABANDONED, &[&after, &limit]).all_scalars().await?)
    }

    /// The number of uploads that are not finished.
    #[cfg(test)]
    pub(crate) async fn count(&mut self) -> Result<i64, Error> {
        const COUNT: &str = "SELECT count(*) FROM upload WHERE company_id = $1";
        Ok(self.0.query(COUNT, &[]).scalar().await?)
    }

    /// Deletes the rows of uploads whose documents are deleted.
    pub(crate) async fn delete(&mut self, ids: Vec<Uuid>) -> Result<(), Error> {
        const DELETE: Sql = Sql {
            sqlite: "
                DELETE FROM upload WHERE company_id = $1 AND id IN (SELECT unhex(value) FROM json_each($2))",
            postgres: "DELETE FROM upload WHERE company_id = $1 AND id = ANY($2)",
        };
        self.0.query(DELETE, &[&ids]).execute().await?;
        Ok(())
    }
}
