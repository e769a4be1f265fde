//! A host that moves from SQLite to PostgreSQL while the process that copies is killed, again and again.

use std::path::Path;
use std::time::Duration;

use invoicing_server::{DatabaseError, Invoicing, OpenError, PostgresSettings};
use invoicing_tests::postgres::{Cluster, Options};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};

use super::{hasty, wait_until};
use crate::process::{CLAIMED, PENDING, Site};
use crate::receivers::UnreliableReceivers;
use crate::{checks, random, tell, times};

/// Revoked keys, as what there is much of: several batches of the copy.
const KEYS: i64 = 50_000;
const FILL: &str = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $1) \
     INSERT INTO api_key (company_id, id, hash, last4, label, created_at, last_used_at, revoked_at, quota_log) \
     SELECT company_id, unhex(printf('%032x', n)), unhex(printf('%064x', n)), last4, label, created_at, last_used_at, \
     created_at, quota_log FROM n, (SELECT * FROM api_key LIMIT 1)";
const HAS_TABLES: &str = "SELECT count(*) FROM pg_class WHERE relname = 'api_key'";
const COPIED: &str = "SELECT count(*) FROM api_key";

async fn fill(file: &Path) {
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection: SqliteConnection = options.connect().await.expect("the file");
    sqlx::query(FILL).bind(KEYS).execute(&mut connection).await.expect("keys");
}

async fn copied(target: &Site) -> i64 {
    if target.count(HAS_TABLES).await == 0 { 0 } else { target.count(COPIED).await }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_killed_at_any_moment_is_continued_by_the_next_without_loss() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let mut receivers = UnreliableReceivers::start().await;
    let source = Site::on_sqlite(receivers.urls());
    receivers.worsen(0).await;
    let node = source.start("work");
    node.started();
    node.wait_for_operations(40);
    // Killed, so that there is something to be delivered, and something that was claimed.
    let said = vec![node.kill()];
    fill(&source.file()).await;
    let (keys, pending, claimed) =
        (source.count(COPIED).await, source.count(PENDING).await, source.count(CLAIMED).await);

    let url = cluster.create_database("invoicing").await;
    let target = source.moved_to(url.clone(), hasty());
    let kills = times("FAULTS_KILLS", 6);
    let (mut last, mut halves) = (0, 0);
    for kill in 0..kills {
        let node = target.start_copy(&url);
        if kill > 0 {
            // Always a little further than before, as otherwise it would never get on.
            wait_until("the copy gets on", async || copied(&target).await > last.min(KEYS - 1)).await;
        }
        tokio::time::sleep(Duration::from_millis(random(250))).await;
        node.kill();
        last = copied(&target).await;
        if (1..keys).contains(&last) {
            halves += 1;
            let opened = Invoicing::postgres(PostgresSettings::new(url.clone())).open().await;
            assert!(
                matches!(opened, Err(OpenError::Database(DatabaseError::Copying))),
                "half a copy was opened"
            );
        }
    }
    let line = |lines: Vec<serde_json::Value>| lines.into_iter().next_back().expect("a report");
    let report = line(target.start_copy(&url).stop_well());
    let again = line(target.start_copy(&url).stop_well());
    assert_eq!((&again["copied"], &again["complete"]), (&0.into(), &true.into()));
    assert_eq!((&again["rows"], &again["sha256"]), (&report["rows"], &report["sha256"]));
    assert!(report["copied"].as_u64() < report["rows"].as_u64(), "the last one began again: {report}");
    assert_eq!(copied(&target).await, keys);

    receivers.recover().await;
    let node = target.start("rest");
    node.started();
    target.wait_until_all_ended().await;
    node.stop_well();
    let figures = checks::check(&target, &said, &receivers.take()).await;
    tell(
        "copying process killed",
        &format_args!(
            "{kills} kills, {halves} of them in the middle of a table; {} rows, {} of them copied by the last process; moved with {pending} deliveries \
             pending, {claimed} claimed; {figures}",
            report["rows"], report["copied"]
        ),
    );
    assert_eq!((figures.lost, figures.doubled), (0, 0));
    assert!(halves > 0 && pending > 0 && figures.delivered > 0, "too little happened to mean anything");
}
