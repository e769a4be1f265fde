//! What the database holds, read behind the service's back: that nothing has changed, and nothing was forgotten.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::World;

/// What must hold of the delivery rows at any moment, as queries that find what breaks it.
const ALWAYS: [(&str, &str); 6] = [
    (
        "a status of its own",
        "SELECT count(*) FROM delivery WHERE status NOT IN ('pending', 'delivered', 'failed', 'skipped')",
    ),
    (
        "an end without an instant, or an instant without an end",
        "SELECT count(*) FROM delivery WHERE (status = 'pending') <> (ended_at IS NULL)",
    ),
    (
        "skipped without a reason, or a reason without being skipped",
        "SELECT count(*) FROM delivery WHERE (status = 'skipped') <> (reason IS NOT NULL)",
    ),
    ("ended and still claimed", "SELECT count(*) FROM delivery WHERE status <> 'pending' AND claim <> 0"),
    (
        "delivered or failed without an attempt",
        "SELECT count(*) FROM delivery WHERE status IN ('delivered', 'failed') AND attempts_in_all = 0",
    ),
    (
        "attempts that were not recorded, or recorded twice",
        "SELECT count(*) FROM delivery d WHERE attempts_in_all <> \
      (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.webhook_id = d.webhook_id)",
    ),
];

impl World {
    /// Every row of every table: two of these are equal where nothing changed. But the API keys, which count requests,
    /// and the uploads, which outlive what was refused until they are swept.
    pub async fn dump(&self) -> Vec<String> {
        let mut connection = self.behind().await;
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('api_key', 'upload') \
             ORDER BY name",
        )
        .fetch_all(&mut connection)
        .await
        .expect("the tables");
        let mut rows = Vec::new();
        for table in tables {
            let columns: Vec<String> = sqlx::query_scalar("SELECT quote(name) FROM pragma_table_info($1)")
                .bind(&table)
                .fetch_all(&mut connection)
                .await
                .expect("the columns");
            let columns: Vec<String> =
                columns.iter().map(|name| format!("quote(\"{}\")", name.trim_matches('\''))).collect();
            let statement =
                format!("SELECT '{table}: ' || {} FROM \"{table}\" ORDER BY 1", columns.join("||' '||"));
            let found: Vec<String> = sqlx::query_scalar(AssertSqlSafe(statement))
                .fetch_all(&mut connection)
                .await
                .expect("the rows");
            rows.extend(found);
        }
        rows
    }

    /// Every delivery has ended, with all its attempts on record.
    pub async fn assert_all_ended(&self) {
        self.assert_ledger().await;
        let pending = self.count("SELECT count(*) FROM delivery WHERE status = 'pending'").await;
        assert_eq!(pending, 0, "deliveries still pending");
    }

    /// No delivery that is due, or claimed, was forgotten; those that wait for their time may wait.
    pub async fn assert_nothing_due(&self) {
        self.assert_ledger().await;
        let mut connection = self.behind().await;
        let due: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM delivery WHERE status = 'pending' AND (due_at <= $1 OR claim <> 0)",
        )
        .bind(self.now().as_millis())
        .fetch_one(&mut connection)
        .await
        .expect("a count");
        assert_eq!(due, 0, "deliveries that are due or claimed were forgotten");
    }

    /// What holds of the deliveries at any moment at which no attempt is being recorded.
    pub async fn assert_ledger(&self) {
        for (what, statement) in ALWAYS {
            assert_eq!(self.count(statement).await, 0, "{what}");
        }
    }

    /// A number from the database.
    pub async fn count(&self, statement: &'static str) -> i64 {
        let mut connection = self.behind().await;
        sqlx::query_scalar(statement).fetch_one(&mut connection).await.expect("a count")
    }

    async fn behind(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.database()).read_only(true);
        SqliteConnection::connect_with(&options).await.expect("the database opens")
    }
}
