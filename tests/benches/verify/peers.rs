//! Other crates that verify webhooks, each by its documentation, on a genuine delivery in its own format.
//!
//! All hash the same body under HMAC-SHA256, look at the time (the system's clock, so this side reads it, too) and
//! refuse a changed byte, which is checked first. `svix` and `standardwebhooks` take a map of three headers.
//! `async-stripe-webhook` verifies only together with parsing an event of Stripe's, so it is given a body that is none,
//! and fails at its first byte, after the verification; what it spends on failing is measured apart and taken off.

use std::hint::black_box;

use http::{HeaderMap, HeaderValue};
use standardwebhooks::Webhook as Standard;
use stripe_webhook::{Webhook as Stripe, WebhookError as StripeError};
use svix::webhooks::Webhook as Svix;
use webhook_verify::{Signer, Verifier};

use super::{Limit, body, judge, nanoseconds};
use invoicing_tests::bench::aside;

const SIZE: usize = 600;
const ROUNDS: usize = 61;
const MESSAGES: u32 = 4_000;
/// `whsec_` and standard base64, as these crates want it; for the others it is just a text.
const SECRET: &str = "whsec_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE=";
const ID: &str = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";

/// Times of one round, in nanoseconds per message.
struct Round {
    ours: f64,
    svix: f64,
    standard: f64,
    stripe: f64,
}

/// Measures all; whether the limits are kept.
pub(crate) fn compare() -> bool {
    println!("verify: others / webhook-verify, time per message, {SIZE} B");
    let rounds = measure(&String::from_utf8(body(SIZE)).expect("ASCII"));
    let of = |side: fn(&Round) -> f64| rounds.iter().map(side).collect::<Vec<_>>();
    let mut is_kept = true;
    for (name, limit, side) in [
        ("svix 2.9", 6.0, (|round| round.svix) as fn(&Round) -> f64),
        ("standardwebhooks 1.0", 6.0, |round| round.standard),
    ] {
        let ratios: Vec<f64> = rounds.iter().map(|round| side(round) / round.ours).collect();
        is_kept &= judge(name, &ratios, Limit::AtLeast(limit));
        aside(name, &of(side), "ns");
    }
    // No limit: it hashes with the same crates, so that only what stands around the hash can differ.
    let ratios: Vec<f64> = rounds.iter().map(|round| round.stripe / round.ours).collect();
    aside("async-stripe-webhook 1.0.0-rc.10, ratio", &ratios, "");
    aside("async-stripe-webhook 1.0.0-rc.10", &of(|round| round.stripe), "ns");
    aside("webhook-verify, reading the clock", &of(|round| round.ours), "ns");
    is_kept
}

fn measure(body: &str) -> Vec<Round> {
    let verifier = Verifier::new(SECRET).expect("a secret");
    let header = Signer::new(SECRET).expect("a secret").sign_now(body.as_bytes()).to_string();
    let t: i64 = header[2..].split(',').next().and_then(|t| t.parse().ok()).expect("a time");

    let svix = Svix::new(SECRET).expect("a secret");
    let svix_headers = headers("svix", t, &svix.sign(ID, t, body.as_bytes()).expect("a signature"));
    let standard = Standard::new(SECRET).expect("a secret");
    let standard_headers =
        headers("webhook", t, &standard.sign(ID, t, body.as_bytes()).expect("a signature"));

    let ours = |body: &str| verifier.verify_now(black_box(header.as_bytes()), body.as_bytes()).is_ok();
    let svix = |body: &str| svix.verify(body.as_bytes(), black_box(&svix_headers)).is_ok();
    let standard = |body: &str| standard.verify(body.as_bytes(), black_box(&standard_headers)).is_ok();
    // The two checks come before the parser: a body that cannot be parsed has passed them.
    let is_unparsed = |result| matches!(result, Err(StripeError::BadParse(_)));
    let stripe =
        |body: &str| is_unparsed(Stripe::construct_event(body, black_box(&header), SECRET).map(drop));
    let failing = |body: &str| is_unparsed(Stripe::insecure(body).map(drop));

    let changed = body.replacen('!', "?", 1);
    for verify in [&ours as &dyn Fn(&str) -> bool, &svix, &standard, &stripe] {
        assert!(verify(body) && !verify(&changed), "each side tells a genuine body from a changed one");
    }
    let time =
        |verify: &dyn Fn(&str) -> bool| nanoseconds(MESSAGES, || assert!(verify(black_box(body)), "genuine"));
    (0..ROUNDS)
        .map(|_| Round {
            ours: time(&ours),
            svix: time(&svix),
            standard: time(&standard),
            stripe: time(&stripe) - time(&failing),
        })
        .collect()
}

fn headers(brand: &str, t: i64, signature: &str) -> HeaderMap {
    [("id", ID.to_owned()), ("timestamp", t.to_string()), ("signature", signature.to_owned())]
        .into_iter()
        .map(|(name, value)| {
            let name = format!("{brand}-{name}").parse::<http::HeaderName>().expect("a name");
            (name, value.parse::<HeaderValue>().expect("a value"))
        })
        .collect()
}
