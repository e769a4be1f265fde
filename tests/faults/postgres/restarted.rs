//! PostgreSQL stopped without a word under load, and started again: the nodes recover by themselves, and the API says
//! meanwhile that it cannot. Whatever they held has run out by then, and still nothing is sent again that has arrived.

use std::time::{Duration, Instant};

use invoicing_tests::postgres::{Cluster, Options};

use super::callers::{Callers, Calls};
use super::nodes::{Nodes, receivers, take, urls};
use super::{LEASE, wait_until, without_quota};
use crate::http::Answer;
use crate::process::Site;
use crate::{random, tell, times};

const NODES: usize = 3;
/// Longer than a commit is waited for whose answer was lost, which is longer than an operation is tried for.
const TOLD: Duration = Duration::from_secs(28);
/// Between two calls of one caller.
const PACE: Duration = Duration::from_millis(20);

/// Rules: DELIVERY-2
#[tokio::test(flavor = "multi_thread")]
async fn restarted_in_immediate_mode_under_load_the_nodes_recover_by_themselves() {
    let Some(cluster) = Cluster::start(&Options { durable: true, ..Options::default() }) else { return };
    let restarts = times("FAULTS_RESTARTS", 2);
    let receivers = receivers(2).await;
    let url = cluster.create_database("invoicing").await;
    let nodes = Nodes::start(Site::on_postgres(url, without_quota(), urls(&receivers)), NODES);
    let callers = Callers::start(&nodes.running, nodes.running[0].started().key, Calls::Creating, PACE);
    let (mut said_so, mut recovered) = (Duration::ZERO, Duration::ZERO);
    for restart in 0..restarts {
        nodes.wait_for_operations(2);
        std::thread::sleep(Duration::from_micros(random(200_000)));
        if restart % 2 == 1 {
            cluster.restart_immediate();
            continue;
        }
        // Away until every node has said so and all leases have run out, and back until none says so any more.
        cluster.stop_immediate();
        let stopped = Instant::now();
        wait_until("all unavailable", async || callers.all_answered(503, stopped)).await;
        said_so = said_so.max(stopped.elapsed());
        tokio::time::sleep(LEASE.saturating_sub(stopped.elapsed())).await;
        cluster.start_again();
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
         start; {unfinished} operations given up",
        answers.len()
    );
    tell("PostgreSQL restarted", &format_args!("{restarts} restarts, {figures}; {calls}"));
    assert_eq!(unanswered, 0, "a node that lives must answer");
    assert!(refused >= NODES, "the outage was not seen");
    assert!(said_so < TOLD, "somebody was left waiting for {said_so:?} while the database was away");
    assert_eq!((figures.doubled, figures.duplicated), (0, 0), "delivered more than once");
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    assert!(figures.operations > 20 * restarts, "too little happened to mean anything");
}

/// Every answer is what was asked for, or says when to ask again. How many were the latter.
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
