//! A call about to be made: what it asks, what it may take, and how its answer is read.

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use futures_core::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::client::Shared;
use crate::config::{Limits, MAX_ATTEMPTS};
use crate::send::Answer;
use crate::{Error, InvoicingClient};

/// A call about to be made, whose answer is a `T`. Nothing is sent before it is awaited or [sent](Self::send).
///
/// ```no_run
/// # use std::time::Duration;
/// # use invoicing_client::{Error, InvoicingClient, Quote, QuoteId};
/// # async fn example(client: InvoicingClient, id: QuoteId) -> Result<(), Error> {
/// let quote = client.quotes().get(id).await?;
/// // A user is waiting for this one.
/// let quote = client.quotes().get(id).deadline(Duration::from_secs(3)).no_retries().send().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind).
#[must_use = "nothing is sent before `.await` or `send`"]
pub struct Request<T> {
    client: InvoicingClient,
    call: Result<Call, Error>,
    options: Options,
    read: Box<Read<T>>,
}

type Read<T> = dyn FnOnce(&Shared, Answer) -> Result<T, Error> + Send;

/// What one call may take, where that is not what the client's settings say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) deadline: Option<Duration>,
    pub(crate) attempts: Option<u32>,
}

impl Options {
    /// The client's settings with these in their place.
    pub(crate) fn over(self, limits: Limits) -> Limits {
        Limits {
            deadline: self.deadline.unwrap_or(limits.deadline),
            max_attempts: self
                .attempts
                .map_or(limits.max_attempts, |attempts| attempts.clamp(1, MAX_ATTEMPTS)),
            ..limits
        }
    }
}

/// The settings that every call has, for a type with a field `options`.
macro_rules! per_call {
    ($each:literal) => {
        #[doc = concat!("Longest time for ", $each, ", with all its attempts and waits, instead of the client's")]
        /// [`deadline`](crate::ClientBuilder::deadline).
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.options.deadline = Some(deadline);
            self
        }

        #[doc = concat!("Most attempts for ", $each, ", 1 to 4, instead of the client's")]
        /// [`max_attempts`](crate::ClientBuilder::max_attempts). What is beyond is brought to the nearest end.
        pub fn attempts(mut self, attempts: u32) -> Self {
            self.options.attempts = Some(attempts);
            self
        }

        #[doc = concat!("A single attempt for ", $each, ".")]
        pub fn no_retries(self) -> Self {
            self.attempts(1)
        }
    };
}

pub(crate) use per_call;

impl<T> Request<T> {
    per_call!("this call");

    /// A call whose answer is read in its own way.
    pub(crate) fn new(
        client: &InvoicingClient,
        call: Result<Call, Error>,
        read: impl FnOnce(&Shared, Answer) -> Result<T, Error> + Send + 'static,
    ) -> Self {
        Self { client: client.clone(), call, options: Options::default(), read: Box::new(read) }
    }

    /// A call whose answer is JSON.
    pub(crate) fn json(client: &InvoicingClient, call: Call) -> Self
    where
        T: DeserializeOwned,
    {
        Self::new(client, Ok(call), |shared, answer| shared.read(&answer))
    }

    /// Reads the answer's JSON into a type of the caller's own, such as `serde_json::Value`: for members that this
    /// version does not know, which the types of this crate ignore.
    ///
    /// ```no_run
    /// # use invoicing_client::{Error, InvoicingClient, QuoteId};
    /// # async fn example(client: InvoicingClient, id: QuoteId) -> Result<(), Error> {
    /// let quote: serde_json::Value = client.quotes().get(id).decode().await?;
    /// println!("{}", quote["aNewMember"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn decode<U: DeserializeOwned>(self) -> Request<U> {
        let Self { client, call, options, .. } = self;
        Request { client, call, options, read: Box::new(|shared, answer| shared.read(&answer)) }
    }

    pub(crate) fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Carries the call out. Awaiting the request does the same.
    pub async fn send(self) -> Result<T, Error> {
        let shared = self.client.shared();
        let answer = shared.send(&self.call?, self.options).await?;
        (self.read)(shared, answer)
    }
}

impl<T: 'static> IntoFuture for Request<T> {
    type Output = Result<T, Error>;
    type IntoFuture = BoxFuture<'static, Result<T, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the body: it is private, as in the log.
        f.debug_struct("Request")
            .field("operation", &self.call.as_ref().map_or_else(Error::operation, |call| call.operation))
            .field("path", &self.call.as_ref().map_or("", |call| call.path()))
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
