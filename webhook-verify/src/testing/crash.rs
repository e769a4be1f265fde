//! A crash at an await.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Runs a future and drops it at its `awaits`-th pending await, like a crash or a client that
/// disconnects. Returns `None` if the future was dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use webhook_verify::testing::crash_after;
///
/// assert_eq!(crash_after(0, tokio::task::yield_now()).await, None);
/// assert_eq!(crash_after(1, tokio::task::yield_now()).await, Some(()));
/// # }
/// ```
pub async fn crash_after<T>(awaits: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = awaits;
    poll_fn(|cx| match (future.as_mut().poll(cx), left) {
        (Poll::Ready(value), _) => Poll::Ready(Some(value)),
        (Poll::Pending, 0) => Poll::Ready(None),
        (Poll::Pending, _) => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}
