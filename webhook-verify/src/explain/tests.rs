use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use super::{BodyChange, Diagnosis, Scheme, SecretChange, explain, explain_within};
use crate::{HeaderError, sign};

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const BODY: &str =
    r#"{"event":"quote.signed","data":{"clientName":"Lef\u00e8vre, \"A: B\"","totalHT":1200.5}}"#;
const T: i64 = 1_789_378_867;

fn signed(body: &str) -> String {
    sign(SECRET, T, body.as_bytes()).unwrap().to_string()
}

fn of_header(header: impl AsRef<[u8]>) -> Diagnosis {
    explain([SECRET], [header], BODY.as_bytes(), T)
}

fn of_body(sent: &str, received: impl AsRef<[u8]>) -> Diagnosis {
    explain([SECRET], [signed(sent)], received.as_ref(), T)
}

fn of_secret(secret: impl AsRef<[u8]>) -> Diagnosis {
    explain([secret], [signed(BODY)], BODY.as_bytes(), T)
}

#[test]
fn a_valid_delivery_has_nothing_wrong() {
    assert_eq!(of_header(signed(BODY)), Diagnosis::Valid);
    assert_eq!(explain(["other", SECRET], Some(signed(BODY)), BODY.as_bytes(), T), Diagnosis::Valid);
}

#[test]
fn a_changed_body_is_recognised_by_how_it_was_changed() {
    let compact = "{\"a\":\"é/<😀\",\"b\":[1,2]}";
    let long_lines = "{\n\"a\": 1\n}\n";
    for (sent, received, change) in [
        (compact, format!("{compact}\n"), BodyChange::SpaceAdded),
        (compact, format!("{compact}\r\n"), BodyChange::SpaceAdded),
        (compact, format!(" {compact}\n\n"), BodyChange::SpaceAdded),
        (long_lines, "{\n\"a\": 1\n}".to_string(), BodyChange::LineBreakRemoved),
        ("{}\r\n", "{}".to_string(), BodyChange::LineBreakRemoved),
        (long_lines, long_lines.replace('\n', "\r\n"), BodyChange::LineBreaksConverted),
        ("a\r\nb", "a\nb".to_string(), BodyChange::LineBreaksConverted),
        (compact, format!("\u{feff}{compact}"), BodyChange::MarkAdded),
        ("\u{feff}{}", "{}".to_string(), BodyChange::MarkRemoved),
        (
            compact,
            "{\n  \"a\": \"é/<😀\",\n  \"b\": [\n    1,\n    2\n  ]\n}".to_string(),
            BodyChange::Reprinted,
        ),
        ("{\"a\": 1, \"b\": 2}", "{\"a\":1,\"b\":2}".to_string(), BodyChange::Reprinted),
        (compact, r#"{"a":"\u00e9\/\u003c\ud83d\ude00","b":[1,2]}"#.to_string(), BodyChange::Escaped),
        (compact, r#"{"a": "\u00E9/<\ud83d\ude00", "b": [1, 2]}"#.to_string(), BodyChange::Escaped),
        ("\"é\"", "\"Ã©\"".to_string(), BodyChange::EncodedTwice),
    ] {
        assert_eq!(of_body(sent, &received), Diagnosis::BodyChanged(change), "{received:?}");
    }
    assert_eq!(of_body(BODY, ""), Diagnosis::BodyEmpty);
    assert_eq!(of_body(BODY, "{\"a\":\"\u{fffd}\"}"), Diagnosis::BodyDecoded);
}

#[test]
fn a_changed_secret_is_recognised_by_how_it_was_changed() {
    let raw: Vec<u8> = (0..32).collect();
    for (secret, change) in [
        (format!("\"{SECRET}\"").into_bytes(), SecretChange::Quoted),
        (format!("'{SECRET}'\n").into_bytes(), SecretChange::Quoted),
        (SECRET.replace("whsec_", "").into_bytes(), SecretChange::PrefixRemoved),
        (format!("{}\n", SECRET.replace("whsec_", "")).into_bytes(), SecretChange::PrefixRemoved),
        (format!("whsec_{SECRET}").into_bytes(), SecretChange::PrefixAdded),
        (raw, SecretChange::Decoded),
    ] {
        assert_eq!(of_secret(&secret), Diagnosis::SecretChanged { index: 0, change }, "{secret:?}");
    }
    // A line break behind a secret is no part of it.
    let padded = format!(" {SECRET}\r\n");
    assert_eq!(explain(["other", &padded], [signed(BODY)], BODY.as_bytes(), T), Diagnosis::Valid);
    let quoted = format!("'{SECRET}'");
    assert_eq!(
        explain(["other", &quoted], [signed(BODY)], BODY.as_bytes(), T),
        Diagnosis::SecretChanged { index: 1, change: SecretChange::Quoted }
    );
    assert_eq!(of_secret(format!("{SECRET}\n{SECRET}")), Diagnosis::SecretHasWhiteSpace);
    for nothing in [vec![], vec![""], vec![SECRET, ""]] {
        assert_eq!(explain(nothing, [signed(BODY)], BODY.as_bytes(), T), Diagnosis::SecretEmpty);
    }
    assert_eq!(of_secret("isk_key"), Diagnosis::SecretIsApiKey);
    assert_eq!(of_secret("whsec_other"), Diagnosis::Unexplained { candidates: 1, secrets: 1 });
}

#[test]
fn a_header_is_recognised_by_its_form() {
    let header = signed(BODY);
    let (t, hex) = header.split_once(",v1=").unwrap();
    for (header, diagnosis) in [
        (format!("{t}, v1={hex}"), Diagnosis::HeaderSpaced),
        (format!("{header}\r\n"), Diagnosis::HeaderSpaced),
        (format!("{t} ,v1={hex}"), Diagnosis::HeaderSpaced),
        (format!("{t},v1={}", hex.to_uppercase()), Diagnosis::SignatureUpperCase),
        (format!("{t},v1={}", &hex[..63]), Diagnosis::SignatureLength { characters: 63 }),
        (format!("{t},v1="), Diagnosis::SignatureLength { characters: 0 }),
        (format!("{t},v0={hex}"), Diagnosis::OtherScheme(Scheme::OtherVersion)),
        (format!("{t}, v2={hex}"), Diagnosis::OtherScheme(Scheme::OtherVersion)),
        (format!("sha256={hex}"), Diagnosis::OtherScheme(Scheme::HashPrefix)),
        (hex.to_string(), Diagnosis::OtherScheme(Scheme::BareHex)),
        (
            "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=".into(),
            Diagnosis::OtherScheme(Scheme::StandardWebhooks),
        ),
        (format!("{header},{header}"), Diagnosis::HeaderMalformed(HeaderError::TimestampRepeated)),
        (format!("v1={hex}"), Diagnosis::HeaderMalformed(HeaderError::TimestampMissing)),
        (t.to_string(), Diagnosis::HeaderMalformed(HeaderError::SignatureMissing)),
        (format!("t=now,v1={hex}"), Diagnosis::HeaderMalformed(HeaderError::TimestampInvalid)),
    ] {
        assert_eq!(of_header(&header), diagnosis, "{header}");
    }
}

#[test]
fn a_missing_or_repeated_header_is_told() {
    assert_eq!(explain([SECRET], None::<&str>, BODY.as_bytes(), T), Diagnosis::HeaderMissing);
    let (good, bad) = (signed(BODY), "t=1,v1=".to_string());
    assert_eq!(
        explain([SECRET], [&good, &bad, &good], BODY.as_bytes(), T),
        Diagnosis::HeaderRepeated { count: 3, valid: 2 }
    );
}

#[test]
fn a_wrong_clock_is_told_with_its_error() {
    let at = |now| explain([SECRET], [signed(BODY)], BODY.as_bytes(), now);
    assert_eq!(at(T + 300), Diagnosis::Valid);
    assert_eq!(at(T + 301), Diagnosis::TooOld { age_seconds: 301, tolerance_seconds: 300 });
    assert_eq!(at(T - 301), Diagnosis::TooNew { ahead_seconds: 301, tolerance_seconds: 300 });
    assert_eq!(at(T * 1000 + 1234), Diagnosis::NowInMilliseconds);
    assert_eq!(
        at(i64::MIN),
        Diagnosis::TooNew { ahead_seconds: T.abs_diff(i64::MIN), tolerance_seconds: 300 }
    );
    assert_eq!(explain_within(400, [SECRET], [signed(BODY)], BODY.as_bytes(), T + 301), Diagnosis::Valid);
}

#[test]
fn every_answer_reads_as_a_sentence_and_keeps_the_secret() {
    let header = signed(BODY);
    let hex = header.split_once(",v1=").unwrap().1;
    for diagnosis in [
        of_header(&header),
        of_header(format!("{header} ")),
        of_header(format!("t={T},v1={}", hex.to_uppercase())),
        of_header("t=1,v1=2"),
        of_header("t=1"),
        of_header("sha256=1"),
        of_body(BODY, ""),
        of_body(BODY, "\u{fffd}"),
        of_body(BODY, "{}"),
        of_body("{}", "{} "),
        of_secret(""),
        of_secret("isk_key"),
        of_secret(format!("{SECRET}\n")),
        explain([SECRET], None::<&str>, b"", T),
        explain([SECRET], ["", ""], b"", T),
        explain([SECRET], [&header], BODY.as_bytes(), 0),
        explain([SECRET], [&header], BODY.as_bytes(), T + 301),
        explain([SECRET], [&header], BODY.as_bytes(), T * 1000),
    ] {
        let text = diagnosis.to_string();
        assert!(text.len() > 20 && !text.contains("  "), "{diagnosis:?}: {text}");
        assert!(!text.contains(SECRET) && !text.contains(hex), "{diagnosis:?}: {text}");
    }
}
