//! Verifying a delivery against the bare HMAC of the same message (the same three updates on a keyed state that is
//! kept, and nothing else) and against other crates that verify webhooks. All sides take turns in one run. The benchmark
//! fails when the median of a ratio misses its limit.

mod peers;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use hmac::{Hmac, KeyInit, Mac};
use invoicing_tests::bench::{self, aside, quantile, report};
use sha2::Sha256;
use webhook_verify::{Signer, Verifier};

const SECRET: &str = "whsec_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";
const NOW: i64 = 1_789_378_867;
const ROUNDS: usize = 61;
/// Bytes hashed per side and round.
const VOLUME: usize = 12_000_000;

/// The target of a ratio.
#[derive(Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn is_kept(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(limit) => ratio <= limit,
            Self::AtLeast(limit) => ratio >= limit,
        }
    }
}

fn main() -> ExitCode {
    bench::role();
    let mut is_kept = true;
    println!("verify: webhook-verify / bare HMAC, time per message");
    for (size, limit) in [(600, 1.3), (16 * 1024, 1.03)] {
        is_kept &= against_bare(size, Limit::AtMost(limit));
    }
    is_kept &= peers::compare();
    if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn against_bare(size: usize, limit: Limit) -> bool {
    let body = body(size);
    let header = Signer::new(SECRET).expect("a secret").sign(NOW, &body).to_string();
    let verifier = Verifier::new(SECRET).expect("a secret");
    let keyed = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    let t = NOW.to_string();
    let bare = || {
        let mut mac = keyed.clone();
        mac.update(black_box(t.as_bytes()));
        mac.update(b".");
        mac.update(black_box(&body));
        black_box(mac.finalize());
    };
    let verify = || {
        let result = verifier.verify(black_box(header.as_bytes()), black_box(&body), NOW);
        black_box(result.expect("genuine"));
    };
    let messages = u32::try_from(VOLUME / size).expect("a moderate count");
    let (mut ratios, mut of_bare, mut of_verify) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (bare, verify) = (nanoseconds(messages, bare), nanoseconds(messages, verify));
        ratios.push(verify / bare);
        of_bare.push(bare);
        of_verify.push(verify);
    }
    let is_kept = judge(&format!("{size} B"), &ratios, limit);
    aside("bare HMAC", &of_bare, "ns");
    aside("verify", &of_verify, "ns");
    is_kept
}

/// Printable characters, which every side takes.
fn body(size: usize) -> Vec<u8> {
    (b'!'..=b'~').cycle().take(size).collect()
}

/// Prints a ratio with its limit; whether it is kept.
fn judge(what: &str, ratios: &[f64], limit: Limit) -> bool {
    let target = match limit {
        Limit::AtMost(limit) => format!("<= {limit}"),
        Limit::AtLeast(limit) => format!(">= {limit}"),
    };
    let is_kept = limit.is_kept(quantile(ratios, 0.5));
    report(what, ratios, &if is_kept { target } else { target + ", MISSED" });
    is_kept
}

/// Nanoseconds that one call takes.
fn nanoseconds(calls: u32, mut call: impl FnMut()) -> f64 {
    let begun = Instant::now();
    (0..calls).for_each(|_| call());
    begun.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}
