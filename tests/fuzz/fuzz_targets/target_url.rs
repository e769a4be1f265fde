//! See `invoicing_tests::hostile::target_url`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::target_url(bytes));
