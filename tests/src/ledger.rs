//! The content of the database, read behind the service's back: proves that nothing has changed or is missing.

use crate::{Behind, Database, World};

/// Every table but the API keys and the uploads.
const SQLITE_TABLES: &str = "SELECT name FROM sqlite_master \
    WHERE type = 'table' AND name NOT IN ('api_key', 'upload') ORDER BY name";
/// Every table but these, and the statuses of transactions, which include refused ones.
const POSTGRES_TABLES: &str = "SELECT tablename::text FROM pg_tables \
    WHERE schemaname = current_schema() AND tablename NOT IN ('api_key', 'upload', 'commit_status') ORDER BY 1";

/// The laws of the delivery rows at any moment, as queries that find rows which break them.
const ALWAYS: [(&str, &str); 7] = [
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
    (
        "a claim without a lease, or a lease without a claim",
        "SELECT count(*) FROM delivery WHERE (claim = 0) <> (held_until = 0)",
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
    /// Every row of every table: two of these are equal if nothing changed. But the API keys, which count requests,
    /// the uploads, which outlive what was refused until they are swept, and the notes of when dispatchers and sweeps ran.
    pub async fn dump(&self) -> Vec<String> {
        let database = self.database();
        self.behind_kept(async |behind| dump(behind, database).await).await
    }

    /// Every delivery has ended, with all its attempts on record.
    pub async fn assert_all_ended(&self) {
        self.assert_ledger().await;
        let pending = self.count("SELECT count(*) FROM delivery WHERE status = 'pending'").await;
        assert_eq!(pending, 0, "deliveries still pending");
    }

    /// No delivery that is due, or claimed, was forgotten; those that wait for their time may wait, and first attempts
    /// where as many deliveries of their webhook are under way as may be.
    pub async fn assert_nothing_due(&self) {
        self.assert_ledger().await;
        let statement =
            "SELECT count(*) FROM delivery d WHERE status = 'pending' AND (claim <> 0 OR due_at <= $1 AND (
            attempts > 0 OR $2 > (
                SELECT count(*) FROM delivery b
                WHERE b.webhook_id = d.webhook_id AND b.status = 'pending' AND b.attempts > 0
            )
        ))";
        let max = i64::try_from(self.invoicing.settings().dispatch.in_flight_per_webhook).unwrap_or(i64::MAX);
        let arguments = [self.now().as_millis().into(), max.into()];
        let due: i64 = self.behind_kept(async |behind| behind.one(statement, &arguments).await).await;
        assert_eq!(due, 0, "deliveries that are due or claimed were forgotten");
    }

    /// The laws of the deliveries at any moment at which no attempt is being recorded.
    pub async fn assert_ledger(&self) {
        self.behind_kept(async |behind| {
            for (what, statement) in ALWAYS {
                assert_eq!(behind.one::<i64>(statement, &[]).await, 0, "{what}");
            }
        })
        .await;
    }

    /// A number from the database.
    pub async fn count(&self, statement: &'static str) -> i64 {
        self.behind_kept(async |behind| behind.one(statement, &[]).await).await
    }
}

async fn dump(behind: &mut Behind, database: Database) -> Vec<String> {
    let tables: Vec<String> = behind.all(database.either(SQLITE_TABLES, POSTGRES_TABLES), &[]).await;
    let mut rows = Vec::new();
    for table in tables {
        let row = match database {
            Database::Sqlite => {
                let columns = format!("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('{table}')");
                behind.all::<String>(&columns, &[]).await.join("||' '||")
            }
            Database::Postgres => "t::text".into(),
        };
        let statement = format!("SELECT '{table}: ' || {row} FROM \"{table}\" t ORDER BY 1");
        rows.extend(behind.all::<String>(&statement, &[]).await);
    }
    rows.retain(|row| !(row.starts_with("setting: ") && row.contains("_ran_at")));
    rows
}
