//! Imports beside others that take numbers: the document shows a number that is allocated only with the quote.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future;
use invoicing_core::{ClientChange, ClientId, CompanyIdentity, NewQuote, Quote, QuoteImport, QuoteStatus};
use invoicing_server::{CompanyHandle, Error, MemoryStore};
use invoicing_tests::{World, new_quote, on_each_database};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::support::hooked_store::HookedStore;

const IMPORT: QuoteImport = QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
/// Time enough for a quote to be created, where nothing keeps it.
const A_WHILE: Duration = Duration::from_millis(150);

/// Somebody who creates a quote whenever a document has just been stored.
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

    /// Creates one; whether that was soon done. The first time nothing keeps it, and it is waited for.
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

    /// The numbers of what was created, in order, once all of it is.
    async fn numbers(&self) -> Vec<String> {
        let creations = std::mem::take(&mut *self.creations.lock().unwrap());
        let quotes = creations.join_all().await.into_iter();
        let mut numbers: Vec<String> = quotes.map(|quote| quote.unwrap().head.number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Imports a quote while the other one, on the same node or on another, creates one whenever its document is stored.
pub(crate) async fn import_beside_a_rival(world: &World, store: &HookedStore, rival: &CompanyHandle) {
    let client = world.client("x").await;
    let rival = Rival::new(rival, client);
    let hook = rival.clone();
    store.happens(move || {
        let rival = hook.clone();
        Box::pin(async move {
            rival.creates().await;
        })
    });
    let quotes = world.company.quotes();
    let imported = quotes.import(&new_quote(client), &IMPORT).await.unwrap();
    // The first time the number was taken. The second time nobody could.
    assert_eq!(store.memory.count(), 2);
    assert_eq!(imported.number, "DEV-2026-0002");
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0003"]);
    assert_eq!(quotes.open_document(imported.id).await.unwrap().file_name, "DEV-2026-0002.pdf");
}

/// Rules: NUMBER-5
#[on_each_database]
async fn an_import_gets_its_number_however_many_quotes_are_created_meanwhile() {
    let (world, store) = HookedStore::world().await;
    import_beside_a_rival(&world, &store, &world.company).await;
}

#[on_each_database]
async fn while_imports_hold_the_numbers_in_turn_others_get_theirs_in_between() {
    let (world, store) = HookedStore::world().await;
    store.happens(|| Box::pin(tokio::time::sleep(A_WHILE)));
    let (quotes, new) = (world.company.quotes(), new_quote(world.client("x").await));
    let imports = future::join_all((0..10).map(|_| quotes.import(&new, &IMPORT)));
    // What is created while all are stored for the first time takes the number of each.
    let create = async {
        loop {
            quotes.create(&new).await.unwrap();
        }
    };
    let imported = tokio::select! {
        imported = imports => imported,
        () = create => unreachable!("it goes on"),
    };
    let number = |quote: Result<Quote, Error>| quote.unwrap().head.number[9..].parse::<u32>().unwrap();
    let mut numbers: Vec<u32> = imported.into_iter().map(number).collect();
    numbers.sort_unstable();
    let in_between = numbers.windows(2).filter(|pair| pair[1] - pair[0] > 1).count();
    assert!(in_between >= 2, "others get no number: {numbers:?}");
}

/// Rules: DOCUMENT-16, NUMBER-3
#[on_each_database]
async fn what_changes_while_an_import_is_stored_is_shown_as_it_is() {
    let (world, store) = HookedStore::world().await;
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
                // The second time this changes nothing.
                let change =
                    ClientChange { address: Some("3 rue Neuve".into()), ..ClientChange::named("Autre nom") };
                company.clients().change(client, &change).await.unwrap();
            }
        })
    });
    let quotes = world.company.quotes();
    let imported = quotes.import(&new_quote(client), &IMPORT).await.unwrap();
    // Those that show what was so before came to nothing, and used up no number.
    assert_eq!(
        (imported.number.as_str(), quotes.documents(imported.id).await.unwrap().len()),
        ("DEV-2026-0001", 1)
    );
    assert_eq!(stored.load(Ordering::SeqCst), 3);
}

#[on_each_database]
async fn an_import_that_fails_while_it_holds_the_numbers_gives_them_back() {
    let (world, store) = HookedStore::world().await;
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
    // The clock of this test stands still: what is held is held.
    rival.creates().await;
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0002"]);
}

/// An import that is dropped while it holds the numbers; one was given to the rival before.
async fn die_holding(world: &World, store: &HookedStore, rival: &Rival) {
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
async fn an_import_that_dies_while_it_holds_the_numbers_holds_them_for_six_seconds() {
    let (world, store) = HookedStore::world().await;
    let rival = Rival::new(&world.company, world.client("x").await);
    die_holding(&world, &store, &rival).await;
    world.advance(Duration::from_millis(5_999));
    assert!(!rival.creates().await, "the numbers are held");
    world.advance(Duration::from_millis(1));
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0002"]);
    let imported = world.company.quotes().import(&rival.new, &IMPORT).await.unwrap();
    assert_eq!(imported.number, "DEV-2026-0003");
}

#[on_each_database]
async fn a_clock_that_is_set_back_holds_no_number_for_longer() {
    let (world, store) = HookedStore::world().await;
    let rival = Rival::new(&world.company, world.client("x").await);
    die_holding(&world, &store, &rival).await;
    world.clock.set(world.now().plus_millis(-3_600_000));
    rival.creates().await;
    assert_eq!(rival.numbers().await, ["DEV-2026-0001", "DEV-2026-0002"]);
}
