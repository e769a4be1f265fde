//! Verifying a delivery against the bare HMAC of the same message: the same three updates on a keyed state that is
//! kept, and nothing else.

use std::hint::black_box;
use std::time::Instant;

use hmac::{Hmac, KeyInit, Mac};
use invoicing_tests::bench::{self, aside, report};
use sha2::Sha256;
use webhook_verify::{Signer, Verifier};

const SECRET: &str = "whsec_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";
const NOW: i64 = 1_789_378_867;
const ROUNDS: usize = 61;
/// Bytes hashed per side and round.
const VOLUME: usize = 12_000_000;

fn main() {
    bench::role();
    println!("verify: webhook-verify / bare HMAC, time per message");
    for (size, target) in [(600, "<= 1.35"), (16 * 1024, "<= 1.05")] {
        compare(size, target);
    }
}

fn compare(size: usize, target: &str) {
    let body: Vec<u8> = (b'!'..=b'~').cycle().take(size).collect();
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
    report(&format!("{size} B"), &ratios, target);
    aside("bare HMAC", &of_bare, "ns");
    aside("verify", &of_verify, "ns");
}

/// Nanoseconds that one call takes.
fn nanoseconds(calls: u32, mut call: impl FnMut()) -> f64 {
    let begun = Instant::now();
    (0..calls).for_each(|_| call());
    begun.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}
