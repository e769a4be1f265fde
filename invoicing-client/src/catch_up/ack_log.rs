//! [`AckLog`]: the acknowledged versions, and the instant from which a pass reads.
//!
//! Every version before `since` less the window is acknowledged and is not read again. From that instant on, each
//! acknowledged version is remembered individually. The memory therefore holds only what changed within the window and
//! since the checkpoint.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::Timestamp;

use crate::{Checkpoint, CheckpointError, CheckpointStore, RecordVersion};

pub(crate) struct AckLog {
    resource: &'static str,
    store: Arc<dyn CheckpointStore>,
    /// The look-back in milliseconds.
    window: i64,
    since: Timestamp,
    /// Versions within the window or later whose handler returned `Ok`.
    acknowledged: HashSet<RecordVersion>,
    /// The checkpoint in the store, as far as known.
    saved: Option<Checkpoint>,
}

impl AckLog {
    pub(crate) fn new(resource: &'static str, store: Arc<dyn CheckpointStore>) -> Self {
        let start = Checkpoint::start().since;
        Self { resource, store, window: 0, since: start, acknowledged: HashSet::new(), saved: None }
    }

    pub(crate) fn set_window(&mut self, window: Duration) {
        self.window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
    }

    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// The instant from which a pass reads.
    pub(crate) fn read_from(&self) -> Timestamp {
        self.read_from_at(self.since)
    }

    /// The instant from which a pass would read with this checkpoint.
    pub(crate) fn read_from_at(&self, since: Timestamp) -> Timestamp {
        before(since, self.window)
    }

    /// True if this version is acknowledged.
    pub(crate) fn contains(&self, version: &RecordVersion) -> bool {
        version.updated_at < self.read_from() || self.acknowledged.contains(version)
    }

    pub(crate) fn acknowledge(&mut self, version: RecordVersion) {
        self.acknowledged.insert(version);
    }

    /// The latest known stamp. A change committed from now on has a later one, or is late by at most the window.
    pub(crate) fn latest_stamp(&self) -> Timestamp {
        self.acknowledged.iter().map(|version| version.updated_at).fold(self.since, Timestamp::max)
    }

    /// The next checkpoint after a pass that read everything up to `bound`.
    ///
    /// A bound before the current checkpoint but within the window comes from another clock and is covered by the
    /// window. An earlier bound means that the service was restored from a backup; the checkpoint moves back to it.
    pub(crate) fn next_since(&self, bound: Timestamp) -> Timestamp {
        if bound >= self.read_from() { bound.max(self.since) } else { bound }
    }

    /// Loads the checkpoint. Returns whether it differs from the one that this process saved.
    pub(crate) async fn reload(&mut self) -> Result<bool, CheckpointError> {
        let mut stored = self.store.lock_and_load(self.resource).await?.unwrap_or_else(Checkpoint::start);
        // A store may return them in any order, such as that of database rows.
        stored.delivered.sort_unstable();
        // An unchanged checkpoint keeps the acknowledgements since. A changed one replaces them: it may have been moved
        // to repeat deliveries, or its save may have failed after it was stored.
        let has_moved = self.saved.as_ref() != Some(&stored);
        if has_moved {
            self.acknowledged = stored.delivered.iter().copied().collect();
            self.set(stored);
        }
        Ok(has_moved)
    }

    /// Saves the new checkpoint, then forgets the versions before its window.
    pub(crate) async fn advance(&mut self, since: Timestamp) -> Result<(), CheckpointError> {
        let from = self.read_from_at(since);
        let mut delivered: Vec<_> =
            self.acknowledged.iter().copied().filter(|version| version.updated_at >= from).collect();
        delivered.sort_unstable();
        let checkpoint = Checkpoint { since, delivered };
        if self.saved.as_ref() != Some(&checkpoint) {
            self.store.save(self.resource, &checkpoint).await?;
            self.set(checkpoint);
            self.acknowledged.retain(|version| version.updated_at >= from);
        }
        Ok(())
    }

    fn set(&mut self, checkpoint: Checkpoint) {
        self.since = checkpoint.since;
        self.saved = Some(checkpoint);
    }
}

/// An instant less the window, but not before the start of all checkpoints.
fn before(since: Timestamp, window: i64) -> Timestamp {
    let start = Checkpoint::start().since.min(since);
    since.plus_millis(window.saturating_neg()).max(start)
}

impl fmt::Debug for AckLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AckLog")
            .field("since", &self.since)
            .field("window_ms", &self.window)
            .field("acknowledged", &self.acknowledged.len())
            .finish_non_exhaustive()
    }
}
