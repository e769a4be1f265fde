//! The databases that a service opens, by the version of their schema.

use std::sync::Arc;

use invoicing_server::{DatabaseError, Invoicing, MemoryStore, OpenError};
use invoicing_tests::{Behind, Database, Place, World, on_each_database};

use crate::support::{DAY, date, issued_over};

async fn open(place: &Place) -> Result<Invoicing, OpenError> {
    place.builder().document_store(Arc::new(MemoryStore::new())).open().await
}

async fn newest_version(behind: &mut Behind) -> i64 {
    behind.one("SELECT max(version) FROM invoicing_migration", &[]).await
}

#[on_each_database]
async fn a_database_of_a_development_state_is_refused_in_words_that_say_so(db: Database) {
    let place = Place::empty(db).await;
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

/// Runs the migration's statements about one table.
async fn migrate_books(world: &World, behind: &mut Behind, table: &str) {
    let migration = world.database().either(
        include_str!("../../invoicing-server/migrations/sqlite/0003_books.sql"),
        include_str!("../../invoicing-server/migrations/postgres/0003_books.sql"),
    );
    for statement in migration.split_inclusive(';').filter(|statement| statement.contains(table)) {
        behind.run(statement, &[]).await;
    }
}

/// Rules: QUOTE-16
#[on_each_database]
async fn the_signing_links_of_an_older_version_end_too(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await.summary;
    assert_eq!(sent.valid_until, Some(date("2026-10-14")));
    world.company.quotes().signing_link(sent.id).await.unwrap();
    let mut behind = world.behind().await;
    for index in ["signing_link_quote", "signing_link_endless"] {
        behind.run(&format!("DROP INDEX {index}"), &[]).await;
    }
    for column in ["ends_at", "revoked_at"] {
        behind.run(&format!("ALTER TABLE signing_link DROP COLUMN {column}"), &[]).await;
    }
    migrate_books(&world, &mut behind, "signing_link").await;
    let links = world.company.quotes().signing_links(sent.id).await.unwrap();
    assert_eq!(links[0].ends_at, Some("2026-11-15T00:00:00Z".parse().unwrap()));
}

/// Rules: NUMBER-6
#[on_each_database]
async fn the_dates_of_series_are_taken_from_the_invoices_of_an_older_version(db: Database) {
    let world = World::new(db).await;
    let right = world.now();
    issued_over(&world.company, "100").await;
    world.advance(3 * DAY);
    issued_over(&world.company, "100").await;
    world.clock.set(right);
    let mut behind = world.behind().await;
    behind.run("ALTER TABLE series DROP COLUMN last_date", &[]).await;
    migrate_books(&world, &mut behind, "series").await;
    let next = issued_over(&world.company, "100").await.summary;
    assert_eq!(next.issue_date, Some(date("2026-09-17")));
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
