use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const STRICT: TargetPolicy = TargetPolicy { allow_http: false, allow_private: false };
const PRIVATE: TargetPolicy = TargetPolicy { allow_http: false, allow_private: true };
const OPEN: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

/// Verdict and URL of each row of the table.
fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("../testdata/targets.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(' ').unwrap())
}

fn verdict(policy: TargetPolicy, url: &str) -> &'static str {
    match policy.parse(url) {
        Ok(_) => "ok",
        Err(TargetError::TooLong) => "too_long",
        Err(TargetError::Malformed) => "malformed",
        Err(TargetError::NotHttps) => "not_https",
        Err(TargetError::NotHttp) => "not_http",
        Err(TargetError::NoHost) => "no_host",
        Err(TargetError::UserInfo) => "user_info",
        Err(TargetError::Fragment) => "fragment",
        Err(TargetError::PrivateAddress) => "private",
        Err(TargetError::LocalName) => "local",
    }
}

#[test]
fn every_url_of_the_table_gets_its_verdict() {
    let wrong: Vec<_> = table()
        .map(|(expected, url)| (url, expected, verdict(STRICT, url)))
        .filter(|(_, expected, found)| expected != found)
        .collect();
    assert!(wrong.is_empty(), "URL, expected, found: {wrong:#?}");
    let mut rows: HashMap<_, usize> = HashMap::new();
    table().for_each(|(verdict, _)| *rows.entry(verdict).or_default() += 1);
    assert!(rows["ok"] >= 40 && rows["private"] >= 120 && rows["malformed"] >= 30, "{rows:?}");
}

#[test]
fn allowing_private_lifts_the_rules_on_hosts_and_no_other() {
    for (strict, url) in table() {
        let expected = if matches!(strict, "private" | "local") { "ok" } else { strict };
        assert_eq!(verdict(PRIVATE, url), expected, "{url}");
    }
}

#[test]
fn http_is_accepted_only_where_allowed() {
    let only_http = TargetPolicy { allow_http: true, allow_private: false };
    assert_eq!(verdict(only_http, "http://example.com/"), "ok");
    assert_eq!(verdict(only_http, "https://example.com/"), "ok");
    assert_eq!(verdict(only_http, "http://127.0.0.1/"), "private");
    assert_eq!(verdict(OPEN, "http://127.0.0.1:8080/"), "ok");
    assert_eq!(verdict(OPEN, "ftp://example.com/"), "not_http");
    assert_eq!(verdict(STRICT, "http://example.com/"), "not_https");
}

#[test]
fn an_accepted_url_is_normalised_and_stays_as_it_is() {
    for (_, url) in table().filter(|(verdict, _)| *verdict == "ok") {
        let once = STRICT.parse(url).unwrap();
        let again = STRICT.parse(once.as_str()).unwrap();
        assert_eq!(again, once, "{url}");
        assert_eq!(once.uri().host(), Url::parse(url).unwrap().host_str(), "{url}");
    }
    assert_eq!(STRICT.parse("HTTPS://Example.COM:443").unwrap().as_str(), "https://example.com/");
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
            assert_eq!(verdict(OPEN, &url), "malformed", "{url:?}");
        }
    }
}

#[test]
fn length_counts_as_given_and_as_normalised() {
    let url = |c: &str, chars: usize| format!("https://example.com/{}", c.repeat(chars - 20));
    assert_eq!(verdict(STRICT, &url("a", 2_048)), "ok");
    assert_eq!(verdict(STRICT, &url("a", 2_049)), "too_long");
    assert_eq!(verdict(STRICT, &url("é", 300)), "ok");
    assert_eq!(verdict(STRICT, &url("é", 2_048)), "too_long");
    assert_eq!(verdict(STRICT, &url("é", 2_049)), "too_long");
}

#[test]
fn a_policy_is_strict_unless_its_settings_say_otherwise() {
    let read = |json| serde_json::from_str::<TargetPolicy>(json);
    assert_eq!(read("{}").unwrap(), STRICT);
    assert_eq!(read(r#"{"allow_private": true}"#).unwrap(), PRIVATE);
    assert!(read(r#"{"allow_privat": true}"#).is_err());
    assert_eq!(TargetPolicy::default(), STRICT);
}

#[test]
fn a_stored_url_that_is_not_accepted_any_more_ends_the_delivery() {
    let class = |url| STRICT.parse(url).unwrap_err().failure_class();
    for refused in ["http://example.com/", "https://10.0.0.1/", "https://localhost/"] {
        assert_eq!(class(refused), FailureClass::TargetRefused, "{refused}");
    }
    for unsendable in ["", "example.com", "https:///a", "https://a@example.com/", "https://example.com/#a"] {
        assert_eq!(class(unsendable), FailureClass::Unsendable, "{unsendable}");
    }
}

/// All ways the WHATWG parser reads this IPv4 address from.
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
    ]
}

proptest! {
    #[test]
    fn an_ipv4_literal_is_judged_alike_in_every_spelling(bits: u32) {
        let address = std::net::Ipv4Addr::from_bits(bits);
        let expected = if is_public(address.into()) { "ok" } else { "private" };
        for host in spellings(address) {
            prop_assert_eq!(verdict(STRICT, &format!("https://{host}/")), expected, "{}", host);
        }
    }

    #[test]
    fn no_private_ipv4_literal_passes_in_any_spelling(low in 0_u32..0x100_0000, first in prop::sample::select(vec![0_u32, 10, 127, 224, 239, 240, 255])) {
        for host in spellings(std::net::Ipv4Addr::from_bits(first << 24 | low)) {
            prop_assert_eq!(verdict(STRICT, &format!("https://{host}/")), "private", "{}", host);
        }
    }

    #[test]
    fn an_ipv6_literal_is_judged_as_the_address_it_is(bits: u128) {
        let address = std::net::Ipv6Addr::from_bits(bits);
        let expected = if is_public(address.into()) { "ok" } else { "private" };
        prop_assert_eq!(verdict(STRICT, &format!("https://[{address}]/")), expected);
    }

    #[test]
    fn no_text_panics_and_what_passes_stays_as_it_is(url in "(https?://)?\\PC{0,40}") {
        if let Ok(once) = OPEN.parse(&url) {
            prop_assert_eq!(OPEN.parse(once.as_str()), Ok(once.clone()));
        }
        if let Ok(strict) = STRICT.parse(&url) {
            prop_assert_eq!(OPEN.parse(&url), Ok(strict));
        }
    }
}
