//! See `invoicing_tests::hostile::since`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::since(bytes));
