//! A node that is paused for longer than its lease and woken: to itself no time has passed, and everything that it held
//! belongs to another node.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use invoicing_core::{EventId, NewClient, Timestamp, WebhookId};
use invoicing_server::CompanyHandle;
use invoicing_tests::postgres::{Cluster, Options};
use invoicing_tests::{Receiver, Reply, new_quote};

use super::nodes::{Nodes, receivers, take, urls};
use super::{ATTEMPT, LEASE, hasty, on_new_database};
use crate::process::{CLAIMED, PATIENCE, Site};
use crate::{checks, random, tell, times};

const HOOKS: usize = 4;
/// More than it takes to switch a webhook off, if their failures counted.
const QUOTES: usize = 20;
/// Attempts at once per webhook.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_woken_node_says_of_claims_that_it_has_lost_changes_nothing() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let receivers = receivers(HOOKS).await;
    // Time enough to pause the node that waits for the answer.
    for receiver in &receivers {
        receiver.reply_always(Reply::Hang);
    }
    let mut settings = hasty();
    // The first failure ends a delivery.
    settings["dispatch"]["maxAttempts"] = 1.into();
    let site = Site::on_postgres(cluster.create_database("invoicing").await, settings, urls(&receivers));
    let sleeper = site.start("rest");
    sleeper.started();
    let invoicing = site.open().await;
    let company = invoicing.companies().list().await.unwrap().remove(0);
    let company = invoicing.company(company.id);
    let mut clients = Vec::new();
    for place in 0..QUOTES {
        clients
            .push(company.clients().create(&NewClient::named(format!("Lefèvre {place}"))).await.unwrap().id);
    }
    // All at once: after a while the failures of the first ones switch a webhook off.
    let quotes = clients.into_iter().map(async |client| company.quotes().create(&new_quote(client)).await);
    join_all(quotes).await.into_iter().for_each(|quote| drop(quote.unwrap()));
    for receiver in &receivers {
        assert!(receiver.wait_for(AT_ONCE, PATIENCE).await, "nothing is being delivered");
    }
    sleeper.pause();
    let held = site.count(CLAIMED).await;
    assert!(held > 0, "nothing was held by the node that is paused");

    for receiver in &receivers {
        receiver.reply_always(Reply::status(200));
    }
    let heir = site.start("rest");
    heir.started();
    site.wait_until_all_ended().await;
    let (before, requests) = (ledger(&company).await, count(&receivers));
    sleeper.wake();
    sleeper.stop_well();
    assert_eq!(ledger(&company).await, before, "a delivery has ended again");
    assert_eq!(count(&receivers), requests, "the woken node has attempted what it did not hold");
    for hook in company.webhooks().list().await.unwrap() {
        assert_eq!((hook.consecutive_failures, hook.disabled), (0, None), "failures of the woken node count");
    }
    heir.stop_well();
    invoicing.close().await;

    let figures = checks::check(&site, &[], &take(&receivers)).await;
    let late = figures.received - figures.deliveries;
    let text =
        format!("{held} held by the paused node, {late} of its attempts recorded when it woke, 0 changed");
    tell("a paused node woken", &format_args!("{figures}; {text}"));
    assert!(late > 0, "the paused node had nothing to say");
    assert_eq!((figures.lost, figures.duplicated), (0, 0), "not all attempts are on record");
    assert_eq!((figures.delivered, figures.deliveries), (QUOTES * HOOKS, QUOTES * HOOKS));
}

/// How every delivery stands.
async fn ledger(company: &CompanyHandle) -> Vec<(EventId, WebhookId, String, Option<Timestamp>)> {
    let mut ledger = Vec::new();
    for event in company.events().list(None, 1_000).await.expect("events") {
        for delivery in company.events().deliveries(event.id).await.expect("deliveries") {
            let status = delivery.status.as_str().to_owned();
            ledger.push((event.id, delivery.webhook, status, delivery.ended_at));
        }
    }
    ledger
}

fn count(receivers: &[Receiver]) -> usize {
    receivers.iter().map(|receiver| receiver.received().len()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_node_delays_no_other() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let pauses = times("FAULTS_PAUSES", 2);
    let receivers = receivers(2).await;
    let nodes = Nodes::start(on_new_database(&cluster, urls(&receivers)).await, 2);
    let mut longest = Duration::ZERO;
    for pause in 0..pauses {
        nodes.wait_for_operations(2);
        std::thread::sleep(Duration::from_micros(random(100_000)));
        let (sleeper, other) = (&nodes.running[pause % 2], &nodes.running[(pause + 1) % 2]);
        sleeper.pause();
        let begun = Instant::now();
        // Of both companies, even if the paused node holds locks.
        other.wait_for_operations(2);
        longest = longest.max(begun.elapsed());
        // Longer than its lease.
        tokio::time::sleep((LEASE + ATTEMPT).saturating_sub(begun.elapsed())).await;
        sleeper.wake();
    }
    nodes.wait_for_operations(2);
    let (figures, said) = nodes.finish(|| take(&receivers)).await;
    let unfinished = said.iter().flatten().filter(|line| line.get("unavailable").is_some()).count();
    let text = format!(
        "the other node at work after {longest:.1?} at most, {unfinished} operations given up, {} delivered by both",
        figures.doubled
    );
    tell("one of two nodes paused", &format_args!("{pauses} pauses, {figures}; {text}"));
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    assert!(figures.operations > 20 * pauses, "too little happened to mean anything");
}
