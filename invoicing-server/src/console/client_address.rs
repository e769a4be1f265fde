//! The address of the person at the other end: the peer's, or the one in the header of a proxy that
//! the host trusts.

use std::net::{IpAddr, SocketAddr};

use http::request::Parts;
use http::{HeaderMap, HeaderName};

use crate::config::SettingError;

/// The proxies whose header is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrustedProxies {
    header: HeaderName,
    networks: Vec<Network>,
}

/// An address, and the number of its first bits that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network(IpAddr, u8);

impl TrustedProxies {
    /// `None` if no header is named.
    pub(super) fn of(header: Option<&str>, networks: &[String]) -> Result<Option<Self>, SettingError> {
        let Some(header) = header else { return Ok(None) };
        let header = HeaderName::try_from(header)
            .map_err(|_| SettingError::new("console.clientAddressHeader", "must be the name of a header"))?;
        let networks = networks.iter().map(|network| Network::parse(network)).collect::<Option<Vec<_>>>();
        let networks = networks.filter(|networks| !networks.is_empty()).ok_or(SettingError::new(
            "console.trustedProxies",
            "must be addresses or networks such as 10.0.0.0/8, at least one where a header is named",
        ))?;
        Ok(Some(Self { header, networks }))
    }

    /// The last hop that is no trusted proxy; `None` if the header lacks it.
    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.trusts(peer) {
            return Some(peer);
        }
        let mut nearest = None;
        // Each proxy adds the address of its own peer at the end.
        let values: Vec<_> = headers.get_all(&self.header).iter().collect();
        for hop in values.iter().rev().flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b',')) {
            let hop = std::str::from_utf8(hop).ok().and_then(|hop| parse_hop(hop.trim()))?;
            nearest = Some(hop);
            if !self.trusts(hop) {
                break;
            }
        }
        nearest
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

/// The address of a request's sender; `None` if unknown.
pub(super) fn client_address(head: &Parts, proxies: Option<&TrustedProxies>) -> Option<IpAddr> {
    let peer = head.extensions.get::<IpAddr>()?.to_canonical();
    proxies.map_or(Some(peer), |proxies| proxies.client(peer, &head.headers))
}

/// An address, perhaps with a port.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|socket| socket.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address.parse::<IpAddr>().ok()?, Some(bits.parse().ok()?)),
            None => (text.parse().ok()?, None),
        };
        let max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(max);
        (bits <= max).then_some(Self(address, bits))
    }

    fn contains(self, address: IpAddr) -> bool {
        let Self(network, bits) = self;
        let (network, address, width) = match (network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (u128::from(network.to_bits()), u128::from(address.to_bits()), 32)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
            _ => return false,
        };
        (network ^ address).checked_shr(width - u32::from(bits)).unwrap_or(0) == 0
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn address(proxies: Option<&TrustedProxies>, peer: &str, hops: &[&str]) -> Option<String> {
        let request = hops.iter().fold(Request::builder(), |request, hops| request.header("x-hops", *hops));
        let request = request.extension(peer.parse::<IpAddr>().unwrap()).body(()).unwrap();
        client_address(&request.into_parts().0, proxies).map(|address| address.to_string())
    }

    fn trusting(networks: &[&str]) -> TrustedProxies {
        let networks: Vec<_> = networks.iter().map(|network| (*network).to_owned()).collect();
        TrustedProxies::of(Some("X-Hops"), &networks).unwrap().unwrap()
    }

    /// Rules: EVIDENCE-4
    #[test]
    fn a_header_is_believed_from_a_trusted_proxy_only() {
        let forged = ["192.0.2.1"];
        assert_eq!(address(None, "10.0.0.1", &forged).unwrap(), "10.0.0.1");
        let proxies = trusting(&["10.0.0.0/8", "fd00::1"]);
        assert_eq!(address(Some(&proxies), "198.51.100.7", &forged).unwrap(), "198.51.100.7");
        assert_eq!(address(Some(&proxies), "10.0.0.1", &forged).unwrap(), "192.0.2.1");
        assert_eq!(address(Some(&proxies), "::ffff:10.0.0.1", &forged).unwrap(), "192.0.2.1");
        assert_eq!(address(Some(&proxies), "fd00::1", &forged).unwrap(), "192.0.2.1");
        assert_eq!(address(Some(&proxies), "fd00::2", &forged).unwrap(), "fd00::2");
    }

    /// Rules: EVIDENCE-4
    #[test]
    fn the_last_hop_that_is_no_trusted_proxy_counts() {
        let proxies = trusting(&["10.0.0.0/8"]);
        let from = |hops: &[&str]| address(Some(&proxies), "10.0.0.1", hops);
        for (hops, expected) in [
            (&["203.0.113.9, 192.0.2.1, 10.2.0.1"][..], Some("192.0.2.1")),
            (&["203.0.113.9", "192.0.2.1", "10.2.0.1, 10.0.0.3"], Some("192.0.2.1")),
            (&["192.0.2.1:443"], Some("192.0.2.1")),
            (&["[2001:db8::1]:443"], Some("2001:db8::1")),
            (&["2001:db8::1"], Some("2001:db8::1")),
            (&["10.9.9.9, 10.2.0.1"], Some("10.9.9.9")),
            (&["192.0.2.1, unknown"], None),
            (&["192.0.2.1, 10.2.0.1,"], None),
            (&[], None),
        ] {
            assert_eq!(from(hops).as_deref(), expected, "{hops:?}");
        }
    }

    #[test]
    fn settings_that_trust_nobody_or_cannot_be_read_are_refused() {
        assert_eq!(TrustedProxies::of(None, &[]).unwrap(), None);
        for (header, networks) in [
            ("x-hops", &[][..]),
            ("a b", &["10.0.0.1"]),
            ("x-hops", &["10.0.0.0/33"]),
            ("x-hops", &["10.0.0.1", "proxy.example"]),
        ] {
            let networks: Vec<_> = networks.iter().map(|network| (*network).to_owned()).collect();
            assert!(TrustedProxies::of(Some(header), &networks).is_err(), "{header} {networks:?}");
        }
        let all = trusting(&["0.0.0.0/0", "::/0"]);
        assert!(all.trusts("192.0.2.1".parse().unwrap()) && all.trusts("::1".parse().unwrap()));
    }
}
