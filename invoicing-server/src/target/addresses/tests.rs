use proptest::prelude::*;

use super::*;

fn public(address: &str) -> bool {
    is_public(address.parse().unwrap())
}

/// The first and last address of each special-purpose block, with its public neighbours.
#[test]
fn blocks_end_where_the_registries_say() {
    for (before, first, last, after) in [
        ("", "0.0.0.0", "0.255.255.255", "1.0.0.0"),
        ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
        ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
        ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
        ("168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"),
        ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
        ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
        ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
        ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
        ("192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"),
        ("192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"),
        ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
        ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
        ("192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"),
        ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
        ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
        ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
        ("223.255.255.255", "224.0.0.0", "255.255.255.255", ""),
        ("", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"),
        ("2000:ffff::", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
        ("2001:db7:ffff::", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"),
        ("2001:ffff::", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"),
        ("2620:4f:7fff::", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"),
        ("3ffd:ffff::", "3ffe::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
        ("3fff:ffff::", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""),
    ] {
        assert!(!public(first) && !public(last), "{first} to {last}");
        assert!(before.is_empty() || public(before), "{before}");
        assert!(after.is_empty() || public(after), "{after}");
    }
}

/// The IPv6 addresses that embed this IPv4 address, except NAT64's well-known prefix.
fn embeddings(inner: Ipv4Addr) -> Vec<Ipv6Addr> {
    let low = u128::from(inner.to_bits());
    let at = |network: &str, shift: u32| {
        Ipv6Addr::from_bits(network.parse::<Ipv6Addr>().unwrap().to_bits() | low << shift)
    };
    vec![
        at("::ffff:0:0", 0),                                          // mapped
        at("::", 0),                                                  // compatible
        at("::ffff:0:0:0", 0),                                        // SIIT
        at("64:ff9b:1::", 0),                                         // NAT64, local use
        at("2002::", 80),                                             // 6to4
        at("2002::1", 80),                                            // 6to4
        at("2001:0::", 64),                                           // Teredo, server
        Ipv6Addr::from_bits(0x2001_u128 << 112 | !low & 0xffff_ffff), // Teredo, client
        at("2606:4700:0:0:0:5efe::", 0),                              // ISATAP
        at("2606:4700:0:0:200:5efe::", 0),                            // ISATAP
        at("fe80::5efe:0:0", 0),                                      // ISATAP
    ]
}

proptest! {
    /// Rules: TARGET-3
    #[test]
    fn an_address_that_embeds_an_ipv4_address_is_not_public(bits: u32) {
        for address in embeddings(Ipv4Addr::from_bits(bits)) {
            prop_assert!(!is_public(address.into()), "{}", address);
        }
    }

    /// Rules: TARGET-3
    #[test]
    fn nat64_is_as_public_as_the_address_inside(bits: u32) {
        let inner = Ipv4Addr::from_bits(bits);
        let outer = Ipv6Addr::from_bits(0x64_ff9b_u128 << 96 | u128::from(bits));
        prop_assert_eq!(is_public(outer.into()), is_public(inner.into()));
    }

    /// The judgement of the standard library, if it has one.
    #[test]
    fn addresses_that_the_standard_library_calls_special_are_not_public(bits: u32, wide: u128) {
        let v4 = Ipv4Addr::from_bits(bits);
        let special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
            || v4.is_broadcast() || v4.is_documentation() || v4.is_unspecified();
        prop_assert!(!(special && is_public(v4.into())), "{}", v4);
        let v6 = Ipv6Addr::from_bits(wide);
        let special = v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_multicast();
        prop_assert!(!(special && is_public(v6.into())), "{}", v6);
    }

    #[test]
    fn only_global_unicast_and_nat64_can_be_public(wide: u128) {
        let address = Ipv6Addr::from_bits(wide);
        prop_assert!(!is_public(address.into()) || matches!(address.segments()[0], 0x2000..=0x3fff | 0x64));
    }
}
