//! The blocking client, outside and inside async runtimes.

use std::time::Duration;

use crate::blocking::InvoicingClient;
use crate::testing::{FakeServer, Fault};
use crate::{ClientCreation, ErrorKind, MemoryCheckpoint, NewClient, OpenEnum, QuoteStatus};

fn client(server: &FakeServer) -> InvoicingClient {
    server.client().build_blocking().unwrap()
}

/// Makes each kind of call, and drops the client.
fn use_every_call() {
    let server = FakeServer::start();
    let id = server.store(|store| {
        for _ in 0..5 {
            store.add_quote(QuoteStatus::Sent);
        }
        store.quotes[0].summary.id
    });
    let client = client(&server);
    assert_eq!(client.quotes().get(id).send().unwrap().summary.number, "DEV-2026-0001");
    assert_eq!(client.quotes().link(id, "d").send().unwrap().external_id.as_deref(), Some("d"));
    assert_eq!(client.quotes().download_document(id).send().unwrap().link.file_name, "DEV-2026-0001.pdf");
    let new = NewClient { external_id: Some("c".into()), ..NewClient::named("Dupont") };
    assert!(matches!(client.clients().create(&new).send().unwrap(), ClientCreation::Created(_)));
    assert!(client.clients().find("c").send().unwrap().is_some());
    assert_eq!(client.invoices().list().send().unwrap().data, []);
    let note = server.store(|store| {
        let invoice = store.add_invoice(id).unwrap();
        store.add_credit_note(invoice).unwrap()
    });
    let read = client.credit_notes().get(note).send().unwrap();
    assert_eq!(read.summary.number, "AVO-2026-0001");
    assert_eq!(client.credit_notes().list().include_lines().iter().count(), 1);
    let link = client.credit_notes().document(note).send().unwrap();
    assert!(client.credit_notes().download(&link).send().unwrap().starts_with(b"%PDF-"));
    let invoice = client.invoices().download_document(read.summary.invoice_id).send().unwrap();
    assert_eq!(invoice.link.file_name, "FAC-2026-0001.pdf");

    let clone = client.clone();
    drop(client);
    let mut iter = clone.quotes().list().status(QuoteStatus::Sent).limit(2).iter();
    drop(clone);
    assert_eq!(iter.by_ref().map(Result::unwrap).count(), 5);
    assert!(iter.next().is_none());
}

#[test]
fn it_works_without_a_runtime() {
    use_every_call();
}

#[tokio::test]
async fn it_works_inside_a_single_threaded_runtime() {
    use_every_call();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_works_inside_a_multi_threaded_runtime() {
    use_every_call();
    tokio::task::spawn_blocking(use_every_call).await.unwrap();
}

#[test]
fn calls_have_settings_and_errors() {
    let server = FakeServer::start();
    server.script([Fault::CutBeforeHeaders, Fault::Hang]);
    let client = client(&server);
    let error = client.clients().list().no_retries().send().unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Interrupted, 1));
    let error = client.clients().list().deadline(Duration::from_millis(30)).send().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    // An error ends the iteration.
    server.chaos(0, [(1.0, Fault::WrongJson)]);
    let items: Vec<_> = client.quotes().list().into_iter().collect();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].as_ref().unwrap_err().kind(), ErrorKind::InvalidResponse);
    assert!(!format!("{client:?} {:?}", client.quotes().list()).contains(FakeServer::KEY));
}

#[test]
fn calls_of_several_threads_run_concurrently() {
    let server = FakeServer::start();
    server.script([Fault::None, Fault::Hang]);
    let client = client(&server);
    // The first call of a client runs alone.
    client.quotes().list().send().unwrap();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| client.quotes().list().deadline(Duration::from_secs(5)).send());
        while server.requests().len() < 2 {
            std::thread::yield_now();
        }
        assert!(client.quotes().list().send().is_ok());
        assert!(!slow.is_finished());
        slow.join().unwrap().unwrap_err();
    });
}

#[test]
fn async_code_runs_on_the_thread_and_its_panics_are_resumed() {
    let server = FakeServer::start();
    server.store(|store| store.add_quote(QuoteStatus::Sent));
    let client = client(&server);
    let pass = client.block_on(|client| async move {
        let mut catch_up = client.quotes().catch_up(MemoryCheckpoint::default());
        catch_up.pass(|_| std::future::ready(Ok::<(), std::io::Error>(()))).await
    });
    assert_eq!(pass.unwrap().delivered, 1);
    let inner = client.clone();
    for nested in [false, true] {
        let inner = inner.clone();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            client.block_on(|_| async move {
                assert!(nested, "injected panic");
                // A nested blocking call would wait for itself and panics.
                inner.quotes().list().send().unwrap();
            });
        }));
        assert!(result.is_err());
    }
    assert_eq!(
        client.quotes().list().send().unwrap().data[0].summary.status,
        OpenEnum::Known(QuoteStatus::Sent)
    );
}

#[test]
fn the_last_clone_can_be_dropped_on_its_own_thread() {
    let server = FakeServer::start();
    let client = client(&server);
    let inner = client.clone();
    client.block_on(|_| async move {
        drop(inner);
    });
    drop(client);
}
