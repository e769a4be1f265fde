//! Laws for every secret, body, time and header. `PROPTEST_CASES` raises the number of cases.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use webhook_verify::{
    Diagnosis, HeaderError, Signer, Verified, Verifier, VerifyError, explain, sign, verify,
};

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(2_000), failure_persistence: None, ..default }
}

fn secret() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..100).prop_filter("more than white space", |secret| !secret.trim_ascii().is_empty())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..300)
}

fn instant() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -1_000..1_000_i64,
        Just(i64::MIN),
        Just(i64::MAX),
        1_789_378_000..1_789_379_000_i64
    ]
}

fn flip(bytes: &mut [u8], at: Index, bit: u8) {
    bytes[at.index(bytes.len())] ^= 1 << bit;
}

/// One element of a header: texts that are nearly right, and the right ones.
#[derive(Clone, Debug)]
enum Element {
    T(String),
    RightV1,
    OtherV1(String),
    Unknown(String),
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        4 => prop_oneof!["-?0{0,3}[0-9]{1,4}", "[+ -]?[0-9]{0,20}", "[0-9a-z ]{0,5}"].prop_map(Element::T),
        4 => Just(Element::RightV1),
        2 => prop_oneof!["[0-9a-f]{64}", "[0-9a-fA-F]{0,70}"].prop_map(Element::OtherV1),
        2 => prop_oneof!["v[02-9]=[0-9a-f]{64}", "[ a-z0-9]{0,3}", "[A-Z]{1,2}=[0-9]{0,5}", " t=1", " v1=00"]
            .prop_map(Element::Unknown),
    ]
}

/// The result of a header of these elements, computed in the plainest way.
fn model(elements: &[Element], now: i64) -> Result<i64, VerifyError> {
    let times: Vec<_> =
        elements.iter().filter_map(|e| if let Element::T(text) = e { Some(text) } else { None }).collect();
    let candidates = elements.iter().filter(|e| matches!(e, Element::RightV1 | Element::OtherV1(_))).count();
    let t = match times.as_slice() {
        [] => return Err(HeaderError::TimestampMissing.into()),
        [text] if text.starts_with('+') => return Err(HeaderError::TimestampInvalid.into()),
        [text] => text.parse::<i64>().map_err(|_| HeaderError::TimestampInvalid)?,
        _ => return Err(HeaderError::TimestampRepeated.into()),
    };
    if candidates == 0 {
        return Err(HeaderError::SignatureMissing.into());
    }
    if !elements.iter().any(|e| matches!(e, Element::RightV1)) {
        return Err(VerifyError::NoMatch { candidates, secrets: 1 });
    }
    let (tolerance_seconds, difference) = (300, i128::from(now) - i128::from(t));
    match u64::try_from(difference.abs()).expect("two i64 differ by less than 2^64") {
        ..=300 => Ok(t),
        age_seconds if difference > 0 => Err(VerifyError::TooOld { age_seconds, tolerance_seconds }),
        ahead_seconds => Err(VerifyError::TooNew { ahead_seconds, tolerance_seconds }),
    }
}

fn render(elements: &[Element], secret: &[u8], body: &[u8]) -> String {
    let text =
        elements.iter().find_map(|e| if let Element::T(text) = e { Some(text.as_str()) } else { None });
    let right = hex_mac(secret, text.unwrap_or("0"), body);
    let parts = elements.iter().map(|element| match element {
        Element::T(text) => format!("t={text}"),
        Element::RightV1 => format!("v1={right}"),
        Element::OtherV1(other) => format!("v1={other}"),
        Element::Unknown(text) => text.clone(),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Made with the hash alone, since a [`Signer`] writes only the usual text of a `t`.
fn hex_mac(secret: &[u8], t_text: &str, body: &[u8]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret).expect("HMAC takes any key");
    mac.update(&[t_text.as_bytes(), b".", body].concat());
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).expect("a nibble is a hex digit");
    mac.finalize().into_bytes().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_signed_verifies(secret in secret(), body in body(), t in instant()) {
        let signed = sign(&secret, t, &body).unwrap();
        let verified: Result<i64, _> = verify(&secret, signed, &body, t).map(|verified: Verified| verified.timestamp);
        prop_assert_eq!(verified, Ok(t));
        prop_assert_eq!(signed.to_string(), format!("t={t},v1={}", hex_mac(&secret, &t.to_string(), &body)));
    }

    #[test]
    fn a_flipped_bit_in_the_body_is_refused(
        secret in secret(), mut body in vec(any::<u8>(), 1..300), t in instant(), at: Index, bit in 0..8_u8,
    ) {
        let signed = sign(&secret, t, &body).unwrap();
        flip(&mut body, at, bit);
        prop_assert_eq!(verify(&secret, signed, &body, t), Err(VerifyError::NoMatch { candidates: 1, secrets: 1 }));
    }

    #[test]
    fn a_flipped_bit_in_the_header_is_refused(
        secret in secret(), body in body(), t in instant(), at: Index, bit in 0..8_u8,
    ) {
        let mut header = sign(&secret, t, &body).unwrap().as_bytes().to_vec();
        flip(&mut header, at, bit);
        prop_assert!(verify(&secret, header, &body, t).is_err());
    }

    #[test]
    fn a_flipped_bit_in_the_secret_is_refused(
        mut secret in secret(), body in body(), t in instant(), at: Index, bit in 0..8_u8,
    ) {
        let signed = sign(&secret, t, &body).unwrap();
        flip(&mut secret, at, bit);
        prop_assert!(verify(&secret, signed, &body, t).is_err());
    }

    #[test]
    fn another_t_with_the_same_mac_is_refused(body in body(), t in instant(), mask in 1..=i64::MAX, shift in 0..62_u32) {
        let other: i64 = t ^ i64::max(mask >> shift, 1);
        let header = sign("key", t, &body).unwrap().to_string().replace(&format!("t={t},"), &format!("t={other},"));
        prop_assert_eq!(verify("key", header, &body, other), Err(VerifyError::NoMatch { candidates: 1, secrets: 1 }));
    }

    /// Rules: VERIFY-5
    #[test]
    fn the_tolerance_ends_where_it_says(t in instant(), now in instant(), near in -302..=302_i64) {
        let signed = sign("key", t, b"").unwrap();
        for now in [now, t.saturating_add(near)] {
            let within = (i128::from(now) - i128::from(t)).abs() <= 300;
            prop_assert_eq!(verify("key", signed, b"", now).is_ok(), within);
        }
    }

    /// Rules: VERIFY-6
    #[test]
    fn any_secret_of_a_rotation_is_enough(
        secrets in vec(secret(), 1..6), at: Index, body in body(), t in instant(),
    ) {
        let signed = Signer::new(at.get(&secrets)).unwrap().sign(t, &body);
        prop_assert!(Verifier::with_secrets(&secrets).unwrap().verify(signed, &body, t).is_ok());
    }

    /// Rules: VERIFY-1, VERIFY-2, VERIFY-3
    #[test]
    fn the_verdict_is_that_of_a_plain_model(
        secret in secret(), body in body(), elements in vec(element(), 0..6), now in -2_000..12_000_i64,
    ) {
        let header = render(&elements, &secret, &body);
        let verdict = verify(&secret, &header, &body, now).map(|verified| verified.timestamp);
        prop_assert_eq!(verdict, model(&elements, now), "{}", header);
        let diagnosis = explain([&secret], [&header], &body, now);
        prop_assert_eq!(verdict.is_ok(), diagnosis == Diagnosis::Valid, "{}: {}", header, diagnosis);
    }

    #[test]
    fn no_header_makes_it_panic(
        secrets in vec(vec(any::<u8>(), 0..20), 0..3), header in vec(any::<u8>(), 0..200), body in body(), now: i64,
    ) {
        let mut led = b"t=0,v1=".to_vec();
        led.extend_from_slice(&header);
        for header in [header, led] {
            let accepted = Verifier::with_secrets(&secrets).is_ok_and(|v| v.verify(&header, &body, now).is_ok());
            prop_assert!(!accepted);
            prop_assert_ne!(explain(&secrets, [&header], &body, now), Diagnosis::Valid);
        }
    }

    #[test]
    fn the_diagnosis_takes_any_body_and_secret(secret in secret(), sent in body(), text in r#"[\\u0-9a-f"/,: \n{}é]{0,40}"#) {
        let signed = sign(&secret, 0, &sent).unwrap();
        let diagnosis = explain([&secret], [signed], text.as_bytes(), 0);
        prop_assert_eq!(diagnosis == Diagnosis::Valid, sent == text.as_bytes());
    }
}
