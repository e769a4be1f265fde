//! Answers of probes if the database server stops, returns, or is a standby.

use std::time::{Duration, Instant};

use invoicing_server::{DatabaseHealth, Health, Invoicing};
use invoicing_tests::RunningDispatcher;
use invoicing_tests::postgres::{Cluster, Options};

use super::in_process::open;
use super::proxy::Proxy;
use super::{hasty, on_new_database};
use crate::tell;

/// By then an outage shows, and so does its end, on a busy machine. 2 s are promised.
const SHOWS: Duration = Duration::from_secs(4);

/// How long it took until the store was in this state. All probes are answered soon meanwhile.
async fn shows(invoicing: &Invoicing, store: DatabaseHealth) -> Duration {
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    loop {
        let asked = Instant::now();
        let health: Health = invoicing.health().await;
        assert!(asked.elapsed() < Duration::from_secs(2), "a probe took {:?}", asked.elapsed());
        if health.store == store {
            assert!(begun.elapsed() < SHOWS, "{store:?} after {:?}", begun.elapsed());
            return begun.elapsed();
        }
        assert!(begun.elapsed() < 5 * SHOWS, "{health:?}");
        ticks.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_and_returns_shows_within_two_seconds() {
    let Some(cluster) = Cluster::start(&Options { durable: true, ..Options::default() }) else { return };
    let site = on_new_database(&cluster, Vec::new()).await;
    let invoicing = open(&site, cluster.url("invoicing"), hasty()).await;
    let dispatching = RunningDispatcher::start(invoicing.dispatcher());
    assert!(invoicing.health().await.is_ready());
    for _ in 0..2 {
        cluster.stop_immediate();
        let gone = shows(&invoicing, DatabaseHealth::Unreachable).await;
        cluster.start_again();
        let back = shows(&invoicing, DatabaseHealth::Reachable).await;
        tell(
            "a server that stops and returns",
            &format_args!("gone after {gone:.1?}, back after {back:.1?}"),
        );
    }
    dispatching.stop().await;
    invoicing.close().await;
}

/// The address of a failover.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_leads_nowhere_or_to_a_standby_shows_within_two_seconds() {
    let Some(primary) = Cluster::start(&Options { durable: true, ..Options::default() }) else { return };
    let site = on_new_database(&primary, Vec::new()).await;
    let standby = Cluster::on(primary.copy(), &Options { durable: true, ..Options::default() });
    let proxy = Proxy::start(primary.port()).await;
    let invoicing = open(&site, proxy.url("invoicing"), hasty()).await;
    assert!(invoicing.health().await.is_ready());
    proxy.go_away(Duration::from_mins(1));
    shows(&invoicing, DatabaseHealth::Unreachable).await;
    proxy.come_back();
    shows(&invoicing, DatabaseHealth::Reachable).await;
    proxy.lead_to(standby.port());
    proxy.go_away(Duration::from_millis(100));
    shows(&invoicing, DatabaseHealth::ReadOnly).await;
    standby.promote();
    shows(&invoicing, DatabaseHealth::Reachable).await;
    invoicing.close().await;
}
