//! Keys, plans, the quota and document URLs: a decision of one node holds on all.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::Plan;
use invoicing_tests::{Database, World, on_postgres};

use super::{MINUTE, Nodes, Wrong, call, comes_to};

const PATH: &str = "/api/v1/quotes?limit=1";
const QUOTA: usize = 30;

/// Sends `count` requests at once, spread over the nodes. Returns the number accepted; the others got 429.
async fn at_once(nodes: &Nodes, count: usize) -> usize {
    let heard = join_all((0..count).map(|n| nodes.get(n, PATH))).await;
    for heard in &heard {
        assert!(matches!(heard.status, 200 | 429), "{}: {}", heard.status, heard.json);
        if heard.status == 429 {
            let wait: u64 = heard.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=61).contains(&wait), "{wait}");
        }
    }
    heard.iter().filter(|heard| heard.status == 200).count()
}

/// Rules: QUOTA-1
#[on_postgres(worker_threads = 4)]
async fn the_quota_is_exact_over_nodes(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    assert_eq!(at_once(&nodes, 90).await, QUOTA);
    assert_eq!(at_once(&nodes, 30).await, 0);
    nodes.world.advance(MINUTE + Duration::from_millis(1));
    // Refused requests were not counted, on no node.
    assert_eq!(at_once(&nodes, 12).await, 12);
    nodes.world.advance(MINUTE / 2);
    assert_eq!(at_once(&nodes, 60).await, QUOTA - 12);
    nodes.world.advance(MINUTE / 2 + Duration::from_millis(1));
    assert_eq!(at_once(&nodes, 60).await, 12, "the first twelve are a minute old");
}

/// Rules: QUOTA-1
#[on_postgres(worker_threads = 4)]
async fn no_minute_of_three_nodes_has_more_than_thirty(db: Database) {
    let nodes = Nodes::of_one_clock(World::new(db).await).await;
    let mut accepted: Vec<i64> = Vec::new();
    for round in 0..60_u64 {
        let now = nodes.world.now().as_millis();
        let room = QUOTA - accepted.iter().filter(|at| now - **at <= 60_000).count();
        let asked = usize::try_from(round * 7 % 11 + 1).unwrap();
        let passed = at_once(&nodes, asked).await;
        assert_eq!(passed, asked.min(room), "round {round}");
        accepted.extend((0..passed).map(|_| now));
        nodes.world.advance(Duration::from_millis(round * 997 % 9_001));
    }
    assert!(accepted.len() > 60, "{}", accepted.len());
}

/// The server's clock corrects wrong clocks, so that a minute is the same minute on all nodes.
///
/// Rules: QUOTA-1
#[on_postgres(worker_threads = 4)]
async fn the_quota_is_exact_over_nodes_whose_clocks_are_wrong(db: Database) {
    let world = World::on(db).system_clock().open().await;
    let wrong = [Arc::new(Wrong(-7 * 60_000)), Arc::new(Wrong(11 * 60_000))];
    let nodes = Nodes::with_clocks(world, wrong).await;
    let begun = std::time::Instant::now();
    let mut accepted = 0;
    for _ in 0..5 {
        accepted += at_once(&nodes, 21).await;
    }
    assert!(begun.elapsed() < MINUTE, "all of it within one minute");
    assert_eq!(accepted, QUOTA);
}

/// Rules: QUOTA-8
#[on_postgres]
async fn a_refusal_for_the_quota_is_remembered_until_it_ends(db: Database) {
    let world = World::new(db).await;
    while world.get(PATH).await.status == 200 {}
    // A refusal that read the database would see this.
    world.run("UPDATE api_key SET accepted = '{}'", &[]).await;
    for (after, wait) in [(0, "61"), (1, "60"), (59_000, "1")] {
        world.advance(Duration::from_millis(after));
        let refused = world.get(PATH).await;
        assert_eq!(refused.status, 429);
        assert_eq!(refused.headers["retry-after"], wait);
    }
    world.advance(Duration::from_secs(1));
    assert_eq!(world.get(PATH).await.status, 200);
}

/// Rules: QUOTA-8, KEY-7, PLAN-1
#[on_postgres]
async fn a_remembered_refusal_gives_way_to_another_plan_and_to_a_revocation(db: Database) {
    let world = World::new(db).await;
    while world.get(PATH).await.status == 200 {}
    for (plan, status) in [(Plan::Pro, 403), (Plan::Team, 429)] {
        world.company.set_plan(plan).await.unwrap();
        assert_eq!(world.get(PATH).await.status, status, "{plan}");
    }
    let keys = world.company.keys();
    keys.revoke(keys.list().await.unwrap()[0].id).await.unwrap();
    assert_eq!(world.get(PATH).await.status, 401);
}

/// Rules: KEY-7
#[on_postgres]
async fn a_key_that_one_node_revokes_is_refused_by_the_others(db: Database) {
    let nodes = Nodes::of_one_clock(World::on(db).settings(|settings| settings.quota = 0).open().await).await;
    let kept = nodes.world.company.keys().issue("kept").await.unwrap().key;
    for node in 0..3 {
        assert_eq!(nodes.get(node, PATH).await.status, 200, "known to node {node}");
    }
    let id = nodes.company(1).keys().list().await.unwrap()[0].id;
    nodes.company(1).keys().revoke(id).await.unwrap();
    assert_eq!(nodes.get(1, PATH).await.status, 401, "at once on the node that has revoked it");
    for node in [0, 2] {
        comes_to("401", || async { nodes.get(node, PATH).await.status == 401 }).await;
    }
    for node in &nodes.all {
        for _ in 0..5 {
            assert_eq!(call(node, "GET", PATH, &nodes.world.key, "").await.status, 401);
            assert_eq!(call(node, "GET", PATH, kept.reveal(), "").await.status, 200);
        }
    }
}

#[on_postgres]
async fn a_key_that_one_node_issues_is_good_on_the_others_at_once(db: Database) {
    let nodes = Nodes::of_one_clock(World::on(db).settings(|settings| settings.quota = 0).open().await).await;
    for n in 0..6 {
        let issued = nodes.company(n).keys().issue("new").await.unwrap();
        for node in &nodes.all {
            assert_eq!(call(node, "GET", PATH, issued.key.reveal(), "").await.status, 200);
        }
    }
}

/// Rules: PLAN-1
#[on_postgres]
async fn a_plan_that_one_node_changes_holds_on_the_others(db: Database) {
    let nodes = Nodes::of_one_clock(World::on(db).settings(|settings| settings.quota = 0).open().await).await;
    for node in 0..3 {
        assert_eq!(nodes.get(node, PATH).await.status, 200);
    }
    for (n, (plan, status)) in
        [(Plan::Pro, 403), (Plan::Team, 200), (Plan::Starter, 403)].into_iter().enumerate()
    {
        nodes.company(n).set_plan(plan).await.unwrap();
        assert_eq!(nodes.get(n, PATH).await.status, status, "at once on the node that has changed it");
        for node in 0..3 {
            comes_to("the plan", || async { nodes.get(node, PATH).await.status == status }).await;
        }
    }
}

#[on_postgres]
async fn a_document_url_of_one_node_opens_on_the_others(db: Database) {
    let nodes = Nodes::of_one_clock(World::on(db).settings(|settings| settings.quota = 0).open().await).await;
    let quote = nodes.world.sent().await;
    for n in 0..3 {
        let link = nodes.company(n).quotes().document(quote.summary.id).await.unwrap();
        let path = &link.url[link.url.find("/api/").unwrap()..];
        for node in &nodes.all {
            let heard = call(node, "GET", path, "", "").await;
            assert_eq!(
                (heard.status, heard.headers["content-type"].as_bytes()),
                (200, &b"application/pdf"[..])
            );
        }
    }
}
