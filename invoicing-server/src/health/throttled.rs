//! A value that is expensive to fetch, and shared by many callers.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Age of a value, from the begin of its fetch, up to which it is used.
pub(super) const VALID: Duration = Duration::from_secs(1);

/// The value of the last fetch. A fetch is begun at most every [`VALID`], however many callers
/// there are and however many of them go away.
pub(super) struct Throttled<T>(Mutex<Option<Fetch<T>>>);

/// A fetch that has begun, and its value to come.
struct Fetch<T> {
    begun: Instant,
    value: Shared<oneshot::Receiver<T>>,
}

impl<T> Default for Throttled<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone + Send + Sync + 'static> Throttled<T> {
    /// The value of the last fetch, which may be under way, or of a new one. `None` if the fetch
    /// has panicked.
    ///
    /// `fetch` must have a time limit.
    pub(super) async fn get<F>(&self, fetch: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let value = self.latest(fetch);
        value.await.ok()
    }

    fn latest<F>(&self, fetch: impl FnOnce() -> F) -> Shared<oneshot::Receiver<T>>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let now = Instant::now();
        let mut latest = self.0.lock();
        if let Some(Fetch { begun, value }) = &*latest
            && now.saturating_duration_since(*begun) < VALID
        {
            return value.clone();
        }
        let value = start(fetch()).shared();
        *latest = Some(Fetch { begun: now, value: value.clone() });
        value
    }
}

/// Runs the fetch in a separate task, as the caller that began it may go away while others wait.
#[expect(clippy::disallowed_methods, reason = "it ends within the limit of the fetch")]
fn start<T: Send + 'static>(fetch: impl Future<Output = T> + Send + 'static) -> oneshot::Receiver<T> {
    let (sender, value) = oneshot::channel();
    tokio::spawn(async move {
        // If all callers are gone, the next one still finds the value.
        let _ = sender.send(fetch.await);
    });
    value
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;

    use super::*;

    /// Counts the fetches, each of which takes half a second.
    fn counted(count: &Arc<AtomicU32>) -> impl Future<Output = u32> + Send + 'static {
        let count = Arc::clone(count);
        async move {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            tokio::time::sleep(Duration::from_millis(500)).await;
            number
        }
    }

    #[tokio::test(start_paused = true)]
    async fn callers_at_the_same_time_share_a_fetch() {
        let (throttled, count) = (Throttled::default(), Arc::default());
        for round in 1..=3 {
            let all = join_all((0..1_000).map(|_| throttled.get(|| counted(&count)))).await;
            assert!(all.iter().all(|value| *value == Some(round)), "round {round}");
            tokio::time::advance(Duration::from_millis(501)).await;
        }
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_go_away_begin_no_second_fetch() {
        let (throttled, count) = (Throttled::default(), Arc::default());
        for _ in 0..100 {
            let asked = tokio::time::timeout(Duration::from_millis(1), throttled.get(|| counted(&count)));
            assert!(asked.await.is_err());
        }
        assert_eq!(throttled.get(|| counted(&count)).await, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_that_panics_is_no_value_and_the_next_one_is() {
        async fn panics() -> u32 {
            std::panic::resume_unwind(Box::new("deliberate"))
        }
        let throttled = Throttled::default();
        assert_eq!(throttled.get(panics).await, None);
        tokio::time::advance(VALID).await;
        assert_eq!(throttled.get(|| std::future::ready(7)).await, Some(7));
    }
}
