//! Uploads: frozen files on their way into the document store.
//!
//! The row of an upload is inserted before the bytes are put, and deleted by the transaction that
//! refers to the file. A remaining row means that there may be a file that no document refers to.
//! The sweep marks such rows abandoned before it deletes the files; from then on no transaction can
//! refer to them. So the sweep never deletes a file that a document refers to, and the document
//! store need not be listed.

use invoicing_core::Timestamp;
use uuid::Uuid;

use super::connection::Sql;
use super::scope::Scope;
use crate::error::Error;

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
