//! Documents that were stored and that no record came to refer to.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{self, FutureExt};
use invoicing_core::{InvoiceStatus, NewCreditNote, Plan, QuoteId, QuoteStatus, money};
use invoicing_server::{CompanyHandle, Error, SweepReport};
use invoicing_tests::{Database, World, on_each_database};
use tokio::sync::Notify;

use crate::support::hooked_store::HookedStore;
use crate::support::{draft_of, invoice_in};

const HOUR: Duration = Duration::from_hours(1);

/// Drops a call when the bytes are stored and no record refers to them yet.
async fn die_during<T: Debug>(store: &HookedStore, call: impl Future<Output = Result<T, Error>>) {
    let stored = Arc::new(Notify::new());
    let hook = Arc::clone(&stored);
    store.happens(move || {
        hook.notify_one();
        future::pending().boxed()
    });
    tokio::select! {
        done = call => panic!("{done:?}"),
        () = stored.notified() => {}
    }
}

async fn die_sending(company: &CompanyHandle, store: &HookedStore, id: QuoteId) {
    die_during(store, company.quotes().send(id, None)).await;
}

async fn swept(world: &World) -> u64 {
    world.invoicing.sweep().await.unwrap().swept_documents
}

/// Rules: DOCUMENT-17
#[on_each_database]
async fn only_orphans_of_a_crash_are_swept_and_after_an_hour(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let sent = world.sent().await;
    let draft = world.draft().await;
    let quotes = world.company.quotes();
    let kept = store.memory.keys();
    die_sending(&world.company, &store, draft.summary.id).await;
    assert_eq!(store.memory.count(), 2);
    assert_eq!(quotes.get(draft.summary.id).await.unwrap().summary.status, QuoteStatus::Draft);
    assert_eq!(swept(&world).await, 0);
    world.advance(HOUR);
    assert_eq!(swept(&world).await, 0, "an hour exactly");
    // Also if the process has died meanwhile.
    let (draft, sent) = (draft.summary.id, sent.summary.id);
    let world = world.reopen().await;
    world.advance(Duration::from_millis(1));
    assert_eq!(swept(&world).await, 1);
    assert_eq!(store.memory.keys(), kept);
    assert_eq!(world.invoicing.sweep().await.unwrap(), SweepReport::default());
    store.nothing_happens();
    let quotes = world.company.quotes();
    quotes.send(draft, None).await.unwrap();
    world.advance(2 * HOUR);
    assert_eq!(swept(&world).await, 0);
    for id in [sent, draft] {
        quotes.open_document(id).await.unwrap();
    }
}

/// Rules: DOCUMENT-17, DOCUMENT-22, NUMBER-3, NUMBER-8
#[on_each_database]
async fn an_issue_whose_caller_is_lost_uses_no_number_and_leaves_an_orphan(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let invoices = world.company.invoices();
    let draft = invoice_in(&world, InvoiceStatus::Draft).await.summary.id;
    die_during(&store, invoices.issue(draft, None)).await;
    die_during(&store, invoices.mark_paid(draft)).await;
    let unchanged = invoices.get(draft).await.unwrap().summary;
    assert_eq!((unchanged.status, unchanged.number), (InvoiceStatus::Draft, None));
    store.nothing_happens();
    let issued = invoices.issue(draft, None).await.unwrap().summary;
    assert!(issued.number.as_ref().unwrap().ends_with("-0001"), "{issued:?}");
    let part = NewCreditNote::new("Remise").reduction("Remise", 10, money!(5));
    die_during(&store, invoices.cancel(draft)).await;
    die_during(&store, invoices.credit(draft, &part)).await;
    assert_eq!(invoices.get(draft).await.unwrap().summary, issued);

    world.advance(HOUR + Duration::from_millis(1));
    let world = world.reopen().await;
    let kept = store.memory.count();
    assert_eq!(swept(&world).await, 4, "one of each call");
    assert_eq!(store.memory.count(), kept - 4);
    store.nothing_happens();
    let (invoices, notes) = (world.company.invoices(), world.company.credit_notes());
    let note = invoices.credit(draft, &part).await.unwrap().summary;
    assert!(note.number.ends_with("-0001"), "{note:?}");
    let next = invoice_in(&world, InvoiceStatus::Sent).await.summary;
    assert!(next.number.unwrap().ends_with("-0002"));
    world.advance(2 * HOUR);
    assert_eq!(swept(&world).await, 0);
    invoices.open_document(draft).await.unwrap();
    notes.open_document(note.id).await.unwrap();
}

/// Rules: DOCUMENT-17
#[on_each_database]
async fn what_was_stored_for_a_quote_that_had_changed_meanwhile_is_swept(db: Database) {
    for _ in 0..5 {
        let world = World::new(db).await;
        let draft = world.draft().await;
        let quotes = world.company.quotes();
        let other = crate::support::taxed_quote_at(draft.summary.client_id, "4242");
        let (sent, _) =
            tokio::join!(quotes.send(draft.summary.id, None), quotes.edit(draft.summary.id, &other));
        sent.unwrap();
        let stored = world.documents.count() as u64;
        world.advance(HOUR + Duration::from_millis(1));
        assert_eq!(swept(&world).await, stored - 1);
        quotes.open_document(draft.summary.id).await.unwrap();
    }
}

#[on_each_database]
async fn a_failing_store_stops_no_sweep_and_its_orphans_go_later(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let sent = world.sent().await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    for company in [&world.company, &other] {
        let draft = draft_of(company).await;
        die_sending(company, &store, draft.summary.id).await;
    }
    assert_eq!(store.memory.count(), 3);
    world.advance(Duration::from_hours(31 * 24));
    world.documents.fail(true);
    let report = world.invoicing.sweep().await.unwrap();
    let mut failed = vec![world.company.id(), other.id()];
    failed.sort_unstable();
    assert_eq!((report.expired_quotes, report.failed), (1, failed));
    assert_eq!(
        world.company.quotes().get(sent.summary.id).await.unwrap().summary.status,
        QuoteStatus::Expired
    );
    world.documents.fail(false);
    assert_eq!(swept(&world).await, 2);
    assert_eq!(store.memory.count(), 1);
    world.company.quotes().open_document(sent.summary.id).await.unwrap();
}

/// Rules: DOCUMENT-17
#[on_each_database]
async fn freezing_beside_sweeps_never_loses_a_document(db: Database) {
    // The clock runs away under the freezing, so that its uploads grow old at any moment.
    let (world, store) = HookedStore::world(db).await;
    let quotes = world.company.quotes();
    let mut drafts = Vec::new();
    for _ in 0..12 {
        drafts.push(world.draft().await.summary.id);
    }
    let sending = future::join_all(drafts.iter().map(|id| quotes.send(*id, None)));
    let sweeping = async {
        for _ in 0..40 {
            world.advance(Duration::from_mins(31));
            world.invoicing.sweep().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let (sent, ()) = tokio::join!(sending, sweeping);
    for (id, sent) in drafts.iter().zip(sent) {
        match sent {
            Ok(_) => drop(quotes.open_document(*id).await.unwrap()),
            Err(error) => {
                assert!(matches!(error, Error::StorageUnavailable(_) | Error::Conflict(_)), "{error:?}");
                assert_eq!(quotes.get(*id).await.unwrap().summary.status, QuoteStatus::Draft);
            }
        }
    }
    world.advance(2 * HOUR);
    world.invoicing.sweep().await.unwrap();
    let mut referenced = 0;
    for id in &drafts {
        referenced += quotes.documents(*id).await.unwrap().len();
    }
    assert_eq!(store.memory.count(), referenced);
}
