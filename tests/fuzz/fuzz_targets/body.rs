//! See `invoicing_tests::hostile::body`.

#![no_main]

use invoicing_tests::Database;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invoicing_tests::hostile::body(Database::Sqlite, bytes));
