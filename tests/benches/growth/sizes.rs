//! The sizes of the tables on disk.

use sqlx::{Connection, PgConnection};

const SIZES: &str = "SELECT relname::text, pg_table_size(oid), pg_indexes_size(oid), reltuples::bigint FROM pg_class \
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY pg_total_relation_size(oid) DESC LIMIT 9";

/// Name, bytes of the rows, bytes of the indexes, rows.
pub(crate) type Table = (String, i64, i64, i64);

/// The largest tables.
pub(crate) async fn of(url: &str) -> Vec<Table> {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    sqlx::query_as(SIZES).fetch_all(&mut connection).await.expect("the sizes")
}

/// Prints them for each number of quotes.
pub(crate) fn print(sizes: &[(u64, Vec<Table>)]) {
    for (quotes, tables) in sizes {
        let all: i64 = tables.iter().map(|(_, rows, indexes, _)| rows + indexes).sum();
        println!("\n{quotes} quotes take {} MB, {} bytes each", all >> 20, all.unsigned_abs() / quotes);
        for (name, rows, indexes, count) in tables {
            let each = (rows + indexes) / (*count).max(1);
            println!(
                "    {name:<14} {count:>9} rows: {:>6} MB, indexes {:>6} MB, {each:>5} bytes a row",
                rows >> 20,
                indexes >> 20
            );
        }
    }
}
