//! Nodes that start together, and sweeps that would run together.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use invoicing_core::{NewCompany, Plan};
use invoicing_server::{Error, MemoryStore, SweepReport};
use invoicing_tests::{Place, World, on_postgres};
use sqlx::{Connection, PgConnection};

use super::{Nodes, call, comes_to};
use crate::support::{DAY, draft_of};

#[on_postgres(worker_threads = 4)]
async fn nodes_that_start_together_make_the_tables_once() {
    for _ in 0..3 {
        let place = Place::empty().await;
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

        // They agree on what the first one chose.
        let company = nodes[0].companies().create(&NewCompany::named("x", Plan::Team)).await.unwrap().id;
        let draft = draft_of(&nodes[1].company(company)).await;
        nodes[2].company(company).quotes().send(draft.id, None).await.unwrap();
        for node in &nodes {
            let url = node.company(company).quotes().document(draft.id).await.unwrap().url;
            let path = &url[url.find("/api/").unwrap()..];
            assert_eq!(call(&nodes[3], "GET", path, "", "").await.status, 200);
        }
    }
}

#[on_postgres(worker_threads = 4)]
async fn nodes_that_sweep_together_change_each_record_once() {
    let nodes = Nodes::of_one_clock(World::new().await).await;
    for _ in 0..40 {
        nodes.world.sent().await;
    }
    nodes.world.advance(31 * DAY);
    let reports = join_all((0..9).map(|n| nodes.all[n % 3].sweep())).await;
    let reports: Vec<SweepReport> = reports.into_iter().map(Result::unwrap).collect();
    let expired: u64 = reports.iter().map(|report| report.expired_quotes).sum();
    assert_eq!(expired, 40);
    for report in reports.iter().filter(|report| report.elsewhere) {
        assert_eq!(*report, SweepReport { elsewhere: true, ..SweepReport::default() });
    }
    let last = nodes.all[1].sweep().await.unwrap();
    assert_eq!(last, SweepReport::default(), "nothing is left, and nobody else is at it");
}

#[on_postgres(worker_threads = 4)]
async fn while_one_node_sweeps_the_others_leave_it_to_it() {
    let nodes = Nodes::of_one_clock(World::new().await).await;
    nodes.world.sent().await;
    nodes.world.advance(31 * DAY);
    // Somebody else holds the company, so that the sweep has to wait for it.
    let mut holder = PgConnection::connect(nodes.world.place().url()).await.unwrap();
    let mut holding = holder.begin().await.unwrap();
    let lock =
        sqlx::query("SELECT id FROM company WHERE id = $1 FOR UPDATE").bind(nodes.world.company.id().0);
    lock.execute(&mut *holding).await.unwrap();
    let sweeping = async { nodes.all[0].sweep().await };
    let others = async {
        let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
            WHERE a.datname = current_database() AND NOT l.granted";
        comes_to("a sweep that waits", || async { nodes.world.count(waiting).await > 0 }).await;
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
