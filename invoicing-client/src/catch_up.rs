//! Catching up: every version of every record, at least once, with a checkpoint.
//!
//! Why nothing is missed. A pass reads everything modified since the checkpoint, last modified first, and takes the
//! *first* page's `asOf` as its next checkpoint. Whatever is modified after that page was made has a later stamp than
//! that `asOf` (stamps of a company only grow, in the order in which changes become visible), so the next pass sees
//! it. Whatever was modified before and stays as it is only moves towards the end of the list while others are
//! modified, that is towards pages not yet read: it may come twice, it cannot be jumped over.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use futures_util::TryStreamExt;
use invoicing_core::{MAX_LIMIT, Timestamp};
use tracing::{debug, warn};

use crate::{Checkpoint, CheckpointError, CheckpointStore, Error, List, Resource, Version};

/// Keeps a copy of a resource in step with the service, pass by pass.
///
/// What it guarantees:
///
/// 1. Each version of a record that was committed before a pass starts is delivered by that pass, or superseded by one
///    that it or a later pass delivers.
/// 2. At least once. Within a process no version is delivered twice once its handler has returned `Ok`; after a
///    restart, versions that were acknowledged after the last checkpoint come again.
/// 3. The checkpoint moves only at the end of a pass, after every handler has returned `Ok`.
/// 4. It never filters by status, and reads pages of 100, with lines where the resource has any.
///
/// A pass holds all its records in memory and delivers them oldest first: the first one holds the whole resource.
/// At 30 requests a minute, reading 10,000 records takes a little over three minutes before the first is delivered.
pub struct CatchUp<R: Resource> {
    list: List<R>,
    store: Arc<dyn CheckpointStore>,
    /// The checkpoint that `delivered` goes with.
    checkpoint: Option<Checkpoint>,
    /// Versions at or after the checkpoint whose handler returned `Ok`.
    delivered: HashSet<Version>,
}

/// What a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Records that the handler acknowledged. 0: there was nothing new.
    pub delivered: usize,
    /// Where the next pass begins.
    pub since: Timestamp,
}

/// A pass ended early. The checkpoint has not moved: the next pass begins where this one did.
#[derive(Debug, thiserror::Error)]
pub enum CatchUpError<E = Infallible> {
    /// A page could not be read. Nothing was delivered.
    #[error("a page cannot be read")]
    Read(#[source] Error),
    /// The handler refused a record. Those before it were acknowledged; it and those after it come again.
    #[error("the handler failed on {}", version.id)]
    Handler {
        /// The record that it failed on.
        version: Version,
        /// What the handler says.
        source: E,
    },
    /// The checkpoint could not be read or kept.
    #[error("the checkpoint failed")]
    Checkpoint(#[source] CheckpointError),
}

impl<R: Resource> CatchUp<R> {
    pub(crate) fn new(list: List<R>, store: impl CheckpointStore + 'static) -> Self {
        let list = list.limit(MAX_LIMIT);
        let list = if R::HAS_LINES { list.with_lines() } else { list };
        Self { list, store: Arc::new(store), checkpoint: None, delivered: HashSet::new() }
    }

    /// Makes one pass: reads what was modified since the checkpoint, delivers it oldest first, moves the checkpoint.
    ///
    /// `Ok` from the handler acknowledges the record: by then it must be stored. An error stops the pass. The future
    /// may be dropped at any time; the record that was being handled comes again.
    ///
    /// # Errors
    ///
    /// See [`CatchUpError`]. All of them leave the checkpoint where it was; calling `pass` again is right.
    pub async fn pass<H, F, E>(&mut self, mut handler: H) -> Result<Pass, CatchUpError<E>>
    where
        // Not `AsyncFnMut`: a pass with one cannot be a task of its own, as nothing can say that its future is `Send`.
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let since = self.resume().await.map_err(CatchUpError::Checkpoint)?;
        let (records, as_of) = self.read(since).await.map_err(CatchUpError::Read)?;
        if as_of < since {
            warn!(resource = R::NAME, %since, %as_of, "the service's stamps went back; reading from there");
        }
        let mut delivered = 0;
        for (version, record) in records {
            if self.delivered.contains(&version) {
                continue;
            }
            handler(record).await.map_err(|source| CatchUpError::Handler { version, source })?;
            self.delivered.insert(version);
            delivered += 1;
        }
        self.advance(as_of).await.map_err(CatchUpError::Checkpoint)?;
        debug!(resource = R::NAME, delivered, since = %as_of, "pass complete");
        Ok(Pass { delivered, since: as_of })
    }

    /// Finds out where to begin.
    async fn resume(&mut self) -> Result<Timestamp, CheckpointError> {
        let stored = self.store.load(R::NAME).await?.unwrap_or_else(Checkpoint::start);
        let since = stored.since;
        // Otherwise what was acknowledged since is still known. A checkpoint that somebody moved is taken as it stands.
        if self.checkpoint.as_ref() != Some(&stored) {
            self.adopt(stored);
        }
        Ok(since)
    }

    /// Reads all pages: what was not acknowledged yet, oldest first, and the `asOf` of the first page.
    async fn read(&self, since: Timestamp) -> Result<(Vec<(Version, R::Item)>, Timestamp), Error> {
        let mut pages = self.list.clone().since(since).pages();
        let mut records = Vec::new();
        let mut seen = HashSet::new();
        let mut as_of = None;
        while let Some(page) = pages.try_next().await? {
            as_of.get_or_insert(page.as_of);
            for record in page.data {
                let version = R::version(&record);
                if !self.delivered.contains(&version) && seen.insert(version) {
                    records.push((version, record));
                }
            }
        }
        records.sort_unstable_by_key(|(version, _)| *version);
        Ok((records, as_of.unwrap_or(since)))
    }

    /// Everything was acknowledged: keeps the new checkpoint, then forgets what lies before it.
    async fn advance(&mut self, since: Timestamp) -> Result<(), CheckpointError> {
        let mut delivered: Vec<_> =
            self.delivered.iter().copied().filter(|version| version.updated_at >= since).collect();
        delivered.sort_unstable();
        let checkpoint = Checkpoint { since, delivered };
        if self.checkpoint.as_ref() != Some(&checkpoint) {
            self.store.save(R::NAME, &checkpoint).await?;
            self.adopt(checkpoint);
        }
        Ok(())
    }

    fn adopt(&mut self, checkpoint: Checkpoint) {
        self.delivered = checkpoint.delivered.iter().copied().collect();
        self.checkpoint = Some(checkpoint);
    }
}

impl<R: Resource> fmt::Debug for CatchUp<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatchUp")
            .field("resource", &R::NAME)
            .field("checkpoint", &self.checkpoint)
            .finish_non_exhaustive()
    }
}
