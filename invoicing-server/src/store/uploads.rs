//! Uploads: documents on their way into the document store.
//!
//! A row is inserted before the bytes are put, and deleted by the transaction that refers to the document. A remaining
//! row means that there may be a document that no record refers to. The sweep marks such rows abandoned before it
//! deletes the documents; from then on no transaction can refer to them. So the sweep never deletes a document that a
//! record refers to, and the document store need not be listed.

use invoicing_core::{CompanyId, Timestamp};
use uuid::Uuid;

use super::connection::{Connection, Sql, on, run, sql_with};
use super::lists::Uuids;
use crate::Error;
use crate::documents::DocumentKey;

const BEGIN: &str = "INSERT INTO upload (company_id, id, began_at) VALUES ($1, $2, $3)";
const FINISH: &str = "DELETE FROM upload WHERE company_id = $1 AND id = $2 AND abandoned_at IS NULL";
const ABANDON: &str =
    "UPDATE upload SET abandoned_at = $3 WHERE company_id = $1 AND began_at < $2 AND abandoned_at IS NULL";
const LIST_ABANDONED: &str = "SELECT id FROM upload WHERE company_id = $1 AND id > $2 AND abandoned_at IS NOT NULL \
     ORDER BY id LIMIT $3";
const FORGET: Sql = sql_with!("DELETE FROM upload WHERE company_id = $1 AND id", uuids "$2", "");

/// Begins the upload of a document, before its bytes are put.
pub(crate) async fn begin(connection: &mut Connection, key: DocumentKey, at: Timestamp) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(BEGIN)
        .bind(key.company.0)
        .bind(key.upload)
        .bind(at.as_millis())
        .execute(c))?;
    Ok(())
}

/// Finishes an upload, in the transaction that refers to the document. `false` where the upload is abandoned: then no
/// record may refer to the document.
pub(crate) async fn finish(connection: &mut Connection, key: DocumentKey) -> Result<bool, Error> {
    let done = run!(connection, |c| sqlx::query(FINISH).bind(key.company.0).bind(key.upload).execute(c))?;
    Ok(done == 1)
}

/// Marks the uploads of a company abandoned that began before an instant.
pub(crate) async fn abandon(
    connection: &mut Connection,
    company: CompanyId,
    before: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(ABANDON)
        .bind(company.0)
        .bind(before.as_millis())
        .bind(now.as_millis())
        .execute(c))?;
    Ok(())
}

/// Documents of abandoned uploads of a company, in the order of their ids, after this id.
pub(crate) async fn abandoned(
    connection: &mut Connection,
    company: CompanyId,
    after: Uuid,
    limit: u32,
) -> Result<Vec<DocumentKey>, Error> {
    let ids: Vec<Uuid> = on!(connection, |c| sqlx::query_scalar(LIST_ABANDONED)
        .bind(company.0)
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(c))?;
    Ok(ids.into_iter().map(|upload| DocumentKey { company, upload }).collect())
}

/// Deletes the rows of uploads whose documents are deleted.
pub(crate) async fn forget(
    connection: &mut Connection,
    company: CompanyId,
    uploads: Vec<Uuid>,
) -> Result<(), Error> {
    let uploads = Uuids(uploads);
    run!(connection, |c, dialect| sqlx::query(FORGET.of(dialect)).bind(company.0).bind(uploads).execute(c))?;
    Ok(())
}
