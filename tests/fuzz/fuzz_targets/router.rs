//! See `invoicing_tests::hostile::router`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::router(bytes));
