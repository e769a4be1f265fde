//! Verifying and signing do not touch the heap, with any verdict. The counter is per thread.

use std::hint::black_box;

use allocation_counter::measure;
use webhook_verify::{Signer, Verifier, sign, verify};

const BODY: &[u8] = &[0xa5; 20_000];
const T: i64 = 1_789_378_867;

fn allocations(run: impl FnOnce()) -> u64 {
    measure(run).count_total
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(Vec::<u8>::with_capacity(100)))), 1);
}

#[test]
fn verifying_allocates_nothing() {
    let verifier = Verifier::with_secrets(["new", "old", "older"]).unwrap();
    let good = Signer::new("older").unwrap().sign(T, BODY).to_string();
    let many = format!("{good}{}", ",v1=0000".repeat(500));
    for (header, now, is_ok) in [
        (good.as_str(), T, true),
        (&many, T, true),
        (&good, T + 301, false),
        (&good, T - 301, false),
        ("t=1,v1=00", T, false),
        ("t=1,t=1", T, false),
        ("nonsense", T, false),
        ("", T, false),
    ] {
        let count = allocations(|| assert_eq!(black_box(verifier.verify(header, BODY, now)).is_ok(), is_ok));
        assert_eq!(count, 0, "{header}");
    }
    assert_eq!(allocations(|| assert!(verify("older", &good, BODY, T).is_ok())), 0);
}

#[test]
fn signing_allocates_nothing() {
    let signer = Signer::new("key").unwrap();
    let count = allocations(|| {
        assert!(black_box(signer.sign(i64::MIN, BODY)).as_str().starts_with("t=-9223372036854775808,v1="));
        assert!(sign("key", 0, BODY).is_ok_and(|signature| signature.as_bytes().len() == 71));
    });
    assert_eq!(count, 0);
}
