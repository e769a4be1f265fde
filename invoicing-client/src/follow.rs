//! [`Follow`]: passes at intervals and, between them, reads of the records that webhooks report.
//!
//! This module schedules the reads. Passes provide the guarantees, and events only reduce the delay: an event may be
//! lost, repeated, late or wrong. A record that cannot be read at once is left to the next pass. The caller receives and
//! verifies the webhooks.

mod change_event;
mod channel;
mod failed_pass;
mod read_queue;

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

pub use change_event::{ChangeEvent, ChangeEventError};
pub use channel::{ChangeEvents, ChangeNotifier, change_events};
pub use failed_pass::FailedPass;

use crate::{CatchUp, CatchUpError, Error, ErrorKind, Pass, Resource};
use read_queue::ReadQueue;

/// Default time between passes: the longest delay after a lost webhook.
const INTERVAL: Duration = Duration::from_mins(5);
/// Time until the pass after a failed one, unless the service requests a longer wait.
const FAILURE_DELAY: Duration = Duration::from_secs(30);
/// Bound for the interval and for waits that the service requests: an absurd header must not stop the passes.
const MAX_DELAY: Duration = Duration::from_hours(24);
/// Maximum number of events taken from the stream at once, so that a flood of events does not starve the reads.
const MAX_BURST: usize = 64;

/// Keeps a copy of a resource up to date: quickly by webhooks, reliably by passes.
///
/// The service delivers a webhook at least once, in any order, and gives up after three attempts within seconds. Events
/// are therefore hints: the record is read by its id and delivered like one of a pass. A [`CatchUp`] pass at the start
/// and then every five minutes ([`interval`](Self::interval)) delivers the changes that no event reported. All guarantees
/// of [`CatchUp`] hold; in addition:
///
/// - Each version is delivered once per process, whether an event, a pass or both reported it, and at least once across
///   restarts. `Ok` from the handler acknowledges it.
/// - Only passes move the checkpoint.
/// - Several events about one record cause one read. At most 8 ids are queued. With more, a pass is made at once, which
///   reads a hundred records with one request.
/// - After the end of the stream, passes continue. A record that cannot be read is left to the next pass.
///
/// There are no events about clients: following them makes passes only.
///
/// # Stopping
///
/// [`run`](Self::run) stops when its future is dropped, for example by `CancellationToken::run_until_cancelled` of
/// tokio-util. Nothing is lost: a record whose handler had not returned is delivered again.
///
/// ```no_run
/// use invoicing_client::{FileCheckpoint, InvoicingClient, change_events};
///
/// # async fn example(client: InvoicingClient) -> Result<(), Box<dyn std::error::Error>> {
/// // The webhook handler calls `notifier.notify(&body)` with the body of each verified delivery, or
/// // `notifier.notify_event(&event)` with the `Event` of `webhook-verify`.
/// let (notifier, events) = change_events();
/// let mut follow = client
///     .quotes()
///     .follow(FileCheckpoint::new("quotes.checkpoint.json"))
///     .on_error(|failed| eprintln!("{failed}")); // during an outage: why, and when the next pass is made
/// let never = follow
///     .run(events, async |quote| {
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
    on_error: Box<dyn FnMut(&FailedPass) + Send>,
    queue: ReadQueue,
}

enum NextStep {
    Pass,
    Read(Uuid),
    Wait(Duration),
}

impl<R: Resource> CatchUp<R> {
    /// Makes passes at intervals and, between them, reads the records that webhooks report.
    pub fn follow(self) -> Follow<R> {
        let on_error = Box::new(|_: &FailedPass| ());
        Follow { catch_up: self, interval: INTERVAL, on_error, queue: ReadQueue::default() }
    }
}

impl<R: Resource> Follow<R> {
    /// Time between the end of a pass and the next one, at most a day. Default: 5 minutes.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.min(MAX_DELAY);
        self
    }

    /// Sets a listener, called after each pass that failed and will be made again. It should return quickly.
    ///
    /// An error that ends [`run`](Self::run) is only returned. For the progress of passes, set
    /// [`CatchUp::on_progress`] before [`CatchUp::follow`].
    #[must_use]
    pub fn on_error(mut self, listener: impl FnMut(&FailedPass) + Send + 'static) -> Self {
        self.on_error = Box::new(listener);
        self
    }

    /// Follows until a permanent failure, or until the future is dropped. `run` can be called again in both cases.
    ///
    /// Events are taken from the stream as they arrive, during a pass too, so that the sender of a bounded channel does
    /// not block. Their records are read one at a time, and not during a pass.
    ///
    /// # Errors
    ///
    /// Errors of the handler and of the checkpoint, and [`CatchUpError::Read`] if a retry would not help, as with a
    /// revoked key. Other errors are logged and told to [`on_error`](Self::on_error), and the next pass follows after
    /// 30 s or the service's `Retry-After`.
    pub async fn run<N, H, F, E>(&mut self, events: N, mut handler: H) -> Result<Infallible, CatchUpError<E>>
    where
        N: Stream<Item = ChangeEvent>,
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let mut events = pin!(events.fuse());
        // Ids that a dropped run had taken.
        self.queue.restore();
        self.catch_up.ack_log.reload().await?;
        let mut due = self.now();
        let mut has_failed = false;
        loop {
            self.receive_ready(events.as_mut()).await;
            match self.next_step(due, has_failed) {
                NextStep::Pass => {
                    let pass = self.pass(events.as_mut(), &mut handler).await;
                    has_failed = pass.is_err();
                    let wait = match pass {
                        Ok(_) => self.interval,
                        Err(error) => self.delay_after(error)?,
                    };
                    due = self.now() + wait;
                }
                NextStep::Read(id) => self.read(id, events.as_mut(), &mut handler).await?,
                NextStep::Wait(wait) => self.wait(wait, events.as_mut()).await,
            }
        }
    }

    /// Takes the events that are ready, without waiting for more.
    async fn receive_ready<N: Stream<Item = ChangeEvent>>(&mut self, events: Pin<&mut Fuse<N>>) {
        let Self { catch_up, queue, .. } = self;
        let acknowledged_until = catch_up.ack_log.read_from();
        while_receiving(async {}, events, |event| queue.offer::<R>(&event, acknowledged_until)).await;
    }

    /// A due pass has priority over events, so that a flood of events cannot delay it.
    fn next_step(&mut self, due: Instant, has_failed: bool) -> NextStep {
        let left = due.saturating_duration_since(self.now());
        if left.is_zero() || (self.queue.has_overflowed() && !has_failed) {
            return NextStep::Pass;
        }
        self.queue.take_next().map_or(NextStep::Wait(left), NextStep::Read)
    }

    /// Makes a pass. It reads the queued records too, as a webhook reports only committed changes.
    async fn pass<N, H, F, E>(
        &mut self,
        events: Pin<&mut Fuse<N>>,
        handler: &mut H,
    ) -> Result<Pass, CatchUpError<E>>
    where
        N: Stream<Item = ChangeEvent>,
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let Self { catch_up, queue, .. } = self;
        queue.take_all();
        let acknowledged_until = catch_up.ack_log.read_from();
        let pass = while_receiving(catch_up.pass(handler), events, |event| {
            queue.offer::<R>(&event, acknowledged_until);
        })
        .await;
        if pass.is_ok() {
            queue.complete();
        } else {
            queue.restore();
        }
        pass
    }

    /// Reads one record. If that fails, the next pass reads it.
    async fn read<N, H, F, E>(
        &mut self,
        id: Uuid,
        events: Pin<&mut Fuse<N>>,
        handler: &mut H,
    ) -> Result<(), CatchUpError<E>>
    where
        N: Stream<Item = ChangeEvent>,
        H: FnMut(R::Item) -> F,
        F: Future<Output = Result<(), E>>,
    {
        let Self { catch_up, queue, .. } = self;
        let acknowledged_until = catch_up.ack_log.read_from();
        let reporter = catch_up.reporter.clone();
        let work = reporter.observe(async {
            match catch_up.list.get(id).await {
                Ok(record) => catch_up.deliver_one(R::version(&record), record, handler).await.map(drop),
                Err(error) => {
                    warn!(resource = R::NAME, %id, %error, "cannot read a record, left to the next pass");
                    Ok(())
                }
            }
        });
        while_receiving(work, events, |event| queue.offer::<R>(&event, acknowledged_until)).await?;
        queue.complete();
        Ok(())
    }

    /// Waits until the time has passed or an event has arrived.
    async fn wait<N: Stream<Item = ChangeEvent>>(&mut self, wait: Duration, mut events: Pin<&mut Fuse<N>>) {
        let Self { catch_up, queue, .. } = self;
        let mut sleep = catch_up.list.client().inner().env.sleep(wait);
        let acknowledged_until = catch_up.ack_log.read_from();
        let before = queue.len();
        poll_fn(|cx| {
            receive(events.as_mut(), cx, &mut |event| queue.offer::<R>(&event, acknowledged_until));
            if queue.len() == before { sleep.as_mut().poll(cx) } else { Poll::Ready(()) }
        })
        .await;
    }

    /// Reports a failed pass and returns the delay after it, or the error itself if another pass would not help.
    fn delay_after<E>(&mut self, error: CatchUpError<E>) -> Result<Duration, CatchUpError<E>> {
        let (error, requested) = match error {
            CatchUpError::Read(error) if is_transient(&error) => {
                let requested = error.retry_after();
                (CatchUpError::Read(error), requested)
            }
            CatchUpError::UnstableList { steps_back } => (CatchUpError::UnstableList { steps_back }, None),
            permanent => return Err(permanent),
        };
        let retry_in = requested.unwrap_or_default().max(FAILURE_DELAY.min(self.interval)).min(MAX_DELAY);
        warn!(resource = R::NAME, ?error, ?retry_in, "pass failed, will retry");
        (self.on_error)(&FailedPass { error, retry_in });
        Ok(retry_in)
    }

    fn now(&self) -> Instant {
        self.catch_up.list.client().inner().env.now()
    }
}

/// Drives a future, and receives events meanwhile.
async fn while_receiving<N: Stream<Item = ChangeEvent>, T>(
    work: impl Future<Output = T>,
    mut events: Pin<&mut Fuse<N>>,
    mut on_event: impl FnMut(ChangeEvent),
) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        receive(events.as_mut(), cx, &mut on_event);
        work.as_mut().poll(cx)
    })
    .await
}

/// Takes the events that are ready, and registers for the next one.
fn receive<N: Stream<Item = ChangeEvent>>(
    mut events: Pin<&mut Fuse<N>>,
    cx: &mut Context<'_>,
    on_event: &mut impl FnMut(ChangeEvent),
) {
    for _ in 0..MAX_BURST {
        match events.as_mut().poll_next(cx) {
            Poll::Ready(Some(event)) => on_event(event),
            Poll::Ready(None) | Poll::Pending => return,
        }
    }
    cx.waker().wake_by_ref();
}

/// True if the same request may succeed later.
fn is_transient(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Status => {
            !matches!(error.status(), Some(400..=499)) || matches!(error.status(), Some(408 | 429))
        }
        ErrorKind::TooLarge | ErrorKind::Redirected | ErrorKind::InvalidRequest => false,
        _ => true,
    }
}

impl<R: Resource> fmt::Debug for Follow<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow")
            .field("catch_up", &self.catch_up)
            .field("interval", &self.interval)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}
