//! Imports beside other creations: the document shows a number that is allocated only with the quote.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future;
use invoicing_core::{ClientChange, ClientId, CompanyIdentity, NewQuote, Quote, QuoteImport, QuoteStatus};
use invoicing_server::{CompanyHandle, Error, MemoryStore};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::support::hooked_store::HookedStore;

pub(crate) const IMPORT: QuoteImport =
    QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
/// Time enough to create a quote that need not wait.
const A_WHILE: Duration = Duration::from_millis(150);

/// Creates a quote whenever a document has just been stored.
#[derive(Clone)]
struct Rival {
    company: CompanyHandle,
    new: NewQuote,
    creations: Arc<Mutex<JoinSet<Result<Quote, Error>>>>,
}

impl Rival {
    fn new(company: &CompanyHandle, client: ClientId) -> Self {
        Self { company: company.clone(), new: new_quote(client), creations: Arc::default() }
    }

    /// Creates a quote. True if it is created within [`A_WHILE`]; the first creation need not wait, and is awaited.
    async fn creates(&self) -> bool {
        let (company, new, done) = (self.company.clone(), self.new.clone(), Arc::new(Notify::new()));
        let waited = Arc::clone(&done);
        let is_first = {
            let mut creations = self.creations.lock().unwrap();
            creations.spawn(async move {
                let quote = company.quotes().create(&new).await;
                done.notify_one();
                quote
            });
            creations.len() == 1
        };
        let limit = if is_first { Duration::MAX } else { A_WHILE };
        tokio::time::timeout(limit, waited.notified()).await.is_ok()
    }

    /// The numbers of all created quotes, in order, once all are created.
    async fn numbers(&self) -> Vec<String> {
        let creations = std::mem::take(&mut *self.creations.lock().unwrap());
        let quotes = creations.join_all().await.into_iter();
        let mut numbers: Vec<String> = quotes.map(|quote| quote.unwrap().summary.number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Sixteen tasks that create quotes until they are stopped.
pub(crate) struct Writers {
    stop: Arc<AtomicBool>,
    tasks: JoinSet<Vec<String>>,
}

impl Writers {
    /// The tasks are spread evenly over the handles.
    pub(crate) fn start(companies: &[CompanyHandle], new: &NewQuote) -> Self {
        let (stop, mut tasks) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for company in companies.iter().cycle().take(16) {
            let (company, new, stop) = (company.clone(), new.clone(), Arc::clone(&stop));
            tasks.spawn(async move {
                let mut numbers = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    numbers.push(company.quotes().create(&new).await.unwrap().summary.number);
                }
                numbers
            });
        }
        Self { stop, tasks }
    }

    /// The numbers of all created quotes.
    pub(crate) async fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::SeqCst);
        self.tasks.join_all().await.concat()
    }
}

/// Fails unless these are all numbers of a series, from the first one on.
pub(crate) fn assert_no_gaps(mut numbers: Vec<String>) {
    numbers.sort_unstable_by_key(|number| (number.len(), number.clone()));
    let expected: Vec<String> = (1..=numbers.len()).map(|n| format!("DEV-2026-{n:04}")).collect();
    assert_eq!(numbers, expected);
}

/// Rules: NUMBER-5
#[on_each_database]
async fn an_import_gets_its_number_however_many_quotes_are_created_meanwhile(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let client = world.client("x").await;
    let rival = Rival::new(&world.company, client);
    let hook = rival.clone();
    store.happens(move || {
        let rival = hook.clone();
        Box::pin(async move {
            rival.creates().await;
        })
    });
    let quotes = world.company.quotes();
    let imported = quotes.import(&new_quote(client), &IMPORT).await.unwrap();
    // Another quote took the number of the first rendering. The creation during the second rendering waits.
    assert_eq!(store.memory.count(), 2);
    assert_eq!(imported.summary.number, "DEV-2026-0002");
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0003"]);
    assert_eq!(quotes.open_document(imported.summary.id).await.unwrap().file_name, "DEV-2026-0002.pdf");
}

#[on_each_database(worker_threads = 4)]
async fn an_import_gets_its_number_beside_sixteen_writers(db: Database) {
    let (world, _store) = HookedStore::world(db).await;
    let (quotes, new) = (world.company.quotes(), new_quote(world.client("x").await));
    let writers = Writers::start(std::slice::from_ref(&world.company), &new);
    let mut numbers = Vec::new();
    for _ in 0..5 {
        numbers.push(quotes.import(&new, &IMPORT).await.unwrap().summary.number);
    }
    numbers.extend(writers.stop().await);
    assert_no_gaps(numbers);
}

/// Rules: NUMBER-5
#[on_each_database]
async fn while_imports_take_turns_other_creations_get_numbers_in_between(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    store.happens(|| Box::pin(tokio::time::sleep(A_WHILE)));
    let (quotes, new) = (world.company.quotes(), new_quote(world.client("x").await));
    let imports = future::join_all((0..10).map(|_| quotes.import(&new, &IMPORT)));
    // While all imports store their first document, another quote takes the number that each of them shows.
    let create = async {
        loop {
            quotes.create(&new).await.unwrap();
        }
    };
    let imported = tokio::select! {
        imported = imports => imported,
        () = create => unreachable!("it goes on"),
    };
    let number = |quote: Result<Quote, Error>| quote.unwrap().summary.number[9..].parse::<u32>().unwrap();
    let mut numbers: Vec<u32> = imported.into_iter().map(number).collect();
    numbers.sort_unstable();
    let in_between = numbers.windows(2).filter(|pair| pair[1] - pair[0] > 1).count();
    assert!(in_between >= 2, "other creations get no number: {numbers:?}");
}

/// Rules: DOCUMENT-16, NUMBER-3
#[on_each_database]
async fn what_changes_while_an_import_is_stored_is_shown_as_it_is(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let client = world.client("x").await;
    let (company, stored) = (world.company.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&stored);
    store.happens(move || {
        let (company, stored) = (company.clone(), Arc::clone(&counted));
        Box::pin(async move {
            if stored.fetch_add(1, Ordering::SeqCst) == 0 {
                let address = Some("2 rue Basse".into());
                let moved = CompanyIdentity { address, ..CompanyIdentity::default() };
                company.set_identity(&moved).await.unwrap();
            } else {
                // The second time the change is a no-op.
                let change =
                    ClientChange { address: Some("3 rue Neuve".into()), ..ClientChange::named("Autre nom") };
                company.clients().change(client, &change).await.unwrap();
            }
        })
    });
    let quotes = world.company.quotes();
    let imported = quotes.import(&new_quote(client), &IMPORT).await.unwrap();
    // The renderings of outdated data used up no number.
    assert_eq!(
        (imported.summary.number.as_str(), quotes.documents(imported.summary.id).await.unwrap().len()),
        ("DEV-2026-0001", 1)
    );
    assert_eq!(stored.load(Ordering::SeqCst), 3);
}

#[on_each_database]
async fn creations_go_on_after_an_import_that_fails(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let client = world.client("x").await;
    let rival = Rival::new(&world.company, client);
    let (hook, memory) = (rival.clone(), Arc::clone(&store.memory));
    store.happens(move || {
        let (rival, memory): (Rival, Arc<MemoryStore>) = (hook.clone(), Arc::clone(&memory));
        Box::pin(async move {
            rival.creates().await;
            memory.fail(true);
        })
    });
    let failed = world.company.quotes().import(&new_quote(client), &IMPORT).await;
    assert!(matches!(failed, Err(Error::StorageUnavailable(_))), "{failed:?}");
    rival.creates().await;
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0002"]);
}

/// An import that is dropped while other creations wait for it; the rival has created a quote before.
async fn drop_import(world: &World, store: &HookedStore, rival: &Rival) {
    let (stored, holds) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (hook, said) = (rival.clone(), Arc::clone(&holds));
    store.happens(move || {
        let (rival, stored, said) = (hook.clone(), Arc::clone(&stored), Arc::clone(&said));
        Box::pin(async move {
            if stored.fetch_add(1, Ordering::SeqCst) == 0 {
                rival.creates().await;
            } else {
                said.notify_one();
                future::pending::<()>().await;
            }
        })
    });
    let quotes = world.company.quotes();
    tokio::select! {
        imported = quotes.import(&rival.new, &IMPORT) => panic!("{imported:?}"),
        () = holds.notified() => {}
    }
    store.nothing_happens();
}

#[on_each_database]
async fn creations_go_on_after_an_import_that_is_dropped(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let rival = Rival::new(&world.company, world.client("x").await);
    drop_import(&world, &store, &rival).await;
    rival.creates().await;
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0002"]);
    let imported = world.company.quotes().import(&rival.new, &IMPORT).await.unwrap();
    assert_eq!(imported.summary.number, "DEV-2026-0003");
}

#[on_each_database]
async fn creations_wait_for_an_import_for_five_seconds_at_most(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let client = world.client("x").await;
    let (company, new) = (world.company.clone(), new_quote(client));
    let (stored, begun) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    store.happens(move || {
        let (company, new) = (company.clone(), new.clone());
        let rendering = stored.fetch_add(1, Ordering::SeqCst) + 1;
        Box::pin(async move {
            if rendering == 2 {
                // The document store takes its time, and the client changes, so that the import renders again.
                tokio::time::sleep(Duration::from_secs(3)).await;
                let address = Some("3 rue Neuve".into());
                let change = ClientChange { address, ..ClientChange::named("Autre nom") };
                company.clients().change(client, &change).await.unwrap();
            } else if rendering < 4 {
                company.quotes().create(&new).await.unwrap();
            }
        })
    });
    let imported = world.company.quotes().import(&new_quote(client), &IMPORT).await.unwrap();
    assert_eq!(imported.summary.number, "DEV-2026-0003");
    assert!(begun.elapsed() >= Duration::from_secs(5), "{:?}", begun.elapsed());
}
