//! The cause of an event: the id of a request and a context of the host's, in its row and at each attempt, on any node.

use std::sync::{Arc, Mutex};

use invoicing_core::{EventKind, NewClient, NewCompany, NewQuote, Plan};
use invoicing_server::{
    CompanyHandle, Invoicing, MemoryStore, NewWebhook, Settings, TargetPolicy, TraceContext,
};
use invoicing_tests::{Database, Place, Receiver, Reply, on_each_database};

/// A host whose operations are called in a context.
#[derive(Clone, Default)]
struct Host {
    current: Arc<Mutex<Option<Vec<u8>>>>,
    told: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Host {
    fn set(&self, context: Option<&[u8]>) {
        *self.current.lock().unwrap() = context.map(<[u8]>::to_vec);
    }

    fn told(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

impl TraceContext for Host {
    fn current(&self) -> Option<Vec<u8>> {
        self.current.lock().unwrap().clone()
    }

    fn attempt(&self, _: &tracing::Span, context: &[u8]) {
        self.told.lock().unwrap().push(context.to_vec());
    }
}

/// A service in the process of a host.
async fn open(place: &Place, host: &Host, documents: &Arc<MemoryStore>) -> Invoicing {
    let target = TargetPolicy { allow_http: true, allow_private: true };
    let settings = Settings { target, ..Settings::default() };
    let documents = Arc::clone(documents);
    let builder = place.builder().settings(settings).document_store(documents).trace_context(host.clone());
    builder.open().await.unwrap()
}

/// Creates a quote: one event.
async fn create(company: &CompanyHandle) {
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.unwrap();
    company.quotes().create(&NewQuote::empty(client.id)).await.unwrap();
}

#[on_each_database]
async fn each_attempt_gets_its_context_after_a_restart_and_on_another_node(db: Database) {
    let (place, documents) = (Place::new(db).await, Arc::new(MemoryStore::new()));
    let (first, second) = (Host::default(), Host::default());
    let receiver = Receiver::start().await;
    receiver.reply_next([Reply::status(500)]);
    let context: Vec<u8> = (0..=127).map(|n| n * 2).collect();
    let invoicing = open(&place, &first, &documents).await;
    let company = invoicing.companies().create(&NewCompany::named("Company", Plan::Team)).await.unwrap().id;
    let handle = invoicing.company(company).for_request("req_1.2-A");
    let hook = NewWebhook { url: receiver.url.clone(), events: EventKind::ALL.to_vec() };
    let hook = handle.webhooks().register(&hook).await.unwrap().webhook.id;
    first.set(Some(&context));
    create(&handle).await;
    // Later contexts are those of later events.
    first.set(Some(b"later"));
    invoicing.company(company).webhooks().ping(hook).await.unwrap();
    first.set(None);
    let events = handle.events().list(None, 10).await.unwrap();
    let requests: Vec<_> = events.iter().map(|event| event.request_id.as_deref()).collect();
    assert_eq!(requests, [Some("req_1.2-A"), None]);
    assert_eq!(handle.events().get(events[0].id).await.unwrap(), events[0]);
    let invoicing = match db {
        Database::Sqlite => {
            drop((invoicing, handle));
            open(&place, &second, &documents).await
        }
        Database::Postgres => open(&place, &second, &documents).await,
    };
    let running = invoicing_tests::RunningDispatcher::start(invoicing.dispatcher());
    assert!(receiver.wait_for(3, std::time::Duration::from_secs(5)).await);
    running.stop().await;
    let mut told = second.told();
    assert_eq!(told.len(), 3, "one of them twice");
    told.sort();
    told.dedup();
    assert_eq!(told, [context, b"later".to_vec()]);
    assert_eq!(first.told(), Vec::<Vec<u8>>::new());
}

#[on_each_database]
async fn what_a_running_dispatcher_is_handed_has_its_context_too(db: Database) {
    let (place, documents, host) = (Place::new(db).await, Arc::new(MemoryStore::new()), Host::default());
    let receiver = Receiver::start().await;
    let invoicing = open(&place, &host, &documents).await;
    let company = invoicing.companies().create(&NewCompany::named("Company", Plan::Team)).await.unwrap().id;
    let company = invoicing.company(company);
    let hook = NewWebhook { url: receiver.url.clone(), events: EventKind::ALL.to_vec() };
    company.webhooks().register(&hook).await.unwrap();
    let running = invoicing_tests::RunningDispatcher::start(invoicing.dispatcher());
    for n in 1..=3 {
        host.set(Some(&[n]));
        create(&company).await;
    }
    host.set(None);
    create(&company).await;
    assert!(receiver.wait_for(4, std::time::Duration::from_secs(5)).await);
    running.stop().await;
    let mut told = host.told();
    told.sort();
    assert_eq!(told, [[1], [2], [3]]);
}

#[on_each_database]
async fn an_id_that_no_request_can_have_is_left_out(db: Database) {
    let (place, documents, host) = (Place::new(db).await, Arc::new(MemoryStore::new()), Host::default());
    let invoicing = open(&place, &host, &documents).await;
    let company = invoicing.companies().create(&NewCompany::named("Company", Plan::Team)).await.unwrap().id;
    let company = invoicing.company(company);
    let longest = "x".repeat(128);
    host.set(Some(&[7; 129]));
    let secrets =
        ["isk_", "whsec_", "sgn_", "ISK_"].map(|prefix| format!("req-1.{prefix}{}", "A".repeat(43)));
    let [key, webhook, link, shouted] = secrets.each_ref().map(|id| &**id);
    for id in
        ["", "a b", "claire@exemple.fr", "a\nb", &"x".repeat(129), key, webhook, link, shouted, &longest]
    {
        create(&company.for_request(id)).await;
    }
    let events = company.events().list(None, 10).await.unwrap();
    let requests: Vec<_> = events.into_iter().filter_map(|event| event.request_id).collect();
    assert_eq!(requests, [longest]);
}
