//! Orphans: documents in the store that no record refers to, left by a crash, a failure or a
//! refusal.
//!
//! The rows of unfinished uploads lead to them, so the store is never listed. See
//! [`documents`](crate::store::documents).

use futures_util::stream::{self, StreamExt};
use invoicing_core::CompanyId;
use uuid::Uuid;

use super::{Progress, Sweeper};
use crate::documents::{DocumentKey, DocumentStoreError};
use crate::error::Error;
use crate::log::ErrorChain;
use crate::store::{Tables, UNAUDITED};

/// Longest time from the beginning of a document's upload to the commit of its record: 1 h in
/// milliseconds.
const UPLOAD_LIMIT_MS: i64 = 60 * 60 * 1_000;
/// Documents per batch.
const BATCH: u32 = 32;
/// Deletions at once.
const AT_ONCE: usize = 16;

/// Results of the deletions of a batch.
#[derive(Default)]
struct Deletions {
    deleted: Vec<Uuid>,
    refused: usize,
    /// The first error of a failed deletion: the store may be down.
    failed: Option<DocumentStoreError>,
}

impl Sweeper {
    /// Deletes the orphans of a company. Documents that the store does not delete stay abandoned,
    /// and the next sweep tries them again.
    pub(super) async fn sweep_orphans(
        &self,
        company: CompanyId,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        self.abandon_uploads(company).await?;
        let store = &self.services.store;
        let (mut last, mut failed) = (Uuid::nil(), None);
        loop {
            progress.lock.refresh().await?;
            let batch =
                store.read(company, async move |mut tx| tx.uploads().abandoned(last, BATCH).await).await?;
            let Some(end) = batch.last() else { break };
            last = *end;
            let done = self.delete_documents(company, batch).await;
            // If no deletion of a whole batch is answered, the store is down: each further one
            // would take the full time limit.
            let is_down = done.failed.is_some() && done.deleted.is_empty() && done.refused == 0;
            progress.report.swept_documents += done.deleted.len() as u64;
            failed = failed.or(done.failed);
            self.forget_uploads(company, done.deleted).await?;
            if is_down {
                break;
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn abandon_uploads(&self, company: CompanyId) -> Result<(), Error> {
        self.services
            .store
            .write(company, UNAUDITED, [], async |mut tx| {
                let now = tx.change.now;
                tx.uploads().abandon(now.plus_millis(-UPLOAD_LIMIT_MS), now).await
            })
            .await
    }

    async fn delete_documents(&self, company: CompanyId, uploads: Vec<Uuid>) -> Deletions {
        let documents = &self.services.documents;
        let keys = uploads.into_iter().map(|upload| DocumentKey { company, upload });
        let deletions = keys.map(async |key| (key, documents.bounded_store().delete(key).await));
        let mut ended = stream::iter(deletions).buffer_unordered(AT_ONCE);
        let mut done = Deletions::default();
        while let Some((key, result)) = ended.next().await {
            match result {
                Ok(()) => done.deleted.push(key.upload),
                Err(DocumentStoreError::Refused(cause)) => {
                    tracing::warn!(cause = %ErrorChain(&*cause), %key, "orphan not deleted: the document store refused");
                    done.refused += 1;
                }
                Err(error) => done.failed = done.failed.or(Some(error)),
            }
        }
        done
    }

    async fn forget_uploads(&self, company: CompanyId, uploads: Vec<Uuid>) -> Result<(), Error> {
        if uploads.is_empty() {
            return Ok(());
        }
        self.services
            .store
            .write(company, UNAUDITED, [], async move |mut tx| tx.uploads().delete(uploads).await)
            .await
    }
}

#[cfg(test)]
mod tests;
