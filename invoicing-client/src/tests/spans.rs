//! One span per call, one event per attempt.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::testing::{FakeServer, Fault};
use crate::{ErrorKind, NewClient, QuoteStatus};

/// Collects the spans and events of this crate.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Collected>>);

#[derive(Default)]
struct Collected {
    spans: u64,
    entered: Vec<u64>,
    /// The span of each event.
    events: Vec<Option<u64>>,
}

impl Collector {
    fn get(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap()
    }

    /// The number of events in each span. There are none outside.
    fn take(&self) -> Vec<usize> {
        let Collected { spans, entered, events } = std::mem::take(&mut *self.get());
        assert!(entered.is_empty() && events.iter().all(Option::is_some));
        (1..=spans).map(|span| events.iter().filter(|event| **event == Some(span)).count()).collect()
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("invoicing_client")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        let mut collected = self.get();
        collected.spans += 1;
        Id::from_u64(collected.spans)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        let mut collected = self.get();
        let span = collected.entered.last().copied();
        collected.events.push(span);
    }

    fn enter(&self, span: &Id) {
        self.get().entered.push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.get().entered.pop();
    }
}

#[tokio::test]
async fn each_call_is_a_span_and_each_attempt_an_event() {
    let collector = Collector::default();
    let _guard = tracing::subscriber::set_default(collector.clone());
    let server = FakeServer::start();
    let id = server.store(|store| store.add_quote(QuoteStatus::Sent));
    let client = server.client().build().unwrap();
    // tracing asks at the first use of a call site whether anyone listens. If another test is in the
    // middle of that, without a subscriber, the site is silent until it is asked again.
    server.script([Fault::CutInBody, Fault::status(503), Fault::CutBeforeHeaders]);
    client.quotes().link(id, "deal").await.unwrap();
    tracing::callsite::rebuild_interest_cache();
    std::mem::take(&mut *collector.get());

    client.quotes().get(id).await.unwrap();
    assert_eq!(collector.take(), [1]);
    server.script([Fault::CutInBody, Fault::status(503), Fault::None]);
    client.quotes().link(id, "deal").await.unwrap();
    assert_eq!(collector.take(), [3]);
    server.script([Fault::CutBeforeHeaders]);
    client.clients().create(&NewClient::named("once")).await.unwrap_err();
    assert_eq!(collector.take(), [1]);
    // A link and a download are two calls.
    client.quotes().download_document(id).await.unwrap();
    assert_eq!(collector.take(), [1, 1]);

    // Without capacity in the quota there is no attempt.
    let server = FakeServer::start();
    server.quota(1);
    let client = server.client().build().unwrap();
    client.quotes().list().await.unwrap();
    collector.take();
    let error = client.quotes().get(id).deadline(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!((error.kind(), collector.take()), (ErrorKind::LocalRateLimit, vec![0]));
}
