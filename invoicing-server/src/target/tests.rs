use proptest::prelude::*;

use invoicing_core::FailureClass;

use super::*;

const STRICT: TargetPolicy = TargetPolicy { allow_http: false, allow_private: false };
const PRIVATE: TargetPolicy = TargetPolicy { allow_http: false, allow_private: true };
const OPEN: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

fn parse(policy: TargetPolicy, url: &str) -> Result<(), TargetError> {
    policy.parse(url).map(drop)
}

/// Rules: TARGET-5
#[test]
fn http_is_accepted_only_where_allowed() {
    let only_http = TargetPolicy { allow_http: true, allow_private: false };
    assert_eq!(parse(only_http, "http://example.com/"), Ok(()));
    assert_eq!(parse(only_http, "https://example.com/"), Ok(()));
    assert_eq!(parse(only_http, "http://127.0.0.1/"), Err(TargetError::PrivateAddress));
    assert_eq!(parse(OPEN, "http://127.0.0.1:8080/"), Ok(()));
    assert_eq!(parse(OPEN, "ftp://example.com/"), Err(TargetError::NotHttp));
    assert_eq!(parse(STRICT, "http://example.com/"), Err(TargetError::NotHttps));
}

/// Rules: TARGET-7
#[test]
fn a_rule_that_a_setting_lifts_names_it() {
    for (url, setting) in [
        ("http://example.com/", "TargetPolicy::allow_http"),
        ("http://localhost:9000/", "TargetPolicy::allow_http"),
        ("https://127.0.0.1:9000/", "TargetPolicy::allow_private"),
        ("https://[fd00::1]/", "TargetPolicy::allow_private"),
        ("https://localhost/", "TargetPolicy::allow_private"),
    ] {
        let refused = STRICT.parse(url).unwrap_err().to_string();
        assert!(refused.contains(setting), "{url}: {refused}");
        assert_eq!(parse(OPEN, url), Ok(()), "{url}");
    }
}

/// Rules: TARGET-7
#[test]
fn a_refused_port_is_named_and_no_setting_lifts_it() {
    for policy in [STRICT, OPEN] {
        let refused = policy.parse("https://example.com:6000/hook").unwrap_err();
        assert_eq!(refused, TargetError::Port(6_000));
        let text = refused.to_string();
        assert!(text.contains("port 6000") && text.contains("no setting"), "{text}");
    }
}

#[test]
fn a_url_without_a_scheme_is_told_how_one_begins() {
    for url in ["localhost:9000/hook", "example.com/hook", "example.com", "//example.com/", "https:/a.b", ""]
    {
        assert_eq!(parse(STRICT, url), Err(TargetError::NotHttps), "{url}");
        assert_eq!(parse(OPEN, url), Err(TargetError::NotHttp), "{url}");
        for policy in [STRICT, OPEN] {
            let text = policy.parse(url).unwrap_err().to_string();
            assert!(
                text.starts_with("must start with https://") && text.contains("https://example.com/hooks")
            );
        }
    }
}

#[test]
fn an_accepted_url_is_normalised_and_the_client_uses_that_form() {
    for (url, normalised, host) in [
        ("HTTPS://Example.COM:443", "https://example.com/", "example.com"),
        ("https://EXAMPLE.com:08443/A?b", "https://example.com:8443/A?b", "example.com"),
        (
            "https://b\u{fc}cher.example/\u{e9}",
            "https://xn--bcher-kva.example/%C3%A9",
            "xn--bcher-kva.example",
        ),
        ("https://0x8.8.2056/", "https://8.8.8.8/", "8.8.8.8"),
        ("https://[2606:4700:0:0:0:0:0:1]/", "https://[2606:4700::1]/", "[2606:4700::1]"),
    ] {
        let parsed = STRICT.parse(url).unwrap();
        assert_eq!((parsed.as_str(), parsed.uri().host()), (normalised, Some(host)));
        assert_eq!(STRICT.parse(normalised), Ok(parsed));
    }
}

#[test]
fn one_forbidden_address_refuses_them_all() {
    let all = |policy: TargetPolicy, addresses: &[&str]| {
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        policy.permits_all(&addresses)
    };
    assert!(all(STRICT, &["8.8.8.8", "2606:4700::1"]));
    assert!(!all(STRICT, &["8.8.8.8", "2606:4700::1", "10.0.0.1"]));
    assert!(all(PRIVATE, &["8.8.8.8", "2606:4700::1", "10.0.0.1"]));
    assert!(!all(STRICT, &[]) && !all(PRIVATE, &[]));
}

/// A URL that was registered under another policy is checked by the same rules at connect time.
#[test]
fn connecting_applies_the_rules_of_registration() {
    for (url, permitted) in [
        ("https://example.com/", true),
        ("https://8.8.8.8:8443/", true),
        ("http://example.com/", false),
        ("https://example.com:25/", false),
        ("https://10.0.0.1/", false),
        ("https://[::ffff:127.0.0.1]/", false),
        ("https://[::1]:8443/", false),
    ] {
        let uri: Uri = url.parse().unwrap();
        assert_eq!((STRICT.permits_uri(&uri), STRICT.parse(url).is_ok()), (permitted, permitted), "{url}");
    }
}

#[test]
fn control_characters_and_white_space_are_refused_anywhere() {
    for c in ['\0', '\t', '\n', '\r', '\u{b}', ' ', '\u{7f}', '\u{85}', '\u{a0}', '\u{2028}', '\u{3000}'] {
        for url in [
            format!("{c}https://example.com/"),
            format!("ht{c}tps://example.com/"),
            format!("https://exam{c}ple.com/"),
            format!("https://example.com/{c}"),
        ] {
            assert_eq!(parse(OPEN, &url), Err(TargetError::Malformed), "{url:?}");
        }
    }
}

#[test]
fn the_length_limit_applies_to_the_given_and_the_normalised_url() {
    let url = |c: &str, chars: usize| format!("https://example.com/{}", c.repeat(chars - 20));
    assert_eq!(parse(STRICT, &url("a", 2_048)), Ok(()));
    assert_eq!(parse(STRICT, &url("a", 2_049)), Err(TargetError::TooLong));
    assert_eq!(parse(STRICT, &url("é", 300)), Ok(()));
    assert_eq!(parse(STRICT, &url("é", 2_048)), Err(TargetError::TooLong));
    assert_eq!(parse(STRICT, &url("é", 2_049)), Err(TargetError::TooLong));
}

#[test]
fn a_policy_is_strict_by_default() {
    let read = |json| serde_json::from_str::<TargetPolicy>(json);
    assert_eq!(read("{}").unwrap(), STRICT);
    assert_eq!(read(r#"{"allowPrivate": true}"#).unwrap(), PRIVATE);
    assert!(read(r#"{"allowPrivat": true}"#).is_err());
    assert_eq!(TargetPolicy::default(), STRICT);
}

#[test]
fn a_stored_url_that_is_no_longer_accepted_ends_the_delivery() {
    let class = |url| STRICT.parse(url).unwrap_err().failure_class();
    for refused in [
        "http://example.com/",
        "example.com",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://example.com:25/",
    ] {
        assert_eq!(class(refused), FailureClass::TargetRefused, "{refused}");
    }
    for unsendable in ["https://a b/", "https:///a", "https://a@example.com/", "https://example.com/#a"] {
        assert_eq!(class(unsendable), FailureClass::Unsendable, "{unsendable}");
    }
}

/// All spellings that the WHATWG parser reads as this IPv4 address.
fn spellings(address: std::net::Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let all = address.to_bits();
    let (low16, low24) = (all & 0xffff, all & 0xff_ffff);
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{a}.{b}.{c}.{d}."),
        format!("{a}.{b}.{low16}"),
        format!("{a}.{low24}"),
        format!("{all}"),
        format!("0x{all:x}"),
        format!("0X{all:X}."),
        format!("0{all:o}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0x{a:x}.0{b:o}.{low16}"),
        format!("{a}%2e{b}%2E{c}.{d}"),
        format!("{a}。{b}．{c}｡{d}"),
        format!("{a:#06x}.{b:#o}.{c}.{d}").replace("0o", "000"),
        format!("000{a:o}.0x{:x}", low24),
        full_width(&format!("{a}.{b}.{c}.{d}")),
        full_width(&format!("0x{all:x}")),
        percent_encoded(&format!("{a}.{b}.{c}.{d}.")),
        percent_encoded(&full_width(&format!("{all}"))),
    ]
}

/// Each ASCII character as the full-width one that IDN maps to it.
fn full_width(text: &str) -> String {
    text.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect()
}

fn percent_encoded(text: &str) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap();
    text.bytes().flat_map(|byte| ['%', digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Spellings of the IPv6 addresses that map, translate or tunnel this IPv4 address.
fn embeddings(address: std::net::Ipv4Addr) -> Vec<String> {
    let (high, low) = (address.to_bits() >> 16, address.to_bits() & 0xffff);
    vec![
        format!("[::ffff:{address}]"),
        format!("[::FFFF:{high:x}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{high:04X}:{low:04X}]"),
        format!("[0000:0000:0000:0000:0000:ffff:{address}]"),
        format!("[::{address}]"),
        format!("[::ffff:0:{address}]"),
        format!("[64:ff9b:1::{address}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:{high:x}:{low:x}::]"),
        format!("[2a00:1450:4007::5efe:{address}]"),
        format!("[2a00:1450:4007::200:5efe:{high:x}:{low:x}]"),
    ]
}

proptest! {
    /// Rules: TARGET-3
    #[test]
    fn an_ipv4_literal_is_treated_alike_in_every_spelling(bits: u32) {
        let address = std::net::Ipv4Addr::from_bits(bits);
        let expected = if is_public(address.into()) { Ok(()) } else { Err(TargetError::PrivateAddress) };
        for host in spellings(address) {
            prop_assert_eq!(parse(STRICT, &format!("https://{host}/")), expected, "{}", host);
        }
    }

    /// Rules: TARGET-3
    #[test]
    fn an_ipv4_address_within_ipv6_is_refused_in_every_spelling(bits: u32) {
        for host in embeddings(std::net::Ipv4Addr::from_bits(bits)) {
            prop_assert_eq!(parse(STRICT, &format!("https://{host}/")), Err(TargetError::PrivateAddress), "{}", host);
        }
    }

    #[test]
    fn no_private_ipv4_literal_passes_in_any_spelling(low in 0_u32..0x100_0000, first in prop::sample::select(vec![0_u32, 10, 127, 224, 239, 240, 255])) {
        for host in spellings(std::net::Ipv4Addr::from_bits(first << 24 | low)) {
            prop_assert_eq!(parse(STRICT, &format!("https://{host}/")), Err(TargetError::PrivateAddress), "{}", host);
        }
    }

    #[test]
    fn an_ipv6_literal_is_accepted_exactly_if_its_address_is_public(bits: u128) {
        let address = std::net::Ipv6Addr::from_bits(bits);
        let expected = if is_public(address.into()) { Ok(()) } else { Err(TargetError::PrivateAddress) };
        prop_assert_eq!(parse(STRICT, &format!("https://[{address}]/")), expected);
    }

    #[test]
    fn no_text_panics_and_an_accepted_url_is_already_normalised(url in "(https?://)?\\PC{0,40}") {
        if let Ok(once) = OPEN.parse(&url) {
            prop_assert_eq!(OPEN.parse(once.as_str()), Ok(once.clone()));
        }
        if let Ok(strict) = STRICT.parse(&url) {
            prop_assert_eq!(OPEN.parse(&url), Ok(strict));
        }
    }
}
