//! Several services on one PostgreSQL database, as if each were a process: a commit of one holds for all, and nothing
//! is done twice.

mod access;
mod deliveries;
mod lock_waits;
mod lost_connections;
mod records;
mod registrations;
mod shared_transactions;
mod startup;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use invoicing_core::Timestamp;
use invoicing_server::{Clock, CompanyHandle, Env, Invoicing, ManualClock, SystemClock};
use invoicing_tests::World;
use serde_json::Value;

/// Notifications of one node have reached the others by then: sooner than their next poll.
const TOLD: Duration = Duration::from_secs(3);
const MINUTE: Duration = Duration::from_mins(1);
/// Counts the sessions that wait for a row of another one. Notifications of other databases wait for locks as well.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND wait_event IN ('transactionid', 'tuple')";

/// Three nodes: the world's own and two more.
struct Nodes {
    /// The first is the world's own.
    all: Vec<Invoicing>,
    world: World,
}

impl Nodes {
    /// Nodes that share the world's clock.
    async fn of_one_clock(world: World) -> Self {
        let clocks = [world.clock.clone(), world.clock.clone()];
        Self::with_clocks(world, clocks).await
    }

    /// Nodes whose clocks stand still, minutes apart.
    async fn minutes_apart(world: World) -> Self {
        let at = |by: i64| ManualClock::at(world.now().plus_millis(by));
        let clocks = [at(-3 * 60_000), at(5 * 60_000)];
        Self::with_clocks(world, clocks).await
    }

    /// Nodes on the system's clock.
    async fn on_system_clock(world: World) -> Self {
        Self::with_clocks(world, [Arc::new(SystemClock), Arc::new(SystemClock)]).await
    }

    async fn with_clocks<C: Clock + 'static>(world: World, clocks: [Arc<C>; 2]) -> Self {
        let mut all = vec![world.invoicing.clone()];
        for clock in clocks {
            all.push(world.node(Env::system().with_clock(clock)).await);
        }
        Self { all, world }
    }

    /// The world's company, through the node with this number modulo the number of nodes.
    fn company(&self, node: usize) -> CompanyHandle {
        self.all[node % self.all.len()].company(self.world.company.id())
    }

    /// A `GET` with the world's key, through one of the nodes.
    async fn get(&self, node: usize, path: &str) -> Heard {
        call(&self.all[node % self.all.len()], "GET", path, &self.world.key, "").await
    }
}

/// A clock that is off by a constant; `follows_database` lets the server's clock correct it.
struct Wrong(i64);

impl Clock for Wrong {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_millis(self.0)
    }

    fn follows_database(&self) -> bool {
        true
    }
}

/// The answer of a node.
struct Heard {
    status: u16,
    headers: HeaderMap,
    json: Value,
}

async fn call(node: &Invoicing, method: &str, path: &str, key: &str, body: &'static str) -> Heard {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap();
    let (parts, body) = node.service().answer(request).await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Heard { status: parts.status.as_u16(), headers: parts.headers, json }
}

/// Waits until a condition holds, as the effect of one node reaches the others.
async fn comes_to<F: Future<Output = bool>>(what: &str, is_so: impl FnMut() -> F) {
    comes_within(TOLD, what, is_so).await;
}

async fn comes_within<F: Future<Output = bool>>(limit: Duration, what: &str, mut is_so: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < limit, "{what}: not within {limit:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
