//! Uploads: which documents are being put into the store, so that those that nothing came of can be found.
//!
//! A row is written before the bytes are put, and deleted by the transaction that refers to them. A row that stays
//! behind means that there may be an object that no record refers to. Rows of one object are swept together or not
//! at all, and while they are, nobody may begin with the same object or refer to it. So what a sweep deletes is
//! referred to by nothing, before and after.

use invoicing_core::{CompanyId, Timestamp};
use uuid::Uuid;

use super::connection::{Connection, Sql, on, run, sql_with};
use super::lists::Texts;
use crate::Error;
use crate::documents::{ContentHash, DocumentKey};

const BEGIN: &str = "INSERT INTO upload (company_id, id, sha256, began_at) SELECT $1, $2, $3, $4 \
     WHERE NOT EXISTS (SELECT 1 FROM upload WHERE company_id = $1 AND sha256 = $3 AND sweeping IS NOT NULL)";
const SETTLE: &str = "DELETE FROM upload WHERE company_id = $1 AND id = $2 AND sweeping IS NULL";
/// Uploads of what a record refers to: another upload of the same bytes has come to its end.
const FORGET: &str = "DELETE FROM upload WHERE company_id = $1 AND began_at < $2 AND EXISTS \
     (SELECT 1 FROM document d WHERE d.company_id = $1 AND d.sha256 = upload.sha256)";
/// After [`FORGET`]: where every upload of an object is old, no record refers to it.
const CLAIM: &str = "UPDATE upload SET sweeping = $3 WHERE company_id = $1 AND sha256 IN \
     (SELECT sha256 FROM upload WHERE company_id = $1 GROUP BY sha256 \
     HAVING max(began_at) < $2 AND coalesce(max(sweeping), $4) <= $4 ORDER BY sha256 LIMIT $5) RETURNING sha256";
const FINISH: Sql =
    sql_with!("DELETE FROM upload WHERE company_id = $1 AND sweeping = $2 AND sha256", texts "$3", "");
const RELEASE: Sql = sql_with!(
    "UPDATE upload SET sweeping = NULL WHERE company_id = $1 AND sweeping = $2 AND sha256", texts "$3", ""
);

/// Says that a document is about to be put into the store; the id of that upload. `None` where the object is being
/// deleted.
pub(crate) async fn begin(
    connection: &mut Connection,
    id: Uuid,
    key: DocumentKey,
    at: Timestamp,
) -> Result<Option<Uuid>, Error> {
    let done = run!(connection, |c| sqlx::query(BEGIN)
        .bind(key.company.0)
        .bind(id)
        .bind(key.sha256.to_string())
        .bind(at.as_millis())
        .execute(c))?;
    Ok((done == 1).then_some(id))
}

/// To be called by the transaction that refers to the document. `false` where the object has been given up
/// meanwhile: then nothing may refer to it.
pub(crate) async fn settle(connection: &mut Connection, company: CompanyId, id: Uuid) -> Result<bool, Error> {
    let done = run!(connection, |c| sqlx::query(SETTLE).bind(company.0).bind(id).execute(c))?;
    Ok(done == 1)
}

/// Which uploads a sweep takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// The instant, which is also the mark of the claim.
    pub(crate) now: Timestamp,
    /// Only of objects whose every upload began before this.
    pub(crate) before: Timestamp,
    /// Only what no sweep has claimed since.
    pub(crate) abandoned: Timestamp,
    /// Objects at most.
    pub(crate) limit: u32,
}

/// Takes objects of a company that no record refers to, to delete them. From the commit on nothing can refer to
/// them until [`finish`] or [`release`] has been called.
pub(crate) async fn claim(
    connection: &mut Connection,
    company: CompanyId,
    claim: Claim,
) -> Result<Vec<ContentHash>, Error> {
    run!(connection, |c| sqlx::query(FORGET).bind(company.0).bind(claim.before.as_millis()).execute(c))?;
    let rows: Vec<String> = on!(connection, |c| sqlx::query_scalar(CLAIM)
        .bind(company.0)
        .bind(claim.before.as_millis())
        .bind(claim.now.as_millis())
        .bind(claim.abandoned.as_millis())
        .bind(i64::from(claim.limit))
        .fetch_all(c))?;
    let parse =
        |text: String| text.parse().map_err(|cause| Error::bad_row("upload", "sha256", company, cause));
    let mut hashes: Vec<ContentHash> = rows.into_iter().map(parse).collect::<Result<_, Error>>()?;
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// Forgets the uploads of objects that are deleted, where the claim of that instant still holds.
pub(crate) async fn finish(
    connection: &mut Connection,
    company: CompanyId,
    claimed_at: Timestamp,
    hashes: &[ContentHash],
) -> Result<(), Error> {
    end(connection, FINISH, company, claimed_at, hashes).await
}

/// Gives objects back that are not going to be deleted, where the claim of that instant still holds.
pub(crate) async fn release(
    connection: &mut Connection,
    company: CompanyId,
    claimed_at: Timestamp,
    hashes: &[ContentHash],
) -> Result<(), Error> {
    end(connection, RELEASE, company, claimed_at, hashes).await
}

async fn end(
    connection: &mut Connection,
    statement: Sql,
    company: CompanyId,
    claimed_at: Timestamp,
    hashes: &[ContentHash],
) -> Result<(), Error> {
    let hashes = Texts(hashes.iter().map(|hash| Some(hash.to_string())).collect());
    run!(connection, |c, dialect| sqlx::query(statement.of(dialect))
        .bind(company.0)
        .bind(claimed_at.as_millis())
        .bind(hashes)
        .execute(c))?;
    Ok(())
}
