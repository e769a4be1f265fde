//! Verifying a delivery: webhook-verify, svix, standardwebhooks and async-stripe-webhook, each in its own format.

use std::hint::black_box;
use std::panic::catch_unwind;

use allocation_counter::measure;
use http::HeaderMap;
use standardwebhooks::Webhook as Standard;
use stripe_webhook::{Webhook as Stripe, WebhookError as StripeError};
use svix::webhooks::Webhook as Svix;
use webhook_verify::{BodyChange, Clock, Diagnosis, Signer, Verifier, explain};

use crate::{Docs, named};

const DOCS: Docs = Docs(include_str!("../../webhook-verify/src/lib.rs"));
/// `whsec_` and standard base64, as two of the crates want it; for the others it is just a text.
const SECRET: &str = "whsec_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE=";
const OLD_SECRET: &str = "whsec_b2xkYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE=";
const ID: &str = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
const BODY: &[u8] = br#"{"event":"ping","amount":1}"#;

/// Accepted, or the error's name.
type Verdict = Result<(), String>;

/// How a crate signs, and how it verifies the text of a time, signatures and a body.
struct Side {
    sign: fn(i64, &[u8]) -> String,
    verify: fn(&str, &[&str], &[u8]) -> Verdict,
}

/// In the order of the table's columns.
const SIDES: [Side; 4] = [
    Side {
        sign: |t, body| v1(Signer::new(SECRET).expect("a secret").sign(t, body).as_str()),
        verify: |t, signatures, body| {
            let header = in_one_header(t, signatures);
            named_error(Verifier::new(SECRET).expect("a secret").verify_now(header, body))
        },
    },
    Side {
        // A body that it does not sign has no signature, and is refused before one is looked at.
        sign: |t, body| Svix::new(SECRET).expect("a secret").sign(ID, t, body).unwrap_or_default(),
        verify: |t, signatures, body| {
            named_error(
                Svix::new(SECRET).expect("a secret").verify(body, &in_three_headers("svix", t, signatures)),
            )
        },
    },
    Side {
        sign: |t, body| Standard::new(SECRET).expect("a secret").sign(ID, t, body).unwrap_or_default(),
        verify: |t, signatures, body| {
            named_error(
                Standard::new(SECRET)
                    .expect("a secret")
                    .verify(body, &in_three_headers("webhook", t, signatures)),
            )
        },
    },
    Side {
        sign: |t, body| v1(&Stripe::generate_test_header(&String::from_utf8_lossy(body), SECRET, Some(t))),
        verify: |t, signatures, body| {
            let body = str::from_utf8(body).map_err(|_| "the argument is a &str".to_owned())?;
            verified(Stripe::construct_event(body, &in_one_header(t, signatures), SECRET))
        },
    },
];

/// The parser comes after the verification: a body that is no event of Stripe's has passed.
fn verified<T>(result: Result<T, StripeError>) -> Verdict {
    match result {
        Err(StripeError::BadParse(_)) => Ok(()),
        other => named_error(other),
    }
}

fn named_error<T, E: std::fmt::Debug>(result: Result<T, E>) -> Verdict {
    result.map(drop).map_err(|error| format!("{error:?}"))
}

fn v1(header: &str) -> String {
    header.split_once(',').expect("a time and a signature").1.to_owned()
}

fn in_one_header(t: &str, signatures: &[&str]) -> String {
    format!("t={t},{}", signatures.join(","))
}

fn in_three_headers(brand: &str, t: &str, signatures: &[&str]) -> HeaderMap {
    [("id", ID), ("timestamp", t), ("signature", &signatures.join(" "))]
        .map(|(name, value)| {
            (
                format!("{brand}-{name}").parse::<http::HeaderName>().expect("a name"),
                value.parse().expect("a value"),
            )
        })
        .into_iter()
        .collect()
}

fn now() -> i64 {
    Clock::default().unix_seconds()
}

/// The verdict of each crate on a genuine delivery.
fn genuine(t: i64, body: &[u8]) -> [Verdict; 4] {
    SIDES.map(|side| (side.verify)(&t.to_string(), &[&(side.sign)(t, body)], body))
}

/// A row of verdicts.
#[track_caller]
fn state(case: &str, verdicts: &[Verdict; 4]) {
    DOCS.state(
        case,
        &verdicts.each_ref().map(|verdict| if verdict.is_ok() { "accepted" } else { "refused" }),
    );
}

#[test]
fn the_head_names_the_versions() {
    let [svix, standard, stripe] = ["svix", "standardwebhooks", "async-stripe-webhook"].map(named);
    DOCS.state("Case", &["webhook-verify", &svix, &standard, &stripe]);
}

#[test]
fn bodies() {
    assert_eq!(genuine(now(), BODY), [(); 4].map(Ok));
    let verdicts = genuine(now(), b"\xff\x00");
    let errors = verdicts.each_ref().map(|verdict| verdict.as_ref().err().map(String::as_str));
    assert_eq!(
        errors,
        [None, Some("InvalidPayload"), Some("InvalidPayload"), Some("the argument is a &str")]
    );
    state("A body that is not UTF-8", &verdicts);
}

#[test]
fn times() {
    let verdicts = genuine(now() + 320, BODY);
    for (verdict, error) in
        verdicts.iter().zip(["TooNew", "FutureTimestampError", "FutureTimestampError", "BadTimestamp"])
    {
        assert!(verdict.as_ref().is_err_and(|name| name.starts_with(error)), "{verdict:?}");
    }
    state("A genuine signature, 320 s in the future", &verdicts);

    let verify_at = |t: &'static str, signed: i64| {
        SIDES.map(|Side { sign, verify }| {
            let signature = sign(signed, BODY);
            catch_unwind(|| verify(t, &[&signature], BODY)).map_or("panics", |verdict| match verdict {
                Ok(()) => "accepted",
                Err(_) => "refused",
            })
        })
    };
    DOCS.state("A time beyond `i64`", &verify_at("9223372036854775808", now()));
    // Subtractions overflow; if that is not checked, as in release builds, they go on with a wrong difference.
    if cfg!(debug_assertions) {
        DOCS.state("The time `i64::MIN`, forged", &verify_at("-9223372036854775808", now()));
        DOCS.state("The time `i64::MIN`, genuine", &verify_at("-9223372036854775808", i64::MIN));
    }
}

#[test]
fn every_signature_is_tried() {
    let t = now();
    for place in 0..3 {
        let verdicts = SIDES.map(|Side { sign, verify }| {
            let mut signatures = [1, 2, 3].map(|other| sign(t + other, BODY));
            assert!(verify(&t.to_string(), &signatures.each_ref().map(String::as_str), BODY).is_err());
            signatures[place] = sign(t, BODY);
            verify(&t.to_string(), &signatures.each_ref().map(String::as_str), BODY)
        });
        state("Three signatures, any one of them good", &verdicts);
    }
}

#[test]
fn secrets() {
    let old = Signer::new(OLD_SECRET).unwrap().sign_now(BODY);
    let both = Verifier::with_secrets([SECRET, OLD_SECRET]).unwrap();
    assert!(both.verify_now(old, BODY).is_ok());
    // The others' functions have room for one.
    let _: fn(&str) -> Result<Svix, svix::webhooks::WebhookError> = Svix::new;
    let _: fn(&str) -> Result<Standard, standardwebhooks::WebhookError> = Standard::new;
    let _: fn(&str, &str, &str) -> Result<stripe_webhook::Event, StripeError> = Stripe::construct_event;
    DOCS.state("Two secrets", &["one verifier", "one verifier each", "one verifier each", "one call each"]);

    let mistyped = "whsec_Zm9v*";
    let header = Stripe::generate_test_header("{}", mistyped, None);
    let noticed = [
        Verifier::new(mistyped).is_err(),
        Svix::new(mistyped).is_err(),
        Standard::new(mistyped).is_err(),
        verified(Stripe::construct_event("{}", &header, mistyped)).is_err(),
    ];
    let noticed = noticed.map(|is_noticed| if is_noticed { "yes" } else { "no, any text is one" });
    DOCS.state("A secret that is not base64 is noticed", &noticed);
}

#[test]
fn the_time_is_an_argument() {
    const T: i64 = 1_000_000_000;
    let [ours, svix, standard, stripe] = SIDES.map(|side| (side.sign)(T, BODY));
    assert!(Verifier::new(SECRET).unwrap().verify(format!("t={T},{ours}"), BODY, T).is_ok());
    let at = |t| {
        let body = str::from_utf8(BODY).unwrap();
        verified(Stripe::construct_event_with_timestamp(body, &format!("t={T},{stripe}"), SECRET, t))
    };
    assert!(at(T).is_ok() && at(T + 301).is_err());
    let headers = in_three_headers("svix", &T.to_string(), &[&svix]);
    assert!(Svix::new(SECRET).unwrap().verify_ignoring_timestamp(BODY, &headers).is_ok());
    // Its only function.
    let headers = in_three_headers("webhook", &T.to_string(), &[&standard]);
    assert!(Standard::new(SECRET).unwrap().verify(BODY, &headers).is_err());
    DOCS.state(
        "A delivery of 2001, verified at its time",
        &["time is an argument", "only without looking at the time", "no", "time is an argument"],
    );
}

#[test]
fn allocations() {
    let t = now();
    let body = "x".repeat(600);
    let [ours, svix, standard, stripe] = SIDES.map(|side| (side.sign)(t, body.as_bytes()));
    let (ours, stripe) = (in_one_header(&t.to_string(), &[&ours]), in_one_header(&t.to_string(), &[&stripe]));
    let verifier = Verifier::new(SECRET).unwrap();
    let svix = (Svix::new(SECRET).unwrap(), in_three_headers("svix", &t.to_string(), &[&svix]));
    let standard =
        (Standard::new(SECRET).unwrap(), in_three_headers("webhook", &t.to_string(), &[&standard]));
    let count = |verify: &dyn Fn() -> bool| measure(|| assert!(black_box(verify()))).count_total;
    // The time of its parser on an unreadable body is not that of the verification.
    let parsing = count(&|| verified(Stripe::insecure(&body)).is_ok());
    let counts = [
        count(&|| verifier.verify_now(&ours, body.as_bytes()).is_ok()),
        count(&|| svix.0.verify(body.as_bytes(), &svix.1).is_ok()),
        count(&|| standard.0.verify(body.as_bytes(), &standard.1).is_ok()),
        count(&|| verified(Stripe::construct_event(&body, &stripe, SECRET)).is_ok()) - parsing,
    ];
    DOCS.state("Allocations for a body of 600 B", &counts.map(|count| count.to_string()));
}

#[test]
fn a_body_that_was_printed_again() {
    let printed_again = br#"{"event": "ping", "amount": 1}"#;
    let t = now();
    let verdicts = SIDES.map(|side| (side.verify)(&t.to_string(), &[&(side.sign)(t, BODY)], printed_again));
    let errors = verdicts.map(Result::unwrap_err);
    assert_eq!(errors[1..], ["InvalidSignature", "InvalidSignature", "BadSignature"]);
    let header = Signer::new(SECRET).unwrap().sign(t, BODY);
    let diagnosis = explain([SECRET], [header], printed_again, t);
    assert_eq!(diagnosis, Diagnosis::BodyChanged(BodyChange::Reprinted));
    DOCS.state(
        "A body that was reserialised",
        &["refused, `explain` says why", "refused", "refused", "refused"],
    );
}

#[test]
fn formats() {
    let t = now();
    let [_, _, standard, stripe] = SIDES.map(|side| (side.sign)(t, BODY));
    let verify = |signature: &str| SIDES.map(|side| (side.verify)(&t.to_string(), &[signature], BODY));
    state("A delivery of Stripe's (`t=…,v1=…`)", &verify(&stripe));
    state("A delivery of Standard Webhooks (`v1,…`)", &verify(&standard));
}
