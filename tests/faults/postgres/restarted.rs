//! PostgreSQL stopped at once under load, and started again: the nodes recover by themselves, and the API answers 503
//! meanwhile. Only what was held when the server stopped, and whose lease ran out since, may be delivered twice.

use std::time::{Duration, Instant};

use invoicing_tests::postgres::{Cluster, Options};

use super::callers::{Callers, Calls};
use super::nodes::{Nodes, slow_receivers, take, urls};
use super::proxy::Proxy;
use super::{LEASE, wait_until, without_quota};
use crate::http::Answer;
use crate::process::{CLAIMED, Site, count_at};
use crate::{random, tell, times};

const NODES: usize = 3;
/// Longer than a commit is waited for whose answer was lost, which is longer than an operation is tried for.
const TOLD: Duration = Duration::from_secs(28);
/// Longer than any outage of this test.
const LONG: Duration = Duration::from_mins(2);
/// Between two calls of one caller.
const PACE: Duration = Duration::from_millis(20);

/// Rules: DELIVERY-2
#[tokio::test(flavor = "multi_thread")]
async fn restarted_in_immediate_mode_under_load_the_nodes_recover_by_themselves() {
    let Some(cluster) = Cluster::start(&Options { durable: true, ..Options::default() }) else { return };
    let restarts = times("FAULTS_RESTARTS", 2);
    let receivers = slow_receivers(2).await;
    let url = cluster.create_database("invoicing").await;
    let proxy = Proxy::start(cluster.port()).await;
    let site = Site::on_postgres(proxy.url("invoicing"), without_quota(), urls(&receivers));
    let nodes = Nodes::start(site, NODES);
    let callers = Callers::start(&nodes.running, nodes.running[0].started().key, Calls::Creating, PACE);
    let (mut said_so, mut recovered, mut held) = (Duration::ZERO, Duration::ZERO, 0);
    for restart in 0..restarts {
        nodes.wait_for_operations(2);
        std::thread::sleep(Duration::from_micros(random(200_000)));
        if restart % 2 == 1 {
            cluster.restart_immediate();
            continue;
        }
        // Away until every node has reported it and all leases have run out, and back until no node reports it any more.
        cluster.stop_immediate();
        let stopped = Instant::now();
        wait_until("all unavailable", async || callers.all_answered(503, stopped)).await;
        said_so = said_so.max(stopped.elapsed());
        tokio::time::sleep(LEASE.saturating_sub(stopped.elapsed())).await;
        proxy.go_away(LONG);
        cluster.start_again();
        held += usize::try_from(count_at(&url, CLAIMED).await).expect("a count");
        proxy.come_back();
        let started = Instant::now();
        wait_until("all available", async || callers.all_answered(200, started)).await;
        recovered = recovered.max(started.elapsed());
    }
    nodes.wait_for_operations(2);
    let (answers, unanswered) = callers.stop();
    let refused = check_answers(&answers);
    let (figures, said) = nodes.finish(|| take(&receivers)).await;
    let unfinished = said.iter().flatten().filter(|line| line.get("unavailable").is_some()).count();
    let calls = format!(
        "{} calls, {refused} answered with 503, all nodes after {said_so:.1?}; available {recovered:.1?} after the \
         start; {unfinished} operations given up; {held} deliveries held when it stopped, {} of them delivered twice",
        answers.len(),
        figures.doubled
    );
    tell("PostgreSQL restarted", &format_args!("{restarts} restarts, {figures}; {calls}"));
    assert_eq!(unanswered, 0, "a node that lives must answer");
    assert!(refused >= NODES, "the outage was not seen");
    assert!(said_so < TOLD, "a caller was left waiting for {said_so:?} while the database was away");
    assert_eq!(figures.duplicated, 0, "not all attempts are on record");
    assert!(figures.doubled <= held, "{} delivered twice, {held} held", figures.doubled);
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    assert!(figures.operations > 20 * restarts, "too little happened to mean anything");
}

/// Every answer succeeds, or has `Retry-After`. Returns the number of the latter.
fn check_answers(answers: &[Answer]) -> usize {
    let refused: Vec<&Answer> =
        answers.iter().filter(|answer| ![200, 201].contains(&answer.status)).collect();
    for answer in &refused {
        let code = answer.json["error"]["code"].as_str();
        assert_eq!((answer.status, code), (503, Some("storage_unavailable")), "{answer:?}");
        assert!(answer.retry_after.is_some_and(|seconds| seconds >= 1), "{answer:?}");
    }
    refused.len()
}
