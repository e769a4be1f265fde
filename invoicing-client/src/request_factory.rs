//! Builds the HTTP request of an attempt from a [`Call`], the service's address and the key.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue};
use url::Url;

use crate::ConfigError;
use crate::call::{Call, Target};

/// Correlates a call with the service's log.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Path prefix of every endpoint.
const API_PREFIX: &str = "/api/v1";

#[derive(Debug, Clone)]
pub(crate) struct RequestFactory {
    /// Ends with `/api/v1`.
    base_url: Url,
    authorization: HeaderValue,
    user_agent: HeaderValue,
}

impl RequestFactory {
    /// Checks the base URL, which may have a path of its own before `/api/v1`.
    pub(crate) fn new(base_url: &str, key: HeaderValue, user_agent: &str) -> Result<Self, ConfigError> {
        let invalid = |rule| ConfigError::BaseUrl { rule };
        let mut base_url = Url::parse(base_url.trim()).map_err(|_| invalid("must be an absolute URL"))?;
        if !matches!(base_url.scheme(), "http" | "https") {
            return Err(invalid("must begin with https:// or http://"));
        }
        if !base_url.username().is_empty() || base_url.password().is_some() {
            return Err(invalid("must not hold a user name or password"));
        }
        if base_url.query().is_some() || base_url.fragment().is_some() {
            return Err(invalid("must not have a query or a fragment"));
        }
        let path = base_url.path().trim_end_matches('/');
        let path = format!("{}{API_PREFIX}", path.strip_suffix(API_PREFIX).unwrap_or(path));
        base_url.set_path(&path);
        let user_agent = HeaderValue::from_str(user_agent).map_err(|_| ConfigError::UserAgent)?;
        Ok(Self { base_url, authorization: key, user_agent })
    }

    /// The address with `/api/v1`.
    pub(crate) fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Host and port that the call goes to.
    pub(crate) fn peer(&self, call: &Call) -> String {
        let url = match &call.target {
            Target::Document(url) => url,
            Target::Api(..) => &self.base_url,
        };
        let port = url.port_or_known_default().unwrap_or_default();
        format!("{}:{port}", url.host_str().unwrap_or_default())
    }

    /// Parses the URL of a document, which may be relative to the service's address.
    pub(crate) fn document_url(&self, url: &str) -> Option<Url> {
        self.base_url.join(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
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
                let mut url = self.base_url.clone();
                url.set_path(&format!("{}{path}", self.base_url.path()));
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
    use http::Method;

    use super::*;
    use crate::ApiKey;
    use crate::call::Call;

    fn factory(base: &str) -> Result<RequestFactory, ConfigError> {
        RequestFactory::new(base, ApiKey::from("isk_x").header()?, "test/1")
    }

    #[test]
    fn the_api_prefix_is_added_once() {
        for (base, expected) in [
            ("https://api.example.com", "https://api.example.com/api/v1"),
            ("https://api.example.com/", "https://api.example.com/api/v1"),
            ("https://api.example.com/api/v1/", "https://api.example.com/api/v1"),
            ("http://localhost:8080/invoicing//", "http://localhost:8080/invoicing/api/v1"),
        ] {
            assert_eq!(factory(base).unwrap().base_url().as_str(), expected);
        }
    }

    #[test]
    fn an_invalid_base_url_is_refused() {
        for bad in [
            "",
            "api.example.com",
            "ftp://example.com",
            "https://u:p@example.com",
            "https://example.com/?a=b",
        ] {
            assert!(matches!(factory(bad), Err(ConfigError::BaseUrl { .. })), "{bad}");
        }
    }

    #[test]
    fn a_call_is_converted_into_a_request() {
        let factory = factory("https://api.example.com").unwrap();
        let id = HeaderValue::from_static("r-1");
        let query = vec![("since", "2026-09-14T09:41:07.123Z".to_owned()), ("q", "a+b &%é".to_owned())];
        let call = Call::get("clients.list", "/clients".into()).with_query(query);
        let request = factory.request(&call, &id).unwrap();
        assert_eq!(
            request.uri(),
            "https://api.example.com/api/v1/clients?since=2026-09-14T09%3A41%3A07.123Z&q=a%2Bb+%26%25%C3%A9"
        );
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer isk_x");
        assert_eq!(request.headers()[X_REQUEST_ID], "r-1");
        assert!(!request.headers().contains_key(CONTENT_TYPE));

        let post = Call::post("clients.create", "/clients".into(), &"body", false).unwrap();
        let request = factory.request(&post, &id).unwrap();
        assert_eq!((request.method(), &request.body()[..]), (&Method::POST, &b"\"body\""[..]));
        assert_eq!(request.headers()[CONTENT_TYPE], "application/json");
    }

    /// Rules: RETRY-7
    #[test]
    fn the_key_is_not_sent_to_a_document_url() {
        let factory = factory("https://api.example.com/x").unwrap();
        let url = factory.document_url("https://files.example.com/d?sig=1").unwrap();
        let request = factory.request(&Call::document("d", url), &HeaderValue::from_static("r")).unwrap();
        assert_eq!(request.uri(), "https://files.example.com/d?sig=1");
        assert!(!request.headers().contains_key(AUTHORIZATION));
        assert_eq!(factory.document_url("/d?s=1").unwrap().as_str(), "https://api.example.com/d?s=1");
        assert!(factory.document_url("file:///etc/passwd").is_none());
    }
}
