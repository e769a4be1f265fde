//! A database that is out of reach for longer than a lease: an expired claim is free, and the attempt of its former
//! holder is still recorded.

use std::sync::Arc;
use std::time::Duration;

use invoicing_core::NewClient;
use invoicing_tests::postgres::{Cluster, Options};
use invoicing_tests::{Receiver, Reply, RunningDispatcher, new_quote};
use tokio::sync::Semaphore;

use super::in_process::{companies, open};
use super::proxy::{Fate, Fault, Proxy};
use super::{LEASE, hasty, on_new_database, wait_until};
use crate::process::PATIENCE;
use crate::{checks, tell};

const LONG: Duration = Duration::from_mins(2);

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_claim_is_free_and_its_former_holder_s_attempt_is_recorded() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let receiver = Receiver::start().await;
    // Until the commit that follows the answer is chosen.
    let answer = Arc::new(Semaphore::new(0));
    receiver.reply_next([Reply::Held(Arc::clone(&answer), 200)]);
    let site = on_new_database(&cluster, vec![receiver.url.clone()]).await;
    let proxy = Proxy::start(cluster.port()).await;
    let mut settings = hasty();
    settings["dispatch"]["attemptTimeoutMs"] = 3_000.into();
    let holder = open(&site, proxy.url("invoicing"), settings.clone()).await;
    let other = open(&site, cluster.url("invoicing"), settings).await;
    let (company, _) = companies(&holder, &site.hooks).await.remove(0);
    let first = RunningDispatcher::start(holder.dispatcher());
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.expect("a client").id;
    company.quotes().create(&new_quote(client)).await.expect("a quote");
    assert!(receiver.wait_for(1, PATIENCE).await, "nothing is being delivered");

    let second = RunningDispatcher::start(other.dispatcher());
    proxy.cut_next(Fault { fate: Fate::Lost, away: Some(LONG) });
    answer.add_permits(1);
    wait_until("an outcome that is not recorded", async || proxy.counts().away == 1).await;
    assert!(receiver.wait_for(2, LEASE * 2).await, "not attempted again within a lease of its expiry");
    site.wait_until_all_ended().await;
    proxy.come_back();
    let mut delivered = 0;
    for delivering in [first, second] {
        delivered += delivering.stop().await.delivered;
    }
    for node in [holder, other] {
        node.close().await;
    }
    let figures = checks::check(&site, &[], &receiver.take()).await;
    tell("a database out of reach for longer than a lease", &figures);
    assert_eq!((delivered, figures.delivered), (1, 1), "{figures}");
    assert_eq!((figures.received, figures.duplicated, figures.doubled), (2, 0, 1), "{figures}");
}
