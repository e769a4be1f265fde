//! Where webhooks may go: the rules for a URL at registration, and for the addresses behind it when connecting.
//!
//! A URL is parsed once, by the rules browsers use (WHATWG), and only that reading goes on: what is checked here is
//! what is connected to. This module resolves no names. Whether a *name* leads to a private network can only be
//! known when connecting, and may change from one attempt to the next, so the transport puts every
//! answer of a lookup to [`TargetPolicy::permits_all`] before it uses one. The checks made here are the early half:
//! they give whoever registers a webhook an answer at once. The attempt decides.
//!
//! **What a customer learns.** A refused target has one text and one failure class, whatever lies behind it: nothing
//! was connected to, so open and closed ports, and hosts that are up and down, look alike; no address is named. A name
//! without addresses is `dns` and not `target_refused`: the first is tried again, as the contract asks, and whoever
//! has mistyped a name should see it. Where that tells too much, because this machine's resolver knows a company's
//! internal names under a public suffix, the host plugs in a resolver that does not (see [`Resolve`](crate::Resolve)).

mod addresses;
mod names;
mod ports;

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use invoicing_core::FailureClass;
use serde::Deserialize;
use url::{Host, ParseError, Url};

use crate::secret::shown_url;
pub use addresses::is_public;

/// Longest URL of a webhook, in characters, as given and as normalised.
pub const MAX_URL_CHARS: usize = 2_048;

/// What a host allows beyond `https` to public addresses. The default allows nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
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
        // Looked for in the text, as the parser drops user info that is empty.
        if after_scheme.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
            return Err(TargetError::UserInfo);
        }
        let url = Url::parse(url).map_err(|error| match error {
            ParseError::EmptyHost => TargetError::NoHost,
            _ => TargetError::Malformed,
        })?;
        if url.fragment().is_some() {
            return Err(TargetError::Fragment);
        }
        if url.port().is_some_and(ports::is_blocked) {
            return Err(TargetError::Port);
        }
        self.check_host(&url.host().ok_or(TargetError::NoHost)?)?;
        TargetUrl::try_from(url)
    }

    /// Whether a connection to this address may be made.
    pub fn permits(self, address: IpAddr) -> bool {
        self.allow_private || is_public(address)
    }

    /// Whether a connection may be made to a name with these addresses. One that is not permitted refuses them all:
    /// a name with a public and a private address is a trick or a mistake. No addresses are not permitted either.
    pub fn permits_all(self, addresses: &[IpAddr]) -> bool {
        !addresses.is_empty() && addresses.iter().all(|address| self.permits(*address))
    }

    /// Whether a connection may be made for this URL, as far as that shows without a lookup. Asked at each connection,
    /// because a stored URL may be older than today's policy.
    pub(crate) fn permits_uri(self, uri: &Uri) -> bool {
        (self.allow_http || uri.scheme() == Some(&Scheme::HTTPS))
            && !uri.port_u16().is_some_and(ports::is_blocked)
            && literal(uri).is_none_or(|address| self.permits(address))
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
        if names::is_local(name) && !self.allow_private { Err(TargetError::LocalName) } else { Ok(()) }
    }
}

/// The address, where the host is one. Normalisation leaves one spelling of each.
pub(crate) fn literal(uri: &Uri) -> Option<IpAddr> {
    let host = uri.host()?;
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

/// The URL of a webhook, accepted by a [`TargetPolicy`] and normalised.
///
/// It may carry a token of the receiver in its path or query: `Debug` shows neither. `Display` shows all of it; do not
/// log it.
#[derive(Clone, PartialEq, Eq)]
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
    pub(crate) fn uri(&self) -> &Uri {
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

impl fmt::Debug for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TargetUrl").field(&shown_url(&self.text)).finish()
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
    /// A port that browsers connect to for no web page: 0, and those of other services.
    #[error("must not use a port of a service other than the web's, such as 22 or 25; 443 is usual")]
    Port,
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
            Self::NotHttps | Self::NotHttp | Self::Port | Self::PrivateAddress | Self::LocalName => {
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
