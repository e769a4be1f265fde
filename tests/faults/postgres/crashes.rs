//! The crashes of a single process, on PostgreSQL: what it held is free when its leases run out.

use invoicing_tests::postgres::{Cluster, Options};

use super::{hasty, on_new_database};
use crate::crashes;
use crate::process::Site;
use crate::receivers::UnreliableReceivers;
use crate::times;

/// Rules: DELIVERY-2, STATE-1
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_nothing_is_lost_and_nothing_half_done() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let receivers = UnreliableReceivers::start().await;
    let site = on_new_database(&cluster, receivers.urls()).await;
    let kills = times("FAULTS_KILLS", 6);
    crashes::killed_at_any_moment("one process killed, PostgreSQL", site, receivers, kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_starts_it_starts_the_next_time() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    for attempt in 0..8 {
        let url = cluster.create_database(&format!("attempt_{attempt}")).await;
        // Migrations take longer here.
        crashes::killed_while_it_starts(Site::on_postgres(url, hasty(), Vec::new()), 12 * attempt).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_in_good_order_nothing_stays_claimed() {
    let Some(cluster) = Cluster::start(&Options::default()) else { return };
    let receivers = UnreliableReceivers::start().await;
    crashes::stopped_in_good_order(on_new_database(&cluster, receivers.urls()).await).await;
}
