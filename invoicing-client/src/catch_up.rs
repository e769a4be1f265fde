//! [`CatchUp`]: delivers every version of every record at least once, from a checkpoint.
//!
//! This module defines a pass. [`page_cursor`] explains why no page skips a record, [`ack_log`] what is remembered.
//!
//! # Why no pass misses a record
//!
//! A pass reads everything modified since the checkpoint. The next checkpoint is the `asOf` of its *first* page. The
//! stamps of a company grow in the order in which changes become visible. A change committed after that page was
//! produced therefore has a later stamp than that `asOf`, and the next pass reads it. This pass reads every earlier
//! change to a record that does not change again.
//!
//! # Why a pass can continue after a failed read
//!
//! The argument sets no limit to the time between two pages. The pages that were read, and the first page's `asOf`,
//! remain valid. Only changes between the two passes are missing. So after the last page, another read begins at that
//! `asOf`.

mod ack_log;
mod error;
mod page_cursor;
mod page_reader;
mod progress;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::{MAX_PAGE_LIMIT, Timestamp};
use tracing::{debug, warn};
use uuid::Uuid;

pub use error::CatchUpError;
pub use progress::Progress;

pub(crate) use ack_log::AckLog;

use crate::{CheckpointStore, List, RecordVersion, Resource};
use error::ReadError;
use page_reader::PageReader;
use progress::ProgressReporter;

/// Keeps a copy of a resource up to date, pass by pass.
///
/// Guarantees:
///
/// 1. A pass delivers each version that was committed before the pass started, unless a later version replaced it. That
///    version is delivered by the same pass or by a later one.
/// 2. Delivery is at least once. Within a process, no version is delivered again after its handler has returned `Ok`.
///    After a restart, versions acknowledged since the last checkpoint are delivered again.
/// 3. The checkpoint moves only at the end of a pass, after every handler has returned `Ok`.
/// 4. The requests never filter by status. They read pages of 100, with lines if the resource has lines. A page that is
///    larger than 16 MiB is read as several smaller ones.
///
/// The future of a pass can be dropped at any time, for example by Ctrl-C, `select!` or a timeout. The checkpoint has not
/// moved then, and the record in the handler is delivered again.
///
/// # Cost of an interruption
///
/// A pass that fails on a page, or is dropped during a read, keeps the pages it has read. The next pass of the same
/// `CatchUp` continues at that page and then reads what has changed since. A pass that ends during delivery reads its
/// pages again, but delivers only what was not acknowledged. A new process begins at the checkpoint: if the first pass
/// never completed, it reads everything again, with one request per hundred records.
///
/// # Memory and time
///
/// [`pass`](Self::pass) holds all its records in memory to deliver them oldest first; the first pass holds the whole
/// resource. A hundred thousand clients take about 50 MB, quotes with their lines several times as much. If that is too
/// much, use [`pass_unordered`](Self::pass_unordered) for the first pass. It holds one page, and about 50 bytes for each
/// delivered version, or twice that with an [`overlap`](Self::overlap). With 30 requests per minute, reading 10,000
/// records takes a little over three minutes until the first is delivered.
///
/// # Servers that guarantee less
///
/// The guarantees above rest on three rules of the API contract. Lists with `since` are ordered by last modification,
/// newest first. Stamps grow in the order in which changes become visible. `asOf` is the last stamp. A server with the
/// same API but weaker rules loses records to a reader that relies on them. Two settings help:
///
/// | The server | Setting | Tolerates |
/// |---|---|---|
/// | commits changes late, with stamps in the past; uses its clock as `asOf`; has several clocks | [`look_back`](Self::look_back) | a change that becomes visible up to that long after its stamp |
/// | orders by modification ascending, or not at all; deletes records | [`overlap`](Self::overlap) | that many records moving up between two requests; more are detected and read again |
/// | changes the order of records with equal stamps at every request | [`overlap`](Self::overlap) | groups of that many records |
/// | orders by creation | none | such a list only grows |
/// | has no `asOf` | none | the latest stamp read replaces it |
///
/// No setting covers a change that becomes visible later than the look-back, or one that leaves `updatedAt` unchanged. Nor
/// does one cover an order that changes between requests for other reasons. Stamps have millisecond precision: two
/// versions of a record with the same stamp count as one. Deletions are not detected. A list in another order than the
/// contract's causes one warning in the log and clears [`Pass::in_order`].
pub struct CatchUp<R: Resource> {
    pub(crate) list: List<R>,
    pub(crate) ack_log: AckLog,
    pub(crate) reporter: ProgressReporter,
    overlap: usize,
    has_warned: bool,
    unfinished: Option<Unfinished<R>>,
}

/// An incomplete pass. It is a field of [`CatchUp`] while pages are read, so that the next pass can continue it.
struct Unfinished<R: Resource> {
    page_reader: PageReader<R>,
    /// Records to be delivered. If a record was read twice because it changed, the last one read is current.
    records: HashMap<Uuid, (RecordVersion, R::Item)>,
    /// An earlier pass began to read.
    is_resumed: bool,
}

/// Summary of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// Number of records that the handler acknowledged.
    pub delivered: usize,
    /// The checkpoint. The next pass begins there, less the look-back.
    pub since: Timestamp,
    /// True if every page was in the order of the API contract. If not, [`CatchUp::overlap`] may be necessary.
    pub in_order: bool,
}

impl<R: Resource> CatchUp<R> {
    pub(crate) fn new(list: List<R>, store: impl CheckpointStore + 'static) -> Self {
        let list = list.limit(MAX_PAGE_LIMIT);
        let list = if R::HAS_LINES { list.with_lines() } else { list };
        let ack_log = AckLog::new(R::NAME, Arc::new(store));
        let reporter = ProgressReporter::default();
        Self { list, ack_log, reporter, overlap: 0, has_warned: false, unfinished: None }
    }

    /// Begins each pass this long before the checkpoint, for servers that commit late. Default: 0, which suits this
    /// service.
    ///
    /// Versions acknowledged within that time are remembered, in the checkpoint too (about 90 bytes each in a file), and
    /// are not delivered again. If the window is extended, the versions in the added time are delivered once more.
    #[must_use]
    pub fn look_back(mut self, window: Duration) -> Self {
        self.ack_log.set_window(window);
        self.unfinished = None;
        self
    }

    /// Begins each page this many records before the end of the previous one, 0 to 50. Default: 0, which suits this
    /// service. Intended for servers on which unread records move towards the beginning of the list.
    ///
    /// A page is used only if it repeats a record of the previous ones. Otherwise the pass steps back until it finds one,
    /// and increases the overlap. An overlap of 10 costs one request in ten. Below 2, each move causes a step back.
    #[must_use]
    pub fn overlap(mut self, records: usize) -> Self {
        self.overlap = records.min(page_cursor::MAX_OVERLAP);
        self.unfinished = None;
        self
    }

    /// Sets a listener, called after each page and each delivery, and when a request of the pass or a call of its handler
    /// begins to wait for the quota. Calls in a task that the handler spawns wait unreported.
    ///
    /// The counts restart with each pass. The listener runs between reads and should return quickly.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.reporter = ProgressReporter::to(listener);
        self.unfinished = None;
        self
    }

    /// Makes one pass: reads what was modified since the checkpoint, delivers it oldest first, moves the checkpoint.
    ///
    /// The handler is given [`QuoteItem`](crate::QuoteItem)s, [`InvoiceItem`](crate::InvoiceItem)s,
    /// [`CreditNoteItem`](crate::CreditNoteItem)s or [`Client`](crate::Client)s. Its `Ok` acknowledges the record: it must
    /// be stored by then. An error stops the pass. The future can be dropped at any time; the record in the handler is
    /// delivered again.
    ///
    /// # Errors
    ///
    /// See [`CatchUpError`]. None of them moves the checkpoint. Calling `pass` again is safe and continues at the page
    /// that failed.
    pub async fn pass<H, F, E>(&mut self, mut handler: H) -> Result<Pass, CatchUpError<E>>
    where
        // Not `AsyncFnMut`: its future cannot be bounded by `Send`, which a pass in a spawned task needs.
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let reporter = self.reporter.clone();
        let pass = async {
            self.begin().await?;
            while self.read_page().await? {}
            let delivered = self.deliver(&mut handler).await?;
            self.end(delivered).await
        };
        reporter.observe(pass).await
    }

    /// Makes one pass that delivers each page as soon as it is read, for a first pass that does not fit in memory.
    ///
    /// Guarantees and checkpoint are those of [`pass`](Self::pass), and versions of one record keep their order. Records
    /// are ordered oldest first only within a page. Pages follow the order of the server, last modified first, so that a
    /// record may be delivered before one that it refers to.
    ///
    /// # Errors
    ///
    /// See [`CatchUpError`]. Records acknowledged before a failure are not delivered again within this process.
    pub async fn pass_unordered<H, F, E>(&mut self, mut handler: H) -> Result<Pass, CatchUpError<E>>
    where
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let reporter = self.reporter.clone();
        let pass = async {
            self.begin().await?;
            let mut delivered = 0;
            while self.read_page().await? {
                delivered += self.deliver(&mut handler).await?;
            }
            self.end(delivered).await
        };
        reporter.observe(pass).await
    }

    /// Delivers one version unless it is acknowledged already. Returns whether it was delivered.
    pub(crate) async fn deliver_one<H, F, E>(
        &mut self,
        version: RecordVersion,
        record: R::Item,
        handler: &mut H,
    ) -> Result<bool, CatchUpError<E>>
    where
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        if self.ack_log.contains(&version) {
            return Ok(false);
        }
        handler(record).await.map_err(|source| CatchUpError::Handler { version, source })?;
        self.ack_log.acknowledge(version);
        if let Some(unfinished) = &mut self.unfinished {
            // An older version of this record, read by an incomplete pass, must not be delivered later.
            unfinished.records.retain(|id, (read, _)| *id != version.id || *read > version);
        }
        Ok(true)
    }

    /// Begins a pass, or continues an incomplete one.
    async fn begin<E>(&mut self) -> Result<(), CatchUpError<E>> {
        if self.ack_log.reload().await? {
            self.unfinished = None;
        }
        if let Some(unfinished) = &mut self.unfinished {
            unfinished.is_resumed = true;
            self.reporter.begin(unfinished.records.len());
        } else {
            self.reporter.begin(0);
            let list = self.list.clone().since(self.ack_log.read_from());
            let page_reader =
                PageReader::new(list, self.overlap, self.ack_log.latest_stamp(), self.reporter.clone());
            self.unfinished = Some(Unfinished { page_reader, records: HashMap::new(), is_resumed: false });
        }
        Ok(())
    }

    /// Reads one page. Returns `false` after the last one.
    async fn read_page<E>(&mut self) -> Result<bool, CatchUpError<E>> {
        let Some(Unfinished { page_reader, records, is_resumed }) = &mut self.unfinished else {
            return Ok(false);
        };
        let page = match page_reader.next_page().await {
            Ok(page) => page,
            Err(error) => {
                // The position in the list is lost: the next pass starts over.
                if let ReadError::UnstableList { .. } = error {
                    self.unfinished = None;
                }
                return Err(error.into());
            }
        };
        let Some(page) = page else {
            let since = self.ack_log.next_since(page_reader.bound());
            // If the stamps went backwards, the next pass handles it.
            let has_more = std::mem::take(is_resumed) && since >= self.ack_log.since();
            if has_more {
                page_reader.restart(self.list.clone().since(self.ack_log.read_from_at(since)), self.overlap);
            }
            return Ok(has_more);
        };
        let before = records.len();
        let unknown = page.into_iter().filter(|(version, _)| !self.ack_log.contains(version));
        records.extend(unknown.map(|(version, record)| (version.id, (version, record))));
        self.reporter.records(records.len() - before);
        Ok(true)
    }

    /// Delivers what was read, oldest first. If it ends early, the next pass reads those records again.
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
            delivered += usize::from(self.deliver_one(version, record, handler).await?);
            self.reporter.delivered();
        }
        self.unfinished = Some(unfinished);
        Ok(delivered)
    }

    /// Moves the checkpoint: everything that was read is acknowledged.
    async fn end<E>(&mut self, delivered: usize) -> Result<Pass, CatchUpError<E>> {
        // Without a read, the checkpoint stays.
        let (bound, in_order) = self.unfinished.as_ref().map_or((self.ack_log.since(), true), |unfinished| {
            (unfinished.page_reader.bound(), unfinished.page_reader.in_order())
        });
        let since = self.ack_log.next_since(bound);
        if since < self.ack_log.since() {
            warn!(resource = R::NAME, from = %self.ack_log.since(), to = %since, "modification stamps of the service went backwards");
        }
        if !in_order && !std::mem::replace(&mut self.has_warned, true) {
            warn!(
                resource = R::NAME,
                overlap = self.overlap,
                "the service does not order by last modification; without an overlap, records may be missed"
            );
        }
        self.ack_log.advance(since).await?;
        self.unfinished = None;
        debug!(resource = R::NAME, delivered, %since, "pass complete");
        Ok(Pass { delivered, since, in_order })
    }
}

impl<R: Resource> fmt::Debug for CatchUp<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatchUp")
            .field("resource", &R::NAME)
            .field("ack_log", &self.ack_log)
            .field("overlap", &self.overlap)
            .finish_non_exhaustive()
    }
}
