//! See `invoicing_tests::hostile::query`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::query(bytes));
