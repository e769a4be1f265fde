//! `kill -9` of one of three nodes under load, again and again, while the API of all three is called with one key.

use std::time::Duration;

use invoicing_tests::Reply;
use invoicing_tests::postgres::{Cluster, Options};

use super::callers::{Callers, Calls};
use super::nodes::{Nodes, receivers, take, urls};
use super::on_new_database;
use crate::http::{Answer, call, exceeds};
use crate::process::Started;
use crate::{QUOTA, WINDOW, checks, random, tell, times};

const NODES: usize = 3;
/// Between two calls of one caller.
const PACE: Duration = Duration::from_millis(150);

/// Rules: DELIVERY-2, DELIVERY-4
#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_nodes_killed_under_load_nothing_is_lost() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let kills = times("FAULTS_KILLS", 6);
    let receivers = receivers(3).await;
    // Bad enough for retries that any node may make, not bad enough for giving up.
    receivers[2].reply_next([500, 200, 503, 200, 200].into_iter().cycle().take(20_000).map(Reply::status));
    let mut nodes = Nodes::start(on_new_database(&cluster, urls(&receivers)).await, NODES);
    let Started { key, spare, .. } = nodes.running[0].started();
    let at_once = burst(&nodes, &key);
    check_quota("at once", &at_once);

    let callers = Callers::start(&nodes.running, spare, Calls::Reading, PACE);
    for _ in 0..kills {
        nodes.wait_for_operations(2);
        std::thread::sleep(Duration::from_micros(random(300_000)));
        nodes.kill(usize::try_from(random(NODES as u64)).expect("a place"));
        callers.look_again(&nodes.running);
    }
    nodes.wait_for_operations(2);
    // Requests without an answer went to a node that died.
    let (beside, _) = callers.stop();
    check_quota("beside the kills", &beside);

    receivers[2].reply_always(Reply::status(200));
    let (figures, said) = nodes.finish(|| take(&receivers)).await;
    tell("one of three nodes killed", &format_args!("{kills} kills, {figures}"));
    assert_eq!(checks::said_wrong(&said, "unavailable"), None);
    assert_eq!(figures.doubled, 0, "recorded as delivered more than once");
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    assert!(figures.operations > 10 * kills, "too little happened to mean anything");
    let accepted = at_once.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(accepted, QUOTA, "of {} calls at once, spread over the nodes", at_once.len());
}

/// Half as many calls again as one key has, all at once, in equal parts to all nodes.
fn burst(nodes: &Nodes, key: &str) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let caller = |address: String| {
            scope.spawn(move || {
                let calls = (0..QUOTA / 2).map(|_| call(&address, key, "GET", "/clients?limit=1", ""));
                calls.map(|answer| answer.expect("an answer")).collect::<Vec<_>>()
            })
        };
        let callers: Vec<_> = nodes.running.iter().map(|node| caller(node.started().address)).collect();
        callers.into_iter().flat_map(|caller| caller.join().expect("no panic")).collect()
    })
}

fn check_quota(when: &str, answers: &[Answer]) {
    let other = answers.iter().find(|answer| ![200, 429].contains(&answer.status));
    assert!(other.is_none(), "{when}: {other:?}");
    let accepted: Vec<Answer> = answers.iter().filter(|answer| answer.status == 200).cloned().collect();
    let said = format!("{} of {} calls {when} accepted", accepted.len(), answers.len());
    tell("quota of one key over three nodes", &said);
    assert!(!exceeds(&accepted, QUOTA, WINDOW), "more than {QUOTA} requests were accepted in a minute");
    assert!(accepted.len() < answers.len(), "the quota was never reached");
}
