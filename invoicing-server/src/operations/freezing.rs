//! Changes that freeze a document.
//!
//! The document is rendered and stored before the transaction that refers to it, from a preview of
//! the changed record. The transaction checks that the records are still as they were read;
//! otherwise all begins again.

use std::sync::Arc;

use invoicing_core::ConflictReason;

use super::CompanyHandle;
use super::frozen_files::file_row;
use crate::documents::{BoundedStore, DocumentContent, Frozen};
use crate::error::Error;
use crate::store::{CompanyTx, Prefetch, Tables};

/// Number of times that a change is attempted if the record changes while its document is being
/// rendered.
pub(super) const ATTEMPTS: usize = 8;

/// Number of times that an issue is attempted. Of two other nodes that issue for the same company
/// without a pause, each takes the number in one of three cases.
pub(super) const ISSUE_ATTEMPTS: usize = 64;

/// A change that freezes a document, in four steps.
pub(super) trait FreezingPlan: Clone + Send + Sync + 'static {
    /// The records that the change depends on, and those that its document shows.
    type Read: Send + Sync + 'static;
    /// The answer of the committed change.
    type Done: Send + 'static;

    /// Reads the records. [`Self::still_current`] compares them, so a snapshot is needed only if a
    /// refusal of the preview depends on several of them.
    fn read(&self, company: &CompanyHandle) -> impl Future<Output = Result<Self::Read, Error>> + Send;

    /// The content of the document, of the record as the change would leave it; `None` if the
    /// change freezes none. `store` is the document store for this attempt.
    fn preview(
        &self,
        read: &Self::Read,
        store: &mut BoundedStore<'_>,
    ) -> impl Future<Output = Result<Option<DocumentContent>, Error>> + Send;

    /// The records that the transaction reads first.
    fn prefetched(&self, _: &Self::Read) -> Vec<Prefetch> {
        Vec::new()
    }

    /// True if the records are still as they were read, as far as the change and the document
    /// depend on them. The transaction has changed nothing yet.
    fn still_current(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &Self::Read,
        frozen: Option<&Frozen>,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Carries out the change.
    fn commit(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &Self::Read,
        frozen: Option<&Frozen>,
    ) -> impl Future<Output = Result<Self::Done, Error>> + Send;
}

impl CompanyHandle {
    /// Attempts a change until it is committed. `None` if the records kept changing for this number
    /// of attempts.
    pub(super) async fn freeze<P: FreezingPlan>(
        &self,
        plan: &P,
        attempts: usize,
    ) -> Result<Option<P::Done>, Error> {
        for _ in 0..attempts {
            if let Some(done) = self.try_freeze(plan).await? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// Attempts a change. `None` if the records have changed since they were read, or the upload of
    /// the document is abandoned.
    pub(super) async fn try_freeze<P: FreezingPlan>(&self, plan: &P) -> Result<Option<P::Done>, Error> {
        let read = plan.read(self).await?;
        self.freeze_from(plan, read).await
    }

    /// As [`Self::try_freeze`], from records that were read before.
    pub(super) async fn freeze_from<P: FreezingPlan>(
        &self,
        plan: &P,
        read: P::Read,
    ) -> Result<Option<P::Done>, Error> {
        let mut store = self.services.documents.bounded_store();
        let frozen = match plan.preview(&read, &mut store).await? {
            // A record of a kind without a renderer has no document.
            Some(content) if self.services.documents.renders(content.kind()) => {
                Some(self.services.freeze_document(content, &mut store).await?)
            }
            _ => None,
        };
        let (plan, read, frozen) = (plan.clone(), Arc::new(read), Arc::new(frozen));
        self.write(plan.prefetched(&read), async move |mut tx| {
            let frozen = frozen.as_ref().as_ref();
            // A transaction that answers `None` is committed, so the checks come before the first
            // change.
            if !plan.still_current(&mut tx, &read, frozen).await? || !finish_upload(&mut tx, frozen).await? {
                return Ok(None);
            }
            plan.commit(&mut tx, &read, frozen).await.map(Some)
        })
        .await
    }
}

/// The error of a change that began again too often.
pub(super) fn keeps_changing() -> Error {
    ConflictReason::KeepsChanging.into()
}

/// Finishes the upload of a document, if there is one, and refers to its file. Returns false if the
/// upload is abandoned: then nothing is written.
async fn finish_upload(tx: &mut CompanyTx<'_>, frozen: Option<&Frozen>) -> Result<bool, Error> {
    let Some(frozen) = frozen else { return Ok(true) };
    if !tx.uploads().finish(frozen.document.key.upload).await? {
        return Ok(false);
    }
    let now = tx.change.now;
    tx.frozen_files().insert(frozen.record, &file_row(frozen), now, &frozen.facts).await?;
    Ok(true)
}
