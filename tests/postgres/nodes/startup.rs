//! Nodes that start together, and sweeps that would run together.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use invoicing_core::{NewCompany, Plan};
use invoicing_server::{
    DatabaseError, Error, Invoicing, MemoryStore, OpenError, PostgresSettings, SealingError, SweepReport,
};
use invoicing_tests::{Database, Place, World, on_postgres};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres, Transaction};

use super::{Nodes, call, comes_to};
use crate::support::{DAY, draft_of};

#[on_postgres(worker_threads = 4)]
async fn nodes_that_start_together_make_the_tables_once(db: Database) {
    for _ in 0..3 {
        let place = Place::empty(db).await;
        let documents = Arc::new(MemoryStore::new());
        let open = || async { place.builder().document_store(documents.clone()).open().await.unwrap() };
        let nodes = join_all((0..8).map(|_| open())).await;
        let mut behind = place.behind().await;
        let migrations: Vec<String> =
            behind.all("SELECT tablename::text FROM pg_tables WHERE tablename LIKE '%migration%'", &[]).await;
        let [migrations] = &migrations[..] else { panic!("one table of migrations: {migrations:?}") };
        let versions: Vec<i64> = behind.all(&format!("SELECT version::bigint FROM {migrations}"), &[]).await;
        assert!(!versions.is_empty());
        assert_eq!(versions.iter().collect::<HashSet<_>>().len(), versions.len(), "{versions:?}");

        // All nodes use the choices of the first one.
        let company = nodes[0].companies().create(&NewCompany::named("x", Plan::Team)).await.unwrap().id;
        let draft = draft_of(&nodes[1].company(company)).await;
        nodes[2].company(company).quotes().send(draft.summary.id, None).await.unwrap();
        for node in &nodes {
            let url = node.company(company).quotes().document(draft.summary.id).await.unwrap().url;
            let path = &url[url.find("/api/").unwrap()..];
            assert_eq!(call(&nodes[3], "GET", path, "", "").await.status, 200);
        }
    }
}

async fn opened_at(url: String) -> Result<Invoicing, OpenError> {
    Invoicing::postgres(PostgresSettings::new(url)).document_store(Arc::new(MemoryStore::new())).open().await
}

#[on_postgres]
async fn a_database_that_cannot_hold_every_name_is_refused(db: Database) {
    let place = Place::empty(db).await;
    let mut behind = place.behind().await;
    let name: String = behind.one("SELECT current_database()::text || '_ascii'", &[]).await;
    let create = format!(
        "CREATE DATABASE \"{name}\" ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    );
    behind.run(&create, &[]).await;
    let opened = opened_at(place.url().replace(name.trim_end_matches("_ascii"), &name)).await;
    behind.run(&format!("DROP DATABASE \"{name}\""), &[]).await;
    assert!(
        matches!(&opened, Err(OpenError::Database(DatabaseError::Encoding(found))) if found == "SQL_ASCII"),
        "{opened:?}"
    );
}

/// The lock under which a service makes its first change of a database, and a copy begins.
const SERVICE_LOCK: &str = "SELECT pg_advisory_xact_lock((x'696e766f'::bigint << 32) | 2)";
const WAITING: &str = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
     WHERE a.datname = current_database() AND NOT l.granted";

#[on_postgres(worker_threads = 4)]
async fn a_copy_that_begins_while_a_service_opens_keeps_it_out(db: Database) {
    for level in ["read committed", "repeatable read", "serializable"] {
        assert_copy_keeps_out(db, level).await;
    }
}

/// Runs on a database whose transactions have this level by default.
async fn assert_copy_keeps_out(db: Database, level: &str) {
    let place = Place::empty(db).await;
    let mut copy = PgConnection::connect(place.url()).await.unwrap();
    let database: String =
        sqlx::query_scalar("SELECT current_database()::text").fetch_one(&mut copy).await.unwrap();
    let level = format!("ALTER DATABASE \"{database}\" SET default_transaction_isolation = '{level}'");
    copy.execute(AssertSqlSafe(level)).await.unwrap();
    let mut copying = copy.begin().await.unwrap();
    copying.execute(SERVICE_LOCK).await.unwrap();
    let begins = async {
        let mut behind = place.behind().await;
        while behind.one::<i64>(WAITING, &[]).await == 0 {
            tokio::task::yield_now().await;
        }
        copying.execute("CREATE TABLE invoicing_copy ()").await.unwrap();
        copying.commit().await.unwrap();
    };
    let (opened, ()) = tokio::join!(opened_at(place.url().to_owned()), begins);
    // The service's first write fails.
    let refused = |opened: &Result<_, _>| {
        matches!(opened, Err(OpenError::Sealing(SealingError::Store(Error::StorageUnavailable(_)))))
    };
    assert!(refused(&opened), "{opened:?}");
    assert!(matches!(
        opened_at(place.url().to_owned()).await,
        Err(OpenError::Database(DatabaseError::Copying))
    ));
    let left: i64 = place.behind().await.one("SELECT count(*) FROM setting", &[]).await;
    assert_eq!(left, 0, "it has written to a database that is being copied into");
}

#[on_postgres(worker_threads = 4)]
async fn nodes_that_sweep_together_change_each_record_once(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    for _ in 0..40 {
        nodes.world.sent().await;
    }
    nodes.world.advance(31 * DAY);
    let reports = join_all((0..9).map(|n| nodes.all[n % 3].sweep())).await;
    let reports: Vec<SweepReport> = reports.into_iter().map(Result::unwrap).collect();
    let expired: u64 = reports.iter().map(|report| report.expired_quotes).sum();
    assert_eq!(expired, 40);
    let mut idle = SweepReport::default();
    idle.elsewhere = true;
    for report in reports.iter().filter(|report| report.elsewhere) {
        assert_eq!(*report, idle);
    }
    let last = nodes.all[1].sweep().await.unwrap();
    assert_eq!(last, SweepReport::default(), "nothing is left, and no other sweep runs");
}

/// Holds the world's company, so that a sweep has to wait for it.
async fn hold_company<'c>(holder: &'c mut PgConnection, world: &World) -> Transaction<'c, Postgres> {
    let mut holding = holder.begin().await.unwrap();
    let lock = sqlx::query("SELECT id FROM company WHERE id = $1 FOR UPDATE").bind(world.company.id().0);
    lock.execute(&mut *holding).await.unwrap();
    holding
}

#[on_postgres(worker_threads = 4)]
async fn while_one_node_sweeps_the_others_leave_it_to_it(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    nodes.world.sent().await;
    nodes.world.advance(31 * DAY);
    let mut holder = PgConnection::connect(nodes.world.place().url()).await.unwrap();
    let holding = hold_company(&mut holder, &nodes.world).await;
    let sweeping = async { nodes.all[0].sweep().await };
    let others = async {
        comes_to("a sweep that waits", || async { nodes.world.count(WAITING).await > 0 }).await;
        for node in &nodes.all[1..] {
            assert!(node.sweep().await.unwrap().elsewhere);
        }
        holding.rollback().await.unwrap();
    };
    let (swept, ()) = tokio::join!(sweeping, others);
    let swept: Result<SweepReport, Error> = swept;
    assert_eq!(swept.unwrap().expired_quotes, 1);
    assert!(!nodes.all[2].sweep().await.unwrap().elsewhere, "it is over");
}

#[on_postgres(worker_threads = 4)]
async fn a_sweep_that_has_lost_its_turn_ends(db: Database) {
    const LOSE: &str = "SELECT count(pg_terminate_backend(l.pid, 5000)) FROM pg_locks l \
         JOIN pg_stat_activity a ON a.pid = l.pid \
         WHERE a.datname = current_database() AND l.locktype = 'advisory' AND l.granted";
    let world = World::new(db).await;
    world.sent().await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let theirs = draft_of(&other).await.summary.id;
    other.quotes().send(theirs, None).await.unwrap();
    world.advance(31 * DAY);
    let mut holder = PgConnection::connect(world.place().url()).await.unwrap();
    let holding = hold_company(&mut holder, &world).await;
    let lose = async {
        comes_to("a sweep that waits", || async { world.count(WAITING).await > 0 }).await;
        assert_eq!(world.count(LOSE).await, 1);
        holding.rollback().await.unwrap();
    };
    let (swept, ()) = tokio::join!(world.invoicing.sweep(), lose);
    assert!(matches!(swept, Err(Error::StorageUnavailable(_))), "{swept:?}");
    assert_eq!(
        world.invoicing.sweep().await.unwrap().expired_quotes,
        1,
        "what was left to the sweep that has the turn"
    );
}
