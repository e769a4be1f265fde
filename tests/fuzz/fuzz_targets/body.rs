//! See `invoicing_tests::hostile::body`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::body(bytes));
