//! Public addresses: those on the public internet, outside of every special-purpose block. A
//! [`TargetPolicy`](super::TargetPolicy) decides by them.
//!
//! All blocks of the IANA special-purpose registries are refused. That includes the few globally
//! reachable ones (anycast services, AS112), as no webhook receiver is in them. Refused too are
//! multicast, the reserved space, and two well-known addresses of cloud platforms outside those
//! blocks. In IPv6 only global unicast (`2000::/3`) passes.
//!
//! **Addresses that embed an IPv4 address** (mapped, compatible, SIIT, 6to4, Teredo, ISATAP) are
//! refused, with any content: no public name resolves to one, and the network decides their
//! targets. The one exception is NAT64's well-known prefix `64:ff9b::/96`, which DNS64 returns for
//! *every* IPv4-only receiver on an IPv6-only machine. Such an address is as public as the one
//! inside, by RFC 6052, section 3.1.
//!
//! A NAT64 or a VPN under an operator's own global prefix looks like any public network, and
//! passes. Keeping webhooks out of those is the task of a firewall.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True if the address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// <https://www.iana.org/assignments/iana-ipv4-special-registry>, multicast, and cloud platforms.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 19] = [
    (Ipv4Addr::UNSPECIFIED, 8),            // "this network", RFC 791
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private use, RFC 1918
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carrier-grade NAT, RFC 6598; Alibaba's metadata service
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback, RFC 1122
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's host agent, reachable from every virtual machine
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local, RFC 3927; metadata services of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private use, RFC 1918
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // IETF protocol assignments, RFC 6890; Oracle's metadata service
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation, RFC 5737
    (Ipv4Addr::new(192, 31, 196, 0), 24),  // AS112, RFC 7535
    (Ipv4Addr::new(192, 52, 193, 0), 24),  // AMT, RFC 7450
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays, deprecated, RFC 7526
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private use, RFC 1918
    (Ipv4Addr::new(192, 175, 48, 0), 24),  // AS112, RFC 7534
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarking, RFC 2544
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation, RFC 5737
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation, RFC 5737
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast, RFC 5771
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, RFC 1112, and limited broadcast, RFC 919
];

/// Global unicast, the only part of IPv6 that is assigned:
/// <https://www.iana.org/assignments/ipv6-unicast-address-assignments>.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Special blocks *within* global unicast:
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>. Loopback, mapped, unique local,
/// link-local, site-local, discard, multicast and segment routing (`5f00::/16`) lie outside.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 6] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // IETF: Teredo, ORCHID, benchmarking, AMT, …, RFC 2928
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation, RFC 3849
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, RFC 3056
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112, RFC 7534
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16), // 6bone, returned, RFC 3701
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation, RFC 9637
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4
        .iter()
        .any(|&(network, length)| (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() {
        return is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    }
    let within =
        |&(network, length): &(Ipv6Addr, u32)| (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0;
    within(&GLOBAL_UNICAST) && !NOT_PUBLIC_V6.iter().any(within) && !is_isatap(address)
}

/// The interface identifier `0000:5efe` or `0200:5efe` and an IPv4 address, under any prefix: RFC
/// 5214, section 6.1. The two lowest bits of the first byte (universal, group) are ignored.
fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    segments[4] & 0xfcff == 0 && segments[5] == 0x5efe
}

#[cfg(test)]
mod tests;
