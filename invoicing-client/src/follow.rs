//! Following: passes from time to time, and between them the records that webhooks tell of.
//!
//! Owns when what is read. The passes carry the guarantees; notices only make the copy quicker. So a notice may be
//! lost, repeated, late or wrong, and one that cannot be served now is left to the next pass. Receiving webhooks and
//! verifying them is done elsewhere.

mod inbox;
mod notice;

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::Fuse;
use tracing::warn;
use uuid::Uuid;

pub use notice::{Notice, NoticeError};

use crate::{CatchUp, CatchUpError, Error, ErrorKind, Pass, Resource};
use inbox::Inbox;

/// Time between passes. A webhook that was lost shows after at most this long.
const INTERVAL: Duration = Duration::from_mins(5);
/// After a pass that failed, the next comes this soon, or after what the service asks for.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(30);
/// However long a service asks to stay away, or the interval is set: so that an absurd header stops nothing for good.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);
/// Most notices taken in at once, so that an endless supply does not keep the work from going on.
const BURST: usize = 64;

/// Keeps a copy of a resource in step with the service: quickly by webhooks, surely by passes.
///
/// A webhook is delivered at least once, in any order, and not at all after three attempts within seconds. So notices
/// are taken as hints: the record is read by its id and delivered like one of a pass. A [`CatchUp`] pass is made at the
/// start and then every five minutes ([`interval`](Self::interval)), and brings what no notice told of. All guarantees
/// of [`CatchUp`] hold; together:
///
/// - Each version is delivered once per process, whether a notice or a pass or both brought it, and at least once over
///   restarts. `Ok` from the handler acknowledges it.
/// - The checkpoint moves by passes alone.
/// - Of many notices about one record, one read is made. At most 8 ids wait; where more different records changed, a
///   pass is made at once instead, which reads a hundred of them with one request.
/// - The stream may end: passes go on. A record that cannot be read is left to the next pass.
///
/// Clients have no events: to follow them is to make passes.
///
/// ```no_run
/// use futures_util::stream;
/// use invoicing_client::{FileCheckpoint, InvoicingClient, Notice};
///
/// # async fn example(client: InvoicingClient, notices: Vec<Notice>) -> Result<(), Box<dyn std::error::Error>> {
/// // In practice the receiving end of a channel whose sender is in the webhook's handler.
/// let notices = stream::iter(notices);
/// let mut follow = client.quotes().follow(FileCheckpoint::new("quotes.checkpoint.json"));
/// let never = follow
///     .run(notices, async |quote| {
///         println!("store {} {}", quote.summary.number, quote.summary.status);
///         Ok::<(), std::io::Error>(())
///     })
///     .await?;
/// # match never {}
/// # }
/// ```
pub struct Follow<R: Resource> {
    catch_up: CatchUp<R>,
    interval: Duration,
    inbox: Inbox,
}

/// What to do next.
enum Step {
    Pass,
    Read(Uuid),
    Wait(Duration),
}

impl<R: Resource> Follow<R> {
    pub(crate) fn new(catch_up: CatchUp<R>) -> Self {
        Self { catch_up, interval: INTERVAL, inbox: Inbox::default() }
    }

    /// Time between the end of a pass and the next one, at most a day. Default: 5 minutes.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Follows until something fails for good, or until it is dropped, which loses nothing: `run` may be called again.
    ///
    /// A full channel is never waited for: notices are taken from the stream as they come, also during a pass. They
    /// are read one after the other, and not while a pass is made.
    ///
    /// # Errors
    ///
    /// The handler's and the checkpoint's, and [`CatchUpError::Read`] where trying again would not help, such as a
    /// key that was revoked. Everything else is logged and tried again after half a minute, or when the service asks.
    pub async fn run<N, H, F, E>(&mut self, notices: N, mut handler: H) -> Result<Infallible, CatchUpError<E>>
    where
        N: Stream<Item = Notice>,
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let mut notices = pin!(notices.fuse());
        // What an earlier run was at when it was dropped.
        self.inbox.put_back();
        self.catch_up.ledger.resume().await?;
        let mut due = self.now();
        let mut has_failed = false;
        loop {
            self.listen(notices.as_mut()).await;
            match self.next_step(due, has_failed) {
                Step::Pass => {
                    let pass = self.pass(notices.as_mut(), &mut handler).await;
                    has_failed = pass.is_err();
                    let wait = pass.map_or_else(|error| self.wait_after(error), |_| Ok(self.interval))?;
                    due = self.now() + wait.min(LONGEST_PAUSE);
                }
                Step::Read(id) => self.read(id, notices.as_mut(), &mut handler).await?,
                Step::Wait(wait) => self.wait(wait, notices.as_mut()).await,
            }
        }
    }

    /// Takes in what has come, without waiting for more.
    async fn listen<N: Stream<Item = Notice>>(&mut self, notices: Pin<&mut Fuse<N>>) {
        let Self { catch_up, inbox, .. } = self;
        let known_until = catch_up.ledger.from();
        beside(async {}, notices, |notice| inbox.hear::<R>(&notice, known_until)).await;
    }

    /// A pass that is due comes before notices, so that no flood of them can put it off.
    fn next_step(&mut self, due: Instant, has_failed: bool) -> Step {
        let left = due.saturating_duration_since(self.now());
        if left.is_zero() || (self.inbox.is_full() && !has_failed) {
            return Step::Pass;
        }
        self.inbox.take_one().map_or(Step::Wait(left), Step::Read)
    }

    /// What was told before a pass, it reads: what a webhook tells of is committed.
    async fn pass<N, H, F, E>(
        &mut self,
        notices: Pin<&mut Fuse<N>>,
        handler: &mut H,
    ) -> Result<Pass, CatchUpError<E>>
    where
        N: Stream<Item = Notice>,
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let Self { catch_up, inbox, .. } = self;
        inbox.take_all();
        let known_until = catch_up.ledger.from();
        let pass =
            beside(catch_up.pass(handler), notices, |notice| inbox.hear::<R>(&notice, known_until)).await;
        if pass.is_ok() {
            inbox.settle();
        } else {
            inbox.put_back();
        }
        pass
    }

    /// Reads one record. If that fails, the next pass brings it.
    async fn read<N, H, F, E>(
        &mut self,
        id: Uuid,
        notices: Pin<&mut Fuse<N>>,
        handler: &mut H,
    ) -> Result<(), CatchUpError<E>>
    where
        N: Stream<Item = Notice>,
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let Self { catch_up, inbox, .. } = self;
        let known_until = catch_up.ledger.from();
        let work = async {
            match catch_up.list.detail(id).await {
                Ok(record) => catch_up.hand_over(R::version(&record), record, handler).await.map(drop),
                Err(error) => {
                    warn!(resource = R::NAME, %id, %error, "not read; left to the next pass");
                    Ok(())
                }
            }
        };
        beside(work, notices, |notice| inbox.hear::<R>(&notice, known_until)).await?;
        inbox.settle();
        Ok(())
    }

    /// Waits, but not once a notice has come.
    async fn wait<N: Stream<Item = Notice>>(&mut self, wait: Duration, mut notices: Pin<&mut Fuse<N>>) {
        let Self { catch_up, inbox, .. } = self;
        let mut sleep = catch_up.list.client().shared().env.sleep(wait);
        let known_until = catch_up.ledger.from();
        let before = inbox.count();
        poll_fn(|cx| {
            take_in(notices.as_mut(), cx, &mut |notice| inbox.hear::<R>(&notice, known_until));
            if inbox.count() == before { sleep.as_mut().poll(cx) } else { Poll::Ready(()) }
        })
        .await;
    }

    /// When to try again after a pass that failed; the error itself where that would not help.
    fn wait_after<E>(&self, error: CatchUpError<E>) -> Result<Duration, CatchUpError<E>> {
        let asked = match &error {
            CatchUpError::Read(error) if is_passing(error) => error.retry_after().unwrap_or_default(),
            CatchUpError::Unsettled { .. } => Duration::ZERO,
            CatchUpError::Read(_) | CatchUpError::Handler { .. } | CatchUpError::Checkpoint(_) => {
                return Err(error);
            }
        };
        let wait = asked.max(RETRY_AFTER_FAILURE.min(self.interval));
        let cause = match &error {
            CatchUpError::Read(cause) => Some(cause),
            _ => None,
        };
        warn!(
            resource = R::NAME,
            cause = cause.map(tracing::field::display),
            ?wait,
            "pass failed, will try again"
        );
        Ok(wait)
    }

    fn now(&self) -> Instant {
        self.catch_up.list.client().shared().env.now()
    }
}

/// Drives some work, and takes in notices while it goes on.
async fn beside<N: Stream<Item = Notice>, T>(
    work: impl Future<Output = T>,
    mut notices: Pin<&mut Fuse<N>>,
    mut hear: impl FnMut(Notice),
) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        take_in(notices.as_mut(), cx, &mut hear);
        work.as_mut().poll(cx)
    })
    .await
}

/// Takes in what has come, and arranges to be woken when more comes.
fn take_in<N: Stream<Item = Notice>>(
    mut notices: Pin<&mut Fuse<N>>,
    cx: &mut Context<'_>,
    hear: &mut impl FnMut(Notice),
) {
    for _ in 0..BURST {
        match notices.as_mut().poll_next(cx) {
            Poll::Ready(Some(notice)) => hear(notice),
            Poll::Ready(None) | Poll::Pending => return,
        }
    }
    cx.waker().wake_by_ref();
}

/// Whether the same request may succeed later.
fn is_passing(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Status => {
            !matches!(error.status(), Some(400..=499)) || matches!(error.status(), Some(408 | 429))
        }
        ErrorKind::TooLarge | ErrorKind::Redirected | ErrorKind::Request => false,
        _ => true,
    }
}

impl<R: Resource> fmt::Debug for Follow<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow")
            .field("catch_up", &self.catch_up)
            .field("interval", &self.interval)
            .field("inbox", &self.inbox)
            .finish()
    }
}
