//! [`Request`]: a call that is not sent yet, its limits, and how its response is parsed.

use std::fmt;
use std::future::IntoFuture;

use futures_core::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::call::{Call, CallOptions, call_options};
use crate::response::ApiResponse;
use crate::{ApiKey, Error, InvoicingClient};

/// A call that returns a `T`. Nothing is sent until it is awaited or [sent](Self::send).
///
/// ```no_run
/// # use std::time::Duration;
/// # use invoicing_client::{Error, InvoicingClient, Quote, QuoteId};
/// # async fn example(client: InvoicingClient, id: QuoteId) -> Result<(), Error> {
/// let quote = client.quotes().get(id).await?;
/// // A user waits for this call.
/// let quote = client.quotes().get(id).deadline(Duration::from_secs(3)).no_retries().send().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind).
#[must_use = "nothing is sent until `.await` or `send`"]
pub struct Request<T> {
    client: InvoicingClient,
    call: Result<Call, Error>,
    options: CallOptions,
    parse: Box<Parse<T>>,
}

/// Texts that the error repeats are cleared of the key.
type Parse<T> = dyn FnOnce(&ApiKey, ApiResponse) -> Result<T, Error> + Send;

impl<T> Request<T> {
    call_options!("this call");

    /// A call whose response is parsed by `parse`.
    pub(crate) fn new(
        client: &InvoicingClient,
        call: Result<Call, Error>,
        parse: impl FnOnce(&ApiKey, ApiResponse) -> Result<T, Error> + Send + 'static,
    ) -> Self {
        Self { client: client.clone(), call, options: CallOptions::default(), parse: Box::new(parse) }
    }

    /// A call whose response is JSON.
    pub(crate) fn json(client: &InvoicingClient, call: Call) -> Self
    where
        T: DeserializeOwned,
    {
        Self::new(client, Ok(call), |key, response| response.parse(key))
    }

    /// Parses the JSON of the response into another type, such as `serde_json::Value`. This gives access to members
    /// that the types of this crate ignore.
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
        Request { client, call, options, parse: Box::new(|key, response| response.parse(key)) }
    }

    pub(crate) fn with_options(self, options: CallOptions) -> Self {
        Self { options, ..self }
    }

    /// Carries the call out. Awaiting the request does the same.
    pub async fn send(self) -> Result<T, Error> {
        let client = self.client.inner();
        let response = client.send(&self.call?, self.options).await?;
        (self.parse)(&client.key, response)
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
        // The body may hold personal data and is left out, as in the log.
        f.debug_struct("Request")
            .field("operation", &self.call.as_ref().map_or_else(Error::operation, |call| call.operation))
            .field("path", &self.call.as_ref().map_or("", |call| call.path()))
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
