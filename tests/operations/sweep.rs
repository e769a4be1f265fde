//! Changes because time has passed: EXPIRED, OVERDUE, idle keys, old attempts.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use invoicing_core::{InvoiceStatus, Plan, QuoteStatus, Timestamp};
use invoicing_server::{CompanyHandle, InvoiceQuery, PageWindow, QuoteQuery, SweepReport, UnreadableRecord};
use invoicing_tests::{Database, Receiver, World, on_each_database, on_postgres};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::support::{
    AT_ONCE, DAY, client_of, company_in, date, dispatch_to_the_end, draft_of, emit, events, hook,
    issued_over, nothing_happens, payment, quote_at,
};

async fn sweep(world: &World) -> SweepReport {
    world.invoicing.sweep().await.unwrap()
}

/// `Invoicing::run` sweeps, delivers, and ends when it is stopped.
#[on_each_database]
async fn run_sweeps_at_its_start_and_delivers_until_it_is_stopped(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let due = draft_of(&world.company).await;
    quotes.send(due.summary.id, Some(date("2026-09-14"))).await.unwrap();
    world.advance(DAY);
    let receiver = Receiver::start().await;
    hook(&world, &receiver.url).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let work = async {
        // Expiring emits no event that could be awaited.
        while quotes.get(due.summary.id).await.unwrap().summary.status != QuoteStatus::Expired {
            sleep(Duration::from_millis(10)).await;
        }
        draft_of(&world.company).await;
        assert!(receiver.wait_for(1, Duration::from_secs(20)).await);
        stop.send(()).unwrap();
    };
    let until = async {
        let _ = stopped.await;
    };
    let both = Box::pin(async { tokio::join!(world.invoicing.run(until), work) });
    let (report, ()) = timeout(Duration::from_secs(40), both).await.unwrap();
    assert_eq!(report.unwrap().delivered, 1);
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn since(stamp: Timestamp) -> PageWindow {
    PageWindow { since: Some(stamp), limit: 100, offset: 0 }
}

async fn quotes_since(company: &CompanyHandle, stamp: Timestamp) -> Vec<(QuoteStatus, Timestamp)> {
    let query = QuoteQuery { window: since(stamp), ..QuoteQuery::default() };
    let page = company.quotes().list(&query).await.unwrap();
    page.data.iter().map(|quote| (quote.summary.status, quote.summary.updated_at)).collect()
}

/// Rules: QUOTE-7
#[on_each_database]
async fn a_quote_expires_when_its_last_day_is_over_in_the_company_s_zone(db: Database) {
    let world = World::new(db).await;
    let mut quotes = Vec::new();
    for zone in ["Pacific/Auckland", "Europe/Paris", "America/Los_Angeles"] {
        let company = company_in(&world, zone).await;
        let draft = draft_of(&company).await;
        company.quotes().send(draft.summary.id, Some(date("2026-09-20"))).await.unwrap();
        quotes.push((company, draft.summary.id));
    }
    // The end of 2026-09-20 in each of the zones, and the number of quotes that have expired then.
    let cases = [
        ("2026-09-20T11:59:59.990Z", 0),
        ("2026-09-20T12:00:00.000Z", 1),
        ("2026-09-20T21:59:59.990Z", 1),
        ("2026-09-20T22:00:00.000Z", 2),
        ("2026-09-21T06:59:59.990Z", 2),
        ("2026-09-21T07:00:00.000Z", 3),
    ];
    let mut before = 0;
    for (now, expired) in cases {
        world.clock.set(at(now));
        assert_eq!(sweep(&world).await.expired_quotes, expired - before, "{now}");
        before = expired;
        for (n, (company, id)) in quotes.iter().enumerate() {
            let status = company.quotes().get(*id).await.unwrap().summary.status;
            let expected = if (n as u64) < expired { QuoteStatus::Expired } else { QuoteStatus::Sent };
            assert_eq!(status, expected, "{now}");
        }
    }
}

/// Rules: INVOICE-5
#[on_each_database]
async fn an_invoice_is_overdue_after_its_last_day_in_the_company_s_zone(db: Database) {
    let world = World::new(db).await;
    let mut invoices = Vec::new();
    for zone in ["Pacific/Auckland", "Europe/Paris"] {
        let company = company_in(&world, zone).await;
        invoices.push((issued_over(&company, "10").await.summary.id, company));
    }
    for (now, overdue) in [
        // Auckland has summer time by then: UTC+13.
        ("2026-10-14T10:59:59.990Z", 0),
        ("2026-10-14T11:00:00.000Z", 1),
        ("2026-10-14T21:59:59.990Z", 0),
        ("2026-10-14T22:00:00.000Z", 1),
    ] {
        world.clock.set(at(now));
        assert_eq!(sweep(&world).await.overdue_invoices, overdue, "{now}");
    }
    for (id, company) in invoices {
        assert_eq!(company.invoices().get(id).await.unwrap().summary.status, InvoiceStatus::Overdue);
    }
}

/// Rules: STATE-4
#[on_each_database]
async fn a_sweep_stores_changes_that_since_shows_and_a_second_does_nothing(db: Database) {
    let world = World::new(db).await;
    let quote = world.sent().await;
    let invoice = issued_over(&world.company, "10").await;
    let seen = events(&world.company).await.len();
    world.advance(31 * DAY);
    let before = world.now();
    assert!(quotes_since(&world.company, before).await.is_empty(), "nothing is computed when read");
    assert_eq!(world.company.quotes().get(quote.summary.id).await.unwrap().summary.status, QuoteStatus::Sent);
    let report = sweep(&world).await;
    assert_eq!((report.expired_quotes, report.overdue_invoices), (1, 1));
    let quotes = quotes_since(&world.company, before).await;
    assert_eq!(quotes.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [QuoteStatus::Expired]);
    let query = InvoiceQuery { window: since(before), ..InvoiceQuery::default() };
    let page = world.company.invoices().list(&query).await.unwrap();
    assert_eq!(page.data.len(), 1);
    assert_eq!(
        (page.data[0].summary.id, page.data[0].summary.status),
        (invoice.summary.id, InvoiceStatus::Overdue)
    );
    assert!(page.as_of >= page.data[0].summary.updated_at && page.as_of >= quotes[0].1);
    assert_eq!(events(&world.company).await.len(), seen, "a sweep is silent");
    assert_eq!(nothing_happens(&world, world.invoicing.sweep()).await, SweepReport::default());
}

/// Rules: QUOTE-7, INVOICE-5
#[on_each_database]
async fn only_what_is_sent_expires_or_falls_overdue(db: Database) {
    let world = World::new(db).await;
    for status in [QuoteStatus::Draft, QuoteStatus::Accepted, QuoteStatus::Rejected] {
        crate::support::quote_in(&world, status).await;
    }
    for status in [InvoiceStatus::Draft, InvoiceStatus::Paid, InvoiceStatus::Canceled] {
        crate::support::invoice_in(&world, status).await;
    }
    world.advance(80 * DAY);
    assert_eq!(nothing_happens(&world, world.invoicing.sweep()).await, SweepReport::default());
}

/// Rules: INVOICE-5
#[on_each_database]
async fn an_invoice_is_overdue_only_while_something_is_due(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let nothing = issued_over(&world.company, "0").await;
    let half = issued_over(&world.company, "10").await;
    invoices.pay(half.summary.id, &payment("9.99", None)).await.unwrap();
    let whole = issued_over(&world.company, "10").await;
    invoices.pay(whole.summary.id, &payment("10", None)).await.unwrap();
    world.advance(31 * DAY);
    assert_eq!(sweep(&world).await.overdue_invoices, 1);
    let status = async |id| invoices.get(id).await.unwrap().summary.status;
    assert_eq!(status(nothing.summary.id).await, InvoiceStatus::Paid, "over nothing: never overdue");
    assert_eq!(status(half.summary.id).await, InvoiceStatus::Overdue);
    assert_eq!(status(whole.summary.id).await, InvoiceStatus::Paid);
    // A payment of the last cent on an overdue invoice.
    let paid = invoices.pay(half.summary.id, &payment("0.01", None)).await.unwrap();
    assert_eq!(paid.invoice.summary.status, InvoiceStatus::Paid);
}

/// The results of `count` calls, at most `AT_ONCE` at a time: of more, some would wait for the company in vain on a
/// busy machine.
async fn each_of<T>(count: usize, call: impl AsyncFn() -> T) -> Vec<T> {
    stream::iter(0..count).map(|_| call()).buffered(AT_ONCE).collect().await
}

/// Rules: QUOTE-7, INVOICE-5
#[on_each_database]
async fn more_records_than_one_transaction_takes_are_all_swept(db: Database) {
    let world = World::new(db).await;
    let client = client_of(&world.company).await;
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let sent = each_of(230, async || {
        let quote = quotes.create(&quote_at(client, "1")).await.unwrap();
        quotes.send(quote.summary.id, Some(date("2026-09-14"))).await.unwrap().summary.id
    })
    .await;
    let issued = each_of(110, async || {
        let quote = quotes.create(&quote_at(client, "1")).await.unwrap();
        quotes.accept(quote.summary.id).await.unwrap();
        let invoice = invoices.convert(quote.summary.id).await.unwrap();
        invoices.issue(invoice.summary.id, Some(date("2026-09-14"))).await.unwrap().summary.id
    })
    .await;
    let (other, _) = world.another("Autre", Plan::Starter).await;
    let draft = draft_of(&other).await;
    other.quotes().send(draft.summary.id, Some(date("2026-09-14"))).await.unwrap();
    world.advance(DAY);
    let report = sweep(&world).await;
    assert_eq!((report.expired_quotes, report.overdue_invoices), (231, 110));
    for id in sent {
        assert_eq!(quotes.get(id).await.unwrap().summary.status, QuoteStatus::Expired);
    }
    for id in issued {
        assert_eq!(invoices.get(id).await.unwrap().summary.status, InvoiceStatus::Overdue);
    }
    assert_eq!(sweep(&world).await, SweepReport::default());
}

/// Rules: STATE-2
#[on_each_database]
async fn sweeps_at_the_same_time_and_beside_operations_do_each_thing_once(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let mut sent = Vec::new();
    for _ in 0..20 {
        sent.push(world.sent().await.summary.id);
    }
    world.advance(31 * DAY);
    let (reports, accepted) = tokio::join!(
        join_all((0..4).map(|_| world.invoicing.sweep())),
        join_all(sent.iter().map(|id| quotes.accept(*id)))
    );
    assert!(accepted.iter().all(Result::is_ok), "EXPIRED and SENT can both be accepted");
    let expired: u64 = reports.into_iter().map(|report| report.unwrap().expired_quotes).sum();
    assert!(expired <= 20, "{expired}");
    for id in sent {
        assert_eq!(quotes.get(id).await.unwrap().summary.status, QuoteStatus::Accepted);
    }
}

/// Rules: KEY-4
#[on_each_database]
async fn a_key_that_was_idle_for_more_than_90_days_is_revoked_for_good(db: Database) {
    let world = World::new(db).await;
    let unused = world.company.keys().issue("unused").await.unwrap();
    world.advance(DAY);
    assert_eq!(world.get("/api/v1/quotes").await.status, 200);
    world.advance(89 * DAY);
    assert_eq!(sweep(&world).await.revoked_keys, 0, "90 days exactly");
    world.advance(Duration::from_millis(1));
    assert_eq!(sweep(&world).await.revoked_keys, 1);
    let keys = world.company.keys().list().await.unwrap();
    let revoked = keys.iter().find(|key| key.id == unused.record.id).unwrap();
    assert_eq!(revoked.revoked_at, Some(world.now()));
    let call =
        async |key: &str| world.call("GET", "/api/v1/quotes", Some(key), &[], bytes::Bytes::new()).await;
    assert_eq!(call(unused.key.reveal()).await.status, 401);
    // The key that was used a day later is good for a day more, and its use counts.
    assert_eq!(call(&world.key).await.status, 200);
    world.advance(89 * DAY);
    sweep(&world).await;
    assert_eq!(call(&world.key).await.status, 200);
    world.advance(90 * DAY + Duration::from_secs(61));
    assert_eq!(sweep(&world).await.revoked_keys, 1);
    assert_eq!(call(&world.key).await.status, 401);
    // The revocation stands although the clock is set back.
    world.clock.set(at("2026-09-15T00:00:00.000Z"));
    assert_eq!(call(unused.key.reveal()).await.status, 401);
}

/// Rules: KEY-4
#[on_each_database]
async fn an_idle_key_is_refused_also_before_a_sweep_has_run(db: Database) {
    let world = World::new(db).await;
    world.advance(90 * DAY + Duration::from_millis(1));
    assert_eq!(world.get("/api/v1/quotes").await.status, 401);
    let keys = world.company.keys().list().await.unwrap();
    assert!(keys[0].revoked_at.is_some());
}

/// A row of each kind is unreadable: it delays no other row.
///
/// Rules: STATE-5
#[on_each_database]
async fn unreadable_rows_keep_nothing_else_from_being_swept_and_are_named(db: Database) {
    let world = World::new(db).await;
    let (bad_quote, quote) = (world.sent().await.summary.id, world.sent().await.summary.id);
    let bad_invoice = issued_over(&world.company, "10").await.summary.id;
    let invoice = issued_over(&world.company, "10").await.summary.id;
    let (bad_company, _) = world.another("Illisible", Plan::Team).await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let other_quote = draft_of(&other).await.summary.id;
    other.quotes().send(other_quote, None).await.unwrap();
    world.run("UPDATE quote SET summary = '' WHERE id = $1", &[bad_quote.0.into()]).await;
    world.run("UPDATE invoice SET summary = '' WHERE id = $1", &[bad_invoice.0.into()]).await;
    let (bad_id, other_id) = (bad_company.id(), other.id());
    drop((bad_company, other));
    let world = world.reopen().await;
    world.run("UPDATE company SET record = '' WHERE id = $1", &[bad_id.0.into()]).await;
    world.advance(91 * DAY);
    let report = sweep(&world).await;
    assert_eq!((report.expired_quotes, report.overdue_invoices, report.revoked_keys), (2, 1, 2));
    let company = &world.company;
    assert_eq!(company.quotes().get(quote).await.unwrap().summary.status, QuoteStatus::Expired);
    assert_eq!(company.invoices().get(invoice).await.unwrap().summary.status, InvoiceStatus::Overdue);
    let other = world.invoicing.company(other_id);
    assert_eq!(other.quotes().get(other_quote).await.unwrap().summary.status, QuoteStatus::Expired);
    let named: Vec<_> = report.unreadable.iter().map(|record| format!("{record:?}")).collect();
    assert_eq!(named.len(), 4, "{named:?}");
    let is_key =
        |record: &UnreadableRecord| matches!(record, UnreadableRecord::Key(company, _) if *company == bad_id);
    assert!(report.unreadable.iter().any(is_key), "{named:?}");
    for record in [
        UnreadableRecord::Company(bad_id),
        UnreadableRecord::Quote(company.id(), bad_quote),
        UnreadableRecord::Invoice(company.id(), bad_invoice),
    ] {
        assert!(report.unreadable.contains(&record), "{record:?} is not in {named:?}");
    }
}

/// Rules: STATE-5
#[on_each_database]
async fn many_unreadable_rows_do_not_keep_later_ones_from_the_sweep(db: Database) {
    let world = World::new(db).await;
    let client = client_of(&world.company).await;
    let quotes = world.company.quotes();
    let sent = async |day: &str| {
        let quote = quotes.create(&quote_at(client, "1")).await.unwrap().summary.id;
        quotes.send(quote, Some(date(day))).await.unwrap().summary.id
    };
    each_of(120, async || sent("2026-09-15").await).await;
    world.run("UPDATE quote SET summary = ''", &[]).await;
    let (first, last) = (sent("2026-09-14").await, sent("2026-09-16").await);
    world.advance(4 * DAY);
    let report = sweep(&world).await;
    assert_eq!((report.expired_quotes, report.unreadable.len()), (2, 120));
    for id in [first, last] {
        assert_eq!(quotes.get(id).await.unwrap().summary.status, QuoteStatus::Expired);
    }
}

/// A server may look up the commit status of a transaction within minutes; it is kept for an hour.
#[on_postgres]
async fn the_commit_status_of_old_transactions_is_deleted(db: Database) {
    let world = World::new(db).await;
    let rows = async || -> HashSet<String> {
        world.behind().await.all("SELECT id::text FROM commit_status", &[]).await.into_iter().collect()
    };
    // The schema was made by the system's clock, which may be ahead of the test's.
    let of_schema = rows().await;
    emit(&world, 20).await;
    let committed = &rows().await - &of_schema;
    assert!(!committed.is_empty());
    world.advance(Duration::from_mins(59));
    sweep(&world).await;
    assert!(rows().await.is_superset(&committed), "a commit of an hour ago may be asked for");
    world.advance(Duration::from_mins(2));
    sweep(&world).await;
    assert!(rows().await.is_disjoint(&committed));
}

/// Rules: LOG-3
#[on_each_database]
async fn attempts_are_kept_for_30_days_and_then_deleted_in_batches(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    emit(&world, 230).await;
    dispatch_to_the_end(&world).await;
    let log = async || world.company.webhooks().log(id, 1_000).await.unwrap();
    let all = log().await;
    assert_eq!(all.len(), 230);
    world.clock.set(all[0].at.plus_millis(1_000));
    emit(&world, 1).await;
    world.dispatch().await;
    world.clock.set(all[0].at.plus_millis(30 * 86_400_000));
    assert_eq!(sweep(&world).await.pruned_attempts, 0, "30 days exactly");
    world.advance(Duration::from_millis(1));
    assert_eq!(sweep(&world).await.pruned_attempts, 230);
    assert_eq!(log().await.len(), 1, "the later one stays");
    // Deliveries and events stay, with their number of attempts.
    for event in events(&world.company).await {
        let found = crate::support::delivery(&world, event.id, id).await;
        assert_eq!((found.status.as_str(), found.attempts), ("delivered", 1));
    }
    assert_eq!(sweep(&world).await, SweepReport::default());
}
