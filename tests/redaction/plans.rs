//! The index that serves each list, detail, sweep and search, by the plans of both databases for the statements that were
//! logged. An index that none of them names serves nothing.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::PoisonError;
use std::time::Duration;

use invoicing_core::{EventKind, InvoiceStatus, NewCreditNote, QuoteStatus, money};
use invoicing_server::{
    ClientQuery, CreditNoteQuery, DeliveryQuery, EventQuery, HistoryQuery, InvoiceQuery, NewPayment,
    NewProject, NewWebhook, PageWindow, PaymentSource, QuoteQuery, QuoteSearch,
};
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row, SqliteConnection};

use crate::TURN;
use crate::log_capture::LogCapture;

/// The tables that grow with the business: none is read from one end to the other. A company has few keys and webhooks.
const LARGE: [&str; 17] = [
    "attempt",
    "client",
    "credit_note",
    "delivery",
    "event",
    "frozen_file",
    "history",
    "invoice",
    "large_lines",
    "payment",
    "project",
    "proof",
    "quote",
    "quote_costing",
    "signing_link",
    "spent_form",
    "upload",
];
/// Indexes of pages of the console, which no operation of a host reads: see `store/tests`.
const OF_PAGES: [&str; 1] = ["history_refusal"];

/// A connection that explains statements.
enum Explaining {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Explaining {
    async fn connect(world: &World) -> Self {
        match world.database() {
            Database::Sqlite => {
                let url = format!("sqlite://{}", world.place().file().display());
                Self::Sqlite(SqliteConnection::connect(&url).await.unwrap())
            }
            Database::Postgres => {
                // As the service sets them for its connections; and the plan that is kept for all arguments.
                const SETTINGS: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; \
                     SET plan_cache_mode = force_generic_plan";
                let mut connection = PgConnection::connect(world.place().url()).await.unwrap();
                connection.execute(SETTINGS).await.unwrap();
                Self::Postgres(connection)
            }
        }
    }

    /// The lines of the plan.
    async fn explain(&mut self, statement: &str) -> Vec<String> {
        match self {
            Self::Sqlite(connection) => {
                let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
                let rows = sqlx::query(explain).fetch_all(connection).await.unwrap();
                rows.iter().map(|row| row.get("detail")).collect()
            }
            Self::Postgres(connection) => {
                const COUNT: &str = "SELECT coalesce(cardinality(parameter_types), 0) FROM pg_prepared_statements \
                     WHERE name = 'explained'";
                prepare(connection, statement).await;
                let count: i32 = sqlx::query_scalar(COUNT).fetch_one(&mut *connection).await.unwrap();
                let nulls = vec!["NULL"; usize::try_from(count).unwrap()].join(", ");
                let arguments = if nulls.is_empty() { nulls } else { format!("({nulls})") };
                let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE explained{arguments}"));
                let rows = sqlx::raw_sql(explain).fetch_all(&mut *connection).await.unwrap();
                connection.execute("DEALLOCATE explained").await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// Every index of the schema.
    async fn indexes(&mut self) -> BTreeSet<String> {
        let names: Vec<String> = match self {
            Self::Sqlite(connection) => {
                let names = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
                sqlx::query_scalar(names).fetch_all(connection).await.unwrap()
            }
            Self::Postgres(connection) => {
                let names = "SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
                     WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisprimary";
                sqlx::query_scalar(names).fetch_all(connection).await.unwrap()
            }
        };
        names.into_iter().collect()
    }
}

/// Prepares a statement as `explained`. A parameter whose type its place does not tell is a text, or what it is compared with.
async fn prepare(connection: &mut PgConnection, statement: &str) {
    let mut types = Vec::new();
    let mut untold = 0;
    loop {
        let list = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
        let prepare = AssertSqlSafe(format!("PREPARE explained {list} AS {statement}"));
        let Err(error) = connection.execute(prepare).await else { return };
        let message = error.as_database_error().unwrap().message();
        if let Some(parameter) = message.strip_prefix("could not determine data type of parameter $") {
            untold = parameter.parse::<usize>().unwrap();
            types.resize(types.len().max(untold), "unknown".to_owned());
            "text".clone_into(&mut types[untold - 1]);
        } else if let Some(compared) = message.strip_prefix("operator does not exist: ") {
            compared.split(' ').next().unwrap().clone_into(&mut types[untold - 1]);
        } else {
            panic!("{message}: {statement}");
        }
    }
}

/// The plans so far.
struct Plans<'l> {
    capture: &'l LogCapture,
    explaining: Explaining,
    /// The indexes that they name.
    named: BTreeSet<String>,
}

impl Plans<'_> {
    /// Runs an operation, whose statements must be served by an index.
    async fn check<T, E: Debug>(
        &mut self,
        what: &str,
        index: &str,
        run: impl Future<Output = Result<T, E>>,
    ) -> T {
        let before = self.capture.log().len();
        let done = run.await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let statements = statements(&self.capture.log()[before..]);
        assert!(!statements.is_empty(), "{what}: no statement was logged");
        let mut plans = Vec::new();
        for statement in statements {
            let plan = self.explaining.explain(&statement).await;
            for line in &plan {
                assert!(!is_whole(line), "{what}: {line}\n{statement}\n{plan:#?}");
                self.named.extend(named(line).map(str::to_owned));
            }
            plans.push((statement, plan));
        }
        let serves = |line: &String| named(line).any(|name| name == index);
        assert!(plans.iter().any(|(_, plan)| plan.iter().any(serves)), "{what}: not by {index}: {plans:#?}");
        done
    }
}

/// The statements that a log names, each once, without those that make or alter tables, and those that only insert.
fn statements(log: &str) -> BTreeSet<String> {
    const MARK: &str = "db.statement=\"\\n\\n";
    let logged = log.split(MARK).skip(1).filter_map(|rest| rest.split_once("\\n\" rows_affected"));
    let texts = logged.map(|(text, _)| {
        text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\")
    });
    let explained = |text: &String| {
        let text = text.trim();
        ["SELECT", "WITH", "UPDATE", "DELETE"].iter().any(|start| text.starts_with(start))
            && !text.contains(';')
    };
    texts.filter(explained).collect()
}

/// True if a line of a plan reads a large table from one end to the other.
fn is_whole(line: &str) -> bool {
    let scan = line.split_once("Seq Scan on ").or_else(|| line.split_once("SCAN "));
    let table = scan.and_then(|(_, rest)| rest.split_whitespace().next());
    table.is_some_and(|table| LARGE.contains(&table)) && !line.contains(" USING ")
}

/// The names of indexes in a line of a plan.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect::<Vec<_>>();
    let after = |window: &[&str]| matches!(window[0], "INDEX" | "using");
    let pairs: Vec<_> = words.windows(2).filter(|window| after(window)).map(|window| window[1]).collect();
    let keys = line.contains("PRIMARY KEY").then_some("PRIMARY KEY");
    pairs.into_iter().chain(keys)
}

/// The key of a table that SQLite keeps in the order of its key.
fn own(db: Database, table: &str) -> String {
    db.either("PRIMARY KEY".to_owned(), format!("{table}_pkey"))
}

/// The key of a table, by its name on this database.
fn key(db: Database, table: &str) -> String {
    db.either(format!("sqlite_autoindex_{table}_1"), format!("{table}_pkey"))
}

#[on_each_database]
fn every_list_detail_sweep_and_search_is_served_by_its_index(db: Database) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(explain_all(db, &LogCapture::anew()));
}

async fn explain_all(db: Database, capture: &LogCapture) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let explaining = Explaining::connect(&world).await;
    let mut plans = Plans { capture, explaining, named: BTreeSet::new() };
    let invoicing = &world.invoicing;
    let company = world.company.acting_as("Léa Martin").unwrap();
    let (quotes, invoices, notes) = (company.quotes(), company.invoices(), company.credit_notes());
    let clients = company.clients();
    let since = PageWindow { since: Some(world.now().plus_millis(-1)), ..PageWindow::default() };

    let sent = world.sent().await.summary;
    let signing_link = quotes.create_signing_link(sent.id).await.unwrap();
    let accepted = world.accepted().await.summary;
    let invoice = invoices.convert(accepted.id).await.unwrap().summary.id;
    invoices.issue(invoice, None).await.unwrap();
    let payment = NewPayment::new(money!(1), PaymentSource::Bank).movement_id("M1");

    if db == Database::Postgres {
        fill(&world).await;
    }

    let request = async { Ok::<_, String>(world.get("/api/v1/clients").await) };
    plans.check("the key of a request", "api_key_hash", request).await;

    // Quotes.
    plans.check("a quote", &key(db, "quote"), quotes.get_json(sent.id)).await;
    plans.check("a record of a quote", &key(db, "quote"), quotes.get(sent.id)).await;
    plans.check("the quotes", "quote_created", quotes.list_json(&QuoteQuery::default())).await;
    let in_status = QuoteQuery { status: Some(QuoteStatus::Sent), ..QuoteQuery::default() };
    plans.check("the quotes in a status", "quote_status", quotes.list_json(&in_status)).await;
    let changed = QuoteQuery { window: since, status: Some(QuoteStatus::Sent), ..QuoteQuery::default() };
    plans.check("the quotes since", "quote_updated", quotes.list_json(&changed)).await;
    plans
        .check("a search for quotes", "quote_created", quotes.search(&QuoteSearch::default().q("a"), 10))
        .await;
    let search = QuoteSearch::default().status(QuoteStatus::Sent);
    plans.check("a search in a status", "quote_status", quotes.search(&search, 10)).await;
    plans.check("the links of a quote", &own(db, "signing_link"), quotes.signing_links(sent.id)).await;
    let open = invoicing.signing_links();
    plans.check("a signing page", "signing_link_token", open.open(signing_link.reveal())).await;

    // Invoices, payments and credit notes.
    plans.check("an invoice", &key(db, "invoice"), invoices.get_json(invoice)).await;
    plans.check("the invoices", "invoice_created", invoices.list_json(&InvoiceQuery::default())).await;
    let in_status = InvoiceQuery { status: Some(InvoiceStatus::Sent), ..InvoiceQuery::default() };
    plans.check("the invoices in a status", "invoice_status", invoices.list_json(&in_status)).await;
    let changed = InvoiceQuery { window: since, ..InvoiceQuery::default() };
    plans.check("the invoices since", "invoice_updated", invoices.list_json(&changed)).await;
    plans
        .check("the invoice of a quote", "invoice_quote", async {
            invoices.convert(accepted.id).await.map(drop).or_else(|error| match error {
                invoicing_server::Error::Conflict(_) => Ok(()),
                error => Err(error),
            })
        })
        .await;
    plans.check("a payment of a movement", "payment_movement", invoices.pay(invoice, &payment)).await;
    let part = NewCreditNote::of_remaining("Erreur");
    let note = plans.check("what is credited", "credit_note_invoice", invoices.credit(invoice, &part)).await;
    plans.check("a credit note", &key(db, "credit_note"), notes.get_json(note.summary.id)).await;
    plans
        .check("the credit notes", "credit_note_created", notes.list_json(&CreditNoteQuery::default()))
        .await;
    let changed = CreditNoteQuery::default().window(since);
    plans.check("the credit notes since", "credit_note_updated", notes.list_json(&changed)).await;

    // Clients.
    plans.check("a client", &key(db, "client"), clients.get(sent.client_id)).await;
    plans.check("the clients", "client_created", clients.list_json(&ClientQuery::default())).await;
    plans
        .check("a search for clients", "client_created", clients.list_json(&ClientQuery::default().q("a b")))
        .await;
    let changed = ClientQuery::default().window(since);
    plans.check("the clients since", "client_updated", clients.list_json(&changed)).await;
    let sought = ClientQuery::default().external_id("crm-1");
    plans.check("a client by its id elsewhere", "client_external_id", clients.list_json(&sought)).await;

    deliveries(&world, &mut plans).await;

    // The sweep, of a quote whose validity has ended and an invoice that is overdue.
    world.advance(Duration::from_hours(24 * 40));
    plans.check("the sweep of quotes", "quote_last_day", invoicing.sweep()).await;
    plans.check("the sweep of invoices", "invoice_last_day", invoicing.sweep()).await;

    let unnamed: Vec<_> = plans.explaining.indexes().await.into_iter().collect();
    let unnamed: Vec<_> = unnamed
        .iter()
        .filter(|index| !plans.named.contains(*index) && !OF_PAGES.contains(&index.as_str()))
        .collect();
    assert!(unnamed.is_empty(), "these indexes serve nothing: {unnamed:?}");
}

/// Many copies of the records as drafts: of small tables, PostgreSQL finds any index as good as any other.
async fn fill(world: &World) {
    for (table, changes) in [
        ("quote", "'status', 'DRAFT'"),
        ("invoice", "'status', 'DRAFT', 'quote_id', gen_random_uuid()"),
        ("client", "'external_id', i::text"),
        ("event", "'kind', 'quote.created'"),
    ] {
        let copies = format!(
            "INSERT INTO {table} SELECT (jsonb_populate_record(t, to_jsonb(t) || jsonb_build_object(
                'id', gen_random_uuid(), 'created_at', i, 'updated_at', i, 'timestamp', i, {changes}
            ))).* FROM {table} t, generate_series(1, 2000) i WHERE t.ctid = (SELECT min(ctid) FROM {table})"
        );
        world.run(&copies, &[]).await;
        world.run(&format!("ANALYZE {table}"), &[]).await;
    }
}

/// Webhooks and their deliveries: attempted, failed, replayed, counted.
async fn deliveries(world: &World, plans: &mut Plans<'_>) {
    let company = &world.company;
    let db = world.database();
    let (webhooks, events, history) = (company.webhooks(), company.events(), company.history());
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(410));
    let new = NewWebhook { url: receiver.url.clone(), events: vec![EventKind::ProjectCompleted] };
    let webhook = webhooks.register(&new).await.unwrap().webhook.id;
    let new = NewProject { name: "Chantier".into(), client_id: None, quote_ids: Vec::new() };
    let complete = async || {
        let project = company.projects().create(&new).await?.id;
        company.projects().set_status(project, invoicing_core::ProjectStatus::Completed).await
    };
    complete().await.unwrap();
    let dispatcher = world.invoicing.dispatcher();
    plans.check("attempts that are recorded", "webhook_id", dispatcher.run_once()).await;
    receiver.reply_always(Reply::status(503));
    complete().await.unwrap();
    plans.check("deliveries that have begun", "delivery_begun", dispatcher.run_once()).await;
    plans.check("claims of deliveries", "delivery_due", dispatcher.run_once()).await;
    plans.check("a replay", "delivery_replay", webhooks.replay(webhook, None)).await;
    plans.check("what failed of late", "delivery_failed", webhooks.day_counts()).await;
    let query = DeliveryQuery::default();
    plans.check("deliveries", &own(db, "event"), webhooks.deliveries(webhook, &query, 10)).await;
    plans.check("the attempts", &own(db, "attempt"), webhooks.log(webhook, 10)).await;
    plans.check("the events", &own(db, "event"), events.page(&EventQuery::default(), 10)).await;
    plans.check("the history", &own(db, "history"), history.page(&HistoryQuery::default(), 10)).await;
}
