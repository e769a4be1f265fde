//! The bound on closures that run in a transaction.

use std::future::Future;

use crate::error::Error;

/// A closure from a transaction's handle to a future that is `Send`.
///
/// `for<'t> AsyncFnOnce(CompanyTx<'t>) -> …` alone cannot require the future to be `Send`, which
/// both a boxed job and a spawned task need. This trait names the future, so that a bound can.
/// Every matching closure implements it.
pub(crate) trait Operation<A, T>:
    AsyncFnOnce(A) -> Result<T, Error> + FnOnce(A) -> Self::Run + Send
{
    /// The future of one run.
    type Run: Future<Output = Result<T, Error>> + Send;
}

impl<A, T, F, R> Operation<A, T> for F
where
    F: AsyncFnOnce(A) -> Result<T, Error> + FnOnce(A) -> R + Send,
    R: Future<Output = Result<T, Error>> + Send,
{
    type Run = R;
}
