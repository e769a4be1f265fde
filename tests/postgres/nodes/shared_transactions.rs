//! Companies share transactions and connections. A company whose transaction takes long delays others shortly, at any
//! point of it, and its caller gets the true outcome.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use invoicing_core::{Plan, Quote};
use invoicing_server::{CompanyHandle, Error, Invoicing, PostgresSettings, QuoteQuery};
use invoicing_tests::postgres::TripProxy;
use invoicing_tests::{Database, World, new_quote, on_postgres};

use super::comes_to;
use crate::support::client_of;

/// Number of other companies: some of them share transactions with the company that waits.
const OTHERS: usize = 12;
/// The wait of the company: shorter than the service's retries, and than the server's wait for a silent client.
const HELD: Duration = Duration::from_secs(5);

/// A node behind a proxy, with a company that will wait and others.
struct Scene {
    world: World,
    proxy: TripProxy,
    node: Invoicing,
    company: CompanyHandle,
    others: Vec<CompanyHandle>,
}

impl Scene {
    async fn set_up(db: Database) -> Self {
        let world = World::new(db).await;
        let proxy = TripProxy::start(world.place().url(), Duration::ZERO).await;
        let settings = PostgresSettings::new(proxy.url());
        let node = world.node_from(Invoicing::postgres(settings)).await;
        let mut others = Vec::new();
        for number in 0..OTHERS {
            let (other, _) = world.another(&format!("Other {number}"), Plan::Starter).await;
            others.push(node.company(other.id()));
        }
        Self { company: node.company(world.company.id()), world, proxy, node, others }
    }

    /// Creates a quote of the company, and holds the next trip with `part` in it. Meanwhile each of the others creates
    /// one.
    async fn create_beside(&self, part: &str) -> Result<Quote, Error> {
        let client = client_of(&self.company).await;
        let clients = join_all(self.others.iter().map(client_of)).await;
        self.proxy.hold_next(part, HELD);
        let (quotes, new) = (self.company.quotes(), new_quote(client));
        let beside = async {
            comes_to("a trip that is held", async || self.proxy.has_held()).await;
            let begun = Instant::now();
            let made = self.others.iter().zip(clients).map(async |(other, client)| {
                other.quotes().create(&new_quote(client)).await.unwrap();
            });
            join_all(made).await;
            begun.elapsed()
        };
        let begun = Instant::now();
        let (created, others_took) = tokio::join!(quotes.create(&new), beside);
        assert!(others_took < HELD / 2, "{part}: others waited for {others_took:?}");
        assert!(begun.elapsed() < HELD * 2, "{part}: its caller waited for {:?}", begun.elapsed());
        created
    }

    /// The numbers of the company's quotes, by a node that is not behind the proxy.
    async fn numbers(&self) -> Vec<String> {
        let page = self.world.company.quotes().list(&QuoteQuery::default()).await.unwrap();
        page.data.into_iter().map(|quote| quote.summary.number).rev().collect()
    }
}

/// Rules: ISOLATION-1, NUMBER-3
#[on_postgres(worker_threads = 4)]
async fn a_transaction_that_stands_still_delays_no_other_company_for_long(db: Database) {
    let scene = Scene::set_up(db).await;
    let mut created = Vec::new();
    // At the begin of the transaction, after its locks, and at its commit.
    for part in ["begin_change_1", "INSERT INTO quote", "COMMIT"] {
        created.push(scene.create_beside(part).await.unwrap().summary.number);
    }
    assert_eq!(scene.numbers().await, created, "what is committed, and nothing twice");
    for (number, other) in scene.others.iter().enumerate() {
        let page = other.quotes().list(&QuoteQuery::default()).await.unwrap();
        assert_eq!(page.data.len(), 3, "quotes of other {number}");
    }
    scene.node.close().await;
}
