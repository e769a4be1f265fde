//! Tests that everything is copied, in the form that PostgreSQL returns.

use invoicing_test_databases::{Database, on_postgres, postgres};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::quota::accepted;
use super::source::days;
use super::tables::{CatalogueRow, EXCEPTIONS, catalogue, paired};
use super::*;

const MOMENT: Moment = Moment { at: 1_000_000_000, ahead: 250 };

/// Tables that only PostgreSQL has: the status of transactions whose answers were lost.
const ONLY_POSTGRES: [&str; 1] = ["commit_status"];

#[on_postgres]
async fn every_table_and_column_of_both_schemas_is_copied(_: Database) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("invoicing.db");
    crate::Invoicing::sqlite(&path).open().await.unwrap().close().await;
    let mut source = SqliteSource::open(&path).await.unwrap();
    let server = postgres::fresh(None).await;
    let mut target = PostgresTarget::connect(&PostgresSettings::new(server.url())).await.unwrap();

    let (sqlite, mut postgres) = (source.catalogue().await.unwrap(), target.catalogue(false).await.unwrap());
    assert!(target.catalogue(true).await.unwrap().is_empty(), "tables stayed");
    let tables = paired(&sqlite, &postgres).unwrap();
    postgres.retain(|name, _| !sqlite.contains_key(name));
    assert!(postgres.keys().eq(ONLY_POSTGRES), "{postgres:?}");
    for (table, column, read) in EXCEPTIONS {
        let table = tables.iter().find(|copied| copied.name == table).unwrap();
        assert!(table.columns.iter().any(|copied| copied.name == column && copied.read == read), "{table:?}");
    }
    // SQLite reads the rows in their order, and sorts none.
    let options = SqliteConnectOptions::new().filename(&path).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    for table in &tables {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", table.select()));
        let plan = sqlx::query_as(explain).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<_> = plan.into_iter().map(|(_, _, _, step): (i64, i64, i64, String)| step).collect();
        assert!(!plan.concat().contains("TEMP B-TREE"), "{table:?}: {plan:?}");
    }
}

#[test]
fn a_difference_of_the_schemas_is_named() {
    let columns = |columns: &[(&str, &str, i64)]| {
        let row = |(name, data_type, position): &(&str, &str, i64)| -> CatalogueRow {
            ("note".to_owned(), (*name).to_owned(), (*data_type).to_owned(), *position)
        };
        catalogue(columns.iter().map(row).collect())
    };
    let difference = |sqlite: &[(&str, &str, i64)], postgres: &[(&str, &str, i64)]| {
        paired(&columns(sqlite), &columns(postgres)).map(drop).map_err(|error| error.to_string())
    };
    let (id, text) = (("id", "BLOB", 1), ("text", "TEXT", 0));
    let (their_id, their_text) = (("id", "uuid", 1), ("text", "text", 0));
    assert_eq!(difference(&[id, text], &[their_id, their_text]), Ok(()));
    assert_eq!(difference(&[("id", "BLOB", 0), text], &[their_id, their_text]), Ok(()));
    for (sqlite, postgres, cause) in [
        (&[id, text][..], &[their_id][..], "PostgreSQL has no column text"),
        (&[id], &[their_id, their_text], "SQLite has no column text"),
        (&[id], &[], "PostgreSQL has no such table"),
        (&[id, text], &[their_id, ("text", "bytea", 0)], "column text has the types TEXT and bytea"),
        (&[id, text], &[their_id, ("text", "bigint[]", 0)], "column text has the types TEXT and bigint[]"),
    ] {
        assert_eq!(difference(sqlite, postgres), Err(format!("table note cannot be copied: {cause}")));
    }
}

#[test]
fn a_day_is_counted_from_2000() {
    assert_eq!(days("2000-01-01"), Some(0));
    assert_eq!(days("1999-12-31"), Some(-1));
    assert_eq!(days("2026-09-14"), Some(9_753));
    assert_eq!(days("2026-02-30"), None);
    assert_eq!(days(""), None);
}

#[test]
fn a_row_is_written_as_postgresql_writes_it() {
    let mut row = Vec::new();
    binary::row(4, &mut row);
    binary::null(&mut row);
    for value in [&b"ab"[..], &(-2_i64).to_be_bytes(), &binary::array(&[7])] {
        binary::value(value, &mut row);
    }
    let expected: [&[u8]; 5] = [
        &[0, 4, 0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 2, b'a', b'b'],
        &[0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
        &[0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1],
        &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7],
    ];
    assert_eq!(row, expected.concat());
    assert_eq!(binary::array(&[]), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20]);
}

#[test]
fn the_used_quota_is_carried_over_to_the_clock_of_the_database() {
    let log = |pairs: &[(i64, u32)]| serde_json::to_string(pairs).unwrap();
    let of = |pairs: &[(i64, u32)]| accepted(&log(pairs), MOMENT).unwrap();
    assert!(of(&[]).is_empty());
    // Instants, and what was reserved.
    let now = MOMENT.at;
    let pairs = [(now - 40_000, 2), (now - 100, 1), (i64::MAX, 2)];
    let expected = [now - 39_750, now - 39_750, now + 150, now + 250, now + 250];
    assert_eq!(of(&pairs), expected);
    // Rounded up, or counted by a clock that was set back: as used now.
    assert_eq!(of(&[(now + 60, 1), (now + 900_000, 1)]), [now + 250, now + 250]);
    // Never earlier than what was counted before it.
    assert_eq!(of(&[(now - 10, 1), (now - 20, 1)]), [now + 240, now + 240]);
    assert_eq!(of(&[(now - 86_400_000, 100_000), (now - 5, 1)]), [now + 245]);
    assert!(accepted("[[1]]", MOMENT).is_err());
}
