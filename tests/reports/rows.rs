//! The rows of every view.

use invoicing_core::{
    EventKind, NewClient, NewCreditNote, NewLine, NewQuote, Plan, Quantity, UnitPrice, money, percent,
    quantity, unit_price,
};
use invoicing_server::{NewPayment, PaymentMethod, PaymentSource};
use invoicing_tests::{CANARY, Database, Receiver, Reply, World, on_each_database, on_postgres};
use rust_decimal::Decimal;
use serde_json::Value;
use uuid::Uuid;

use super::documented::{Kind, queries};
use super::{Expected, View};
use crate::support::api::{gallery, items, text, world};
use crate::support::{emit, hook, hook_for, payment};

/// Every view has the rows that the API and the operations tell of; how many each has.
async fn check(world: &World) -> Vec<(&'static str, usize)> {
    let expected = Expected::of(world).await;
    let mut behind = world.behind().await;
    let mut counts = Vec::new();
    for view in View::all() {
        let expected = sorted(&view, expected.rows(&view));
        let found = sorted(&view, view.rows(&mut behind).await);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{}", view.table());
        }
        assert_eq!(found.len(), expected.len(), "{}", view.table());
        for column in view.columns.iter().filter(|column| column.ends_with("_cents")) {
            let sum: i64 = expected.iter().filter_map(|row| row[*column].as_i64()).sum();
            let statement =
                format!("SELECT CAST(coalesce(sum({column}), 0) AS BIGINT) FROM {}", view.table());
            assert_eq!(behind.one::<i64>(&statement, &[]).await, sum, "{}: {column}", view.table());
        }
        counts.push((view.name, found.len()));
    }
    counts
}

/// Rows in one order, with instants in one form.
fn sorted(view: &View, mut rows: Vec<Value>) -> Vec<Value> {
    for row in &mut rows {
        for column in view.columns.iter().filter(|column| Kind::of(column) == Kind::Instant) {
            if let Some(text) = row[*column].as_str() {
                let instant = chrono::DateTime::parse_from_rfc3339(text).unwrap();
                row[*column] = instant.timestamp_millis().into();
            }
        }
    }
    rows.sort_by_cached_key(Value::to_string);
    rows
}

/// Records in every state, amounts at the ends of their ranges, and deliveries in every state.
async fn filled(db: Database) -> World {
    let world = world(db).await;
    gallery(&world).await;
    amounts(&world).await;
    Box::pin(payments(&world)).await;
    Box::pin(credit_notes(&world)).await;
    Box::pin(deliveries(&world)).await;
    world
}

/// Numbers that a conversion through floats, or one of the text, could get wrong; and large lines.
async fn amounts(world: &World) {
    let client = world.client("Amounts").await;
    let line = |quantity: &str, price: &str| {
        let (quantity, price): (Quantity, UnitPrice) = (quantity.parse().unwrap(), price.parse().unwrap());
        NewLine::new("x", quantity, price, 0)
    };
    for lines in [
        vec![line("1", "0.01")],
        vec![line("0.0001", "1"), line("1", "0.0001"), line("-0.0007", "100"), line("1", "5")],
        vec![line("1", "9999999999.99")],
        vec![line("99999999999.9999", "0.29")],
        vec![line("1", "1.15"), line("1", "2.675"), line("3", "0.1")],
        vec![line("1", "0")],
        vec![line("2.5", "48.2"); 200],
    ] {
        world.company.quotes().create(&NewQuote::empty(client).lines(lines)).await.unwrap();
    }
    let odd = NewLine::new("x", 1, unit_price!(70.07), percent!(5.55));
    let odd = NewQuote::empty(client).line(odd).retention_rate(percent!(1.25));
    world.company.quotes().create(&odd).await.unwrap();
}

/// Invoices with payments in every state.
async fn payments(world: &World) {
    let invoices = world.company.invoices();
    for (amount, is_reversed) in [("100.05", false), ("800", false), ("5000", false), ("5000", true)] {
        let quote = world.accepted().await.summary.id;
        let id = invoices.convert(quote).await.unwrap().summary.id;
        invoices.issue(id, None).await.unwrap();
        let paid = invoices.pay(id, &payment(amount, Some("VIR-1"))).await.unwrap().payment;
        let method = Some(PaymentMethod::DirectDebit);
        let other = NewPayment { method, ..NewPayment::new(1, PaymentSource::Entered) };
        invoices.pay(id, &other).await.unwrap();
        if is_reversed {
            invoices.reverse_payment(id, paid.id).await.unwrap();
        }
    }
}

/// Credit notes on an invoice that is cancelled, and on a paid one of which a part is refunded.
async fn credit_notes(world: &World) {
    let invoices = world.company.invoices();
    let issued = async || {
        let id = invoices.convert(world.accepted().await.summary.id).await.unwrap().summary.id;
        invoices.issue(id, None).await.unwrap().summary
    };
    invoices.cancel(issued().await.id).await.unwrap();
    let paid = issued().await;
    invoices.pay(paid.id, &NewPayment::new(paid.total_ttc, PaymentSource::Bank)).await.unwrap();
    let part = NewCreditNote::new("Remise").quantity(0, quantity!(2.5)).reduction("Geste", 10, money!(7.03));
    invoices.credit(paid.id, &part).await.unwrap();
    invoices.refund(paid.id, &NewPayment::new(money!(12.05), PaymentSource::Bank)).await.unwrap();
}

/// Deliveries that succeeded, failed, wait, are skipped, are to be skipped, and are to be sent again.
async fn deliveries(world: &World) {
    let receiver = Receiver::start().await;
    let failing = hook_for(&world.company, &receiver.url, &[EventKind::QuoteCreated]).await.webhook.id;
    receiver.reply_next([Reply::status(200), Reply::status(410)]);
    emit(world, 2).await;
    world.dispatch().await;
    let [disabled, removed] =
        [hook(world, &receiver.url).await.webhook.id, hook(world, &receiver.url).await.webhook.id];
    emit(world, 2).await;
    world.company.webhooks().ping(disabled).await.unwrap();
    world.company.webhooks().disable(disabled).await.unwrap();
    world.company.webhooks().remove(removed).await.unwrap();
    emit(world, 1).await;
    // As a change of many deliveries leaves them for a while: what waits is not skipped yet, and what failed is not queued.
    let wait = "
        UPDATE delivery SET status = 'pending', reason = NULL, ended_at = NULL WHERE status = 'skipped'
        AND event_id = (SELECT event_id FROM delivery WHERE status = 'skipped' ORDER BY event_id LIMIT 1)";
    assert_eq!(world.run(wait, &[]).await, 2);
    let note = "
        INSERT INTO bulk_change (company_id, webhook_id, at, after_event, until_event, since, ended_until)
        SELECT company_id, id, 5, $2, $3, 1, 9000000000000 FROM webhook WHERE id = $1";
    let range = [failing.0.into(), Uuid::nil().into(), Uuid::max().into()];
    assert_eq!(world.run(note, &range).await, 1);
}

/// Rules: REPORT-1, REPORT-3, REPORT-4
#[on_each_database]
async fn the_views_have_the_documented_columns_and_types(db: Database) {
    let world = filled(db).await;
    let database = world.database();
    let mut behind = world.behind().await;
    let names = database.either(
        "SELECT name FROM sqlite_schema WHERE type = 'view' AND name LIKE 'report%' ORDER BY 1",
        "SELECT table_name::text FROM information_schema.views
        WHERE table_schema = current_schema() AND table_name LIKE 'report%' ORDER BY 1",
    );
    let mut documented: Vec<String> = View::all().iter().map(View::table).collect();
    documented.sort_unstable();
    assert_eq!(behind.all::<String>(names, &[]).await, documented);
    for view in View::all() {
        assert_eq!(view.columns[0], "company_id", "{}", view.table());
        let columns = database.either(
            "SELECT name FROM pragma_table_info($1) ORDER BY cid",
            "SELECT column_name::text FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position",
        );
        let columns: Vec<String> = behind.all(columns, &[(&*view.table()).into()]).await;
        assert_eq!(columns, view.columns, "{}", view.table());
        for column in columns {
            let types = match database {
                Database::Sqlite => {
                    format!("SELECT DISTINCT typeof({column}) FROM {} WHERE {column} IS NOT NULL", view.table())
                }
                Database::Postgres => format!(
                    "SELECT data_type::text FROM information_schema.columns WHERE table_schema = current_schema()
                    AND table_name = '{}' AND column_name = '{column}'",
                    view.table()
                ),
            };
            let found: Vec<String> = behind.all(&types, &[]).await;
            let expected = Kind::of(&column).type_in(database);
            assert!(found.iter().all(|found| found == expected), "{}.{column}: {found:?}", view.table());
        }
    }
}

/// Rules: REPORT-2, REPORT-3
#[on_each_database]
async fn the_views_show_what_the_api_shows(db: Database) {
    let world = filled(db).await;
    let (other, _) = world.another("Other", Plan::Team).await;
    other.clients().create(&NewClient::named("Of another")).await.unwrap();
    for (view, count) in check(&world).await {
        assert!(count > 1, "{view} has {count} rows");
    }
    // A webhook was disabled, one removed, and a replay is noted.
    let mut behind = world.behind().await;
    let states = "SELECT DISTINCT concat(status, ' ', reason) FROM report_deliveries ORDER BY 1";
    let states: Vec<String> = behind.all(states, &[]).await;
    assert_eq!(states, ["delivered ", "pending ", "skipped webhook_disabled", "skipped webhook_removed"]);
}

/// Rules: REPORT-4
#[on_each_database]
async fn internal_costs_are_in_a_view_of_their_own_and_secrets_in_none(db: Database) {
    let world = filled(db).await;
    let mut behind = world.behind().await;
    for view in View::all() {
        let rows = Value::from(view.rows(&mut behind).await).to_string();
        assert_eq!(rows.contains(CANARY), view.name == "costings", "{}", view.table());
        for secret in ["isk_", "sgn_", "whsec_", "v1.", "http://"] {
            assert!(!rows.contains(secret), "{} shows {secret}…", view.table());
        }
    }
}

/// Rules: REPORT-4
#[on_postgres]
async fn nothing_can_be_written_through_a_view(db: Database) {
    let world = world(db).await;
    let writable = "SELECT table_name::text FROM information_schema.views
        WHERE table_schema = current_schema() AND table_name LIKE 'report%' AND (is_updatable = 'YES' OR is_insertable_into = 'YES')";
    let writable: Vec<String> = world.behind().await.all(writable, &[]).await;
    assert!(writable.is_empty(), "{writable:?}");
}

/// Rules: REPORT-1
#[on_each_database]
async fn the_documented_queries_run_on_either_database(db: Database) {
    let world = filled(db).await;
    let mut behind = world.behind().await;
    let queries = queries(world.company.id());
    for query in &queries {
        let rows = format!("SELECT count(*) FROM ({query}) AS report");
        assert!(behind.one::<i64>(&rows, &[]).await > 0, "{query}");
    }
    let due = format!("SELECT CAST(sum(due_cents) AS BIGINT) FROM ({}) AS report", queries[0]);
    let due: i64 = behind.one(&due, &[]).await;
    let invoices = world.get("/api/v1/invoices?limit=100").await.json;
    let is_due = |invoice: &&Value| {
        let day = invoice["dueDate"].as_str().unwrap_or_default();
        ["SENT", "OVERDUE"].contains(&text(invoice, "status")) && day.starts_with("2026-10")
    };
    let amount = |invoice: &Value| -> Decimal { invoice["amountDue"].to_string().parse().unwrap() };
    let expected: Decimal = items(&invoices).iter().filter(is_due).map(amount).sum();
    assert_eq!(Decimal::new(due, 2), expected);

    let vat = format!("SELECT CAST(sum(tva_cents) AS BIGINT) FROM ({}) AS report", queries[1]);
    let vat: i64 = behind.one(&vat, &[]).await;
    let notes = world.get("/api/v1/credit-notes?limit=100").await.json;
    let vat_of = |records: &Value| -> Decimal {
        let of_month =
            |record: &&Value| record["issueDate"].as_str().is_some_and(|day| day.starts_with("2026-10"));
        let exact = |amount: &Value| -> Decimal { amount.to_string().parse().unwrap() };
        let vat = |record: &Value| exact(&record["totalTTC"]) - exact(&record["totalHT"]);
        items(records).iter().filter(of_month).map(vat).sum()
    };
    assert_eq!(Decimal::new(vat, 2), vat_of(&invoices) - vat_of(&notes));
}
