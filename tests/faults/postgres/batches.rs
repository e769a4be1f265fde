//! A connection cut at any point of what many callers of one company do at once, which may be one transaction: each
//! is told the outcome of its own operation.

use std::time::Duration;

use invoicing_server::CompanyHandle;
use invoicing_tests::postgres::{Cluster, Options};
use invoicing_tests::{Batch, Done, RunningDispatcher};
use serde_json::{Value, json};

use super::in_process::{companies, open};
use super::nodes::{receivers, take, urls};
use super::proxy::{Counts, Fate, Fault, Proxy};
use super::{hasty, on_new_database};
use crate::{checks, random, tell, times};

/// The first batches are not cut: they prepare the statements, and show how much passes.
const UNCUT: usize = 2;
/// Longest time by which a COMMIT is late, in milliseconds.
const LATE_MS: u64 = 300;

/// Rules: NUMBER-3, STAMP-2, STATE-1
#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_point_of_a_batch_every_caller_is_told_the_truth() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let rounds = times("FAULTS_BATCHES", 8);
    let receivers = receivers(1).await;
    let site = on_new_database(&cluster, urls(&receivers)).await;
    let proxy = Proxy::start(cluster.port()).await;
    let invoicing = open(&site, proxy.url("invoicing"), hasty()).await;
    // Preparation, deliveries and checks do not go through the proxy.
    let beside = open(&site, cluster.url("invoicing"), hasty()).await;
    let delivering = RunningDispatcher::start(beside.dispatcher());
    let (company, _) = companies(&invoicing, &site.hooks).await.remove(0);
    let behind = beside.company(company.id());
    let (mut said, mut counts) = (Vec::new(), [0; 3]);
    let mut passed = Passed::default();
    for round in 0..UNCUT + rounds {
        let batch = Batch::prepare(&behind, &format!("round {round}")).await;
        let before = proxy.counts();
        if round >= UNCUT {
            passed.cut(&proxy, round);
        }
        let told = batch.run(&company).await;
        proxy.calm_down();
        if round < UNCUT {
            passed = Passed::between(before, proxy.counts());
        }
        let told_of = batch.check(&behind, &told).await;
        for (sum, count) in counts.iter_mut().zip(told_of) {
            *sum += count;
        }
        said.extend(told.iter().flatten().map(|done| line(&company, done)));
    }
    site.wait_until_all_ended().await;
    delivering.stop().await;
    invoicing.close().await;
    beside.close().await;
    let cuts = proxy.counts();
    let figures = checks::check(&site, &[said], &take(&receivers)).await;
    let [done, refused, unavailable] = counts;
    let text = format!(
        "{rounds} batches of {} messages and {} commits: {} cut between statements, {} lost, {} unheard, {} late; {done} \
         done, {refused} refused, {unavailable} unavailable",
        passed.messages, passed.commits, cuts.between, cuts.lost, cuts.unheard, cuts.late,
    );
    tell("a batch cut at any point", &format_args!("{figures}; {text}"));
    assert!(cuts.between + cuts.cuts() >= rounds / 4, "too little was cut: {cuts:?}");
    assert_eq!((figures.lost, figures.doubled, figures.duplicated), (0, 0, 0));
    assert_eq!((figures.failed, figures.skipped), (0, 0));
    // The database was never away for long.
    assert!(unavailable < done / 4, "too many callers were not told");
}

/// The messages that pass the proxy in a batch that is not cut.
#[derive(Debug, Default)]
struct Passed {
    messages: u64,
    commits: usize,
}

impl Passed {
    fn between(before: Counts, after: Counts) -> Self {
        Self { messages: after.messages - before.messages, commits: after.commits - before.commits }
    }

    /// Chooses a point: a message in every second round, a commit in the others.
    fn cut(&self, proxy: &Proxy, round: usize) {
        let fate = match round % 6 {
            0 => Fate::Lost,
            2 => Fate::Unheard,
            4 => Fate::Late(Duration::from_millis(random(LATE_MS))),
            _ => return proxy.cut_message(1 + random(self.messages)),
        };
        let commits = u64::try_from(self.commits).expect("a few");
        let commit = usize::try_from(1 + random(commits)).expect("a few");
        proxy.cut_commit(commit, Fault { fate, away: None });
    }
}

/// As writers announce what they have done.
fn line(company: &CompanyHandle, done: &Done) -> Value {
    let Done { kind, id, status, stamp, events } = done;
    json!({
        "company": company.id().to_string(), "kind": kind, "id": id, "status": status,
        "stamp": stamp.to_string(), "events": events,
    })
}
