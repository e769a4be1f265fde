//! Quotes, their internal costs, their frozen documents, their signing links and proofs.

use invoicing_core::{CompanyId, Costing, Quote, QuoteId, QuoteStatus, Timestamp};
use uuid::Uuid;

use super::companies::one_row;
use super::connection::{Connection, Sql, in_one_call, on, run};
use super::page::{PageQuery, PageRow, page_statement, page_statements};
use super::rows::{Pieces, from_json, to_json};
use crate::Error;
use crate::documents::Particulars;

const FIND: &str = "SELECT head, lines, terms FROM quote WHERE company_id = $1 AND id = $2";
const INSERT: Sql = in_one_call!(
    "INSERT INTO quote \
     (company_id, id, status, valid_until, created_at, updated_at, head, lines, terms, work_site) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $11)",
    "INSERT INTO quote_costing (company_id, quote_id, costings) VALUES ($1, $2, $10)"
);
const UPDATE_HEAD: &str = "UPDATE quote SET status = $3, valid_until = $4, updated_at = $5, head = $6, terms = $7 \
     WHERE company_id = $1 AND id = $2";
const UPDATE_LINES: &str = "UPDATE quote SET lines = $3 WHERE company_id = $1 AND id = $2";
const PUT_ASIDE: Sql = in_one_call!(
    "INSERT INTO quote_costing (company_id, quote_id, costings) VALUES ($1, $2, $3) \
     ON CONFLICT (company_id, quote_id) DO UPDATE SET costings = excluded.costings",
    "UPDATE quote SET work_site = $4 WHERE company_id = $1 AND id = $2"
);
const FIND_COSTINGS: &str = "SELECT costings FROM quote_costing WHERE company_id = $1 AND quote_id = $2";
const FIND_WORK_SITE: &str = "SELECT work_site FROM quote WHERE company_id = $1 AND id = $2";
const INSERT_DOCUMENT: &str = "INSERT INTO document \
     (company_id, quote_id, number, sha256, size_bytes, file_name, created_at, particulars) \
     SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7 FROM document \
     WHERE company_id = $1 AND quote_id = $2";
const LIST_DOCUMENTS: &str = "SELECT sha256, size_bytes, file_name, created_at FROM document \
     WHERE company_id = $1 AND quote_id = $2 ORDER BY number";
const LAST_DOCUMENT: &str = "SELECT q.status, d.sha256, d.size_bytes, d.file_name FROM quote q \
     LEFT JOIN document d ON d.company_id = q.company_id AND d.quote_id = q.id \
     WHERE q.company_id = $1 AND q.id = $2 ORDER BY d.number DESC LIMIT 1";
const LAST_PARTICULARS: &str = "SELECT particulars FROM document \
     WHERE company_id = $1 AND quote_id = $2 ORDER BY number DESC LIMIT 1";
const INSERT_LINK: &str =
    "INSERT INTO signing_link (company_id, token_hash, quote_id, created_at) VALUES ($1, $2, $3, $4)";
const FIND_LINK: &str = "SELECT company_id, quote_id FROM signing_link WHERE token_hash = $1";
const INSERT_PROOF: &str = "INSERT INTO proof \
     (company_id, quote_id, token_hash, ip, user_agent, document_sha256, fingerprint, signed_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const FIND_PROOF: &str = "SELECT token_hash, ip, user_agent, document_sha256, fingerprint, signed_at FROM proof \
     WHERE company_id = $1 AND quote_id = $2";

const PAGES: [[Sql; 4]; 2] = page_statements!("quote");

pub(crate) async fn find_pieces(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Pieces, Error> {
    Pieces::find(connection, FIND, company, id.0).await
}

pub(crate) async fn find(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Quote, Error> {
    from_json(find_pieces(connection, company, id).await?.detail(), "quote", id)
}

pub(crate) async fn page(
    connection: &mut Connection,
    company: CompanyId,
    query: &PageQuery<QuoteStatus>,
) -> Result<PageRow, Error> {
    query.fetch(connection, &PAGES, company, QuoteStatus::as_str).await
}

/// What a quote has besides the record that the API shows.
#[derive(Debug, Clone)]
pub(crate) struct Aside {
    /// What the lines cost the company itself, in the order of the lines.
    pub(crate) costings: Vec<Costing>,
    /// Where the work is done.
    pub(crate) work_site: Option<String>,
}

pub(crate) async fn insert(
    connection: &mut Connection,
    company: CompanyId,
    quote: &Quote,
    aside: &Aside,
) -> Result<(), Error> {
    let Pieces { head, lines, terms } = Pieces::of_quote(quote)?;
    run!(connection, |c, dialect| sqlx::query(INSERT.of(dialect))
        .bind(company.0)
        .bind(quote.summary.id.0)
        .bind(quote.summary.status.as_str())
        .bind(quote.summary.valid_until)
        .bind(quote.summary.created_at.as_millis())
        .bind(quote.summary.updated_at.as_millis())
        .bind(head)
        .bind(lines)
        .bind(terms)
        .bind(to_json(&aside.costings)?)
        .bind(&aside.work_site)
        .execute(c))?;
    Ok(())
}

/// Stores everything but the lines, which no transition changes.
pub(crate) async fn update(
    connection: &mut Connection,
    company: CompanyId,
    quote: &Quote,
) -> Result<(), Error> {
    let Pieces { head, terms, .. } = Pieces::of_quote(quote)?;
    let done = run!(connection, |c| sqlx::query(UPDATE_HEAD)
        .bind(company.0)
        .bind(quote.summary.id.0)
        .bind(quote.summary.status.as_str())
        .bind(quote.summary.valid_until)
        .bind(quote.summary.updated_at.as_millis())
        .bind(head)
        .bind(terms)
        .execute(c))?;
    one_row(done, "quote")
}

pub(crate) async fn update_lines(
    connection: &mut Connection,
    company: CompanyId,
    quote: &Quote,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(UPDATE_LINES)
        .bind(company.0)
        .bind(quote.summary.id.0)
        .bind(to_json(&quote.lines)?)
        .execute(c))?;
    one_row(done, "quote")
}

pub(crate) async fn put_aside(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
    aside: &Aside,
) -> Result<(), Error> {
    run!(connection, |c, dialect| sqlx::query(PUT_ASIDE.of(dialect))
        .bind(company.0)
        .bind(id.0)
        .bind(to_json(&aside.costings)?)
        .bind(&aside.work_site)
        .execute(c))?;
    Ok(())
}

pub(crate) async fn find_costings(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Vec<Costing>, Error> {
    let json: Option<String> =
        on!(connection, |c| sqlx::query_scalar(FIND_COSTINGS).bind(company.0).bind(id.0).fetch_optional(c))?;
    from_json(&json.ok_or(Error::NotFound)?, "quote_costing", id)
}

pub(crate) async fn find_work_site(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Option<String>, Error> {
    let found: Option<Option<String>> =
        on!(connection, |c| sqlx::query_scalar(FIND_WORK_SITE).bind(company.0).bind(id.0).fetch_optional(c))?;
    found.ok_or(Error::NotFound)
}

/// A frozen document as its row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRecord {
    /// SHA-256 of the file, 64 lowercase hex digits: its name in the document store.
    pub sha256: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Name under which it is offered.
    pub file_name: String,
    /// When it was frozen.
    pub created_at: Timestamp,
}

pub(crate) async fn insert_document(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
    document: &DocumentRecord,
    particulars: &Particulars,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT_DOCUMENT)
        .bind(company.0)
        .bind(id.0)
        .bind(&document.sha256)
        .bind(i64::try_from(document.size_bytes).unwrap_or(i64::MAX))
        .bind(&document.file_name)
        .bind(document.created_at.as_millis())
        .bind(to_json(particulars)?)
        .execute(c))?;
    Ok(())
}

pub(crate) async fn documents(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Vec<DocumentRecord>, Error> {
    let rows: Vec<(String, i64, String, i64)> =
        on!(connection, |c| sqlx::query_as(LIST_DOCUMENTS).bind(company.0).bind(id.0).fetch_all(c))?;
    let record = |(sha256, size, file_name, at)| DocumentRecord {
        sha256,
        size_bytes: u64::try_from(size).unwrap_or(0),
        file_name,
        created_at: Timestamp::from_millis(at),
    };
    Ok(rows.into_iter().map(record).collect())
}

/// Hash, size in bytes and file name of a document.
pub(crate) type DocumentRow = (String, i64, String);

/// The status of a quote and its last document.
pub(crate) async fn last_document(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<(QuoteStatus, Option<DocumentRow>), Error> {
    type Row = (String, Option<String>, Option<i64>, Option<String>);
    let row: Option<Row> =
        on!(connection, |c| sqlx::query_as(LAST_DOCUMENT).bind(company.0).bind(id.0).fetch_optional(c))?;
    let (status, sha256, size, name) = row.ok_or(Error::NotFound)?;
    let status = status.parse().map_err(|cause| Error::bad_row("quote", "status", id, cause))?;
    Ok((status, sha256.zip(size).zip(name).map(|((sha256, size), name)| (sha256, size, name))))
}

/// What the last document of a quote says besides the quote; `None` in documents that were frozen before it was kept.
pub(crate) async fn last_particulars(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Option<Particulars>, Error> {
    let json: Option<Option<String>> = on!(connection, |c| sqlx::query_scalar(LAST_PARTICULARS)
        .bind(company.0)
        .bind(id.0)
        .fetch_optional(c))?;
    json.flatten().map(|json| from_json(json, "document", id)).transpose()
}

pub(crate) async fn insert_link(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
    token_hash: &[u8; 32],
    at: Timestamp,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT_LINK)
        .bind(company.0)
        .bind(token_hash.as_slice())
        .bind(id.0)
        .bind(at.as_millis())
        .execute(c))?;
    Ok(())
}

/// Whose quote a signing link is for. The token itself is the proof of being allowed to ask.
pub(crate) async fn find_link(
    connection: &mut Connection,
    token_hash: &[u8; 32],
) -> Result<(CompanyId, QuoteId), Error> {
    let row: Option<(Uuid, Uuid)> =
        on!(connection, |c| sqlx::query_as(FIND_LINK).bind(token_hash.as_slice()).fetch_optional(c))?;
    row.map(|(company, quote)| (CompanyId(company), QuoteId(quote))).ok_or(Error::NotFound)
}

/// What stands behind a signature. Internal: no API shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProofRecord {
    /// SHA-256 of the link's token.
    pub token_hash: Vec<u8>,
    /// The signer's address, as the host saw it.
    pub ip: Option<String>,
    /// The signer's browser, as it named itself.
    pub user_agent: Option<String>,
    /// SHA-256 of the document that was signed, 64 lowercase hex digits.
    pub document_sha256: String,
    /// See [`proof_fingerprint`](invoicing_core::proof_fingerprint).
    pub fingerprint: String,
    /// When it was signed.
    pub signed_at: Timestamp,
}

impl std::fmt::Debug for ProofRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProofRecord").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

pub(crate) async fn insert_proof(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
    proof: &ProofRecord,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT_PROOF)
        .bind(company.0)
        .bind(id.0)
        .bind(&proof.token_hash)
        .bind(&proof.ip)
        .bind(&proof.user_agent)
        .bind(&proof.document_sha256)
        .bind(&proof.fingerprint)
        .bind(proof.signed_at.as_millis())
        .execute(c))?;
    Ok(())
}

pub(crate) async fn find_proof(
    connection: &mut Connection,
    company: CompanyId,
    id: QuoteId,
) -> Result<Option<ProofRecord>, Error> {
    type Row = (Vec<u8>, Option<String>, Option<String>, String, String, i64);
    let row: Option<Row> =
        on!(connection, |c| sqlx::query_as(FIND_PROOF).bind(company.0).bind(id.0).fetch_optional(c))?;
    Ok(row.map(|(token_hash, ip, user_agent, document_sha256, fingerprint, at)| ProofRecord {
        token_hash,
        ip,
        user_agent,
        document_sha256,
        fingerprint,
        signed_at: Timestamp::from_millis(at),
    }))
}
