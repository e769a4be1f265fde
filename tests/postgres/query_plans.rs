//! PostgreSQL's plans for the statements of the service, from its own explanations: with or without statistics of the
//! tables, no statement reads a large table from one end to the other.

mod explained;
mod filled;

use std::sync::Arc;
use std::time::{Duration, Instant};

use explained::{Explained, explained};
use invoicing_core::{ClientId, DeliveryStatus, EventKind, NewCompany, Plan, QuoteStatus, WebhookId};
use invoicing_server::{
    ClientQuery, Clock, CompanyHandle, DeliveryQuery, Env, EventQuery, HistoryQuery, InvoiceQuery, Invoicing,
    ManualClock, MemoryStore, NewWebhook, PageWindow, PostgresSettings, QuoteQuery, QuoteSearch, Settings,
    TargetPolicy,
};
use invoicing_tests::postgres::{self, Cluster, Options};
use invoicing_tests::{Receiver, Reply, new_quote};

use crate::support::client_of;

/// The tables that grow with the business.
const LARGE: [&str; 7] = ["delivery", "event", "attempt", "quote", "invoice", "client", "history"];
/// Maximum number of rows that a statement on a batch may read, all of them rows of the batch. The queue has thousands of times as
/// many.
const MAX_ROWS: u64 = 3_000;
/// Enough that a prepared statement gets the plan that is kept for all arguments.
const ROUNDS: usize = 8;

/// Parts of the statements that must appear: the records that a change prefetches as it begins; claims, also of begun
/// deliveries; the waiting and the begun deliveries, and their number; attempts and the ends of deliveries; retries;
/// deliveries that are given back; the batches of a replay; the pages in each of their orders; and the last attempts.
const SEEN: [&str; 22] = [
    "FOR UPDATE SKIP LOCKED",
    "JOIN client d ON d.company_id = w.owner AND d.id = w.id",
    "AND attempts > 0 AND due_at <= $4 AND held_until <= $4",
    "AND attempts > 0 AND held_until <= $1 ORDER BY due_at",
    "WITH RECURSIVE waiting",
    BACKLOG,
    "INSERT INTO attempt",
    "SET status = $2, ended_at = $3, claim = 0",
    "SET attempts = attempts + CASE WHEN claim",
    "UPDATE delivery SET due_at = ($3::bigint[])",
    "SET status = 'skipped', reason = $3",
    "SET status = 'pending', reason = NULL, due_at = $3",
    "SET status = 'pending', reason = NULL, due_at = $7",
    "ORDER BY event_id LIMIT 1 OFFSET $7",
    "coalesce(max(ended_at), $5) AS last_end",
    "ORDER BY a.at DESC",
    "DELETE FROM attempt",
    "FROM quote_item WHERE company_id = $1 ORDER BY created_at DESC",
    "FROM quote_item WHERE company_id = $1 AND status = $5",
    "FROM quote_item WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status",
    "FROM event WHERE company_id = $1 AND id > $2",
    "CROSS JOIN LATERAL ( SELECT company_id, webhook_id, duration_ms, at FROM attempt",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_a_large_table_from_end_to_end() {
    if !postgres::is_installed() {
        return;
    }
    let cluster = Cluster::start(&Options { durable: false, settings: settings() }).unwrap();
    let url = cluster.create_database("invoicing").await;
    let mut shop = Shop::open(&url).await;
    // The server makes its kept plans now, while every table is small.
    for _ in 0..ROUNDS {
        shop.work().await;
    }
    let now = shop.invoicing.env().now();
    filled::begin(&url, &shop.company, now).await;
    let mut bad = check(&cluster, &shop, "plans of small tables that have become large").await;

    shop = Shop::open_again(&url, shop).await;
    bad += &check(&cluster, &shop, "plans of tables that were never analysed").await;

    cluster.execute("invoicing", "UPDATE delivery SET status = 'delivered' WHERE status = 'pending'").await;
    cluster.execute("invoicing", "ANALYZE").await;
    filled::complete(&url, &shop.company, now).await;
    shop = Shop::open_again(&url, shop).await;
    bad += &check(&cluster, &shop, "plans from when nothing was pending").await;

    cluster.execute("invoicing", "ANALYZE").await;
    shop = Shop::open_again(&url, shop).await;
    bad += &check(&cluster, &shop, "plans of analysed tables").await;
    assert!(bad.is_empty(), "{bad}");
}

/// The statements that count attempts of a day, of one company, and waiting deliveries; and the most rows that they
/// read, from an index.
const COUNTS_OF_A_DAY: &str = "WITH latest AS MATERIALIZED";
const BACKLOG: &str = "some_of_all AS (SELECT due_at";
/// Maximum number of counted rows: a count of waiting deliveries also reads the first one of each webhook.
const MAX_COUNTED: u64 = 10_500;

/// The log explains every statement. No table is analysed automatically.
fn settings() -> Vec<String> {
    let settings = [
        "shared_preload_libraries = 'auto_explain'",
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_analyze = on",
        "auto_explain.log_timing = off",
        "auto_explain.log_nested_statements = on",
        "autovacuum = off",
        "maintenance_work_mem = '256MB'",
        "max_wal_size = '4GB'",
    ];
    settings.map(str::to_owned).to_vec()
}

/// Runs every operation a few times. Returns the plans that read too much, as a text.
async fn check(cluster: &Cluster, shop: &Shop, when: &str) -> String {
    let before = cluster.log().len();
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        shop.work().await;
    }
    shop.invoicing.sweep().await.unwrap();
    let took = begun.elapsed();
    let all = explained(&cluster.log()[before..]);
    for part in SEEN {
        assert!(all.iter().any(|explained| explained.query.contains(part)), "{when}: nothing has run {part}");
    }
    let mut bad: Vec<&Explained> = all.iter().filter(|explained| is_bad(explained)).collect();
    println!("{when}: {} plans, {} of them bad, {took:?}", all.len(), bad.len());
    bad.sort_by(|a, b| a.query.cmp(&b.query));
    bad.dedup_by(|a, b| a.query == b.query);
    bad.iter().fold(String::new(), |text, bad| text + &format!("\n{when}:\n{}\n{}", bad.query, bad.plan))
}

fn is_bad(explained: &Explained) -> bool {
    let counts = [COUNTS_OF_A_DAY, BACKLOG].iter().any(|part| explained.query.contains(part));
    let max_rows = if counts { MAX_COUNTED } else { MAX_ROWS };
    LARGE.iter().any(|table| explained.scans(table)) || explained.max_rows() > max_rows
}

/// A service with one company that runs every operation, on a clock moved by hand.
struct Shop {
    invoicing: Invoicing,
    clock: Arc<ManualClock>,
    company: CompanyHandle,
    client: ClientId,
    /// A receiver that answers 200 to everything, and one that does not.
    receivers: [Receiver; 2],
    webhooks: Vec<WebhookId>,
}

impl Shop {
    async fn open(url: &str) -> Self {
        let clock = ManualClock::at(Env::system().now());
        let invoicing = open(url, clock.clone()).await;
        let new = NewCompany::named("Martin Peinture", Plan::Team);
        let company = invoicing.company(invoicing.companies().create(&new).await.unwrap().id);
        let client = client_of(&company).await;
        let receivers = [Receiver::start().await, Receiver::start().await];
        receivers[1].reply_always(Reply::status(500));
        let mut webhooks = Vec::new();
        for receiver in &receivers {
            let new = NewWebhook { url: receiver.url.clone(), events: vec![EventKind::QuoteCreated] };
            webhooks.push(company.webhooks().register(&new).await.unwrap().webhook.id);
        }
        Self { invoicing, clock, company, client, receivers, webhooks }
    }

    /// Opens the service again, on new connections.
    async fn open_again(url: &str, shop: Self) -> Self {
        let Self { invoicing, clock, company, client, receivers, webhooks } = shop;
        invoicing.close().await;
        let invoicing = open(url, clock.clone()).await;
        let company = invoicing.company(company.id());
        Self { invoicing, clock, company, client, receivers, webhooks }
    }

    async fn work(&self) {
        for _ in 0..3 {
            self.company.quotes().create(&new_quote(self.client)).await.unwrap();
        }
        self.deliver().await;
        self.look_at_deliveries().await;
        self.read_pages().await;
    }

    /// Runs first attempts, retries, and the end of deliveries that never succeed.
    async fn deliver(&self) {
        for _ in 0..3 {
            self.invoicing.dispatcher().run_once().await.unwrap();
            self.clock.advance(Duration::from_secs(10));
        }
    }

    async fn look_at_deliveries(&self) {
        let webhooks = self.company.webhooks();
        let events = self.company.events().list(None, 50).await.unwrap();
        self.company.events().deliveries(events[0].id).await.unwrap();
        for webhook in &self.webhooks {
            webhooks.log(*webhook, 50).await.unwrap();
            webhooks.disable(*webhook).await.unwrap();
            webhooks.enable(*webhook).await.unwrap();
        }
        self.show_deliveries().await;
        webhooks.replay_since(self.webhooks[1], self.clock.now().plus_millis(-60_000)).await.unwrap();
        webhooks.replay(self.webhooks[1], None).await.unwrap();
        webhooks.replay(self.webhooks[1], Some(events[0].id)).await.unwrap();
    }

    /// The host's pages, with each of their filters.
    async fn show_deliveries(&self) {
        let (webhooks, events) = (self.company.webhooks(), self.company.events());
        webhooks.day_counts().await.unwrap();
        for webhook in &self.webhooks {
            for status in [None, Some(DeliveryStatus::Delivered), Some(DeliveryStatus::Failed)] {
                for kind in [None, Some(EventKind::QuoteCreated.into())] {
                    let query = DeliveryQuery { status, kind, ..DeliveryQuery::default() };
                    webhooks.deliveries(*webhook, &query, 50).await.unwrap();
                }
            }
        }
        let page = events.page(&EventQuery::default(), 50).await.unwrap();
        events.page(&EventQuery::default().kind(EventKind::QuoteCreated), 50).await.unwrap();
        webhooks.delivery(self.webhooks[0], page.items[0].id).await.unwrap();
        for search in [QuoteSearch::default(), QuoteSearch::default().status(QuoteStatus::Draft)] {
            self.company.quotes().search(&search, 50).await.unwrap();
            self.company.quotes().search(&search.q("lefevre"), 50).await.unwrap();
        }
        let company = self.company.acting_as("Léa Martin").unwrap();
        company.keys().issue("CRM").await.unwrap();
        let latest = company.history().list(None, 50).await.unwrap().remove(0);
        for query in [HistoryQuery::default(), HistoryQuery::default().subject(latest.subject)] {
            company.history().page(&query, 50).await.unwrap();
        }
    }

    async fn read_pages(&self) {
        let since = Some(self.invoicing.env().now().plus_millis(-2 * 86_400_000));
        for (include_lines, status, since) in [
            (false, None, None),
            (true, Some(QuoteStatus::Draft), None),
            (true, None, since),
            (false, Some(QuoteStatus::Draft), since),
        ] {
            let window = PageWindow { since, ..PageWindow::default() };
            let page =
                self.company.quotes().list_json(&QuoteQuery { status, include_lines, window }).await.unwrap();
            assert!(page.len() > 1_000, "a page of {} bytes", page.len());
        }
        self.company.invoices().list_json(&InvoiceQuery::default()).await.unwrap();
        self.company.clients().list_json(&ClientQuery::default()).await.unwrap();
    }
}

async fn open(url: &str, clock: Arc<ManualClock>) -> Invoicing {
    // Few connections, so that each statement comes often enough on each of them.
    let place = PostgresSettings { max_connections: 3, ..PostgresSettings::new(url) };
    let settings = Settings {
        target: TargetPolicy { allow_http: true, allow_private: true },
        quota: 0,
        ..Settings::default()
    };
    let builder = Invoicing::postgres(place).document_store(Arc::new(MemoryStore::new()));
    builder.env(Env::system().with_clock(clock)).settings(settings).open().await.unwrap()
}
