//! A database that is out of reach for longer than a lease: whoever comes back first leaves what others hold to them, as
//! they could not say yet what has become of it.

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
/// By how much one of them is back earlier: enough to look, to claim and to send.
const EARLIER: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_first_leaves_to_the_others_what_they_hold() {
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
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.expect("a client").client.id;
    company.quotes().create(&new_quote(client)).await.expect("a quote");
    assert!(receiver.wait_for(1, PATIENCE).await, "nothing is being delivered");

    holder.cut_next(Fault { fate: Fate::Lost, away: Some(LONG) });
    other.go_away(LONG);
    wait_until("an outcome that nobody hears of", async || holder.counts().away == 1).await;
    tokio::time::sleep(LEASE).await;
    other.come_back();
    tokio::time::sleep(EARLIER).await;
    assert_eq!(receiver.received().len(), 1, "taken over from a node that could not say that it is done");
    holder.come_back();
    site.wait_until_all_ended().await;
    let mut delivered = 0;
    for delivering in delivering {
        delivered += delivering.stop().await.delivered;
    }
    for node in nodes {
        node.close().await;
    }
    let figures = checks::check(&site, &[], &receiver.take()).await;
    tell("a database out of reach for longer than a lease", &figures);
    assert_eq!((delivered, figures.received, figures.doubled), (1, 1, 0), "{figures}");
}
