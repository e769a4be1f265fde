//! Catching up: a reader that takes the first page's `asOf` as its next `since` misses nothing, also
//! where records change between two pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use invoicing_tests::{Database, World, on_each_database};
use proptest::prelude::*;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api::workload::{Act, Workload, acts, write_beside};
use crate::support::api::{LISTS, Tenant, for_all_on_service, items, text};
use crate::support::proptest_runner::runtime;

/// The state of an integrator: a checkpoint, and the newest version of each record that it has received.
#[derive(Default)]
struct Reader {
    since: Option<String>,
    delivered: BTreeMap<String, String>,
}

/// One pass over a list.
struct Pass {
    list: &'static str,
    limit: usize,
    offset: usize,
    first_as_of: Option<String>,
    is_over: bool,
}

impl Pass {
    fn new(list: &'static str, limit: usize) -> Self {
        Self { list, limit, offset: 0, first_as_of: None, is_over: false }
    }
}

impl Reader {
    /// Reads the next page of a pass.
    async fn turn(&mut self, tenant: &Tenant<'_>, pass: &mut Pass) {
        let mut path = format!("{}?limit={}&offset={}", pass.list, pass.limit, pass.offset);
        if let Some(since) = &self.since {
            path.push_str("&since=");
            path.push_str(since);
        }
        let page: Value = tenant.read(&path).await;
        let as_of = text(&page, "asOf");
        for item in items(&page) {
            let (id, version) = (text(item, "id"), text(item, "updatedAt"));
            assert!(version <= as_of, "{id} is of {version}, and the page as of {as_of}");
            assert!(self.since.as_deref().is_none_or(|since| version >= since), "{id} is too old: {version}");
            let known = self.delivered.entry(id.to_owned()).or_default();
            if known.as_str() < version {
                version.clone_into(known);
            }
        }
        pass.first_as_of.get_or_insert_with(|| as_of.to_owned());
        pass.offset += pass.limit;
        pass.is_over = page["pagination"]["hasMore"] == false;
        if pass.is_over {
            self.since.clone_from(&pass.first_as_of);
        }
    }

    async fn whole_pass(&mut self, tenant: &Tenant<'_>, list: &'static str, limit: usize) {
        let mut pass = Pass::new(list, limit);
        while !pass.is_over {
            self.turn(tenant, &mut pass).await;
        }
    }
}

type Acts = Vec<(Act, u16)>;

/// A page size, what happens between the pages, and what happens after the last one.
fn passes() -> impl Strategy<Value = Vec<(usize, Vec<Acts>, Acts)>> {
    let between = prop::collection::vec(acts(0..10), 1..8);
    prop::collection::vec((1_usize..4, between, acts(0..10)), 1..5)
}

/// Rules: LIST-8, LIST-9
#[on_each_database]
fn a_reader_misses_nothing_while_records_change_between_its_pages(db: Database) {
    let strategy = (0..LISTS.len(), acts(0..12), any::<bool>(), passes());
    for_all_on_service(db, 24, &strategy, async |world, (list, before, from_the_epoch, passes)| {
        let tenant = Tenant::open(world).await;
        let mut workload = Workload::open(world, &tenant.company).await;
        // Enough for several pages.
        workload.grow(list, 5).await;
        workload.run(&before).await;
        let since = from_the_epoch.then(|| "1970-01-01T00:00:00.000Z".to_owned());
        let mut reader = Reader { since, ..Reader::default() };
        for (limit, between, after) in passes {
            let committed = workload.versions[list].clone();
            let (mut pass, mut between) = (Pass::new(LISTS[list], limit), between.iter());
            while !pass.is_over {
                reader.turn(&tenant, &mut pass).await;
                if let Some(acts) = between.next().filter(|_| !pass.is_over) {
                    workload.run(acts).await;
                }
            }
            for (id, version) in committed {
                // Delivered, or superseded by one that a later pass delivers.
                let delivered = reader.delivered.get(&id).is_some_and(|delivered| *delivered >= version);
                let superseded = workload.versions[list][&id] > version;
                assert!(delivered || superseded, "{id}: version {version} was never delivered");
            }
            workload.run(&after).await;
        }
        reader.whole_pass(&tenant, LISTS[list], 100).await;
        assert_eq!(reader.delivered, workload.versions[list]);
        // From then on a quiet set shows nothing but what has the very stamp of the checkpoint.
        let quiet = tenant.read(&format!("{}?since={}", LISTS[list], reader.since.as_deref().unwrap())).await;
        let newest = workload.stamps.last().unwrap();
        assert!(items(&quiet).iter().all(|item| text(item, "updatedAt") == newest), "{quiet}");
    });
}

const WRITERS: usize = 4;
/// Of each writer.
const CHANGES: u16 = 100;

/// Rules: LIST-9
#[on_each_database]
fn a_reader_beside_writers_misses_nothing(db: Database) {
    runtime().block_on(async {
        let world =
            Arc::new(World::on(db).settings(|settings| settings.quota = 0).system_clock().open().await);
        let (writers, seen) = write_beside(&world, WRITERS, CHANGES);
        let mut readers = JoinSet::new();
        for (list, path) in LISTS.into_iter().enumerate() {
            let (world, seen) = (Arc::clone(&world), seen.clone());
            readers.spawn(async move {
                let tenant = Tenant { world: &world, company: world.company.clone(), key: world.key.clone() };
                (list, read_beside(&tenant, path, seen).await)
            });
        }
        let versions = writers.join_all().await;
        for (list, delivered) in readers.join_all().await {
            let written: BTreeMap<_, _> =
                versions.iter().flat_map(|versions| versions[list].clone()).collect();
            assert!(written.len() >= WRITERS, "{}", LISTS[list]);
            assert_eq!(delivered, written, "{}", LISTS[list]);
        }
    });
}

/// Reads passes until there are no more changes, and one more. After each page it waits for a few changes, so that
/// every pass has some between its pages.
async fn read_beside(
    tenant: &Tenant<'_>,
    list: &'static str,
    mut seen: watch::Receiver<usize>,
) -> BTreeMap<String, String> {
    let mut reader = Reader::default();
    let mut is_quiet = false;
    while !is_quiet {
        let mut pass = Pass::new(list, 2);
        while !pass.is_over {
            reader.turn(tenant, &mut pass).await;
            let enough = *seen.borrow_and_update() + 4;
            is_quiet = seen.wait_for(|changes| *changes >= enough).await.is_err();
        }
    }
    reader.whole_pass(tenant, list, 100).await;
    reader.delivered
}
