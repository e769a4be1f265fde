//! Documents that lie in the store and that no record came to refer to: after a crash, a failure, or a refusal.
//!
//! What may be one is known from the uploads that were written down before the bytes were put, so the store is never
//! listed. One transaction claims them, from which on nothing can begin to refer to them; then they are deleted, with no
//! transaction open; then another one forgets the uploads. A sweep that ends in between is taken up by a later one, but
//! not before it is sure that nothing of it is still under way.

use futures_util::stream::{self, StreamExt};
use invoicing_core::{CompanyId, Timestamp};

use crate::Error;
use crate::documents::{ContentHash, DocumentKey, StoreError};
use crate::invoicing::Inner;
use crate::store::uploads;

/// How long a document may be on its way from its upload to its record: 1 h in milliseconds.
const UPLOAD_LIMIT_MS: i64 = 60 * 60 * 1_000;
/// How long nobody else takes what a sweep has claimed: 1 min in milliseconds.
const CLAIM_MS: i64 = 60 * 1_000;
/// How long after its claim a sweep may still begin to delete. A deletion is given up within 5 s, so that everything
/// has ended well before the claim does.
const BEGIN_WITHIN_MS: i64 = 30 * 1_000;
/// Objects per claim: even where each takes its 5 s, they are begun in time.
const BATCH: u32 = 16;
/// Deletions at once.
const AT_ONCE: usize = 8;

/// What one claim has taken.
#[derive(Debug)]
struct Claimed {
    company: CompanyId,
    at: Timestamp,
    hashes: Vec<ContentHash>,
}

/// What became of it in the store.
#[derive(Debug, Default)]
struct Outcome {
    deleted: Vec<ContentHash>,
    /// Nothing has happened to these, and nothing will.
    refused: Vec<ContentHash>,
    failed: Option<StoreError>,
}

impl Inner {
    /// Deletes the orphans of a company; how many it deleted.
    pub(super) async fn sweep_orphans(&self, company: CompanyId) -> Result<u64, Error> {
        let mut deleted = 0;
        loop {
            let claimed = self.claim_orphans(company).await?;
            if claimed.hashes.is_empty() {
                return Ok(deleted);
            }
            let outcome = self.delete_orphans(&claimed).await;
            deleted += outcome.deleted.len() as u64;
            let refused = !outcome.refused.is_empty();
            let failed = self.end_claim(&claimed, outcome).await?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            if refused {
                // The next claim would be the same.
                return Ok(deleted);
            }
        }
    }

    async fn claim_orphans(&self, company: CompanyId) -> Result<Claimed, Error> {
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.lock(company).await?;
                    let at = tx.env().now();
                    let claim = uploads::Claim {
                        now: at,
                        before: at.plus_millis(-UPLOAD_LIMIT_MS),
                        abandoned: at.plus_millis(-CLAIM_MS),
                        limit: BATCH,
                    };
                    let hashes = uploads::claim(tx.connection(), company, claim).await?;
                    Ok(Claimed { company, at, hashes })
                })
            })
            .await
    }

    async fn delete_orphans(&self, claimed: &Claimed) -> Outcome {
        let until = claimed.at.plus_millis(BEGIN_WITHIN_MS);
        let deletions = claimed.hashes.iter().copied().map(|sha256| async move {
            let key = DocumentKey { company: claimed.company, sha256 };
            // Whoever was held up for long may have lost the claim.
            let now = self.env.now();
            let done = if now >= claimed.at && now < until {
                self.documents.delete(key).await
            } else {
                Err(StoreError::TimedOut)
            };
            (sha256, done)
        });
        let mut done = stream::iter(deletions).buffer_unordered(AT_ONCE);
        let mut outcome = Outcome::default();
        while let Some((sha256, done)) = done.next().await {
            match done {
                Ok(()) => outcome.deleted.push(sha256),
                Err(StoreError::Refused(cause)) => {
                    tracing::warn!(%cause, company = %claimed.company, %sha256, "the document store refuses to delete an orphan");
                    outcome.refused.push(sha256);
                }
                Err(error) => outcome.failed = Some(error),
            }
        }
        outcome
    }

    /// Forgets what was deleted and gives back what the store refuses to delete. What failed stays claimed: whether it
    /// is going to be deleted all the same is not known until the claim runs out. The failure.
    async fn end_claim(&self, claimed: &Claimed, outcome: Outcome) -> Result<Option<StoreError>, Error> {
        let (company, at) = (claimed.company, claimed.at);
        let Outcome { deleted, refused, failed } = outcome;
        if !(deleted.is_empty() && refused.is_empty()) {
            let end = self.store.write(move |tx| {
                Box::pin(async move {
                    tx.lock(company).await?;
                    uploads::finish(tx.connection(), company, at, &deleted).await?;
                    uploads::release(tx.connection(), company, at, &refused).await
                })
            });
            end.await?;
        }
        Ok(failed)
    }
}

#[cfg(test)]
mod tests;
