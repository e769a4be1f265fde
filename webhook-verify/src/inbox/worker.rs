//! Passes the messages of an inbox to a handler, one after the other. It spawns no task.

use std::fmt;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{Claim, DEFAULT_RETENTION, Inbox, InboxError};

/// The default time limit of a handler.
const DEFAULT_HANDLER_LIMIT: Duration = Duration::from_secs(30);
/// The largest time limit of a handler. A claim holds for a day at most, and for less if the clock
/// is set back.
const MAX_HANDLER_LIMIT: Duration = Duration::from_hours(12);
/// Time by which a claim outlives its handler, so that the outcome is stored before another worker
/// may claim.
const CLAIM_MARGIN: Duration = Duration::from_secs(30);
/// Interval at which a worker looks for messages that have become due again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which a worker removes old keys.
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);
/// The longest pause after a failure.
const MAX_PAUSE: Duration = Duration::from_hours(1);

/// Handles the messages of an inbox.
///
/// A handler that fails, panics or takes too long is called again after 1 s, 2 s, 4 s, up to an
/// hour, without end. For a message that can never be handled, the handler records it elsewhere and
/// returns `Ok`. To handle several messages concurrently, run several workers on one inbox.
pub struct Worker<I: ?Sized> {
    handler_limit: Duration,
    retention: Duration,
    on_error: Arc<dyn Fn(&WorkerError<'_>) + Send + Sync>,
    inbox: Arc<I>,
}

/// A failure that a [`Worker`] reports for logging. The worker continues.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerError<'a> {
    /// A handler failed, panicked or took too long. It will be called again.
    Handler {
        /// The message.
        claim: &'a Claim,
        /// The failure.
        reason: &'a str,
        /// The time until it is called again.
        pause: Duration,
    },
    /// The inbox failed.
    Inbox(&'a InboxError),
}

impl fmt::Display for WorkerError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handler { claim, reason, pause } => {
                write!(f, "the handler of {} failed and is called again in {pause:?}: {reason}", claim.key)
            }
            Self::Inbox(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WorkerError<'_> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Handler { .. } => None,
            Self::Inbox(error) => error.source(),
        }
    }
}

impl<I: Inbox + ?Sized> Worker<I> {
    /// A worker with a limit of 30 s for a handler, and [`DEFAULT_RETENTION`] for keys.
    pub fn new(inbox: Arc<I>) -> Self {
        Self {
            handler_limit: DEFAULT_HANDLER_LIMIT,
            retention: DEFAULT_RETENTION,
            on_error: Arc::new(|_| ()),
            inbox,
        }
    }

    /// Sets the limit for a handler, of 12 hours at most. The future of a handler that exceeds it
    /// is dropped.
    #[must_use]
    pub fn handler_limit(mut self, limit: Duration) -> Self {
        self.handler_limit = limit.min(MAX_HANDLER_LIMIT);
        self
    }

    /// Sets the retention of keys, at least [`MIN_RETENTION`](super::MIN_RETENTION).
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets the callback that logs failures.
    #[must_use]
    pub fn on_error(mut self, on_error: impl Fn(&WorkerError<'_>) + Send + Sync + 'static) -> Self {
        self.on_error = Arc::new(on_error);
        self
    }

    /// Handles messages until `stop` completes. A handler in progress is completed first.
    pub async fn run<H, F, E>(&self, handler: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Claim) -> F,
        F: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let mut stop = pin!(stop);
        let mut prune_at = Instant::now();
        loop {
            // Subscribed before the claim, so that no arrival is missed in between.
            let arrived = self.inbox.arrived();
            self.prune_if_due(&mut prune_at).await;
            let had_work = self.run_one(&handler).await.unwrap_or_else(|error| {
                (self.on_error)(&WorkerError::Inbox(&error));
                false
            });
            tokio::select! {
                biased;
                () = &mut stop => return,
                // Another message may be due already.
                () = ready(()), if had_work => {}
                () = arrived => {}
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Removes old keys at intervals, even if the inbox is never empty.
    async fn prune_if_due(&self, due: &mut Instant) {
        if Instant::now() < *due {
            return;
        }
        *due = Instant::now() + PRUNE_INTERVAL;
        if let Err(error) = self.inbox.prune(self.retention).await {
            (self.on_error)(&WorkerError::Inbox(&error));
        }
    }

    /// Handles every message that is due now. Returns their number.
    ///
    /// # Errors
    ///
    /// The inbox failed.
    pub async fn run_due<H, F, E>(&self, handler: &H) -> Result<usize, InboxError>
    where
        H: Fn(Claim) -> F,
        F: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let mut messages = 0;
        while self.run_one(handler).await? {
            messages += 1;
        }
        Ok(messages)
    }

    /// Handles one message. Returns `false` if none is due.
    async fn run_one<H, F, E>(&self, handler: &H) -> Result<bool, InboxError>
    where
        H: Fn(Claim) -> F,
        F: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let Some(claim) = self.inbox.claim(self.handler_limit.saturating_add(CLAIM_MARGIN)).await? else {
            return Ok(false);
        };
        let outcome =
            match timeout(self.handler_limit, catch_panic(async || handler(claim.clone()).await)).await {
                Ok(Some(Ok(()))) => Ok(()),
                Ok(Some(Err(error))) => Err(error.to_string()),
                Ok(None) => Err("the handler panicked".to_owned()),
                Err(_) => Err(format!("the handler took more than {:?}", self.handler_limit)),
            };
        match outcome {
            // `false` is no error: the handler may have marked the message in its own transaction.
            Ok(()) => self.inbox.done(&claim).await.map(drop)?,
            Err(reason) => {
                let pause = pause_after(claim.attempts);
                (self.on_error)(&WorkerError::Handler { claim: &claim, reason: &reason, pause });
                self.inbox.postpone(&claim, pause, &reason).await?;
            }
        }
        Ok(true)
    }
}

/// The pause after an attempt: 1 s after the first one, doubled after each further one.
fn pause_after(attempt: u32) -> Duration {
    let seconds = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(seconds).min(MAX_PAUSE)
}

/// The result of a handler, or `None` if it panics: one bad message must not end the worker at each
/// start.
async fn catch_panic<T>(handler: impl AsyncFnOnce() -> T) -> Option<T> {
    let mut future = pin!(handler());
    std::future::poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

impl<I: ?Sized> fmt::Debug for Worker<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("handler_limit", &self.handler_limit)
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour() {
        let seconds = |attempt| pause_after(attempt).as_secs();
        assert_eq!(
            [0, 1, 2, 3, 12, 13, 64, 65, u32::MAX].map(seconds),
            [1, 1, 2, 4, 2048, 3600, 3600, 3600, 3600]
        );
    }
}
