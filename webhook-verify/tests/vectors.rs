//! The crate against vectors made by another implementation; `vectors.py` makes and describes them.

use serde::Deserialize;
use webhook_verify::{Diagnosis, SecretError, Signer, Verifier, VerifyError, explain_within, verify};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    header: String,
    body: String,
    times: usize,
    now: i64,
    tolerance: u64,
    expect: Expect,
    seconds: Option<u64>,
    signs: Option<Signs>,
}

#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
enum Expect {
    Valid,
    Malformed,
    NoMatch,
    TooOld,
    TooNew,
    EmptySecret,
}

#[derive(Deserialize)]
struct Signs {
    t: i64,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("vectors.json")).expect("vectors.json is as this file describes it")
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).expect("hex");
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::try_from(digit(&pair[0]) << 4 | digit(&pair[1])).expect("two digits"))
        .collect()
}

impl Vector {
    fn secrets(&self) -> Vec<Vec<u8>> {
        self.secrets.iter().map(|secret| unhex(secret)).collect()
    }

    fn body(&self) -> Vec<u8> {
        unhex(&self.body).repeat(self.times)
    }

    fn check(&self, error: Option<VerifyError>) {
        let (expect, seconds) = match error {
            None => (Expect::Valid, None),
            Some(VerifyError::Secret(SecretError::Empty)) => (Expect::EmptySecret, None),
            Some(VerifyError::Malformed(_)) => (Expect::Malformed, None),
            Some(VerifyError::NoMatch { .. }) => (Expect::NoMatch, None),
            Some(VerifyError::TooOld { age_seconds, tolerance_seconds }) => {
                assert_eq!(tolerance_seconds, self.tolerance, "{}", self.name);
                (Expect::TooOld, Some(age_seconds))
            }
            Some(VerifyError::TooNew { ahead_seconds, tolerance_seconds }) => {
                assert_eq!(tolerance_seconds, self.tolerance, "{}", self.name);
                (Expect::TooNew, Some(ahead_seconds))
            }
            Some(other) => panic!("{}: {other}", self.name),
        };
        assert_eq!((expect, seconds), (self.expect, self.seconds), "{}", self.name);
    }
}

/// Rules: VERIFY-1, VERIFY-2, VERIFY-3, VERIFY-4, VERIFY-5, VERIFY-6, VERIFY-7
#[test]
fn the_verdicts_are_those_of_the_vectors() {
    for vector in vectors() {
        let verdict =
            Verifier::with_secrets(vector.secrets()).map_err(VerifyError::from).and_then(|verifier| {
                let verifier = verifier.tolerance_seconds(vector.tolerance);
                verifier.verify(unhex(&vector.header), &vector.body(), vector.now)
            });
        vector.check(verdict.err());
    }
}

#[test]
fn the_function_for_one_secret_agrees() {
    let mut checked = 0;
    for vector in vectors() {
        if let ([secret], 300) = (vector.secrets().as_slice(), vector.tolerance) {
            vector.check(verify(secret, unhex(&vector.header), &vector.body(), vector.now).err());
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

/// Rules: WEBHOOK-9
#[test]
fn the_signatures_are_those_of_the_vectors() {
    let mut checked = 0;
    for vector in vectors() {
        if let Some(Signs { t }) = vector.signs {
            let signed = Signer::new(&vector.secrets()[0]).unwrap().sign(t, &vector.body());
            assert_eq!(signed.as_bytes(), unhex(&vector.header), "{}", vector.name);
            assert_eq!(signed.as_str().as_bytes(), signed.as_bytes(), "{}", vector.name);
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn the_diagnosis_never_contradicts_the_verdict() {
    for vector in vectors() {
        let header = unhex(&vector.header);
        let body = vector.body();
        let diagnosis = explain_within(vector.tolerance, vector.secrets(), [header], &body, vector.now);
        assert_eq!(
            diagnosis == Diagnosis::Valid,
            vector.expect == Expect::Valid,
            "{}: {diagnosis}",
            vector.name
        );
        assert_eq!(
            diagnosis == Diagnosis::SecretEmpty,
            vector.expect == Expect::EmptySecret,
            "{}",
            vector.name
        );
    }
}

#[test]
fn every_verdict_occurs() {
    let seen: std::collections::HashSet<_> = vectors().iter().map(|vector| vector.expect).collect();
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// Rules: VERIFY-9
#[test]
fn an_api_key_is_no_secret_and_the_error_says_what_to_give() {
    for key in ["isk_private", " isk_private\n"] {
        assert_eq!(Signer::new(key).err(), Some(SecretError::ApiKey));
        assert_eq!(Verifier::with_secrets(["whsec_good", key]).err(), Some(SecretError::ApiKey));
        let refused = Verifier::new(key).unwrap_err();
        for shown in [refused.to_string(), format!("{refused:?}")] {
            assert!(shown.contains("API key") && shown.contains("whsec_"), "{shown}");
            assert!(!shown.contains("private"), "{shown}");
        }
    }
}

#[test]
fn secrets_stay_out_of_debug_and_errors() {
    assert!(matches!(Signer::new(""), Err(SecretError::Empty)));
    let debug = format!("{:?} {:?}", Verifier::new("hidden").unwrap(), Signer::new("hidden").unwrap());
    assert_eq!(debug, "Verifier { secrets: 1, tolerance_seconds: 300, .. } Signer { .. }");
}

#[cfg(feature = "std")]
#[test]
fn the_clock_of_now_is_the_same_for_both_sides() {
    let (signer, verifier) = (Signer::new("key").unwrap(), Verifier::new("key").unwrap());
    assert!(verifier.verify_now(signer.sign_now(b"body"), b"body").is_ok());
    assert!(matches!(verifier.verify_now(signer.sign(0, b"body"), b"body"), Err(VerifyError::TooOld { .. })));
}
