//! Numbers without gaps, in order of time; money that is exact.

use chrono::NaiveDate;
use futures_util::future::join_all;
use invoicing_core::{
    Invoice, InvoiceId, Money, NewCreditNote, NewQuote, Percent, Plan, QuoteImport, QuoteStatus, money,
};
use invoicing_server::{CompanyHandle, PageWindow, QuoteQuery};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use serde_json::json;

use crate::support::{
    DAY, accepted_of, client_of, company_in, date, draft_of, invalid, issued_over, quote_at,
};

/// The numbers of all quotes in the order of their creation.
async fn quote_numbers(company: &CompanyHandle) -> Vec<String> {
    let mut quotes = Vec::new();
    loop {
        let window = PageWindow { limit: 100, offset: quotes.len() as u64, since: None };
        let page = company.quotes().list(&QuoteQuery { window, ..QuoteQuery::default() }).await.unwrap();
        quotes.extend(page.data);
        if !page.pagination.has_more {
            break;
        }
    }
    quotes.sort_by_key(|quote| (quote.summary.updated_at, quote.summary.id));
    quotes.into_iter().map(|quote| quote.summary.number).collect()
}

fn expected(prefix: &str, count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("{prefix}-2026-{n:04}")).collect()
}

/// Rules: NUMBER-1, NUMBER-2
#[on_each_database]
async fn numbers_have_a_series_per_company_kind_and_year_of_its_zone(db: Database) {
    let world = World::new(db).await;
    let (paris, auckland) =
        (company_in(&world, "Europe/Paris").await, company_in(&world, "Pacific/Auckland").await);
    // In Auckland (UTC+13 in summer) the new year begins at 11:00 UTC, in Paris at 23:00.
    let cases = [
        ("2026-12-31T10:59:59.000Z", "DEV-2026-0001", "DEV-2026-0001"),
        ("2026-12-31T11:00:00.000Z", "DEV-2026-0002", "DEV-2027-0001"),
        ("2026-12-31T22:59:59.000Z", "DEV-2026-0003", "DEV-2027-0002"),
        ("2026-12-31T23:00:00.000Z", "DEV-2027-0001", "DEV-2027-0003"),
    ];
    for (now, in_paris, in_auckland) in cases {
        world.clock.set(now.parse().unwrap());
        assert_eq!(draft_of(&paris).await.summary.number, in_paris, "{now}");
        assert_eq!(draft_of(&auckland).await.summary.number, in_auckland, "{now}");
    }
    let quote = accepted_of(&paris).await;
    let invoice = paris.invoices().convert(quote.summary.id).await.unwrap();
    assert_eq!(
        paris.invoices().issue(invoice.summary.id, None).await.unwrap().summary.number.as_deref(),
        Some("FAC-2027-0001")
    );
}

/// The number, the date and the due date of the next invoice.
async fn next_issued(company: &CompanyHandle) -> (String, NaiveDate, NaiveDate) {
    let Invoice { summary, .. } = issued_over(company, "100").await;
    (summary.number.unwrap(), summary.issue_date.unwrap(), summary.due_date.unwrap())
}

fn issued(number: &str, on: &str, due: &str) -> (String, NaiveDate, NaiveDate) {
    (number.to_owned(), date(on), date(due))
}

/// Rules: NUMBER-4, NUMBER-6, INVOICE-2, INVOICE-14
#[on_each_database]
async fn an_issue_date_is_never_before_the_last_one_of_its_series(db: Database) {
    let world = World::new(db).await;
    let (company, right) = (&world.company, world.now());
    assert_eq!(next_issued(company).await, issued("FAC-2026-0001", "2026-09-14", "2026-10-14"));
    world.advance(3 * DAY);
    assert_eq!(next_issued(company).await, issued("FAC-2026-0002", "2026-09-17", "2026-10-17"));
    world.clock.set(right);
    assert_eq!(next_issued(company).await, issued("FAC-2026-0003", "2026-09-17", "2026-10-17"));

    // A draft that is marked paid is issued in the same way; a due date counts from the date that is used.
    let draft = |quote| async move { company.invoices().convert(quote).await.unwrap().summary.id };
    let marked = draft(accepted_of(company).await.summary.id).await;
    let marked = company.invoices().mark_paid(marked).await.unwrap().summary;
    assert_eq!(
        (marked.number.as_deref(), marked.issue_date),
        (Some("FAC-2026-0004"), Some(date("2026-09-17")))
    );
    let early = draft(accepted_of(company).await.summary.id).await;
    let refused = company.invoices().issue(early, Some(date("2026-09-16"))).await.unwrap_err().to_string();
    assert!(refused.starts_with("dueDate: must not be before the issue date, 2026-09-17,"), "{refused}");

    let other = company_in(&world, "Europe/Paris").await;
    assert_eq!(next_issued(&other).await, issued("FAC-2026-0001", "2026-09-14", "2026-10-14"));
    world.advance(4 * DAY);
    assert_eq!(next_issued(company).await, issued("FAC-2026-0005", "2026-09-18", "2026-10-18"));
}

/// Rules: NUMBER-6, NUMBER-8
#[on_each_database]
async fn a_credit_note_is_dated_before_neither_its_invoice_nor_the_last_one(db: Database) {
    let world = World::new(db).await;
    let (invoices, right) = (world.company.invoices(), world.now());
    let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(10));
    let credit = async |id: InvoiceId| {
        let note = invoices.credit(id, &part).await.unwrap().summary;
        (note.number, note.issue_date)
    };
    let avo = |number: &str, on: &str| (number.to_owned(), date(on));
    let early = issued_over(&world.company, "100").await.summary.id;
    world.advance(4 * DAY);
    let late = issued_over(&world.company, "100").await.summary.id;
    // The clock goes back two days: not before the invoice that is credited.
    world.clock.set(right);
    world.advance(2 * DAY);
    assert_eq!(credit(late).await, avo("AVO-2026-0001", "2026-09-18"));
    // Nor before the last credit note, whichever invoice that one is about.
    assert_eq!(credit(early).await, avo("AVO-2026-0002", "2026-09-18"));
    let canceled = invoices.cancel(early).await.unwrap().detail.credit_notes;
    assert_eq!(canceled.last().map(|note| &*note.number), Some("AVO-2026-0003"));
    let last = world.company.credit_notes().get(canceled.last().unwrap().id).await.unwrap().summary;
    assert_eq!(last.issue_date, date("2026-09-18"));
    world.clock.set(right);
    world.advance(5 * DAY);
    assert_eq!(credit(late).await, avo("AVO-2026-0004", "2026-09-19"));
}

/// Elsewhere drafts have numbers, and a deleted one leaves a gap.
///
/// See frappe/erpnext#8765, odoo/odoo#81869 and invoiceninja/invoiceninja#2395.
///
/// Rules: NUMBER-3
#[on_each_database]
async fn a_cancelled_draft_leaves_no_gap(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let quote = accepted_of(&world.company).await.summary.id;
    let draft = invoices.convert(quote).await.unwrap().summary;
    let canceled = invoices.cancel(draft.id).await.unwrap();
    assert_eq!((draft.number, canceled.summary.number), (None, None));
    assert_eq!(canceled.detail.credit_notes.len(), 0, "nothing was invoiced");
    let next = invoices.convert(quote).await.unwrap().summary.id;
    let next = invoices.issue(next, None).await.unwrap().summary;
    assert_eq!(next.number.as_deref(), Some("FAC-2026-0001"));
    let canceled = invoices.cancel(next.id).await.unwrap();
    assert_eq!(canceled.detail.credit_notes[0].number, "AVO-2026-0001");
}

/// Rules: NUMBER-2, NUMBER-6
#[on_each_database]
async fn a_clock_set_back_over_new_year_continues_the_series_of_its_year(db: Database) {
    let world = World::new(db).await;
    world.clock.set("2026-12-31T12:00:00Z".parse().unwrap());
    assert_eq!(next_issued(&world.company).await, issued("FAC-2026-0001", "2026-12-31", "2027-01-30"));
    world.advance(DAY);
    assert_eq!(next_issued(&world.company).await, issued("FAC-2027-0001", "2027-01-01", "2027-01-31"));
    world.clock.set("2026-12-30T12:00:00Z".parse().unwrap());
    assert_eq!(next_issued(&world.company).await, issued("FAC-2026-0002", "2026-12-31", "2027-01-30"));
}

/// Rules: NUMBER-3, NUMBER-4
#[on_each_database]
async fn concurrent_quote_numbers_are_gapless_in_order_despite_refusals(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let good = new_quote(world.client("x").await);
    let too_much_retention = NewQuote { retention_rate: Percent::from(6), ..good.clone() };
    let absent = NewQuote { client_id: invoicing_core::ClientId(uuid::Uuid::nil()), ..good.clone() };
    let import = QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
    let work = (0..60).map(|n| {
        let (good, bad, absent, import) = (&good, &too_much_retention, &absent, &import);
        async move {
            match n % 5 {
                0 => quotes.create(bad).await,
                1 => quotes.create(absent).await,
                2 => quotes.import(good, import).await,
                _ => quotes.create(good).await,
            }
        }
    });
    let made = join_all(work).await.into_iter().flatten().count();
    assert_eq!(made, 36);
    assert_eq!(quote_numbers(&world.company).await, expected("DEV", made));
}

/// Rules: NUMBER-3
#[on_each_database]
async fn a_document_store_that_fails_now_and_then_leaves_no_gap(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let good = new_quote(world.client("x").await);
    let import = QuoteImport { status: QuoteStatus::Rejected, sent_at: None, accepted_at: None };
    let mut made = 0;
    for round in 0..6 {
        world.documents.fail(round % 2 == 0);
        let (a, b, c) =
            tokio::join!(quotes.import(&good, &import), quotes.create(&good), quotes.import(&good, &import));
        assert!(b.is_ok());
        assert_eq!((a.is_ok(), c.is_ok()), (round % 2 == 1, round % 2 == 1), "{a:?} {c:?}");
        made += [a, b, c].iter().filter(|result| result.is_ok()).count();
    }
    assert_eq!(quote_numbers(&world.company).await, expected("DEV", made));
}

/// Rules: NUMBER-5
#[on_each_database]
async fn simultaneous_imports_all_get_a_number_and_a_document_that_shows_it(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let good = new_quote(world.client("x").await);
    let import = QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
    let made = join_all((0..12).map(|_| quotes.import(&good, &import))).await;
    let failed: Vec<_> = made.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(failed.is_empty(), "{} of 12 gave up: {failed:?}", failed.len());
    assert_eq!(quote_numbers(&world.company).await, expected("DEV", 12));
    for quote in made.into_iter().flatten() {
        let document = quotes.open_document(quote.summary.id).await.unwrap();
        assert_eq!(document.file_name, format!("{}.pdf", quote.summary.number));
    }
}

/// Rules: NUMBER-3
#[on_each_database]
async fn concurrent_invoice_numbers_are_gapless_in_order_despite_refusals(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let client = client_of(&world.company).await;
    let mut drafts = Vec::new();
    for _ in 0..30 {
        let quote = world.company.quotes().create(&quote_at(client, "10")).await.unwrap();
        world.company.quotes().accept(quote.summary.id).await.unwrap();
        drafts.push(invoices.convert(quote.summary.id).await.unwrap().summary.id);
    }
    let work = drafts.iter().enumerate().flat_map(|(n, id)| {
        // Each gets two calls at once: one issues it; the other has a refused date for a third of them, and marks a
        // third paid.
        [(n % 3, *id), (2, *id)]
    });
    let results = join_all(work.map(|(kind, id)| async move {
        match kind {
            0 => invoices.issue(id, Some(date("2020-01-01"))).await,
            1 => invoices.mark_paid(id).await,
            _ => invoices.issue(id, None).await,
        }
    }))
    .await;
    assert!(results.iter().any(Result::is_err));
    let mut issued = Vec::new();
    for id in drafts {
        issued.push(invoices.get(id).await.unwrap());
    }
    let payments: usize = {
        let mut sum = 0;
        for invoice in &issued {
            sum += invoices.payments(invoice.summary.id).await.unwrap().len();
        }
        sum
    };
    let paid = issued.iter().filter(|invoice| invoice.summary.status.as_str() == "PAID").count();
    assert_eq!(payments, paid, "each is marked paid at most once");
    let mut numbers: Vec<String> =
        issued.iter().map(|invoice| invoice.summary.number.clone().unwrap()).collect();
    numbers.sort();
    assert_eq!(numbers, expected("FAC", 30));
}

/// Rules: NUMBER-4, INVOICE-7
#[on_each_database]
async fn invoice_numbers_follow_the_order_of_issue(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let mut drafts = Vec::new();
    for _ in 0..4 {
        let quote = accepted_of(&world.company).await;
        drafts.push(invoices.convert(quote.summary.id).await.unwrap().summary.id);
    }
    let mut last = None;
    for (place, id) in [drafts[2], drafts[0], drafts[3], drafts[1]].into_iter().enumerate() {
        world.advance(crate::support::DAY);
        let invoice = invoices.issue(id, None).await.unwrap();
        assert_eq!(invoice.summary.number, Some(format!("FAC-2026-{:04}", place + 1)));
        assert!(invoice.summary.issue_date > last);
        last = invoice.summary.issue_date;
    }
    invoices.cancel(drafts[0]).await.unwrap();
    let quote = accepted_of(&world.company).await;
    let next = invoices.convert(quote.summary.id).await.unwrap();
    let next = invoices.issue(next.summary.id, None).await.unwrap();
    assert_eq!(next.summary.number.as_deref(), Some("FAC-2026-0005"), "a cancelled invoice keeps its number");
}

/// Rules: NUMBER-2
#[on_each_database]
async fn numbers_of_companies_are_independent(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre", Plan::Pro).await;
    for n in 1..=3 {
        assert_eq!(draft_of(&world.company).await.summary.number, format!("DEV-2026-000{n}"));
        assert_eq!(draft_of(&other).await.summary.number, format!("DEV-2026-000{n}"));
    }
}

/// Rules: MONEY-1, MONEY-3, MONEY-10, MONEY-11
#[on_each_database]
async fn totals_are_rounded_per_line_and_per_rate(db: Database) {
    let world = World::new(db).await;
    let quote = world.accepted().await;
    let detail = world.get(&format!("/api/v1/quotes/{}", quote.summary.id)).await.json;
    // 12.5 × 48.2 − 50 at 10 %, and 180 at 20 %.
    assert_eq!((&detail["totalHT"], &detail["totalTTC"]), (&json!(732.5), &json!(823.75)));
    assert_eq!(detail["tvaRate"], json!(12.46));
    assert_eq!((&detail["retentionRate"], &detail["retentionAmount"]), (&json!(5), &json!(41.19)));
    let breakdown = json!([
        {"tvaRate": 10, "baseHT": 552.5, "amountTVA": 55.25},
        {"tvaRate": 20, "baseHT": 180, "amountTVA": 36},
    ]);
    assert_eq!(detail["vatBreakdown"], breakdown);
    let invoice = world.company.invoices().convert(quote.summary.id).await.unwrap();
    let detail = world.get(&format!("/api/v1/invoices/{}", invoice.summary.id)).await.json;
    assert_eq!((&detail["amountDue"], &detail["amountPaid"]), (&json!(782.56), &json!(0)));
    assert_eq!(detail["vatBreakdown"], breakdown);
}

fn with_lines(world_client: invoicing_core::ClientId, lines: serde_json::Value) -> NewQuote {
    NewQuote { lines: serde_json::from_value(lines).unwrap(), ..NewQuote::empty(world_client) }
}

/// Rules: MONEY-2, MONEY-3, MONEY-8
#[on_each_database]
async fn halves_round_away_from_zero_and_a_document_s_rate_may_be_blended(db: Database) {
    let world = World::new(db).await;
    let client = world.client("x").await;
    let quotes = world.company.quotes();
    let line = |quantity: f64, price: f64, rate: f64| json!({"description": "x", "quantity": quantity, "unitPrice": price, "tvaRate": rate});
    let cases = [
        // 0.5 cent up; VAT of the sum, not the sum of the VATs.
        (json!([line(0.5, 0.01, 20.0)]), "0.01", "0.01", "20"),
        (json!([line(1.0, 0.15, 10.0), line(1.0, 0.15, 10.0)]), "0.30", "0.33", "10"),
        (json!([line(2.0, 10.0, 0.0), line(-0.5, 0.01, 0.0)]), "19.99", "19.99", "0"),
        (json!([line(1.0, 100.0, 20.0), line(2.0, 100.0, 10.0)]), "300.00", "340.00", "13.33"),
        (json!([line(1.0, 100.0, 20.0), line(-1.0, 100.0, 10.0)]), "0.00", "10.00", "0"),
        (json!([line(0.0, 100.0, 5.5)]), "0.00", "0.00", "5.5"),
        (json!([]), "0.00", "0.00", "0"),
        (json!([line(0.3333, 0.3333, 8.5)]), "0.11", "0.12", "8.5"),
    ];
    for (lines, ht, ttc, rate) in cases {
        let quote = quotes.create(&with_lines(client, lines.clone())).await.unwrap();
        let found = (
            quote.summary.total_ht.to_string(),
            quote.summary.total_ttc.to_string(),
            quote.summary.tva_rate.to_string(),
        );
        assert_eq!(found, (ht.into(), ttc.into(), rate.into()), "{lines}");
    }
}

/// Rules: MONEY-5, MONEY-6, MONEY-7, MONEY-9, NUMBER-3
#[on_each_database]
async fn what_money_cannot_be_is_refused_and_gives_the_number_back(db: Database) {
    let world = World::new(db).await;
    let client = world.client("x").await;
    let quotes = world.company.quotes();
    let line = |quantity: f64, price: f64| json!({"description": "x", "quantity": quantity, "unitPrice": price, "tvaRate": 20});
    let draft = quotes.create(&with_lines(client, json!([line(1.0, 1.0)]))).await.unwrap();
    let refused = [
        with_lines(client, json!([line(-1.0, 1.0)])),
        with_lines(client, json!([line(1.0, 1.0), line(-1.0, 1.01)])),
        with_lines(client, json!([line(1.0, -1.0)])),
        with_lines(client, json!([line(99_999_999_999.0, 99_999_999_999.0)])),
        with_lines(client, json!(vec![line(99_999.0, 99_999_999.0); 5])),
        NewQuote { retention_rate: "5.01".parse().unwrap(), ..with_lines(client, json!([line(1.0, 1.0)])) },
        NewQuote { retention_rate: "-0.01".parse().unwrap(), ..with_lines(client, json!([line(1.0, 1.0)])) },
    ];
    for (n, new) in refused.iter().enumerate() {
        let field = if n < 5 { "lines" } else { "retentionRate" };
        invalid(&world, field, quotes.create(new)).await;
        invalid(&world, field, quotes.edit(draft.summary.id, new)).await;
    }
    for bad in [json!(1.005), json!(0.001), json!(1e13)] {
        assert!(serde_json::from_value::<Money>(bad).is_err());
    }
    let next = quotes.create(&with_lines(client, json!([line(1.0, 1.0)]))).await.unwrap();
    assert_eq!(next.summary.number, "DEV-2026-0002");
}
