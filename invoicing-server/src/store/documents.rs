//! Frozen documents, and uploads: documents on their way into the document store.
//!
//! The row of an upload is inserted before the bytes are put, and deleted by the transaction that refers to the document.
//! A remaining row means that there may be a document that no record refers to. The sweep marks such rows abandoned
//! before it deletes the documents; from then on no transaction can refer to them. So the sweep never deletes a document
//! that a record refers to, and the document store need not be listed.

use invoicing_core::{QuoteId, QuoteStatus, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::{Sql, execute, query};
use super::lists::Uuids;
use super::rows::from_json;
use super::scope::Scope;
use crate::Error;

/// A frozen document of a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentRecord {
    /// SHA-256 of the file, 64 lowercase hex digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Name under which it is offered.
    pub file_name: String,
    /// When it was frozen.
    pub created_at: Timestamp,
}

/// A document that a record refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentRow {
    /// The upload that stored it, which is its name in the document store.
    pub(crate) upload: Uuid,
    /// SHA-256 of its bytes, 64 lowercase hex digits.
    pub(crate) sha256: String,
    pub(crate) size_bytes: u64,
    pub(crate) file_name: String,
}

#[derive(FromRow)]
struct RecordRow {
    sha256: String,
    size_bytes: i64,
    file_name: String,
    created_at: i64,
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
    /// `None` where the quote has no document.
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
    /// Adds the latest document of a quote. `particulars` are what it says besides the quote, as JSON.
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
        let Scope { connection, company } = &mut self.0;
        execute!(connection, |c| sqlx::query(INSERT)
            .bind(company.0)
            .bind(quote.0)
            .bind(document.upload)
            .bind(&document.sha256)
            .bind(i64::try_from(document.size_bytes).unwrap_or(i64::MAX))
            .bind(&document.file_name)
            .bind(created_at.as_millis())
            .bind(particulars)
            .execute(c))?;
        Ok(())
    }

    /// Every document of a quote, oldest first.
    pub(crate) async fn list(&mut self, quote: QuoteId) -> Result<Vec<DocumentRecord>, Error> {
        const LIST: &str = "
            SELECT sha256, size_bytes, file_name, created_at FROM document
            WHERE company_id = $1 AND quote_id = $2 ORDER BY number";
        let Scope { connection, company } = &mut self.0;
        let rows: Vec<RecordRow> =
            query!(connection, |c| sqlx::query_as(LIST).bind(company.0).bind(quote.0).fetch_all(c))?;
        let record = |row: RecordRow| DocumentRecord {
            sha256: row.sha256,
            size_bytes: u64::try_from(row.size_bytes).unwrap_or(0),
            file_name: row.file_name,
            created_at: Timestamp::from_millis(row.created_at),
        };
        Ok(rows.into_iter().map(record).collect())
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
        let Scope { connection, company } = &mut self.0;
        let row: Option<LatestRow> =
            query!(connection, |c| sqlx::query_as(LATEST).bind(company.0).bind(quote.0).fetch_optional(c))?;
        let row = row.ok_or(Error::NotFound)?;
        let status = row.status.parse();
        let status = status.map_err(|cause| Error::bad_row("quote", "status", quote, cause))?;
        Ok((status, row.document()))
    }

    /// What the latest document of a quote says besides the quote.
    pub(crate) async fn latest_particulars<P: serde::de::DeserializeOwned>(
        &mut self,
        quote: QuoteId,
    ) -> Result<P, Error> {
        const LATEST: &str = "
            SELECT particulars FROM document WHERE company_id = $1 AND quote_id = $2 ORDER BY number DESC LIMIT 1";
        let Scope { connection, company } = &mut self.0;
        let json: Option<String> = query!(connection, |c| sqlx::query_scalar(LATEST)
            .bind(company.0)
            .bind(quote.0)
            .fetch_optional(c))?;
        from_json(json.ok_or(Error::NotFound)?, "document", quote)
    }
}

/// The uploads of a company that are not finished.
pub(crate) struct UploadTable<'c>(pub(super) Scope<'c>);

impl UploadTable<'_> {
    /// Begins an upload, before the bytes are put.
    pub(crate) async fn begin(&mut self, id: Uuid, at: Timestamp) -> Result<(), Error> {
        const BEGIN: &str = "INSERT INTO upload (company_id, id, began_at) VALUES ($1, $2, $3)";
        let Scope { connection, company } = &mut self.0;
        execute!(connection, |c| sqlx::query(BEGIN)
            .bind(company.0)
            .bind(id)
            .bind(at.as_millis())
            .execute(c))?;
        Ok(())
    }

    /// Finishes an upload, in the transaction that refers to the document. `false` where the upload is abandoned: then no
    /// record may refer to the document.
    pub(crate) async fn finish(&mut self, id: Uuid) -> Result<bool, Error> {
        const FINISH: &str = "
            DELETE FROM upload WHERE company_id = $1 AND id = $2 AND abandoned_at IS NULL";
        let Scope { connection, company } = &mut self.0;
        let done = execute!(connection, |c| sqlx::query(FINISH).bind(company.0).bind(id).execute(c))?;
        Ok(done == 1)
    }

    /// Marks uploads abandoned that began before an instant.
    pub(crate) async fn abandon(&mut self, before: Timestamp, now: Timestamp) -> Result<(), Error> {
        const ABANDON: &str = "
            UPDATE upload SET abandoned_at = $3
            WHERE company_id = $1 AND began_at < $2 AND abandoned_at IS NULL";
        let Scope { connection, company } = &mut self.0;
        execute!(connection, |c| sqlx::query(ABANDON)
            .bind(company.0)
            .bind(before.as_millis())
            .bind(now.as_millis())
            .execute(c))?;
        Ok(())
    }

    /// Abandoned uploads after this one, in the order of their ids.
    pub(crate) async fn abandoned(&mut self, after: Uuid, limit: u32) -> Result<Vec<Uuid>, Error> {
        const ABANDONED: &str = "
            SELECT id FROM upload WHERE company_id = $1 AND id > $2 AND abandoned_at IS NOT NULL
            ORDER BY id LIMIT $3";
        let Scope { connection, company } = &mut self.0;
        Ok(query!(connection, |c| sqlx::query_scalar(ABANDONED)
            .bind(company.0)
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(c))?)
    }

    /// How many are not finished.
    #[cfg(test)]
    pub(crate) async fn count(&mut self) -> Result<i64, Error> {
        const COUNT: &str = "SELECT count(*) FROM upload WHERE company_id = $1";
        let Scope { connection, company } = &mut self.0;
        Ok(query!(connection, |c| sqlx::query_scalar(COUNT).bind(company.0).fetch_one(c))?)
    }

    /// Deletes the rows of uploads whose documents are deleted.
    pub(crate) async fn delete(&mut self, ids: Vec<Uuid>) -> Result<(), Error> {
        const DELETE: Sql = Sql {
            sqlite: "
                DELETE FROM upload WHERE company_id = $1 AND id IN (SELECT unhex(value) FROM json_each($2))",
            postgres: "DELETE FROM upload WHERE company_id = $1 AND id = ANY($2)",
        };
        let ids = Uuids(ids);
        let Scope { connection, company } = &mut self.0;
        execute!(connection, |c, dialect| sqlx::query(DELETE.of(dialect))
            .bind(company.0)
            .bind(ids)
            .execute(c))?;
        Ok(())
    }
}
