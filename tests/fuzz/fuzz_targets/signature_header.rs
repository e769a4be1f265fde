//! See `invoicing_tests::hostile::signature_header`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::signature_header(bytes));
