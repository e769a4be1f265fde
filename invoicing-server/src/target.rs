//! The target policy: rules for a webhook's URL at registration, and for the addresses behind it
//! when connecting.
//!
//! A URL is parsed once, by the rules of browsers (WHATWG), and only the parsed form is used from
//! then on. So the URL that was checked is the one that is connected to.
//!
//! This module resolves no names. Only connecting shows whether a *name* leads to a private
//! network, and the answer may change between attempts. So the transport passes every answer of a
//! lookup to [`TargetPolicy::permits_all`]. The checks at registration are an early answer to the
//! caller; the attempt decides.
//!
//! **Secrecy.** A refused target has one text and one failure class for every reason. No connection
//! is attempted, so open and closed ports look alike, as do hosts that are up and down. No address
//! is named.
//!
//! A name without addresses is `dns` and not `target_refused`: it is retried, and a mistyped name
//! should show. This reveals too much if the system's resolver also resolves internal names under a
//! public suffix. A host with such names supplies another resolver (see
//! [`Resolve`](crate::Resolve)).

mod addresses;
mod names;
mod ports;

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use invoicing_core::{MAX_URL_CHARS, TargetError};
use serde::Deserialize;
use url::{Host, ParseError, Url};

use crate::log::shown_url;
pub use addresses::is_public;

/// Targets that a host allows beyond `https` to public addresses. The default allows no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetPolicy {
    /// True if `http://` is accepted too. Such deliveries are readable on the way.
    pub allow_http: bool,
    /// True if webhooks may reach every address, including private networks and this machine. For
    /// tests, and for hosts that trust all their companies with that network.
    pub allow_private: bool,
}

impl TargetPolicy {
    /// Reads the URL of a webhook. The result is normalised: `HTTPS://Example.COM` becomes
    /// `https://example.com/`.
    ///
    /// # Errors
    /// The rule that the URL breaks. The text continues a sentence that begins with the name of the
    /// field, and reveals nothing about this host's network, so that it can be shown to companies.
    /// If a setting lifts the rule, the text names the setting.
    pub fn parse(self, url: &str) -> Result<TargetUrl, TargetError> {
        if url.chars().count() > MAX_URL_CHARS {
            return Err(TargetError::TooLong);
        }
        // The WHATWG parser drops tabs and line ends, trims spaces and turns `\` into `/`. A URL
        // that needs one of these is a mistake or an attack.
        if url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err(TargetError::Malformed);
        }
        let after_scheme = self.check_scheme(url)?;
        // The parser would skip any number of slashes, and take the path for the host.
        if after_scheme.starts_with('/') {
            return Err(TargetError::NoHost);
        }
        // Searched in the text, because the parser drops empty user info.
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
        if let Some(port) = url.port().filter(|port| ports::is_blocked(*port)) {
            return Err(TargetError::Port(port));
        }
        self.check_host(&url.host().ok_or(TargetError::NoHost)?)?;
        let text = String::from(url);
        // Percent-encoding lengthens: a character may become twelve.
        if text.len() > MAX_URL_CHARS {
            return Err(TargetError::TooLong);
        }
        let uri = text.parse().map_err(|_| TargetError::Malformed)?;
        Ok(TargetUrl { text, uri })
    }

    /// True if this address may be connected to.
    pub fn permits(self, address: IpAddr) -> bool {
        self.allow_private || is_public(address)
    }

    /// True if a name with these addresses may be connected to. One forbidden address refuses them
    /// all: a name with a public and a private address is a mistake or an attack. An empty list is
    /// refused too.
    pub fn permits_all(self, addresses: &[IpAddr]) -> bool {
        !addresses.is_empty() && addresses.iter().all(|address| self.permits(*address))
    }

    /// True if this URL may be connected to, as far as that shows without a lookup. Checked at each
    /// connection, because a stored URL may be older than the current policy.
    pub(crate) fn permits_uri(self, uri: &Uri) -> bool {
        (self.allow_http || uri.scheme() == Some(&Scheme::HTTPS))
            && !uri.port_u16().is_some_and(ports::is_blocked)
            && address_literal(uri).is_none_or(|address| self.permits(address))
    }

    /// The rest of the URL after `https://`, or after `http://` if it is allowed.
    fn check_scheme(self, url: &str) -> Result<&str, TargetError> {
        // A URL without a scheme has the empty one here, which is refused like any other.
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
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

    /// Checks a name, which the parser has converted to ASCII in lower case.
    fn check_name(self, name: &str) -> Result<(), TargetError> {
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.split('.').any(str::is_empty) {
            return Err(TargetError::Malformed);
        }
        if names::is_local(name) && !self.allow_private { Err(TargetError::LocalName) } else { Ok(()) }
    }
}

/// The address, if the host is an address literal. Normalisation leaves one spelling of each.
pub(crate) fn address_literal(uri: &Uri) -> Option<IpAddr> {
    let host = uri.host()?;
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

/// The URL of a webhook, accepted by a [`TargetPolicy`] and normalised.
///
/// Its path and query may hold a token of the receiver, so `Debug` shows neither. `Display` shows
/// the whole URL: do not log it.
#[derive(Clone, PartialEq, Eq)]
pub struct TargetUrl {
    text: String,
    uri: Uri,
}

impl TargetUrl {
    /// The normalised text, for storage and display. Parsing it again gives the same URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The same URL for the HTTP client.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
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

#[cfg(test)]
mod tests;
