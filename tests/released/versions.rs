//! Rows of several versions in one database: those that the sweep has not rewritten yet, and those of newer nodes during
//! a rolling upgrade.

use futures_util::future::join_all;
use invoicing_core::{
    ClientChange, ClientId, CompanyIdentity, InvoiceId, NewClient, NewQuote, ProjectId, ProjectStatus,
    QuoteId,
};
use invoicing_server::{Error, NewProject};
use invoicing_tests::{Argument, Database, World, new_quote, on_each_database, on_postgres};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::{DAY, payment};

const LISTS: [&str; 5] = [
    "/api/v1/quotes?include=lines",
    "/api/v1/quotes?since=2026-01-01T00:00:00Z",
    "/api/v1/invoices?include=lines&since=2026-01-01T00:00:00Z",
    "/api/v1/invoices?limit=1",
    "/api/v1/clients?since=2026-01-01T00:00:00Z",
];

/// Records that the sweep rewrites in several batches.
const MANY: u64 = 210;

/// A quote with its client, one with large lines, and an invoice of another one.
struct Records {
    quote: QuoteId,
    large: QuoteId,
    invoice: InvoiceId,
    client: ClientId,
}

impl Records {
    async fn create(world: &World) -> Self {
        // A name that looks like the lines in the JSON of a record.
        let client = world.client(",\"lines\":[]").await;
        let quote = world.company.quotes().create(&new_quote(client)).await.unwrap().summary;
        let accepted = world.accepted().await.summary.id;
        let invoice = world.company.invoices().convert(accepted).await.unwrap().summary.id;
        let lines = new_quote(quote.client_id).lines.into_iter().cycle().take(90).collect();
        let large = NewQuote { lines, ..NewQuote::empty(quote.client_id) };
        let large = world.company.quotes().create(&large).await.unwrap().summary.id;
        Self { quote: quote.id, large, invoice, client: quote.client_id }
    }

    /// The answers of the API about them.
    async fn answers(&self, world: &World) -> Vec<bytes::Bytes> {
        let details = [
            format!("/api/v1/quotes/{}", self.quote),
            format!("/api/v1/quotes/{}", self.large),
            format!("/api/v1/invoices/{}", self.invoice),
        ];
        let mut answers = Vec::new();
        for path in LISTS.map(str::to_owned).into_iter().chain(details) {
            let answer = world.get(&path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.json);
            answers.push(answer.bytes);
        }
        answers
    }
}

/// Makes rows such as a version before wrote them: without a field that this one has.
async fn make_older(world: &World) {
    for statement in [
        "UPDATE quote SET version = 0, summary = replace(summary, '\"externalId\":null,', '')",
        "UPDATE invoice SET version = 0, summary = replace(summary, '\"canceledAt\":null,', ''),
            detail = replace(detail, ',\"deductions\":[],\"creditNotes\":[]', '')",
        "UPDATE client SET version = 0, record = replace(record, '\"notes\":null,', '')",
    ] {
        assert!(world.run(statement, &[]).await > 0, "{statement}");
    }
}

/// Makes rows such as a newer version writes them: with a field that this one does not know.
async fn make_newer(world: &World, tables: &[&str]) {
    for table in tables {
        let column = if matches!(*table, "quote" | "invoice") { "summary" } else { "record" };
        let statement = format!(
            "UPDATE {table} SET version = version + 1, {column} = '{{\"added\":1,' || substr({column}, 2)"
        );
        assert!(world.run(&statement, &[]).await > 0, "{statement}");
    }
}

async fn older_rows(world: &World, table: &str) -> i64 {
    world.behind().await.one(&format!("SELECT count(*) FROM {table} WHERE version = 0"), &[]).await
}

/// Rules: STORED-1, STORED-2
#[on_each_database]
async fn an_older_row_is_answered_in_todays_shape_and_rewritten_by_the_sweep(db: Database) {
    let world = World::new(db).await;
    let records = Records::create(&world).await;
    // More than a batch.
    for n in 0..MANY {
        world.client(&format!("Client {n}")).await;
    }
    let before = records.answers(&world).await;
    make_older(&world).await;
    assert_eq!(records.answers(&world).await, before);
    let report = world.invoicing.sweep().await.unwrap();
    assert_eq!(report.rewritten_records, 3 + 1 + 2 + MANY, "quotes, an invoice, clients");
    assert_eq!(records.answers(&world).await, before, "no stamp has moved");
    assert_eq!(world.invoicing.sweep().await.unwrap().rewritten_records, 0);
}

/// Rules: STORED-1
#[on_each_database]
async fn a_change_of_an_older_row_stores_all_of_it_in_todays_shape(db: Database) {
    let world = World::new(db).await;
    let records = Records::create(&world).await;
    make_older(&world).await;
    world.company.quotes().link(records.quote, Some("deal-1")).await.unwrap();
    world.company.invoices().issue(records.invoice, None).await.unwrap();
    let change = ClientChange { notes: Some("Changed".into()), ..NewClient::named("Changed") };
    world.company.clients().change(records.client, &change).await.unwrap();
    assert_eq!([older_rows(&world, "quote").await, older_rows(&world, "invoice").await], [2, 0]);
    assert_eq!(older_rows(&world, "client").await, 1);
    let before = records.answers(&world).await;
    world.invoicing.sweep().await.unwrap();
    assert_eq!(records.answers(&world).await, before);
}

/// Rules: STORED-2
#[on_each_database]
async fn sweeps_at_the_same_time_and_beside_changes_rewrite_what_is_left(db: Database) {
    let world = World::new(db).await;
    let records = Records::create(&world).await;
    for n in 0..MANY {
        world.client(&format!("Client {n}")).await;
    }
    make_older(&world).await;
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let (reports, linked, issued) = tokio::join!(
        join_all((0..3).map(|_| world.invoicing.sweep())),
        quotes.link(records.quote, Some("deal-1")),
        invoices.issue(records.invoice, None),
    );
    linked.unwrap();
    issued.unwrap();
    let rewritten: u64 = reports.into_iter().map(|report| report.unwrap().rewritten_records).sum();
    assert!((2 + 2 + MANY..=3 + 1 + 2 + MANY).contains(&rewritten), "each row once: {rewritten}");
    for table in ["quote", "invoice", "client"] {
        assert_eq!(older_rows(&world, table).await, 0, "{table}");
    }
}

/// Lines that no parser reads stand for those that take long to read.
///
/// Rules: STORED-2, FAIR-8
#[on_each_database]
async fn the_lines_of_an_older_row_are_neither_read_nor_written_when_it_changes(db: Database) {
    let world = World::new(db).await;
    world.has_foreign_rows();
    let records = Records::create(&world).await;
    world.company.invoices().issue(records.invoice, None).await.unwrap();
    make_older(&world).await;
    let unreadable = "[\"as they are\"]";
    for (table, id) in [("quote", records.quote.0), ("invoice", records.invoice.0)] {
        let update = format!("UPDATE {table} SET lines = $2 WHERE id = $1");
        world.run(&update, &[id.into(), unreadable.into()]).await;
    }
    let path = format!("/api/v1/quotes/{}", records.quote);
    let linked = world.send("PATCH", &path, &json!({"externalId": "deal-1"})).await;
    assert_eq!(linked.status, 200, "{}", linked.json);
    world.advance(31 * DAY);
    let report = world.invoicing.sweep().await.unwrap();
    assert_eq!((report.overdue_invoices, report.rewritten_records), (1, 2 + 2), "{report:?}");
    make_older(&world).await;
    assert_eq!(world.invoicing.sweep().await.unwrap().rewritten_records, 3 + 1 + 2);
    for path in [path, format!("/api/v1/invoices/{}", records.invoice)] {
        let answer = world.get(&path).await.bytes;
        assert!(str::from_utf8(&answer).unwrap().contains(unreadable), "{path}");
    }
}

/// Rules: STORED-2
#[on_each_database]
async fn an_older_row_that_cannot_be_read_keeps_no_other_from_being_rewritten(db: Database) {
    let world = World::new(db).await;
    let records = Records::create(&world).await;
    make_older(&world).await;
    let broken: Argument = records.quote.0.into();
    world.run("UPDATE quote SET summary = '{' WHERE id = $1", &[broken]).await;
    let report = world.invoicing.sweep().await.unwrap();
    assert_eq!(report.rewritten_records, 2 + 1 + 2);
    assert_eq!(older_rows(&world, "quote").await, 1);
}

/// Rules: STORED-3
#[on_each_database]
async fn a_newer_row_is_answered_as_it_is_and_refuses_changes(db: Database) {
    let world = World::new(db).await;
    world.has_foreign_rows();
    let records = Records::create(&world).await;
    make_newer(&world, &["quote", "invoice", "client"]).await;
    for path in LISTS {
        for item in world.get(path).await.json["data"].as_array().unwrap() {
            assert_eq!(item["added"], 1, "{path}");
        }
    }
    let path = format!("/api/v1/quotes/{}", records.quote);
    let before = world.dump().await;
    let refused = world.send("PATCH", &path, &json!({"externalId": "deal-1"})).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (503, "storage_unavailable"));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(world.dump().await, before);
    assert_eq!(world.get(&path).await.json["added"], 1);
    assert_eq!(world.invoicing.sweep().await.unwrap().rewritten_records, 0);
}

/// Rules: STORED-3
#[on_each_database]
async fn no_operation_changes_a_row_of_a_newer_version(db: Database) {
    let world = World::new(db).await;
    let records = Records::create(&world).await;
    let company = &world.company;
    let paid = {
        let quote = world.accepted().await.summary.id;
        let id = company.invoices().convert(quote).await.unwrap().summary.id;
        company.invoices().issue(id, None).await.unwrap();
        (id, company.invoices().pay(id, &payment("10", None)).await.unwrap().payment.id)
    };
    let new = NewProject { name: "Project".into(), client_id: None, quote_ids: Vec::new() };
    let project: ProjectId = company.projects().create(&new).await.unwrap().id;
    make_newer(&world, &["quote", "invoice", "client", "payment", "project", "company"]).await;
    let before = world.dump().await;
    let change = NewClient::named("Changed");
    let identity = CompanyIdentity { phone: Some("1".into()), ..CompanyIdentity::default() };
    for refused in [
        company.quotes().send(records.quote, None).await.map(drop),
        company.quotes().edit(records.quote, &NewQuote::empty(records.client)).await.map(drop),
        company.invoices().issue(records.invoice, None).await.map(drop),
        company.invoices().reverse(paid.0, paid.1).await.map(drop),
        company.clients().change(records.client, &change).await.map(drop),
        company.projects().set_status(project, ProjectStatus::Completed).await.map(drop),
        company.set_identity(&identity).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::StorageUnavailable(_))), "{refused:?}");
    }
    assert_eq!(world.dump().await, before);
}

/// Rules: STORED-1, STORED-3
#[on_each_database]
async fn a_page_of_three_versions_completes_older_rows_and_copies_newer_ones(db: Database) {
    let world = World::new(db).await;
    world.has_foreign_rows();
    let mut ids = Vec::new();
    for name in ["Older", "Today's", "Newer"] {
        ids.push(Argument::from(world.client(name).await.0));
    }
    let older =
        "UPDATE client SET version = 0, record = replace(record, '\"notes\":null,', '') WHERE id = $1";
    world.run(older, &ids[..1]).await;
    let newer = "UPDATE client SET version = version + 1, record = '{\"added\":1,' || substr(record, 2) WHERE id = $1";
    world.run(newer, &ids[2..]).await;
    let page = world.get("/api/v1/clients?limit=3").await.json;
    let field = |name: &str| -> Vec<Value> {
        let items = page["data"].as_array().unwrap().iter();
        items.map(|item| item.get(name).cloned().unwrap_or_else(|| "missing".into())).collect()
    };
    assert_eq!(field("notes"), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(field("added"), [json!(1), json!("missing"), json!("missing")]);
    let first = world.get("/api/v1/clients?limit=1").await.json;
    assert_eq!((&first["data"][0]["added"], &first["pagination"]["hasMore"]), (&json!(1), &json!(true)));
}

/// Rules: STORED-3
#[on_postgres]
async fn a_node_without_versions_cannot_write_an_older_shape_into_a_row(db: Database) {
    let world = World::new(db).await;
    Records::create(&world).await;
    let mut connection = PgConnection::connect(world.place().url()).await.unwrap();
    // As schema 101 writes an invoice: it names no version.
    let write = "UPDATE invoice SET summary = replace(summary, ',\"retentionDue\":', ',\"removed\":')";
    let refused = sqlx::query(write).execute(&mut connection).await.unwrap_err();
    assert!(refused.to_string().contains("invoice_version"), "{refused}");
    let older = "UPDATE invoice SET version = 1";
    sqlx::query(older).execute(&mut connection).await.unwrap();
    sqlx::query(write).execute(&mut connection).await.unwrap();
}
