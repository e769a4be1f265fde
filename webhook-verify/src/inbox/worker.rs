//! Hands the letters of an inbox to a handler, one after the other. Spawns nothing: it runs where it is awaited.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{Claim, Inbox, InboxError, USUAL_MEMORY};

/// How long a handler may take where nothing else is said.
const HANDLER_LIMIT: Duration = Duration::from_secs(30);
/// The longest that it may be said to take: a claim for longer than a day does not hold, nor one for nearly a day where
/// the clock is set back meanwhile.
const LONGEST_HANDLER_LIMIT: Duration = Duration::from_hours(12);
/// A claim outlives its handler by this much, so that the outcome is noted before anybody else may claim.
const MARGIN: Duration = Duration::from_secs(30);
/// How often a worker looks for what has become due again.
const LOOK: Duration = Duration::from_secs(1);
/// How often it forgets old keys.
const PRUNE: Duration = Duration::from_hours(1);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// Handles what an inbox holds.
///
/// A handler that fails, panics or takes too long is asked again after 1 s, 2 s, 4 s, up to an hour, without end: what
/// cannot be handled should be answered with `Ok` by the handler itself, once it is put down somewhere. To work on
/// several letters at the same time, run several workers on one inbox.
pub struct Worker<I: ?Sized> {
    handler_limit: Duration,
    memory: Duration,
    watch: Arc<dyn Fn(&Trouble<'_>) + Send + Sync>,
    inbox: Arc<I>,
}

/// What went wrong in a [`Worker`], to be logged. It goes on by itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum Trouble<'a> {
    /// A handler failed, panicked or took too long; it will be asked again.
    Handler {
        /// What it was given.
        claim: &'a Claim,
        /// What it said.
        why: &'a str,
        /// When it is asked again.
        pause: Duration,
    },
    /// The inbox failed.
    Inbox(&'a InboxError),
}

impl<I: Inbox + ?Sized> Worker<I> {
    /// A worker whose handlers may take 30 s, and that keeps the keys for [`USUAL_MEMORY`].
    pub fn new(inbox: Arc<I>) -> Self {
        Self { handler_limit: HANDLER_LIMIT, memory: USUAL_MEMORY, watch: Arc::new(|_| ()), inbox }
    }

    /// The same with another limit for a handler, of 12 hours at most; when it is over, the handler's future is dropped.
    #[must_use]
    pub fn handler_limit(mut self, limit: Duration) -> Self {
        self.handler_limit = limit.min(LONGEST_HANDLER_LIMIT);
        self
    }

    /// The same with another time for which keys are kept, at least [`SHORTEST_MEMORY`](super::SHORTEST_MEMORY).
    #[must_use]
    pub fn memory(mut self, memory: Duration) -> Self {
        self.memory = memory;
        self
    }

    /// The same, telling what goes wrong to a log.
    #[must_use]
    pub fn watch(mut self, watch: impl Fn(&Trouble<'_>) + Send + Sync + 'static) -> Self {
        self.watch = Arc::new(watch);
        self
    }

    /// Handles until it is told to stop; a handler that has begun is waited for.
    pub async fn run<H, F, E>(&self, handler: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Claim) -> F,
        F: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let mut stop = pin!(stop);
        let mut prune_at = Instant::now();
        loop {
            // Armed before the table is looked at, so that nothing arrives unnoticed in between.
            let arrived = self.inbox.arrived();
            loop {
                self.prune_if_due(&mut prune_at).await;
                match self.run_one(&handler).await {
                    Ok(true) if !is_over(stop.as_mut()).await => {}
                    Ok(true) => return,
                    Ok(false) => break,
                    Err(error) => {
                        (self.watch)(&Trouble::Inbox(&error));
                        break;
                    }
                }
            }
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = arrived => {}
                () = sleep(LOOK) => {}
            }
        }
    }

    /// Forgets what was handled long ago, from time to time, and also while there is work without end.
    async fn prune_if_due(&self, due: &mut Instant) {
        if Instant::now() < *due {
            return;
        }
        *due = Instant::now() + PRUNE;
        if let Err(error) = self.inbox.prune(self.memory).await {
            (self.watch)(&Trouble::Inbox(&error));
        }
    }

    /// Handles everything that is due now, and says how many letters that were.
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
        let mut letters = 0;
        while self.run_one(handler).await? {
            letters += 1;
        }
        Ok(letters)
    }

    /// Whether there was a letter to handle.
    async fn run_one<H, F, E>(&self, handler: &H) -> Result<bool, InboxError>
    where
        H: Fn(Claim) -> F,
        F: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let Some(claim) = self.inbox.claim(self.handler_limit.saturating_add(MARGIN)).await? else {
            return Ok(false);
        };
        let outcome =
            match timeout(self.handler_limit, unwinding(async || handler(claim.clone()).await)).await {
                Ok(Some(Ok(()))) => Ok(()),
                Ok(Some(Err(error))) => Err(error.to_string()),
                Ok(None) => Err("the handler panicked".to_owned()),
                Err(_) => Err(format!("the handler took more than {:?}", self.handler_limit)),
            };
        match outcome {
            // `false` where the handler has marked it in its own transaction, as it may.
            Ok(()) => self.inbox.done(&claim).await.map(drop)?,
            Err(why) => {
                let pause = pause_after(claim.attempt);
                (self.watch)(&Trouble::Handler { claim: &claim, why: &why, pause });
                self.inbox.postpone(&claim, pause, &why).await?;
            }
        }
        Ok(true)
    }
}

/// 1 s after the first attempt, doubled after each further one.
fn pause_after(attempt: u32) -> Duration {
    let seconds = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(seconds).min(LONGEST_PAUSE)
}

/// Whether a future has ended, without waiting for it.
async fn is_over(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    tokio::select! {
        biased;
        () = future => true,
        () = std::future::ready(()) => false,
    }
}

/// What a handler answers, or `None` where it panics: one bad letter must not end the worker at each start.
async fn unwinding<T>(handler: impl AsyncFnOnce() -> T) -> Option<T> {
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
            .field("memory", &self.memory)
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
