//! Which databases a service opens, by the version of their schema.

use std::sync::Arc;

use invoicing_server::{DatabaseError, Invoicing, MemoryStore, OpenError};
use invoicing_tests::{Behind, Place, on_each_database};

async fn open(place: &Place) -> Result<Invoicing, OpenError> {
    place.builder().document_store(Arc::new(MemoryStore::new())).open().await
}

async fn newest_version(behind: &mut Behind) -> i64 {
    behind.one("SELECT max(version) FROM invoicing_migration", &[]).await
}

#[on_each_database]
async fn a_database_of_a_development_state_is_refused_in_words_that_say_so() {
    let place = Place::empty().await;
    let mut behind = place.behind().await;
    behind.run("CREATE TABLE invoicing_migration (version BIGINT PRIMARY KEY)", &[]).await;
    let newest = place.database().either(6, 2);
    for version in 1..=newest {
        behind.run("INSERT INTO invoicing_migration (version) VALUES ($1)", &[version.into()]).await;
    }
    let refused = open(&place).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::Database(DatabaseError::BeforeRelease { found }) if found == newest),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("before the first release"), "{refused}");
    assert_eq!(newest_version(&mut behind).await, newest, "the database is left as it was");
}

#[on_each_database]
async fn a_database_of_a_newer_version_is_refused_and_one_of_this_version_opened() {
    let place = Place::empty().await;
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
