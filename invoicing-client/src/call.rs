//! One logical call as a value: what is asked, and the HTTP request that asks it. Nothing is sent here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Method};
use serde::Serialize;
use url::Url;

use crate::ConfigError;
use crate::catch_up::WaitObserver;

/// Carries an id that the service's log knows too.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the service's address adds before every path.
const PREFIX: &str = "/api/v1";

/// Where the service is, and as whom to speak to it.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// Ends with `/api/v1`.
    base: Url,
    authorization: HeaderValue,
    user_agent: HeaderValue,
}

/// A call, ready to be turned into as many requests as it takes.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Its name in errors and logs: `quotes.list`.
    pub(crate) operation: &'static str,
    /// Whether doing it twice is the same as doing it once.
    pub(crate) repeatable: bool,
    method: Method,
    target: Target,
    body: Option<Bytes>,
    observer: Option<Arc<dyn WaitObserver>>,
}

#[derive(Debug, Clone)]
enum Target {
    /// A path below `/api/v1` and its query.
    Api(String, Vec<(&'static str, String)>),
    /// A document's own URL. It carries its own proof and never sees the key.
    Document(Url),
}

impl Call {
    /// Reads something.
    pub(crate) fn get(operation: &'static str, path: String) -> Self {
        Self {
            operation,
            repeatable: true,
            method: Method::GET,
            target: Target::Api(path, vec![]),
            body: None,
            observer: None,
        }
    }

    /// Reads a document from its own URL.
    pub(crate) fn document(operation: &'static str, url: Url) -> Self {
        let target = Target::Document(url);
        Self { operation, repeatable: true, method: Method::GET, target, body: None, observer: None }
    }

    /// Changes something to a stated value, which is repeatable.
    pub(crate) fn patch(
        operation: &'static str,
        path: String,
        body: &impl Serialize,
    ) -> serde_json::Result<Self> {
        Ok(Self { method: Method::PATCH, body: Some(json(body)?), ..Self::get(operation, path) })
    }

    /// Creates something; the caller knows whether that is repeatable.
    pub(crate) fn post(
        operation: &'static str,
        path: String,
        body: &impl Serialize,
        repeatable: bool,
    ) -> serde_json::Result<Self> {
        Ok(Self { method: Method::POST, repeatable, body: Some(json(body)?), ..Self::get(operation, path) })
    }

    /// Adds the query; only calls of the API have one.
    pub(crate) fn with_query(mut self, pairs: Vec<(&'static str, String)>) -> Self {
        if let Target::Api(_, query) = &mut self.target {
            *query = pairs;
        }
        self
    }

    /// Names who is told of waits for the quota.
    pub(crate) fn observed(self, observer: Option<Arc<dyn WaitObserver>>) -> Self {
        Self { observer, ..self }
    }

    /// A wait for the quota begins: tells who wants to know.
    pub(crate) fn waits(&self, wait: Duration) {
        if let Some(observer) = &self.observer {
            observer.waiting(wait);
        }
    }

    /// The path, for the log. A document's URL is a permission and is not shown.
    pub(crate) fn path(&self) -> &str {
        match &self.target {
            Target::Api(path, _) => path,
            Target::Document(_) => "(document)",
        }
    }

    /// Whether the service counts it in the key's quota.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self.target, Target::Api(..))
    }

    /// The method, for the log.
    pub(crate) fn method(&self) -> &Method {
        &self.method
    }
}

fn json(body: &impl Serialize) -> serde_json::Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from)
}

impl Endpoint {
    /// Reads the service's address, which stands before `/api/v1` and may have a path of its own.
    pub(crate) fn new(base: &str, key: HeaderValue, user_agent: &str) -> Result<Self, ConfigError> {
        let refuse = |rule| ConfigError::BaseUrl { rule };
        let mut base = Url::parse(base.trim()).map_err(|_| refuse("must be an absolute URL"))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse("must begin with https:// or http://"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(refuse("must not hold a user name or password"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(refuse("must not have a query or a fragment"));
        }
        let path = base.path().trim_end_matches('/');
        let path = format!("{}{PREFIX}", path.strip_suffix(PREFIX).unwrap_or(path));
        base.set_path(&path);
        let user_agent = HeaderValue::from_str(user_agent).map_err(|_| ConfigError::UserAgent)?;
        Ok(Self { base, authorization: key, user_agent })
    }

    /// The address with `/api/v1`.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Reads a document's URL, which may be relative to the service's address.
    pub(crate) fn document_url(&self, url: &str) -> Option<Url> {
        self.base.join(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
    }

    /// The request of one attempt.
    pub(crate) fn request(
        &self,
        call: &Call,
        request_id: &HeaderValue,
    ) -> http::Result<http::Request<Bytes>> {
        let mut request = http::Request::builder()
            .method(&call.method)
            .uri(self.url(call).as_str())
            .header(USER_AGENT, &self.user_agent)
            .header(X_REQUEST_ID, request_id);
        if let Target::Api(..) = call.target {
            request = request.header(AUTHORIZATION, &self.authorization).header(ACCEPT, "application/json");
        }
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(call.body.clone().unwrap_or_default())
    }

    fn url(&self, call: &Call) -> Url {
        match &call.target {
            Target::Document(url) => url.clone(),
            Target::Api(path, query) => {
                let mut url = self.base.clone();
                url.set_path(&format!("{}{path}", self.base.path()));
                if !query.is_empty() {
                    url.query_pairs_mut().extend_pairs(query);
                }
                url
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiKey;

    fn endpoint(base: &str) -> Result<Endpoint, ConfigError> {
        Endpoint::new(base, ApiKey::from("isk_x").header()?, "test/1")
    }

    #[test]
    fn the_prefix_is_added_once() {
        for (base, expected) in [
            ("https://api.example.com", "https://api.example.com/api/v1"),
            ("https://api.example.com/", "https://api.example.com/api/v1"),
            ("https://api.example.com/api/v1/", "https://api.example.com/api/v1"),
            ("http://localhost:8080/billing//", "http://localhost:8080/billing/api/v1"),
        ] {
            assert_eq!(endpoint(base).unwrap().base().as_str(), expected);
        }
    }

    #[test]
    fn an_address_that_cannot_be_one_is_refused() {
        for bad in [
            "",
            "api.example.com",
            "ftp://example.com",
            "https://u:p@example.com",
            "https://example.com/?a=b",
        ] {
            assert!(matches!(endpoint(bad), Err(ConfigError::BaseUrl { .. })), "{bad}");
        }
    }

    #[test]
    fn a_call_becomes_a_request() {
        let endpoint = endpoint("https://api.example.com").unwrap();
        let id = HeaderValue::from_static("r-1");
        let query = vec![("since", "2026-09-14T09:41:07.123Z".to_owned()), ("q", "a+b &%é".to_owned())];
        let call = Call::get("clients.list", "/clients".into()).with_query(query);
        let request = endpoint.request(&call, &id).unwrap();
        assert_eq!(
            request.uri(),
            "https://api.example.com/api/v1/clients?since=2026-09-14T09%3A41%3A07.123Z&q=a%2Bb+%26%25%C3%A9"
        );
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer isk_x");
        assert_eq!(request.headers()[X_REQUEST_ID], "r-1");
        assert!(!request.headers().contains_key(CONTENT_TYPE));

        let post = Call::post("clients.create", "/clients".into(), &"body", false).unwrap();
        let request = endpoint.request(&post, &id).unwrap();
        assert_eq!((request.method(), &request.body()[..]), (&Method::POST, &b"\"body\""[..]));
        assert_eq!(request.headers()[CONTENT_TYPE], "application/json");
    }

    /// Rules: RETRY-7
    #[test]
    fn a_document_url_never_sees_the_key() {
        let endpoint = endpoint("https://api.example.com/x").unwrap();
        let url = endpoint.document_url("https://files.example.com/d?sig=1").unwrap();
        let request = endpoint.request(&Call::document("d", url), &HeaderValue::from_static("r")).unwrap();
        assert_eq!(request.uri(), "https://files.example.com/d?sig=1");
        assert!(!request.headers().contains_key(AUTHORIZATION));
        assert_eq!(endpoint.document_url("/d?s=1").unwrap().as_str(), "https://api.example.com/d?s=1");
        assert!(endpoint.document_url("file:///etc/passwd").is_none());
    }
}
