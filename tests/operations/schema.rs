//! The databases that a service opens, by the version of their schema.

use std::sync::Arc;

use invoicing_server::{
    CopyError, DatabaseError, Invoicing, MemoryStore, OpenError, PostgresSettings, copy_to_postgres,
};
use invoicing_tests::{Behind, Database, Place, on_each_database};

async fn open(place: &Place) -> Result<Invoicing, OpenError> {
    place.builder().document_store(Arc::new(MemoryStore::new())).open().await
}

async fn newest_version(behind: &mut Behind) -> i64 {
    behind.one("SELECT max(version) FROM invoicing_migration", &[]).await
}

/// The versions of all snapshots of before the first release.
const SNAPSHOTS: [i64; 5] = [1, 101, 119, 120, 121];

#[on_each_database]
async fn a_database_of_a_snapshot_is_refused_by_name_and_left_as_it_is(db: Database) {
    for newest in SNAPSHOTS {
        let place = Place::empty(db).await;
        let mut behind = place.behind().await;
        behind.run("CREATE TABLE invoicing_migration (version BIGINT PRIMARY KEY)", &[]).await;
        behind.run("INSERT INTO invoicing_migration (version) VALUES ($1)", &[newest.into()]).await;
        let refused = open(&place).await.unwrap_err();
        assert!(
            matches!(refused, OpenError::Database(DatabaseError::BeforeRelease { found }) if found == newest),
            "{refused:?}"
        );
        assert!(refused.to_string().contains("before the first release"), "{refused}");
        assert_eq!(newest_version(&mut behind).await, newest, "the database is left as it was");
    }
}

#[tokio::test]
async fn a_file_of_the_last_snapshot_stays_as_it_is_to_the_byte() {
    let place = Place::empty(Database::Sqlite).await;
    let snapshot = include_bytes!("../data/snapshot-120.db");
    std::fs::write(place.file(), snapshot).unwrap();
    let refused = open(&place).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::Database(DatabaseError::BeforeRelease { found: 120 })),
        "{refused:?}"
    );
    assert!(std::fs::read(place.file()).unwrap() == snapshot);
    let reason = copy_to_postgres(&place.file(), &PostgresSettings::new("postgres://nowhere")).await;
    assert!(matches!(reason, Err(CopyError::Schema { found: 120, .. })), "{reason:?}");
}

/// Rules: STORED-4
#[on_each_database]
async fn a_database_of_a_newer_version_is_refused_and_of_this_one_opened(db: Database) {
    let place = Place::empty(db).await;
    open(&place).await.unwrap().close().await;
    let mut behind = place.behind().await;
    let known = newest_version(&mut behind).await;
    open(&place).await.unwrap().close().await;
    behind.run("INSERT INTO invoicing_migration (version) VALUES ($1)", &[(known + 1).into()]).await;
    let refused = open(&place).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::Database(DatabaseError::TooNew { found, known: newest }) if found == known + 1 && newest == known),
        "{refused:?}"
    );
}
