//! Where webhooks may go: the rules for a URL at registration, and for the addresses behind it when connecting.
//!
//! A URL is parsed once, by the rules browsers use (WHATWG), and only that reading goes on: what is checked here is
//! what is connected to. This module resolves no names. Whether a *name* leads to a private network can only be
//! known when connecting, and may change from one attempt to the next, so [`transport`](super::transport) asks
//! [`TargetPolicy::permits`] about every address before it uses one. The checks made here are the early half: they
//! give whoever registers a webhook an answer at once.

mod addresses;

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use invoicing_core::FailureClass;
use serde::Deserialize;
use url::{Host, ParseError, Url};

pub use addresses::is_public;

/// Longest URL of a webhook, in characters, as given and as normalised.
pub const MAX_URL_CHARS: usize = 2_048;

/// Names that never lead to the public internet, with everything below them: RFC 6761 (`localhost`), RFC 6762
/// (`local`), RFC 8375 (`home.arpa`), RFC 7686 (`onion`), and `internal`, which ICANN reserved for private use in 2024.
const LOCAL_NAMES: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "onion"];

/// What a host allows beyond `https` to public addresses. The default allows nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetPolicy {
    /// Whether `http://` is accepted too. Deliveries then cross the network readable by anybody on the way.
    pub allow_http: bool,
    /// Whether webhooks may reach every address, private networks and this machine included. For tests, and for
    /// hosts whose companies are all trusted with that network.
    pub allow_private: bool,
}

impl TargetPolicy {
    /// Reads the URL of a webhook. The result is normalised: `HTTPS://Example.COM` becomes `https://example.com/`.
    ///
    /// # Errors
    /// The rule that the URL breaks. The text can be shown to whoever typed the URL: it reads on from the name of
    /// the field, and says nothing about this host's network.
    pub fn parse(self, url: &str) -> Result<TargetUrl, TargetError> {
        if url.chars().count() > MAX_URL_CHARS {
            return Err(TargetError::TooLong);
        }
        // The WHATWG parser drops tabs and line ends, trims spaces and turns `\` into `/`: a URL that needs any of
        // this is a mistake or a trick.
        if url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err(TargetError::Malformed);
        }
        let after_scheme = self.check_scheme(url)?;
        // The parser skips any number of slashes.
        if after_scheme.starts_with('/') {
            return Err(TargetError::NoHost);
        }
        let url = Url::parse(url).map_err(|error| match error {
            ParseError::EmptyHost => TargetError::NoHost,
            _ => TargetError::Malformed,
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::UserInfo);
        }
        if url.fragment().is_some() {
            return Err(TargetError::Fragment);
        }
        self.check_host(&url.host().ok_or(TargetError::NoHost)?)?;
        TargetUrl::try_from(url)
    }

    /// Whether a connection to this address may be made.
    pub fn permits(self, address: IpAddr) -> bool {
        self.allow_private || is_public(address)
    }

    /// The rest of the URL after `https://`, or `http://` where allowed.
    fn check_scheme(self, url: &str) -> Result<&str, TargetError> {
        let (scheme, rest) = url.split_once("://").ok_or(TargetError::Malformed)?;
        if scheme.eq_ignore_ascii_case("https") || self.allow_http && scheme.eq_ignore_ascii_case("http") {
            Ok(rest)
        } else if self.allow_http {
            Err(TargetError::NotHttp)
        } else {
            Err(TargetError::NotHttps)
        }
    }

    fn check_host(self, host: &Host<&str>) -> Result<(), TargetError> {
        let address = match *host {
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
            Host::Domain(name) => return self.check_name(name),
        };
        if self.permits(address) { Ok(()) } else { Err(TargetError::PrivateAddress) }
    }

    /// The name is in lower case and ASCII: the parser has seen to that.
    fn check_name(self, name: &str) -> Result<(), TargetError> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.split('.').any(str::is_empty) {
            return Err(TargetError::Malformed);
        }
        let below = |suffix: &str| {
            name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        // A name without a dot is completed from this machine's search list, or is one of its own.
        let local = !name.contains('.') || LOCAL_NAMES.into_iter().any(below);
        if local && !self.allow_private { Err(TargetError::LocalName) } else { Ok(()) }
    }
}

/// The URL of a webhook, accepted by a [`TargetPolicy`] and normalised.
///
/// It may carry a token of the receiver in its path or query; do not log it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    text: String,
    uri: Uri,
}

impl TargetUrl {
    /// The normalised text, to be stored and shown. Parsing it again gives the same URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The same for the HTTP client.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl TryFrom<Url> for TargetUrl {
    type Error = TargetError;

    fn try_from(url: Url) -> Result<Self, TargetError> {
        let text = String::from(url);
        // Percent-encoding lengthens: a character may become twelve.
        if text.len() > MAX_URL_CHARS {
            return Err(TargetError::TooLong);
        }
        let uri = text.parse().map_err(|_| TargetError::Malformed)?;
        Ok(Self { text, uri })
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a URL cannot be the target of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// More than [`MAX_URL_CHARS`].
    #[error("must have at most {MAX_URL_CHARS} characters")]
    TooLong,
    /// Not an absolute URL, or one with spaces, control characters or backslashes.
    #[error("must be an absolute URL such as https://example.com/hooks")]
    Malformed,
    /// A scheme other than `https`.
    #[error("must start with https://")]
    NotHttps,
    /// A scheme other than `https` and `http`, where both are allowed.
    #[error("must start with https:// or http://")]
    NotHttp,
    /// No host after the scheme.
    #[error("must name a host, as in https://example.com/hooks")]
    NoHost,
    /// `user:password@`.
    #[error(
        "must not contain a user name or password; put a token in the path or check the signature instead"
    )]
    UserInfo,
    /// `#…`, which is never sent.
    #[error("must not contain a fragment (the part from #)")]
    Fragment,
    /// An address literal that is not public, however it was spelled.
    #[error("must lead to a public address, not to a private, local or reserved one")]
    PrivateAddress,
    /// `localhost`, a name without a dot, or one that exists in private networks only.
    #[error("must name a host on the public internet, not a local name")]
    LocalName,
}

impl TargetError {
    /// How an attempt ends for a stored URL that the policy does not accept (any more).
    pub const fn failure_class(self) -> FailureClass {
        match self {
            Self::NotHttps | Self::NotHttp | Self::PrivateAddress | Self::LocalName => {
                FailureClass::TargetRefused
            }
            Self::TooLong | Self::Malformed | Self::NoHost | Self::UserInfo | Self::Fragment => {
                FailureClass::Unsendable
            }
        }
    }
}

#[cfg(test)]
mod tests;
