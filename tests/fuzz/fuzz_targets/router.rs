//! See `invoicing_tests::hostile::router`.

#![no_main]

use invoicing_tests::Database;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::router(Database::Sqlite, bytes));
