//! One logical call of the API as a value: what is requested, independent of attempts and of the network.

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use url::Url;

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

    /// Whether the service counts the call in the key's quota.
    pub(crate) fn uses_quota(&self) -> bool {
        matches!(self.target, Target::Api(..))
    }
}

fn json(body: &impl Serialize) -> serde_json::Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from)
}
