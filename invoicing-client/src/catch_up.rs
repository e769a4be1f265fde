//! Catching up: every version of every record, at least once, with a checkpoint.
//!
//! Owns what a pass is. Why no page leaves anything out is argued in [`walk`]; what is remembered, in [`ledger`].
//!
//! Why no pass leaves anything out. A pass reads everything modified since the checkpoint and takes the *first* page's
//! `asOf` as its next one. Whatever is modified after that page was made has a later stamp than that `asOf` (stamps of
//! a company only grow, in the order in which changes become visible), so the next pass sees it. Whatever was modified
//! before and stays as it is, this pass reads.
//!
//! Why a pass may go on where an earlier one could not read. Nothing of this argument says how long it takes from one page
//! to the next: the pages that were read stand, and the first page's `asOf` with them. Only what changed between the two
//! passes is not on them; so once such a reading is over, another begins at its `asOf`.

mod error;
mod ledger;
mod progress;
mod reading;
mod walk;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{MAX_PAGE_LIMIT, Timestamp};
use tracing::{debug, warn};
use uuid::Uuid;

pub use error::CatchUpError;
pub use progress::Progress;

pub(crate) use ledger::Ledger;
pub(crate) use progress::WaitObserver;

use crate::{CheckpointStore, Follow, List, Resource, Version};
use error::ReadError;
use progress::Reporter;
use reading::Reading;

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
/// A pass may be dropped at any time (Ctrl-C, `select!`, a timeout): the checkpoint then has not moved, and the record
/// that was being handled comes again.
///
/// # What an interruption costs
///
/// A pass that fails on a page, or is dropped while it reads, keeps what it has read: the next one of the same `CatchUp`
/// goes on at that page, and then reads what changed meanwhile. One that ends while it delivers reads its pages again,
/// but delivers only what was not acknowledged. A new process begins at the checkpoint: until the end of the first pass
/// it reads everything again, a request per hundred records.
///
/// # Memory and time
///
/// [`pass`](Self::pass) holds all its records, to deliver them oldest first: the first one holds the whole resource.
/// A hundred thousand clients are some 50 MB, quotes with their lines several times as much; where that is too much,
/// make the first pass with [`pass_unordered`](Self::pass_unordered), which holds one page, and some 50 bytes for each
/// version that it has delivered (twice that with an [`overlap`](Self::overlap)). At 30 requests a minute, reading 10,000
/// records takes a little over three minutes before the first is delivered.
///
/// # Servers that are not quite this one
///
/// The guarantees above rest on three things that the contract promises: lists with `since` come last modified first,
/// stamps grow in the order in which changes become visible, and `asOf` is the last of them. A server that speaks the
/// same API but promises less loses records to any reader that trusts it. Two means help:
///
/// | The server | Set | Bears |
/// |---|---|---|
/// | commits changes late, with stamps that have passed; has an `asOf` that is its clock; has several clocks | [`look_back`](Self::look_back) | a change that becomes visible up to so long after its stamp |
/// | orders by modification ascending, not at all, or deletes | [`overlap`](Self::overlap) | so many records moving up between two requests; more are noticed and read again |
/// | orders records with one stamp anew at every request | [`overlap`](Self::overlap) | groups of so many records |
/// | orders by creation | nothing | such a list only grows |
/// | states no `asOf` | nothing | the latest stamp seen takes its place |
///
/// Nothing helps against a change that becomes visible later than the window, one that leaves `updatedAt` as it is, or
/// an order that changes between requests for other reasons than these. Stamps are read to the millisecond, so that two
/// versions of a record within one are taken for one. Records that a server deletes are not noticed.
/// A server that shows another order than the contract's is warned of once, in the log, and by [`Pass::in_order`].
pub struct CatchUp<R: Resource> {
    pub(crate) list: List<R>,
    pub(crate) ledger: Ledger,
    reporter: Reporter,
    overlap: usize,
    has_warned: bool,
    unfinished: Option<Unfinished<R>>,
}

/// A pass that is not over. It stays here while pages are read, so that whatever ends that, another pass can go on.
struct Unfinished<R: Resource> {
    reading: Reading<R>,
    /// What is not delivered yet. A record that changed while it was read came twice: what was read last is what it is
    /// now.
    records: HashMap<Uuid, (Version, R::Item)>,
    /// The reading began in an earlier pass.
    is_resumed: bool,
}

/// What a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// Records that the handler acknowledged. 0: there was nothing new.
    pub delivered: usize,
    /// The checkpoint: where the next pass begins, but for the look-back.
    pub since: Timestamp,
    /// Whether every page came in the contract's order. Where not, [`CatchUp::overlap`] may be needed.
    pub in_order: bool,
}

impl<R: Resource> CatchUp<R> {
    pub(crate) fn new(list: List<R>, store: impl CheckpointStore + 'static) -> Self {
        let list = list.limit(MAX_PAGE_LIMIT);
        let list = if R::HAS_LINES { list.with_lines() } else { list };
        let ledger = Ledger::new(R::NAME, Arc::new(store));
        let reporter = Reporter::default();
        Self { list, ledger, reporter, overlap: 0, has_warned: false, unfinished: None }
    }

    /// Reads from so long before the checkpoint, for servers that commit late. Default: 0, which suits this service.
    ///
    /// What was acknowledged within that time is remembered, also in the checkpoint (some 90 bytes a version in a
    /// file), and is not delivered again. A window that becomes longer brings what it newly reaches once more.
    #[must_use]
    pub fn look_back(mut self, window: Duration) -> Self {
        self.ledger.set_window(window);
        self.unfinished = None;
        self
    }

    /// Lets each page begin so many records before the end of the last one, 0 to 50, for servers whose lists move
    /// towards the reader. Default: 0, which suits this service.
    ///
    /// A page that does not show one of the records before it is not trusted: the pass steps back until it finds its
    /// place, and overlaps more. 10 costs every tenth request; at least 2 is needed to bear any move without a step
    /// back.
    #[must_use]
    pub fn overlap(mut self, records: usize) -> Self {
        self.overlap = records.min(walk::MAX_OVERLAP);
        self.unfinished = None;
        self
    }

    /// Calls this after each page and each delivery, and when a request begins to wait for the quota.
    ///
    /// The counts begin anew with each pass. It is called between the reads and should be quick.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.reporter = Reporter::to(listener);
        self.unfinished = None;
        self.list = self.list.observed(Arc::new(self.reporter.clone()));
        self
    }

    /// Makes passes from time to time, and between them reads what webhooks tell of.
    pub fn follow(self) -> Follow<R> {
        Follow::new(self)
    }

    /// Makes one pass: reads what was modified since the checkpoint, delivers it oldest first, moves the checkpoint.
    ///
    /// `Ok` from the handler acknowledges the record: by then it must be stored. An error stops the pass. The future
    /// may be dropped at any time; the record that was being handled comes again.
    ///
    /// # Errors
    ///
    /// See [`CatchUpError`]. All of them leave the checkpoint where it was; calling `pass` again is right, and goes on at
    /// the page that could not be read.
    pub async fn pass<H, F, E>(&mut self, mut handler: H) -> Result<Pass, CatchUpError<E>>
    where
        // Not `AsyncFnMut`: a pass with one cannot be a task of its own, as nothing can say that its future is `Send`.
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        self.begin().await?;
        while self.read_on().await? {}
        let delivered = self.deliver(&mut handler).await?;
        self.end(delivered).await
    }

    /// Makes one pass that delivers each page as soon as it is read: for a first pass that is too large for memory.
    ///
    /// The same guarantees, the same checkpoint, and versions of one record still come in their order; but records
    /// come oldest first only within a page, and the pages come in the server's order: last modified first. What a
    /// record refers to may come after it.
    ///
    /// # Errors
    ///
    /// See [`CatchUpError`]. What was acknowledged before a failure does not come again within this process.
    pub async fn pass_unordered<H, F, E>(&mut self, mut handler: H) -> Result<Pass, CatchUpError<E>>
    where
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        self.begin().await?;
        let mut delivered = 0;
        while self.read_on().await? {
            delivered += self.deliver(&mut handler).await?;
        }
        self.end(delivered).await
    }

    /// Hands one version over, if it was not before. Whether it was handed over now.
    pub(crate) async fn hand_over<H, F, E>(
        &mut self,
        version: Version,
        record: R::Item,
        handler: &mut H,
    ) -> Result<bool, CatchUpError<E>>
    where
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        if self.ledger.knows(&version) {
            return Ok(false);
        }
        handler(record).await.map_err(|source| CatchUpError::Handler { version, source })?;
        self.ledger.acknowledge(version);
        if let Some(unfinished) = &mut self.unfinished {
            // What a pass has read of it and not delivered must not come after this.
            unfinished.records.retain(|id, (read, _)| *id != version.id || *read > version);
        }
        Ok(true)
    }

    /// Begins a pass, or goes on with the one that could not read on.
    async fn begin<E>(&mut self) -> Result<(), CatchUpError<E>> {
        if self.ledger.resume().await? {
            self.unfinished = None;
        }
        self.reporter.begin();
        if let Some(unfinished) = &mut self.unfinished {
            unfinished.is_resumed = true;
            self.reporter.records(unfinished.records.len());
        } else {
            let list = self.list.clone().since(self.ledger.from());
            let reading = Reading::new(list, self.overlap, self.ledger.newest(), self.reporter.clone());
            self.unfinished = Some(Unfinished { reading, records: HashMap::new(), is_resumed: false });
        }
        Ok(())
    }

    /// Reads one page. `false`: there is none, everything is read.
    async fn read_on<E>(&mut self) -> Result<bool, CatchUpError<E>> {
        let Some(Unfinished { reading, records, is_resumed }) = &mut self.unfinished else {
            return Ok(false);
        };
        let page = match reading.next_page().await {
            Ok(page) => page,
            Err(error) => {
                // Whoever has lost the way begins anew.
                if let ReadError::Unsettled { .. } = error {
                    self.unfinished = None;
                }
                return Err(error.into());
            }
        };
        let Some(page) = page else {
            let since = self.ledger.next(reading.bound());
            // Stamps that went back are the next pass's business.
            let has_more = std::mem::take(is_resumed) && since >= self.ledger.since();
            if has_more {
                reading.begin_again(self.list.clone().since(self.ledger.reads_from(since)), self.overlap);
            }
            return Ok(has_more);
        };
        let before = records.len();
        let unknown = page.into_iter().filter(|(version, _)| !self.ledger.knows(version));
        records.extend(unknown.map(|(version, record)| (version.id, (version, record))));
        self.reporter.records(records.len() - before);
        Ok(true)
    }

    /// Delivers what was read, oldest first. Where that ends early, it is read again.
    async fn deliver<H, F, E>(&mut self, handler: &mut H) -> Result<usize, CatchUpError<E>>
    where
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let Some(mut unfinished) = self.unfinished.take() else { return Ok(0) };
        let mut records: Vec<_> = unfinished.records.drain().map(|(_, record)| record).collect();
        records.sort_unstable_by_key(|(version, _)| *version);
        let mut delivered = 0;
        for (version, record) in records {
            delivered += usize::from(self.hand_over(version, record, handler).await?);
            self.reporter.delivered();
        }
        self.unfinished = Some(unfinished);
        Ok(delivered)
    }

    /// Everything that was read is acknowledged: moves the checkpoint.
    async fn end<E>(&mut self, delivered: usize) -> Result<Pass, CatchUpError<E>> {
        // If nothing was read, nothing moves.
        let (bound, in_order) = self.unfinished.as_ref().map_or((self.ledger.since(), true), |unfinished| {
            (unfinished.reading.bound(), unfinished.reading.in_order())
        });
        let since = self.ledger.next(bound);
        if since < self.ledger.since() {
            warn!(resource = R::NAME, from = %self.ledger.since(), to = %since, "the service's stamps went back");
        }
        if !in_order && !std::mem::replace(&mut self.has_warned, true) {
            warn!(
                resource = R::NAME,
                overlap = self.overlap,
                "the service does not list the last modified first; without an overlap records may be missed"
            );
        }
        self.ledger.advance(since).await?;
        self.unfinished = None;
        debug!(resource = R::NAME, delivered, %since, "pass complete");
        Ok(Pass { delivered, since, in_order })
    }
}

impl<R: Resource> fmt::Debug for CatchUp<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatchUp")
            .field("resource", &R::NAME)
            .field("ledger", &self.ledger)
            .field("overlap", &self.overlap)
            .finish_non_exhaustive()
    }
}
