//! A database that is out of reach for longer than a lease: an expired claim is free, and the attempt of its former
//! holder is still recorded.

use std::time::Duration;

use invoicing_core::NewClient;
use invoicing_tests::postgres::{Cluster, Options};
use invoicing_tests::{Receiver, Reply, RunningDispatcher, new_quote};

use super::in_process::{companies, open};
use super::proxy::{Fate, Fault, Proxy};
use super::{LEASE, hasty, on_new_database, wait_until};
use crate::process::PATIENCE;
use crate::{checks, tell};

const LONG: Duration = Duration::from_mins(2);

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_claim_is_free_and_the_attempt_of_its_former_holder_is_recorded() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let receiver = Receiver::start().await;
    // Time enough to choose the commit that follows the answer.
    receiver.reply_always(Reply::Slow(Duration::from_secs(2), 200));
    let site = on_new_database(&cluster, vec![receiver.url.clone()]).await;
    let proxies = [Proxy::start(cluster.port()).await, Proxy::start(cluster.port()).await];
    let [holder, other] = &proxies;
    let mut settings = hasty();
    settings["dispatch"]["attemptTimeoutMs"] = 3_000.into();
    let nodes = [
        open(&site, holder.url("invoicing"), settings.clone()).await,
        open(&site, other.url("invoicing"), settings).await,
    ];
    let (company, _) = companies(&nodes[0], &site.hooks).await.remove(0);
    let delivering = nodes.each_ref().map(|node| RunningDispatcher::start(node.dispatcher()));
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.expect("a client").id;
    company.quotes().create(&new_quote(client)).await.expect("a quote");
    assert!(receiver.wait_for(1, PATIENCE).await, "nothing is being delivered");

    holder.cut_next(Fault { fate: Fate::Lost, away: Some(LONG) });
    other.go_away(LONG);
    wait_until("an outcome that is not recorded", async || holder.counts().away == 1).await;
    tokio::time::sleep(LEASE).await;
    other.come_back();
    assert!(receiver.wait_for(2, LEASE).await, "not attempted again within a lease of the return");
    site.wait_until_all_ended().await;
    holder.come_back();
    let mut delivered = 0;
    for delivering in delivering {
        delivered += delivering.stop().await.delivered;
    }
    for node in nodes {
        node.close().await;
    }
    let figures = checks::check(&site, &[], &receiver.take()).await;
    tell("a database out of reach for longer than a lease", &figures);
    assert_eq!((delivered, figures.delivered), (1, 1), "{figures}");
    assert_eq!((figures.received, figures.duplicated, figures.doubled), (2, 0, 1), "{figures}");
}
