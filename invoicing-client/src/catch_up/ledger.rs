//! What has been acknowledged, and from where a pass reads. Reads no list and calls no handler.
//!
//! `since` divides time. What was modified before `since` less the window has been acknowledged and is never looked
//! at again; from there on, each acknowledged version is remembered by itself. So the memory holds what changed within
//! the window and since the checkpoint, and no more.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::Timestamp;

use crate::{Checkpoint, CheckpointError, CheckpointStore, Version};

pub(crate) struct Ledger {
    resource: &'static str,
    store: Arc<dyn CheckpointStore>,
    /// How far before the checkpoint a pass reads, in milliseconds.
    window: i64,
    since: Timestamp,
    /// Versions within the window or later whose handler returned `Ok`.
    acknowledged: HashSet<Version>,
    /// What the store is known to hold.
    kept: Option<Checkpoint>,
}

impl Ledger {
    pub(crate) fn new(resource: &'static str, store: Arc<dyn CheckpointStore>) -> Self {
        let start = Checkpoint::start().since;
        Self { resource, store, window: 0, since: start, acknowledged: HashSet::new(), kept: None }
    }

    pub(crate) fn set_window(&mut self, window: Duration) {
        self.window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
    }

    /// Where the checkpoint is.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// From where a pass reads.
    pub(crate) fn from(&self) -> Timestamp {
        self.reads_from(self.since)
    }

    /// From where it would read if the checkpoint were here.
    pub(crate) fn reads_from(&self, since: Timestamp) -> Timestamp {
        before(since, self.window)
    }

    /// Whether this version needs no delivery.
    pub(crate) fn knows(&self, version: &Version) -> bool {
        version.updated_at < self.from() || self.acknowledged.contains(version)
    }

    pub(crate) fn acknowledge(&mut self, version: Version) {
        self.acknowledged.insert(version);
    }

    /// The latest stamp that was ever seen. Whatever is committed from now on is later, or late by the window.
    pub(crate) fn newest(&self) -> Timestamp {
        self.acknowledged.iter().map(|version| version.updated_at).fold(self.since, Timestamp::max)
    }

    /// The next checkpoint, where a pass says that everything up to `bound` was read.
    ///
    /// A bound before the present checkpoint, but within the window, is another clock: the window covers it. One that
    /// is earlier still means that the service went back, and is followed.
    pub(crate) fn next(&self, bound: Timestamp) -> Timestamp {
        if bound >= self.from() { bound.max(self.since) } else { bound }
    }

    /// Finds out where the store stands. Whether that is elsewhere than this process left it.
    pub(crate) async fn resume(&mut self) -> Result<bool, CheckpointError> {
        let mut stored = self.store.load(self.resource).await?.unwrap_or_else(Checkpoint::start);
        // A store may keep them as rows, in no order.
        stored.delivered.sort_unstable();
        // Otherwise what was acknowledged since is still known. A checkpoint that somebody moved is taken as it stands,
        // as it may be meant to bring everything again; one whose saving failed only seemingly holds all there is.
        let is_elsewhere = self.kept.as_ref() != Some(&stored);
        if is_elsewhere {
            self.acknowledged = stored.delivered.iter().copied().collect();
            self.adopt(stored);
        }
        Ok(is_elsewhere)
    }

    /// Everything up to here was acknowledged: keeps the new checkpoint, then forgets what lies before its window.
    pub(crate) async fn advance(&mut self, since: Timestamp) -> Result<(), CheckpointError> {
        let from = self.reads_from(since);
        let mut delivered: Vec<_> =
            self.acknowledged.iter().copied().filter(|version| version.updated_at >= from).collect();
        delivered.sort_unstable();
        let checkpoint = Checkpoint { since, delivered };
        if self.kept.as_ref() != Some(&checkpoint) {
            self.store.save(self.resource, &checkpoint).await?;
            self.adopt(checkpoint);
            self.acknowledged.retain(|version| version.updated_at >= from);
        }
        Ok(())
    }

    fn adopt(&mut self, checkpoint: Checkpoint) {
        self.since = checkpoint.since;
        self.kept = Some(checkpoint);
    }
}

/// An instant less the window, but not before the first one that a checkpoint can name.
fn before(since: Timestamp, window: i64) -> Timestamp {
    let start = Checkpoint::start().since.min(since);
    since.plus_millis(window.saturating_neg()).max(start)
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("since", &self.since)
            .field("window_ms", &self.window)
            .field("acknowledged", &self.acknowledged.len())
            .finish_non_exhaustive()
    }
}
