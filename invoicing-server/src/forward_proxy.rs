//! The setting for a forward proxy: its address and the credentials for it.
//!
//! Read from one URL. Environment variables such as `HTTPS_PROXY` are ignored, unless a host passes
//! them on.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use url::Url;
use zeroize::Zeroizing;

/// A forward proxy with HTTP `CONNECT`, as `http://user:password@proxy.example:3128`.
///
/// The scheme is for the connection to the proxy itself; deliveries to `https` receivers are
/// encrypted end to end either way. User and password may be percent-encoded. They are sent as
/// Basic authentication, which is readable on the way to an `http://` proxy. `Debug` does not show
/// them, and their memory is wiped on drop.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ForwardProxy {
    uri: Uri,
    /// `Basic` and the base64 of user and password.
    authorization: Option<Zeroizing<String>>,
}

impl ForwardProxy {
    /// The address of the proxy, without user and password.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The value of `Proxy-Authorization`.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(self.authorization.as_ref()?).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The value of the header (RFC 7617): no colon in the user's name, no control characters at all.
fn authorization(url: &Url) -> Result<Option<Zeroizing<String>>, ParseProxyError> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let decode = |text| Zeroizing::new(percent_decode_str(text).collect::<Vec<u8>>());
    let (user, password) = (decode(url.username()), decode(url.password().unwrap_or_default()));
    if user.contains(&b':') || user.iter().chain(password.iter()).any(u8::is_ascii_control) {
        return Err(ParseProxyError::Credentials);
    }
    let pair = Zeroizing::new([user.as_slice(), b":", password.as_slice()].concat());
    let encoded = Zeroizing::new(STANDARD.encode(&*pair));
    Ok(Some(Zeroizing::new(format!("Basic {}", *encoded))))
}

/// Reads the URL. The text of an error does not repeat the URL, which may hold a password.
impl FromStr for ForwardProxy {
    type Err = ParseProxyError;

    fn from_str(url: &str) -> Result<Self, ParseProxyError> {
        let mut url = Url::parse(url).map_err(|_| ParseProxyError::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ParseProxyError::Scheme);
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(ParseProxyError::Path);
        }
        let authorization = authorization(&url)?;
        if url.set_username("").is_err() || url.set_password(None).is_err() {
            return Err(ParseProxyError::Malformed);
        }
        let uri = url.as_str().parse().map_err(|_| ParseProxyError::Malformed)?;
        Ok(Self { uri, authorization })
    }
}

impl TryFrom<String> for ForwardProxy {
    type Error = ParseProxyError;

    fn try_from(url: String) -> Result<Self, ParseProxyError> {
        Zeroizing::new(url).parse()
    }
}

impl fmt::Debug for ForwardProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authorization = self.authorization.as_ref().map(|_| "..");
        f.debug_struct("ForwardProxy").field("uri", &self.uri).field("authorization", &authorization).finish()
    }
}

/// The reason why a text is not the URL of a forward proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseProxyError {
    /// The text is not an absolute URL with a host.
    #[error("the proxy must be a URL such as http://proxy.example:3128")]
    Malformed,
    /// The scheme is neither `http` nor `https`, such as SOCKS.
    #[error("the proxy's URL must start with http:// or https://")]
    Scheme,
    /// The URL has more than a host and a port.
    #[error("the proxy's URL must end after the port")]
    Path,
    /// Basic authentication cannot carry the user or the password.
    #[error("the proxy's user must have no colon, and neither it nor the password control characters")]
    Credentials,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_decoded_sent_as_basic_and_never_shown() {
        let proxy = ForwardProxy::from_str("http://us%40er:p%3Ass%20w@Proxy.example:3128").unwrap();
        assert_eq!(proxy.uri(), "http://proxy.example:3128/");
        // "us@er:p:ss w"
        assert_eq!(proxy.authorization().unwrap(), "Basic dXNAZXI6cDpzcyB3");
        let shown = format!("{proxy:?} {:?}", proxy.authorization());
        for secret in ["us@er", "us%40er", "ss w", "p%3Ass", "dXNAZXI6cDpzcyB3"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(ForwardProxy::from_str("https://proxy.example").unwrap().authorization().is_none());
    }

    #[test]
    fn proxies_with_the_same_address_and_credentials_are_equal() {
        let parse = |url| ForwardProxy::from_str(url).unwrap();
        assert_eq!(parse("http://a:b@proxy.example"), parse("http://a:b@PROXY.example:80/"));
        assert_ne!(parse("http://a:b@proxy.example"), parse("http://a:c@proxy.example"));
        assert_ne!(parse("http://a:b@proxy.example"), parse("http://proxy.example"));
        assert_ne!(parse("http://proxy.example"), parse("https://proxy.example"));
    }

    #[test]
    fn an_invalid_proxy_url_is_refused_without_repeating_it() {
        for (url, error) in [
            ("", ParseProxyError::Malformed),
            ("proxy.example:3128", ParseProxyError::Scheme),
            ("http://", ParseProxyError::Malformed),
            ("socks5://u:hunter2@proxy.example", ParseProxyError::Scheme),
            ("http://u:hunter2@proxy.example/path", ParseProxyError::Path),
            ("http://u:hunter2@proxy.example/?q", ParseProxyError::Path),
            ("http://u:hunter2@proxy.example/#f", ParseProxyError::Path),
            ("http://u%3Au:hunter2@proxy.example", ParseProxyError::Credentials),
            ("http://u:hunter2%0D%0Ax@proxy.example", ParseProxyError::Credentials),
            ("http://u:hunter2@proxy.example:99999", ParseProxyError::Malformed),
        ] {
            assert_eq!(ForwardProxy::from_str(url), Err(error), "{url}");
            let json = serde_json::to_string(url).unwrap();
            let text = serde_json::from_str::<ForwardProxy>(&json).unwrap_err().to_string();
            assert!(text.starts_with(&error.to_string()) && !text.contains("hunter2"), "{text}");
        }
        assert!(serde_json::from_str::<ForwardProxy>("\"http://proxy.example:3128\"").is_ok());
    }
}
