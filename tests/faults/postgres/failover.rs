//! A primary lost for good under load, and its synchronous standby promoted: every acknowledged change is on the
//! standby, and the nodes go on there. They reach their database through an address that is switched, as it is done
//! with a failover address.

use std::time::{Duration, Instant};

use invoicing_tests::Receiver;
use invoicing_tests::postgres::{Cluster, Options};

use super::nodes::{Nodes, slow_receivers, take, urls};
use super::proxy::Proxy;
use super::{hasty, wait_until};
use crate::process::{CLAIMED, Site, count_at};
use crate::{random, tell};

const NODES: usize = 3;
const IN_STEP: &str =
    "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'";
/// Commits that wait for the standby.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// Two clusters, one of which has everything that the other one has acknowledged.
struct Pair {
    primary: Cluster,
    standby: Cluster,
    /// Leads to whichever is the primary.
    proxy: Proxy,
}

impl Pair {
    async fn start() -> Option<Self> {
        let durable = Options { durable: true, ..Options::default() };
        let primary = Cluster::start(&durable)?;
        primary.create_database("invoicing").await;
        let standby = Cluster::on(primary.copy(), &durable);
        let settings = vec!["synchronous_standby_names = '*'".to_owned()];
        primary.configure(&Options { settings, ..durable });
        let proxy = Proxy::start(primary.port()).await;
        Some(Self { primary, standby, proxy })
    }

    /// Working nodes, as soon as the standby is in step.
    async fn nodes(&self, receivers: &[Receiver]) -> Nodes {
        let site = Site::on_postgres(self.proxy.url("invoicing"), hasty(), urls(receivers));
        wait_until("a standby in step", async || site.count(IN_STEP).await == 1).await;
        Nodes::start(site, NODES)
    }

    /// How many deliveries were held.
    async fn promote_standby(&self) -> usize {
        self.standby.promote();
        let held = count_at(&self.standby.url("invoicing"), CLAIMED).await;
        self.proxy.lead_to(self.standby.port());
        usize::try_from(held).expect("a count")
    }
}

/// Lets the nodes go on, and checks everything.
async fn finish(test: &str, nodes: Nodes, held: usize, receivers: &[Receiver]) {
    let lost = Instant::now();
    nodes.wait_for_operations(1);
    let away = lost.elapsed();
    nodes.wait_for_operations(5);
    let (figures, said) = nodes.finish(|| take(receivers)).await;
    let unfinished = said.iter().flatten().filter(|line| line.get("unavailable").is_some()).count();
    let gap = format!(
        "all nodes at work {away:.1?} after the promotion, {unfinished} operations given up; {held} deliveries held at \
         the promotion, {} of them delivered twice",
        figures.doubled
    );
    tell(test, &format_args!("{figures}; {gap}"));
    assert_eq!(figures.duplicated, 0, "not all attempts are on record");
    assert!(figures.doubled <= held, "{} delivered twice, {held} held", figures.doubled);
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    assert!(figures.operations > 50, "too little happened to mean anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_primary_lost_and_its_standby_promoted_no_committed_event_is_lost() {
    let Some(pair) = Pair::start().await else { return };
    let receivers = slow_receivers(2).await;
    let nodes = pair.nodes(&receivers).await;
    nodes.wait_for_operations(5);
    std::thread::sleep(Duration::from_micros(random(300_000)));
    pair.primary.stop_immediate();
    let held = pair.promote_standby().await;
    finish("primary lost, standby promoted", nodes, held, &receivers).await;
}

/// A primary that was restarted shows what it has committed and its standby has not got: the status of such
/// a commit may not be told before the standby has it.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_lost_primary_had_was_not_acknowledged() {
    let Some(pair) = Pair::start().await else { return };
    let receivers = slow_receivers(2).await;
    let nodes = pair.nodes(&receivers).await;
    nodes.wait_for_operations(5);
    pair.standby.stop_immediate();
    wait_until("commits that wait", async || nodes.site.count(WAITING).await >= 2).await;
    pair.primary.restart_immediate();
    wait_until("commits that wait again", async || nodes.site.count(WAITING).await >= 2).await;
    pair.primary.stop_immediate();
    pair.standby.start_again();
    let held = pair.promote_standby().await;
    finish("primary restarted without its standby, then lost", nodes, held, &receivers).await;
}
