//! Signing links, and the evidence of signatures.

use invoicing_core::{CompanyId, QuoteId, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::{Connection, Sql, Write};
use super::enqueue::{AFTER_RECORDS, BEFORE_LINKS};
use super::scope::Scope;
use crate::error::Error;
use crate::records::{ProofRecord, SigningLinkRecord};

#[derive(FromRow)]
struct ProofRow {
    token_hash: Vec<u8>,
    ip: Option<String>,
    user_agent: Option<String>,
    document_sha256: String,
    fingerprint: String,
    signed_at: i64,
}

#[derive(FromRow)]
struct LinkRecordRow {
    token_hash: Vec<u8>,
    created_at: i64,
    ends_at: i64,
    revoked_at: Option<i64>,
}

/// The signing links and signatures of a company's quotes.
pub(crate) struct SignatureTable<'c>(pub(super) Scope<'c>);

impl SignatureTable<'_> {
    /// Adds a signing link, stored by the hash of its token.
    pub(crate) async fn insert_link(
        &mut self,
        quote: QuoteId,
        token_hash: &[u8; 32],
        at: Timestamp,
        ends_at: Timestamp,
    ) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO signing_link (company_id, token_hash, quote_id, created_at, ends_at)
            VALUES ($1, $2, $3, $4, $5)";
        self.0.query(INSERT, &[token_hash, &quote, &at, &ends_at]).execute().await?;
        Ok(())
    }

    /// The number of signing links of a quote that have neither ended nor been revoked.
    pub(crate) async fn count_good_links(&mut self, quote: QuoteId, now: Timestamp) -> Result<i64, Error> {
        const COUNT_GOOD: &str = "
            SELECT count(*) FROM signing_link
            WHERE company_id = $1 AND quote_id = $2 AND revoked_at IS NULL AND ends_at > $3";
        Ok(self.0.query(COUNT_GOOD, &[&quote, &now]).scalar().await?)
    }

    /// The signing links of a quote, oldest first.
    pub(crate) async fn links(&mut self, quote: QuoteId) -> Result<Vec<SigningLinkRecord>, Error> {
        const LINKS: &str = "
            SELECT token_hash, created_at, ends_at, revoked_at FROM signing_link
            WHERE company_id = $1 AND quote_id = $2 ORDER BY created_at, token_hash";
        let rows: Vec<LinkRecordRow> = self.0.query(LINKS, &[&quote]).fetch_all().await?;
        let record = |row: LinkRecordRow| SigningLinkRecord {
            token_hash: row.token_hash,
            created_at: Timestamp::from_millis(row.created_at),
            ends_at: Timestamp::from_millis(row.ends_at),
            revoked_at: row.revoked_at.map(Timestamp::from_millis),
        };
        Ok(rows.into_iter().map(record).collect())
    }

    /// Changes the end of those links of a quote that have not ended.
    pub(crate) async fn set_links_end(
        &mut self,
        quote: QuoteId,
        ends_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), Error> {
        static SET_END: Write = Write {
            table: "signing_link",
            sqlite: "
                UPDATE signing_link SET ends_at = $3
                WHERE company_id = $1 AND quote_id = $2 AND ends_at > $4",
            postgres: AFTER_RECORDS,
            first: BEFORE_LINKS,
            refuses_newer_format: false,
        };
        self.0.write(&SET_END, &[&quote, &ends_at, &now]).await
    }

    /// Revokes a link for good. Returns true if it was revoked by this call: revoking it again
    /// changes nothing.
    pub(crate) async fn revoke_link(
        &mut self,
        quote: QuoteId,
        token_hash: &[u8; 32],
        at: Timestamp,
    ) -> Result<bool, Error> {
        const REVOKE: &str = "
            UPDATE signing_link SET revoked_at = $4
            WHERE company_id = $1 AND quote_id = $2 AND token_hash = $3 AND revoked_at IS NULL";
        const EXISTS: &str = "
            SELECT CAST(1 AS BIGINT) FROM signing_link
            WHERE company_id = $1 AND quote_id = $2 AND token_hash = $3";
        let revoked = self.0.query(REVOKE, &[&quote, token_hash, &at]).execute().await? > 0;
        let found: Option<i64> = self.0.query(EXISTS, &[&quote, token_hash]).optional_scalar().await?;
        found.map(|_| revoked).ok_or(Error::NotFound)
    }

    /// Revokes links that can still be used, at most `limit`. Returns the quote of each.
    pub(crate) async fn revoke_good_links(
        &mut self,
        at: Timestamp,
        limit: u32,
    ) -> Result<Vec<QuoteId>, Error> {
        const REVOKE_GOOD: &str = "
            UPDATE signing_link SET revoked_at = $2
            WHERE company_id = $1 AND token_hash IN (
                SELECT token_hash FROM signing_link
                WHERE company_id = $1 AND revoked_at IS NULL AND ends_at > $2
                ORDER BY quote_id, token_hash LIMIT $3
            )
            RETURNING quote_id";
        let quotes: Vec<Uuid> = self.0.query(REVOKE_GOOD, &[&at, &limit]).all_scalars().await?;
        Ok(quotes.into_iter().map(QuoteId).collect())
    }

    /// True if a link of a quote exists and is not revoked.
    pub(crate) async fn is_unrevoked(
        &mut self,
        quote: QuoteId,
        token_hash: &[u8; 32],
    ) -> Result<bool, Error> {
        const FIND: &str = "
            SELECT CAST(1 AS BIGINT) FROM signing_link
            WHERE company_id = $1 AND quote_id = $2 AND token_hash = $3 AND revoked_at IS NULL";
        let found: Option<i64> = self.0.query(FIND, &[&quote, token_hash]).optional_scalar().await?;
        Ok(found.is_some())
    }

    pub(crate) async fn insert_proof(&mut self, quote: QuoteId, proof: &ProofRecord) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO proof
                (company_id, quote_id, token_hash, ip, user_agent, document_sha256, fingerprint, signed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let ProofRecord { token_hash, ip, user_agent, document_sha256, proof_fingerprint, signed_at } = proof;
        self.0
            .query(
                INSERT,
                &[&quote, token_hash, ip, user_agent, document_sha256, proof_fingerprint, signed_at],
            )
            .execute()
            .await?;
        Ok(())
    }

    pub(crate) async fn find_proof(&mut self, quote: QuoteId) -> Result<Option<ProofRecord>, Error> {
        const FIND: &str = "
            SELECT token_hash, ip, user_agent, document_sha256, fingerprint, signed_at FROM proof
            WHERE company_id = $1 AND quote_id = $2";
        let row: Option<ProofRow> = self.0.query(FIND, &[&quote]).fetch_optional().await?;
        Ok(row.map(|row| ProofRecord {
            token_hash: row.token_hash,
            ip: row.ip,
            user_agent: row.user_agent,
            document_sha256: row.document_sha256,
            proof_fingerprint: row.fingerprint,
            signed_at: Timestamp::from_millis(row.signed_at),
        }))
    }
}

/// A signing link that is not revoked.
#[derive(Clone, FromRow)]
pub(crate) struct GoodLinkRow {
    token_hash: Vec<u8>,
    company_id: Uuid,
    quote_id: Uuid,
    ends_at: i64,
}

impl GoodLinkRow {
    /// The SHA-256 of the token.
    pub(crate) fn hash(&self) -> &[u8] {
        &self.token_hash
    }

    /// The company and the quote of a link that has not ended at an instant.
    pub(crate) fn leads_to(&self, at: Timestamp) -> Result<(CompanyId, QuoteId), Error> {
        if self.ends_at <= at.as_millis() {
            return Err(Error::NotFound);
        }
        Ok((CompanyId(self.company_id), QuoteId(self.quote_id)))
    }
}

/// The signing links of all companies.
pub(crate) struct AllSigningLinks<'c>(pub(super) &'c mut Connection);

impl AllSigningLinks<'_> {
    /// Looks up links that are not revoked, in any order. The token of a link is the proof that its
    /// holder may see its quote.
    pub(crate) async fn find_by_hashes(&mut self, hashes: &[[u8; 32]]) -> Result<Vec<GoodLinkRow>, Error> {
        const FIND: Sql = Sql {
            sqlite: "
                SELECT l.token_hash, l.company_id, l.quote_id, l.ends_at
                FROM json_each($1) h
                CROSS JOIN signing_link l ON l.token_hash = unhex(h.value)
                WHERE l.revoked_at IS NULL",
            postgres: "
                SELECT token_hash, company_id, quote_id, ends_at FROM signing_link
                WHERE token_hash = ANY($1) AND revoked_at IS NULL",
        };
        Ok(self.0.query(FIND, &[&hashes]).fetch_all().await?)
    }
}
