//! One logical call of the API as a value: the request, independent of attempts and of the
//! network, and limits of its own.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use url::Url;

use crate::limits::{Limits, MAX_ATTEMPTS};

/// A call, from which the request of each attempt is built.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Name in errors and logs, such as `quotes.list`.
    pub(crate) operation: &'static str,
    /// Repeating the call has the same effect as making it once.
    pub(crate) is_idempotent: bool,
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) body: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A path below `/api/v1` and its query.
    Api(String, Vec<(&'static str, String)>),
    /// The signed URL of a document. It authorises itself, so the key is not sent to it.
    Document(Url),
}

impl Call {
    pub(crate) fn get(operation: &'static str, path: String) -> Self {
        Self {
            operation,
            is_idempotent: true,
            method: Method::GET,
            target: Target::Api(path, vec![]),
            body: None,
        }
    }

    pub(crate) fn document(operation: &'static str, url: Url) -> Self {
        Self { target: Target::Document(url), ..Self::get(operation, String::new()) }
    }

    /// A `PATCH` sets a property to a stated value, which is idempotent.
    pub(crate) fn patch(
        operation: &'static str,
        path: String,
        body: &impl Serialize,
    ) -> serde_json::Result<Self> {
        Ok(Self { method: Method::PATCH, body: Some(json(body)?), ..Self::get(operation, path) })
    }

    pub(crate) fn post(
        operation: &'static str,
        path: String,
        body: &impl Serialize,
        is_idempotent: bool,
    ) -> serde_json::Result<Self> {
        Ok(Self {
            method: Method::POST,
            is_idempotent,
            body: Some(json(body)?),
            ..Self::get(operation, path)
        })
    }

    /// Sets the query. The URL of a document is left unchanged.
    pub(crate) fn with_query(mut self, pairs: Vec<(&'static str, String)>) -> Self {
        if let Target::Api(_, query) = &mut self.target {
            *query = pairs;
        }
        self
    }

    /// The path as it may be logged. The URL of a document is a credential and is not shown.
    pub(crate) fn path(&self) -> &str {
        match &self.target {
            Target::Api(path, _) => path,
            Target::Document(_) => "(document)",
        }
    }

    /// True if the service counts the call in the key's quota.
    pub(crate) fn uses_quota(&self) -> bool {
        matches!(self.target, Target::Api(..))
    }
}

fn json(body: &impl Serialize) -> serde_json::Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from)
}

/// Limits of one call that replace the client's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallOptions {
    pub(crate) deadline: Option<Duration>,
    pub(crate) attempts: Option<u32>,
}

impl CallOptions {
    pub(crate) fn or_default(self, limits: Limits) -> Limits {
        Limits {
            deadline: self.deadline.unwrap_or(limits.deadline),
            max_attempts: self
                .attempts
                .map_or(limits.max_attempts, |attempts| attempts.clamp(1, MAX_ATTEMPTS)),
            ..limits
        }
    }
}

/// The setters of [`CallOptions`], for a type with a field `options`.
macro_rules! call_options {
    ($each:literal) => {
        #[doc = concat!("Longest time for ", $each, ", with all its attempts and waits, instead of the client's")]
        /// [`deadline`](crate::ClientBuilder::deadline).
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.options.deadline = Some(deadline);
            self
        }

        #[doc = concat!("Maximum number of attempts for ", $each, ", 1 to 4, instead of the client's")]
        /// [`max_attempts`](crate::ClientBuilder::max_attempts). A value out of range is clamped.
        pub fn max_attempts(mut self, attempts: u32) -> Self {
            self.options.attempts = Some(attempts);
            self
        }

        #[doc = concat!("A single attempt for ", $each, ".")]
        pub fn no_retries(self) -> Self {
            self.max_attempts(1)
        }
    };
}

pub(crate) use call_options;
