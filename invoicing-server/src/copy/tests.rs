//! Tests that everything is copied, in the form that PostgreSQL returns.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};

use super::quota::accepted;
use super::source::days;
use super::tables::{ColumnKind, TABLES};
use super::*;

const MOMENT: Moment = Moment { at: 1_000_000_000, ahead: 250 };

/// Parts of the database that the copy leaves out: the versions of the schema, computed columns,
/// and the table of lines, which PostgreSQL keeps in the row.
const LEFT_OUT: [&str; 6] = [
    "invoicing_migration.version",
    "webhook.sealed_with",
    "webhook.previous_sealed_with",
    "large_lines.company_id",
    "large_lines.document_id",
    "large_lines.lines",
];

#[tokio::test]
async fn every_column_of_every_table_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("invoicing.db");
    crate::Invoicing::sqlite(&path).open().await.unwrap().close().await;
    let options = SqliteConnectOptions::new().filename(&path).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let select = "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'";
    let found: Vec<String> = sqlx::query_scalar(select).fetch_all(&mut connection).await.unwrap();
    let mut found: BTreeSet<String> = found.into_iter().collect();
    for column in LEFT_OUT {
        assert!(found.remove(column), "{column}");
    }
    let names = TABLES.iter().flat_map(|table| {
        table.columns.iter().map(move |column| match column.kind {
            ColumnKind::UsedQuota => format!("{}.quota_log", table.name),
            _ => format!("{}.{}", table.name, column.name),
        })
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), found);
    // Rows are read in the order of a unique key.
    for table in &TABLES {
        let key: Vec<_> = table.key().iter().map(|column| column.name).collect();
        let unique = "SELECT count(*) FROM (SELECT group_concat(c.name, ' ' ORDER BY c.seqno) AS names \
             FROM pragma_index_list($1) i, pragma_index_info(i.name) c WHERE i.\"unique\" GROUP BY i.name) WHERE names = $2";
        let indexes: i64 = sqlx::query_scalar(unique)
            .bind(table.name)
            .bind(key.join(" "))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert!(indexes == 1 || table.name == "delivery", "{}: {key:?}", table.name);
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
