//! The typed client's catch-up and its follower against the real service, over HTTP, beside writers.

use std::collections::{BTreeMap, HashSet};
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream;
use invoicing_client::{CatchUp, ChangeEvent, InvoicingClient, MemoryCheckpoint, RecordVersion, Resource};
use invoicing_core::EventKind;
use invoicing_server::{NewWebhook, ServeLimits, serve};
use invoicing_tests::{Database, Receiver, World, on_each_database};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::api::workload::{Act, Workload, write_beside};
use crate::support::proptest_runner::runtime;

/// Long enough for anything that is meant to happen soon, also on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const WRITERS: usize = 3;
/// Of each writer.
const CHANGES: u16 = 80;

/// A service on loopback, and a client of it.
struct Served {
    world: Arc<World>,
    client: InvoicingClient,
    _server: JoinSet<io::Result<()>>,
}

impl Served {
    async fn start(db: Database) -> Self {
        let world =
            Arc::new(World::on(db).settings(|settings| settings.quota = 0).system_clock().open().await);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let mut served = JoinSet::new();
        let service = world.invoicing.service();
        served.spawn(serve(listener, service, ServeLimits::default(), std::future::pending()));
        let client =
            InvoicingClient::builder(address, world.key.as_str()).rate_limiting(false).build().unwrap();
        Self { world, client, _server: served }
    }
}

/// The newest version of each record, as the contract writes them.
#[derive(Default)]
struct Copy {
    newest: BTreeMap<String, String>,
    /// The records since the process began.
    seen: HashSet<RecordVersion>,
}

impl Copy {
    fn store(&mut self, version: RecordVersion) {
        assert!(self.seen.insert(version), "{version:?} twice in one process");
        self.newest.insert(version.id.to_string(), version.updated_at.to_string());
    }
}

fn merged(versions: &[[BTreeMap<String, String>; 3]], list: usize) -> BTreeMap<String, String> {
    versions.iter().flat_map(|versions| versions[list].clone()).collect()
}

/// Passes beside the writers, some of them given up in the middle, some of them in a new process; then a last one.
async fn keep_copy<R: Resource>(
    begin: impl Fn(Arc<MemoryCheckpoint>) -> CatchUp<R>,
    mut seen: watch::Receiver<usize>,
) -> BTreeMap<String, String> {
    let checkpoint = Arc::new(MemoryCheckpoint::new());
    let (mut catch_up, mut copy) = (begin(checkpoint.clone()), Copy::default());
    let mut is_quiet = false;
    for number in 0_u64.. {
        if number % 5 == 4 {
            catch_up = begin(checkpoint.clone());
            copy.seen.clear();
        }
        let last = is_quiet;
        let pass = catch_up.pass(|record| {
            copy.store(R::version(&record));
            ready(Ok::<(), io::Error>(()))
        });
        if last {
            pass.await.unwrap();
            return copy.newest;
        }
        // Dropped wherever it is when the time is over.
        let patience = if number % 3 == 1 { Duration::from_millis(number * 7 % 40) } else { PATIENCE };
        if let Ok(pass) = timeout(patience, pass).await {
            assert!(pass.unwrap().in_order);
        }
        let enough = *seen.borrow_and_update() + 3;
        is_quiet = seen.wait_for(|changes| *changes >= enough).await.is_err();
    }
    unreachable!("numbers go on")
}

/// Rules: LIST-9, CATCHUP-1
#[on_each_database]
fn a_catch_up_over_http_beside_writers_misses_nothing(db: Database) {
    runtime().block_on(async {
        let served = Served::start(db).await;
        let mut workload = Workload::open(&served.world, &served.world.company).await;
        // More than a page of each.
        for list in 0..3 {
            workload.grow(list, 105).await;
        }
        let (writers, seen) = write_beside(&served.world, WRITERS, CHANGES);
        let client = &served.client;
        let (quotes, invoices, clients) = tokio::join!(
            keep_copy(|store| client.quotes().catch_up(store), seen.clone()),
            keep_copy(|store| client.invoices().catch_up(store), seen.clone()),
            keep_copy(|store| client.clients().catch_up(store), seen.clone()),
        );
        let mut versions = writers.join_all().await;
        // Before the others: what both changed, the others changed last.
        versions.insert(0, workload.versions);
        for (list, copy) in [quotes, invoices, clients].into_iter().enumerate() {
            assert_eq!(copy, merged(&versions, list), "list {list}");
        }
    });
}

/// Delivers what is due, and passes on what a receiver got of it, but for every so-many-th.
async fn pump(world: &World, receiver: &Receiver, notices: mpsc::Sender<ChangeEvent>, lost: usize) {
    for number in 1_usize.. {
        world.dispatch().await;
        for (n, received) in receiver.take().into_iter().enumerate() {
            let notice = ChangeEvent::from_body(&received.body).unwrap();
            if (n + number) % lost != 0 && notices.send(notice).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn subscribe(world: &World) -> Receiver {
    let receiver = Receiver::start().await;
    let events = vec![EventKind::QuoteCreated, EventKind::QuoteSigned, EventKind::QuoteAccepted];
    let new = NewWebhook { url: receiver.url.clone(), events };
    world.company.webhooks().register(&new).await.unwrap();
    receiver
}

/// Follows the quotes until the copy is the expected one.
async fn follow_until(
    served: &Served,
    interval: Duration,
    lost: usize,
    mut is_done: watch::Receiver<Option<BTreeMap<String, String>>>,
) {
    let receiver = subscribe(&served.world).await;
    let (sender, mut notices) = mpsc::channel(4);
    let copy = Mutex::new(Copy::default());
    let (delivered, mut progress) = watch::channel(());
    let mut follow = served.client.quotes().follow(MemoryCheckpoint::new()).interval(interval);
    let run = follow.run(stream::poll_fn(move |cx| notices.poll_recv(cx)), |quote| {
        assert!(quote.lines.is_some(), "a quote comes with its lines, by any route");
        copy.lock()
            .unwrap()
            .store(RecordVersion { id: quote.summary.id.0, updated_at: quote.summary.updated_at });
        delivered.send_replace(());
        ready(Ok::<(), io::Error>(()))
    });
    let complete = async {
        let expected = is_done.wait_for(Option::is_some).await.unwrap().clone();
        while copy.lock().unwrap().newest != *expected.as_ref().unwrap() {
            progress.changed().await.unwrap();
        }
    };
    tokio::select! {
        ended = run => panic!("the follower ended: {ended:?}"),
        () = pump(&served.world, &receiver, sender, lost) => panic!("the notices have no listener"),
        complete = timeout(PATIENCE, complete) => complete.expect("the copy is never complete"),
    }
}

#[on_each_database]
fn a_follower_brings_at_once_what_webhooks_tell(db: Database) {
    runtime().block_on(async {
        let served = Served::start(db).await;
        let (done, is_done) = watch::channel(None);
        let work = async {
            let mut workload = Workload::open(&served.world, &served.world.company).await;
            for n in 0..12 {
                workload.act((Act::AddQuote, n)).await;
                workload.act((Act::Accept, n)).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            done.send_replace(Some(workload.versions[0].clone()));
        };
        // No pass but the first, and no notice is lost.
        let never = usize::MAX;
        tokio::join!(follow_until(&served, Duration::from_hours(1), never, is_done), work);
    });
}

#[on_each_database]
fn a_follower_beside_writers_misses_nothing_although_notices_are_lost(db: Database) {
    runtime().block_on(async {
        let served = Served::start(db).await;
        let (done, is_done) = watch::channel(None);
        let work = async {
            let (writers, _) = write_beside(&served.world, WRITERS, CHANGES);
            let versions = writers.join_all().await;
            done.send_replace(Some(merged(&versions, 0)));
        };
        tokio::join!(follow_until(&served, Duration::from_millis(300), 3, is_done), work);
    });
}
