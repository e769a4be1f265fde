//! `record-release <folder>` records databases of this version, a folder for each kind. It is run once for each release, with
//! the code of that release.

mod recording;

use std::path::PathBuf;

use invoicing_tests::Database;

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for (db, name) in [(Database::Sqlite, "sqlite"), (Database::Postgres, "postgres")] {
        runtime.block_on(recording::record(db, &folder.join(name)));
    }
}
