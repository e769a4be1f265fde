//! Promises of the store; each test runs on both databases.

#![cfg(feature = "postgres")]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use invoicing_core::{
    Client, ClientId, CompanyId, ConflictReason, CreditNote, EventKind, Invoice, NewClient, NewCompany, Plan,
    Quote, WebhookId,
};
use invoicing_test_databases::postgres;
use invoicing_test_databases::{Database, on_each_database};
#[cfg(feature = "console")]
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Row as _, sqlite::SqliteConnectOptions,
};
use tokio::sync::Notify;

use super::Postgres;
use super::UNAUDITED;
use super::claims::{ClaimLease, ClaimRequest};
use super::company::{CompanyReader, CompanyTx, Tables as _};
use super::deliveries::AllDeliveries;
use super::documents::StoredDocument as _;
use super::global::ServiceTables as _;
#[cfg(feature = "console")]
use super::history;
use super::settings::HostTask;
use super::sqlite::Sqlite;
use super::{AuditContext, Store};
use crate::config::DispatchSettings;
use crate::config::PostgresSettings;
use crate::env::Env;
use crate::error::Error;
use crate::queue::Queue;
use crate::records::{HistoryAction, Webhook};
use crate::sealing::Sealer;
use crate::secret::{self, Secret};

/// Number of changes at once: more than share a transaction.
const MANY: usize = 150;

/// A store on a fresh database, with a company.
struct Place {
    store: Store,
    env: Env,
    company: CompanyId,
    database: Fresh,
}

/// A fresh database for a store.
enum Fresh {
    File(tempfile::TempDir),
    Server(postgres::Fresh),
}

impl Fresh {
    async fn new(db: Database) -> Self {
        match db {
            Database::Sqlite => Self::File(tempfile::tempdir().unwrap()),
            Database::Postgres => Self::Server(postgres::fresh(Some(fill)).await),
        }
    }

    async fn open(&self, env: &Env) -> Store {
        match self {
            Self::File(folder) => {
                let file = Sqlite::open(&folder.path().join("invoicing.db"), env.clone(), queue(env)).await;
                Store::Sqlite(Box::new(file.unwrap()))
            }
            Self::Server(server) => Store::Postgres(open_server(server.url(), env).await),
        }
    }
}

fn queue(env: &Env) -> Arc<Queue> {
    Arc::new(Queue::new(env, &DispatchSettings::default()))
}

async fn open_server(url: &str, env: &Env) -> Postgres {
    Postgres::open(PostgresSettings::new(url), env.clone(), queue(env)).await.unwrap()
}

fn fill(url: String) -> futures_util::future::LocalBoxFuture<'static, ()> {
    Box::pin(async move { open_server(&url, &Env::system()).await.close().await })
}

async fn place(db: Database) -> Place {
    let (database, env) = (Fresh::new(db).await, Env::system());
    let store = database.open(&env).await;
    let company = add_company(&store, &env).await;
    Place { store, env, company, database }
}

async fn add_company(store: &Store, env: &Env) -> CompanyId {
    let id = CompanyId(env.uuid());
    let company = NewCompany::named("Martin", Plan::Team).create(id, env.now()).unwrap();
    store.write_service(async move |tx| tx.companies().insert(&company).await).await.unwrap();
    id
}

/// Inserts a client of this name, and ends the change.
async fn insert(tx: &mut CompanyTx<'_>, name: &str) -> Result<ClientId, Error> {
    let client = NewClient::named(name).check().unwrap().create(ClientId(tx.env().uuid()), tx.change.at());
    tx.clients().insert(&client).await?;
    tx.record_events(&[]).await?;
    Ok(client.id)
}

impl Place {
    /// The number of the company's clients.
    async fn clients(&self) -> usize {
        self.clients_of(self.company).await
    }

    async fn clients_of(&self, company: CompanyId) -> usize {
        const COUNT: &str = "SELECT count(*) FROM client WHERE company_id = $1";
        let count = async |mut tx: CompanyReader<'_>| {
            let count: i64 = tx.query(COUNT, &[]).scalar().await?;
            Ok(count)
        };
        usize::try_from(self.store.read(company, count).await.unwrap()).unwrap()
    }

    /// The database's plan for a statement of a list.
    #[cfg(feature = "console")]
    async fn plan(&self, statement: &str) -> String {
        let values = [
            ("$1", "'018f0000-0000-7000-8000-000000000000'"),
            ("$2", "9"),
            ("$3", "'018f0000-0000-7000-8000-000000000001'"),
            ("$4", "51"),
            ("$5", "'DRAFT'"),
        ];
        let statement =
            values.iter().fold(statement.to_owned(), |text, (place, value)| text.replace(place, value));
        match &self.database {
            Fresh::File(folder) => {
                let options = SqliteConnectOptions::new().filename(folder.path().join("invoicing.db"));
                let mut connection = options.read_only(true).connect().await.unwrap();
                let explain = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}")));
                let plan = explain.fetch_all(&mut connection).await.unwrap();
                connection.close().await.unwrap();
                plan.iter().map(|row| row.get::<String, _>("detail")).collect()
            }
            Fresh::Server(server) => {
                // As the service sets them for its connections.
                const SETTINGS: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off";
                let mut connection = PgConnection::connect(server.url()).await.unwrap();
                sqlx::raw_sql(SETTINGS).execute(&mut connection).await.unwrap();
                let explain = sqlx::query(AssertSqlSafe(format!("EXPLAIN {statement}")));
                let plan = explain.fetch_all(&mut connection).await.unwrap();
                plan.iter().map(|row| row.get::<String, _>(0)).collect()
            }
        }
    }

    async fn client(&self, id: ClientId) -> Result<Client, Error> {
        self.store.read(self.company, async move |mut tx| tx.clients().find(id).await).await
    }
}

#[cfg(feature = "console")]
/// Rules: SEARCH-3
#[on_each_database]
async fn lists_for_people_are_read_in_the_order_of_an_index(db: Database) {
    let place = place(db).await;
    let lists = [
        (&Quote::statements().newest, "quote"),
        (&Invoice::statements().newest, "invoice"),
        (&CreditNote::statements().newest, "credit_note"),
    ];
    for (statements, table) in lists {
        for statement in [statements.all, statements.in_status] {
            let order = if statement.contains("$5") { "status" } else { "created" };
            let (plan, index) = (place.plan(statement).await, format!("{table}_{order}"));
            assert!(plan.contains(&index), "{index}: {plan}");
            assert!(!plan.contains("Sort") && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
    let refusal = db.either(history::REFUSAL.sqlite, history::REFUSAL.postgres).replace("$2", "$3");
    let plan = place.plan(&refusal).await;
    assert!(plan.contains("history_refusal"), "{plan}");
}

#[on_each_database]
async fn a_refused_change_leaves_nothing_and_the_others_stand(db: Database) {
    let place = place(db).await;
    let changes = (0..MANY).map(|number| {
        place.store.write(place.company, UNAUDITED, [], async move |mut tx: CompanyTx<'_>| {
            insert(&mut tx, "Léa").await?;
            if number % 3 == 0 { Err(ConflictReason::KeepsChanging.into()) } else { Ok(()) }
        })
    });
    let refused = join_all(changes).await.iter().filter(|done| done.is_err()).count();
    assert_eq!((refused, place.clients().await), (MANY / 3, MANY - MANY / 3));
}

#[on_each_database]
async fn a_change_that_panics_is_an_error_and_the_others_stand(db: Database) {
    let place = place(db).await;
    let changes = (0..10).map(|number| {
        place.store.write(place.company, UNAUDITED, [], async move |mut tx: CompanyTx<'_>| {
            insert(&mut tx, "Léa").await?;
            assert!(number != 4, "a fault of the operation");
            Ok(())
        })
    });
    let done = join_all(changes).await;
    let failed: Vec<_> = done.iter().enumerate().filter(|(_, done)| done.is_err()).collect();
    assert!(matches!(failed[..], [(4, Err(Error::Internal(_)))]), "{failed:?}");
    assert_eq!(place.clients().await, 9);
}

#[on_each_database]
async fn numbers_are_given_without_gaps_though_changes_are_refused(db: Database) {
    let place = place(db).await;
    let changes = (0..MANY).map(|change| {
        place.store.write(place.company, UNAUDITED, [], async move |mut tx: CompanyTx<'_>| {
            let number = tx.quote_series(2026).allocate().await?;
            tx.record_events(&[]).await?;
            if change % 4 == 0 { Err(ConflictReason::KeepsChanging.into()) } else { Ok(number) }
        })
    });
    let mut numbers: Vec<_> = join_all(changes).await.into_iter().filter_map(Result::ok).collect();
    numbers.sort_unstable();
    let expected = (1..=numbers.len()).map(|number| format!("DEV-2026-{number:04}"));
    assert_eq!(numbers, expected.collect::<Vec<_>>());
    assert_eq!(numbers.len(), MANY - MANY.div_ceil(4));
}

#[on_each_database]
async fn a_change_reads_what_it_has_written(db: Database) {
    let place = place(db).await;
    let read = place.store.write(place.company, UNAUDITED, [], async |mut tx: CompanyTx<'_>| {
        let id = insert(&mut tx, "Léa").await?;
        let first = tx.clients().find(id).await?;
        let renamed = Client { name: "Zoé".into(), ..first.clone() };
        tx.clients().update(&renamed).await?;
        let again = Client { name: "Anna".into(), ..renamed.clone() };
        let second = tx.clients().find(id).await?;
        tx.clients().update(&again).await?;
        Ok((id, first.name, second.name, tx.clients().find(id).await?.name))
    });
    let (id, first, second, third) = read.await.unwrap();
    assert_eq!([&*first, &*second, &*third], ["Léa", "Zoé", "Anna"]);
    assert_eq!(place.client(id).await.unwrap().name, "Anna");
}

#[on_each_database]
async fn a_record_that_is_not_there_is_not_replaced(db: Database) {
    let place = place(db).await;
    let write = place.store.write(place.company, UNAUDITED, [], async |mut tx: CompanyTx<'_>| {
        let id = insert(&mut tx, "Léa").await?;
        let found = tx.clients().find(id).await?;
        let missing = Client { id: ClientId(tx.env().uuid()), ..found };
        tx.clients().update(&missing).await?;
        tx.record_events(&[]).await
    });
    assert!(write.await.is_err());
    assert_eq!(place.clients().await, 0, "nothing of the change is there");
}

#[on_each_database]
async fn a_company_reads_nothing_of_another(db: Database) {
    let place = place(db).await;
    let other = add_company(&place.store, &place.env).await;
    let insert = async |mut tx: CompanyTx<'_>| insert(&mut tx, "Léa").await;
    let id = place.store.write(other, UNAUDITED, [], insert).await.unwrap();
    assert!(matches!(place.client(id).await, Err(Error::NotFound)));
    let find = async move |mut tx: CompanyTx<'_>| tx.clients().find(id).await;
    assert!(matches!(place.store.write(place.company, UNAUDITED, [], find).await, Err(Error::NotFound)));
    assert_eq!(place.clients().await, 0);
}

#[on_each_database]
async fn a_hook_runs_once_if_the_change_is_committed(db: Database) {
    let (place, ran) = (place(db).await, Arc::new(AtomicUsize::new(0)));
    let changes = (0..MANY).map(|number| {
        let ran = Arc::clone(&ran);
        place.store.write(place.company, UNAUDITED, [], async move |mut tx: CompanyTx<'_>| {
            tx.tx.on_commit(move || _ = ran.fetch_add(1, Ordering::Relaxed));
            insert(&mut tx, "Léa").await?;
            if number % 2 == 0 { Err(ConflictReason::KeepsChanging.into()) } else { Ok(()) }
        })
    });
    let committed = join_all(changes).await.iter().filter(|done| done.is_ok()).count();
    assert_eq!((committed, ran.load(Ordering::Relaxed)), (MANY / 2, MANY / 2));
}

#[on_each_database]
async fn a_change_whose_caller_has_gone_before_it_began_does_not_run(db: Database) {
    let place = place(db).await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (has_begun, may_go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
    let first = place.store.write(place.company, UNAUDITED, [], async move |mut tx: CompanyTx<'_>| {
        has_begun.notify_one();
        may_go_on.notified().await;
        insert(&mut tx, "Léa").await
    });
    let mut first = pin!(first);
    let mut begins = pin!(begun.notified());
    tokio::select! {
        _ = &mut first => panic!("it waits"),
        () = &mut begins => {}
    }
    let insert = async |mut tx: CompanyTx<'_>| insert(&mut tx, "Zoé").await;
    let mut second = Box::pin(place.store.write(place.company, UNAUDITED, [], insert));
    assert!(second.as_mut().now_or_never().is_none());
    drop(second);
    go_on.notify_one();
    first.await.unwrap();
    place.store.write(place.company, UNAUDITED, [], insert).await.unwrap();
    assert_eq!(place.clients().await, 2);
}

#[on_each_database]
async fn changes_of_several_companies_are_committed_together_or_apart(db: Database) {
    let place = place(db).await;
    let others = join_all((0..8).map(|_| add_company(&place.store, &place.env))).await;
    let changes = others.iter().cycle().take(MANY).map(|company| {
        place.store.write(*company, UNAUDITED, [], async |mut tx: CompanyTx<'_>| insert(&mut tx, "Léa").await)
    });
    assert!(join_all(changes).await.iter().all(Result::is_ok));
    for (number, company) in others.iter().enumerate() {
        let own = (0..MANY).filter(|change| change % others.len() == number).count();
        assert_eq!(place.clients_of(*company).await, own);
    }
}

#[on_each_database]
async fn the_history_numbers_notes_of_a_company_in_the_order_of_its_changes(db: Database) {
    let place = place(db).await;
    let audit = AuditContext { actor: Some("Léa".into()), ..UNAUDITED };
    let changes = (0..MANY).map(|_| {
        let write = async |mut tx: CompanyTx<'_>| {
            let id = insert(&mut tx, "Zoé").await?;
            tx.note(HistoryAction::ClientCreated, id.0, &"Zoé").await
        };
        place.store.write(place.company, audit.clone(), [], write)
    });
    assert!(join_all(changes).await.iter().all(Result::is_ok));
    let list = async |mut tx: CompanyReader<'_>| tx.history().list(i64::MAX, 1_000).await;
    let history = place.store.read(place.company, list).await.unwrap();
    let numbers: Vec<_> = history.iter().map(|note| note.number).collect();
    let expected = (1..=i64::try_from(MANY).unwrap()).rev();
    assert_eq!(numbers, expected.collect::<Vec<_>>());
}

/// A webhook with `deliveries` due deliveries.
async fn webhook_with(place: &Place, deliveries: usize) -> WebhookId {
    let (env, id) = (place.env.clone(), WebhookId(place.env.uuid()));
    let (sealer, secret) = (Arc::new(Sealer::new(env.clone())), Secret::generate(secret::WEBHOOK, &env));
    let insert = async move |mut tx: CompanyTx<'_>| {
        let webhook = Webhook {
            id,
            url: "https://example.org/".into(),
            events: vec![EventKind::QuoteCreated],
            unknown_events: 0,
            consecutive_failures: 0,
            failing_since: None,
            disabled: None,
            created_at: tx.change.now,
            previous_secret_until: None,
            rotated_at: None,
        };
        tx.webhooks().insert(&sealer, &webhook, &secret).await
    };
    place.store.write(place.company, UNAUDITED, [], insert).await.unwrap();
    for _ in 0..deliveries {
        let ping = async move |mut tx: CompanyTx<'_>| tx.record_ping(id).await;
        place.store.write(place.company, UNAUDITED, [], ping).await.unwrap();
    }
    id
}

#[on_each_database]
async fn a_delivery_is_claimed_once_and_again_after_its_lease(db: Database) {
    let place = place(db).await;
    let webhook = webhook_with(&place, 20).await;
    let begun = place.env.now();
    let claim = async |token, after_millis| {
        let now = begun.plus_millis(after_millis);
        let lease = ClaimLease { token, now, lease_until: now.plus_millis(1_000) };
        let from = now.plus_millis(-60_000);
        let claimed = place.store.claim(lease, &[ClaimRequest { webhook, room: 4, from }]).await;
        let claimed = claimed.into_iter().map(|(_, claimed)| claimed.unwrap());
        claimed.flat_map(|claimed| claimed.jobs).map(|job| job.delivery).collect::<Vec<_>>()
    };
    let mut claimed = join_all((1..=8).map(|token| claim(token, 100))).await.concat();
    while claimed.len() < 20 {
        let more = claim(9, 100).await;
        assert!(!more.is_empty(), "{} of 20", claimed.len());
        claimed.extend(more);
    }
    claimed.sort_unstable();
    claimed.dedup();
    assert_eq!((claimed.len(), claim(10, 900).await.len()), (20, 0));
    assert_eq!(claim(11, 2_000).await.len(), 4, "the leases are over");
}

#[on_each_database]
async fn what_a_run_had_claimed_is_released_by_its_token(db: Database) {
    let place = place(db).await;
    let webhook = webhook_with(&place, 3).await;
    let now = place.env.now().plus_millis(10);
    let lease = ClaimLease { token: 7, now, lease_until: now.plus_millis(60_000) };
    let request = ClaimRequest { webhook, room: 10, from: now.plus_millis(-60_000) };
    let claimed = place.store.claim(lease, &[request]).await.remove(0).1.unwrap().jobs;
    let ids: Vec<i64> = claimed.iter().map(|job| job.delivery).collect();
    assert_eq!(ids.len(), 3);
    for (token, released) in [(8, 0), (7, 3), (7, 0)] {
        let ids = ids.clone();
        let release = async move |tx: super::ServiceTx<'_>| {
            AllDeliveries(tx.connection()).release(&ids, token, now).await
        };
        assert_eq!(place.store.write_service(release).await.unwrap(), released, "token {token}");
    }
    assert_eq!(place.store.claim(lease, &[request]).await.remove(0).1.unwrap().jobs.len(), 3);
}

#[on_each_database]
async fn a_change_of_no_company_is_there_for_all(db: Database) {
    let place = place(db).await;
    let now = place.env.now();
    let note = async move |tx: super::ServiceTx<'_>| tx.settings().note_run(HostTask::Sweep, now).await;
    place.store.write_service(note).await.unwrap();
    let ran = place.store.read_service(async |tx| tx.settings().last_run(HostTask::Sweep).await).await;
    assert_eq!(ran.unwrap(), Some(now));
}

#[on_each_database]
async fn a_store_that_is_closed_refuses_changes_and_keeps_what_it_had(db: Database) {
    let place = place(db).await;
    let insert = async |mut tx: CompanyTx<'_>| insert(&mut tx, "Léa").await;
    place.store.write(place.company, UNAUDITED, [], insert).await.unwrap();
    place.store.close().await;
    let refused = place.store.write(place.company, UNAUDITED, [], insert).await;
    assert!(matches!(refused, Err(Error::StorageUnavailable(_))), "{refused:?}");
    let store = place.database.open(&place.env).await;
    assert_eq!(Place { store, ..place }.clients().await, 1);
}
