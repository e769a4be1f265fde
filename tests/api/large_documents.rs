//! Quotes and invoices with large lines: what is refused, what it costs, and that no other company waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use invoicing_core::internal::page_limit;
use invoicing_core::{
    Invoice, InvoiceId, Line, MAX_LINES_BYTES, NewClient, NewLine, NewQuote, Plan, Quote, QuoteId, UnitPrice,
};
use invoicing_server::{Body, CompanyHandle, Error};
use invoicing_tests::{Database, World, on_each_database, tell};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::api::{INVOICES, QUOTES, items, payment, read, text, world};
use crate::support::{DAY, refused};

const MIB: usize = 1024 * 1024;

/// So many lines of a little more than `bytes` each, of 4 bytes per character.
fn lines(count: usize, bytes: usize) -> Vec<NewLine> {
    let line = json!({"description": "𝄞".repeat(bytes / 4), "quantity": 1, "unitPrice": 10, "tvaRate": 20});
    vec![serde_json::from_value(line).unwrap(); count]
}

/// So many lines of 1.5 KiB each, of a letter that a document can show.
fn text_of(letter: &str, count: usize) -> Vec<NewLine> {
    let line = json!({"description": letter.repeat(1_500), "quantity": 1, "unitPrice": 10, "tvaRate": 20});
    vec![serde_json::from_value(line).unwrap(); count]
}

/// The longest lines that a quote may have, nearly.
fn longest() -> Vec<NewLine> {
    lines(MAX_LINES_BYTES / 8_200, 8_000)
}

async fn draft(company: &CompanyHandle, lines: Vec<NewLine>) -> Quote {
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.unwrap().id;
    company.quotes().create(&NewQuote { lines, ..NewQuote::empty(client) }).await.unwrap()
}

async fn answer(world: &World, path: &str, key: &str) -> Response<Body> {
    let request = Request::get(path).header("authorization", format!("Bearer {key}"));
    world.invoicing.service().answer(request.body(Full::<Bytes>::default()).unwrap()).await
}

/// Status and bytes of an answer that takes long to parse.
async fn get(world: &World, path: &str) -> (StatusCode, Bytes) {
    let answer = answer(world, path, &world.key).await;
    (answer.status(), answer.into_body().collect().await.unwrap().to_bytes())
}

/// Status of an answer, and the limit that its refusal names.
async fn limit_that_works(world: &World, path: &str) -> Option<u32> {
    let answer = world.get(path).await;
    crate::support::api::refused(&answer, "limit", path);
    page_limit::parse(answer.message())
}

/// Rules: RECORD-12
#[on_each_database]
async fn lines_of_more_than_2_mib_are_refused_and_leave_no_trace(db: Database) {
    let world = world(db).await;
    let quote = draft(&world.company, longest()).await;
    let client = quote.summary.client_id;
    let too_many = NewQuote { lines: lines(MAX_LINES_BYTES / 8_000, 8_000), ..NewQuote::empty(client) };
    let quotes = world.company.quotes();
    for refusal in [
        refused(&world, "create", quotes.create(&too_many)).await,
        refused(&world, "edit", quotes.edit(quote.summary.id, &too_many)).await,
    ] {
        assert!(matches!(&refusal, Error::Invalid(invalid) if invalid.field == "lines"), "{refusal:?}");
    }
}

/// Rules: LIST-25
#[on_each_database]
async fn a_page_of_more_than_16_mib_is_refused_with_the_limit_that_works(db: Database) {
    let world = world(db).await;
    for _ in 0..8 {
        draft(&world.company, longest()).await;
    }
    // The eight fit, and an item without large lines would be the ninth.
    let page = format!("{QUOTES}?include=lines");
    let (status, bytes) = get(&world, &page).await;
    assert_eq!(status, StatusCode::OK);
    assert!((15 * MIB..16 * MIB).contains(&bytes.len()), "{}", bytes.len());
    let ninth = draft(&world.company, longest()).await;
    for filter in ["", "&limit=9", "&limit=100", "&status=DRAFT", "&since=2000-01-01T00:00:00Z"] {
        assert_eq!(limit_that_works(&world, &format!("{page}{filter}")).await, Some(8), "{filter}");
    }
    assert_eq!(items(&read(&world, QUOTES).await).len(), 9);
    // Later records than the page are not counted.
    let (status, bytes) = get(&world, &format!("{page}&limit=8&offset=0")).await;
    assert_eq!((status, bytes.ends_with(b"}")), (StatusCode::OK, true));
    let tail = String::from_utf8_lossy(&bytes[bytes.len() - 120..]).into_owned();
    assert!(tail.contains(r#""pagination":{"limit":8,"offset":0,"hasMore":true}"#), "{tail}");
    let page = read(&world, &format!("{page}&limit=1")).await;
    assert_eq!(items(&page)[0]["lines"], serde_json::to_value(&ninth.lines).unwrap());
}

/// Makes the large lines of a record larger, in a table behind the service's back: the first one again and again.
async fn enlarge(world: &World, table: &str, id: Uuid, line: &Line, bytes: usize) {
    let line = serde_json::to_string(line).unwrap();
    let lines = format!("[{}]", vec![line.as_str(); bytes / line.len()].join(","));
    let update = |table, id| format!("UPDATE {table} SET lines = $2 WHERE {id} = $1");
    if world.database() == Database::Sqlite {
        let size = i64::try_from(lines.len()).unwrap();
        world.run(&update("large_lines", "document_id"), &[id.into(), (&*lines).into()]).await;
        let update = format!("UPDATE {table} SET lines_bytes = $2 WHERE id = $1");
        world.run(&update, &[id.into(), size.into()]).await;
    } else {
        world.run(&update(table, "id"), &[id.into(), (&*lines).into()]).await;
    }
}

/// Rules: LIST-25
#[on_each_database]
async fn a_page_of_one_record_is_never_refused(db: Database) {
    let world = world(db).await;
    let old = draft(&world.company, lines(2, 8_000)).await;
    // Larger than any that is accepted.
    enlarge(&world, "quote", old.summary.id.0, &old.lines[0], 18 * MIB).await;
    for path in [format!("{QUOTES}?include=lines"), format!("{QUOTES}/{}", old.summary.id)] {
        let (status, bytes) = get(&world, &path).await;
        assert!(status == StatusCode::OK && bytes.len() > 17 * MIB, "{path}: {status}, {}", bytes.len());
    }
    draft(&world.company, Vec::new()).await;
    let page = format!("{QUOTES}?include=lines");
    assert_eq!(limit_that_works(&world, &page).await, Some(1));
    assert_eq!(get(&world, &format!("{page}&limit=1")).await.0, StatusCode::OK);
    assert_eq!(get(&world, &format!("{page}&limit=1&offset=1")).await.0, StatusCode::OK);
}

/// Rules: FAIR-1, LIST-25
#[on_each_database]
async fn a_record_larger_than_the_budget_is_served_beside_others(db: Database) {
    let world = World::on(db)
        .settings(|settings| {
            settings.quota = 0;
            settings.requests.buffered_bytes = 16 * MIB;
        })
        .open()
        .await;
    let old = draft(&world.company, lines(2, 8_000)).await;
    enlarge(&world, "quote", old.summary.id.0, &old.lines[0], 18 * MIB).await;
    let (other, key) = world.another("Other", Plan::Team).await;
    let others = format!("{QUOTES}/{}", draft(&other, longest()).await.summary.id);
    for path in [format!("{QUOTES}?include=lines"), format!("{QUOTES}/{}", old.summary.id)] {
        let beside = answer(&world, &others, &key).await;
        let (status, bytes) = get(&world, &path).await;
        assert!(status == StatusCode::OK && bytes.len() > 17 * MIB, "{path}: {status}, {}", bytes.len());
        assert!(beside.into_body().collect().await.unwrap().to_bytes().len() > MIB);
    }
}

/// Rules: LIST-8, LIST-25
#[on_each_database]
async fn a_page_with_large_lines_shows_one_moment(db: Database) {
    const QUOTES_ON_PAGE: usize = 40;
    const PAGES: usize = 10;
    let world = world(db).await;
    let mut drafts = Vec::new();
    for _ in 0..QUOTES_ON_PAGE {
        drafts.push(draft(&world.company, lines(2, 8_000)).await);
    }
    let (company, is_read) = (world.company.clone(), Arc::new(AtomicBool::new(false)));
    let done = Arc::clone(&is_read);
    let mut changes = JoinSet::new();
    // Each change moves the price of the lines, the total and the stamp.
    changes.spawn(async move {
        for (round, quote) in (1..).zip(drafts.iter().cycle()) {
            if done.load(Ordering::SeqCst) {
                return round;
            }
            let mut lines = lines(2, 8_000);
            for line in &mut lines {
                line.unit_price = UnitPrice::from(round);
            }
            let content = NewQuote { lines, ..NewQuote::empty(quote.summary.client_id) };
            company.quotes().edit(quote.summary.id, &content).await.unwrap();
        }
        unreachable!("the drafts go round")
    });
    for number in 0..PAGES {
        let filter = if number % 2 == 0 { "" } else { "&since=2000-01-01T00:00:00Z" };
        let page = read(&world, &format!("{QUOTES}?include=lines{filter}")).await;
        let number = |value: &Value| value.as_i64().unwrap();
        for item in items(&page) {
            let prices: i64 =
                item["lines"].as_array().unwrap().iter().map(|line| number(&line["unitPrice"])).sum();
            assert_eq!(number(&item["totalHT"]), prices);
        }
        let last = items(&page).iter().map(|item| text(item, "updatedAt")).max();
        assert_eq!((items(&page).len(), last), (QUOTES_ON_PAGE, Some(text(&page, "asOf"))));
    }
    is_read.store(true, Ordering::SeqCst);
    let changed: i32 = changes.join_next().await.unwrap().unwrap();
    tell("pages of large quotes", &format_args!("{PAGES} beside {changed} changes"));
}

fn item<'v>(page: &'v Value, id: &str) -> &'v Value {
    items(page).iter().find(|item| text(item, "id") == id).unwrap()
}

/// Every way to read a record of a list shows these lines, of each one.
async fn check_shown(world: &World, list: &str, expected: &[(Uuid, &[Line])]) {
    let page = read(world, &format!("{list}?include=lines")).await;
    let changed = read(world, &format!("{list}?include=lines&since=2000-01-01T00:00:00Z")).await;
    assert_eq!([items(&page).len(), items(&changed).len()], [expected.len(); 2]);
    for (id, lines) in expected {
        let (id, lines) = (id.to_string(), serde_json::to_value(lines).unwrap());
        let detail = read(world, &format!("{list}/{id}")).await;
        for shown in [item(&page, &id), item(&changed, &id), &detail] {
            assert_eq!(shown["lines"], lines);
        }
    }
}

/// Rules: LIST-18, RECORD-2, RECORD-8
#[on_each_database]
async fn large_lines_are_shown_like_small_ones_through_every_change(db: Database) {
    let world = world(db).await;
    let (company, quotes) = (&world.company, world.company.quotes());
    let small = draft(company, text_of("s", 2)).await;
    let large = draft(company, text_of("l", 9)).await;
    let none = draft(company, Vec::new()).await;
    let check = async |quotes: [&Quote; 3]| {
        let expected = quotes.map(|quote| (quote.summary.id.0, &*quote.lines));
        check_shown(&world, QUOTES, &expected).await;
    };
    check([&none, &large, &small]).await;

    let edit = async |quote: &Quote, lines| {
        let content = NewQuote { lines, ..NewQuote::empty(quote.summary.client_id) };
        quotes.edit(quote.summary.id, &content).await.unwrap()
    };
    // From small to large and back, and from large to other large ones.
    let grown = edit(&small, text_of("g", 7)).await;
    let shrunk = edit(&large, text_of("m", 1)).await;
    check([&none, &shrunk, &grown]).await;
    let large = edit(&shrunk, text_of("n", 8)).await;
    let changed = edit(&grown, text_of("o", 6)).await;
    check([&none, &large, &changed]).await;

    let id = large.summary.id;
    quotes.link(id, Some("deal-7")).await.unwrap();
    let sent = quotes.send(id, None).await.unwrap();
    assert_eq!((&sent.lines, sent.summary.external_id.as_deref()), (&large.lines, Some("deal-7")));
    let accepted = quotes.accept(id).await.unwrap();
    assert_eq!(quotes.get(id).await.unwrap(), accepted);
    let invoice = company.invoices().convert(id).await.unwrap();
    let issued = company.invoices().issue(invoice.summary.id, None).await.unwrap();
    let paid = company.invoices().pay(invoice.summary.id, &payment("1")).await.unwrap().invoice;
    for shown in [&invoice, &issued, &paid, &company.invoices().get(invoice.summary.id).await.unwrap()] {
        assert_eq!(shown.lines, large.lines);
    }
    check_shown(&world, INVOICES, &[(invoice.summary.id.0, &large.lines)]).await;
    check([&none, &large, &changed]).await;
}

/// Rules: FAIR-7
#[on_each_database]
async fn an_answer_is_counted_before_it_is_built(db: Database) {
    // The share of a company is a quarter: three details.
    let world = World::on(db)
        .settings(|settings| {
            settings.quota = 0;
            settings.requests.buffered_bytes = 4 * 2 * MIB;
        })
        .open()
        .await;
    let quote = draft(&world.company, lines(70, 8_000)).await;
    let (other, key) = world.another("Other", Plan::Team).await;
    let others = draft(&other, lines(70, 8_000)).await;
    for path in [format!("{QUOTES}/{}", quote.summary.id), format!("{QUOTES}?include=lines")] {
        let mut unread = Vec::new();
        for _ in 0..3 {
            unread.push(answer(&world, &path, &world.key).await);
        }
        assert!(unread.iter().all(|answer| answer.status() == StatusCode::OK), "{path}");
        // Where large lines have a table of their own, it is away while none may be read.
        let rename = async |from: &str, to: &str| {
            if world.database() == Database::Sqlite {
                world.run(&format!("ALTER TABLE {from} RENAME TO {to}"), &[]).await;
            }
        };
        rename("large_lines", "hidden").await;
        let refused = world.get(&path).await;
        rename("hidden", "large_lines").await;
        assert_eq!((refused.status.as_u16(), refused.code()), (503, "overloaded"), "{path}");
        let beside = answer(&world, &format!("{QUOTES}/{}", others.summary.id), &key).await;
        assert_eq!(beside.status(), StatusCode::OK);
    }
}

/// Rules: FAIR-7
#[on_each_database]
async fn large_details_of_one_company_do_not_delay_those_of_another(db: Database) {
    const COUNT: usize = 30;
    let world = world(db).await;
    let large = format!("{QUOTES}/{}", draft(&world.company, longest()).await.summary.id);
    let (other, key) = world.another("Other", Plan::Team).await;
    let small = format!("{QUOTES}/{}", draft(&other, lines(1, 100)).await.summary.id);
    // Another process slows one round, a fault all of them.
    let mut shortest = Duration::MAX;
    for _ in 0..5 {
        shortest = shortest.min(answered_beside(&world, &large, (&small, &key), COUNT).await);
        if shortest < Duration::from_secs(1) {
            return;
        }
    }
    panic!("{shortest:?}");
}

/// The time of a small answer to another company beside many large ones.
async fn answered_beside(world: &World, large: &str, (small, key): (&str, &str), count: usize) -> Duration {
    let (read, begun) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    let mut all = JoinSet::new();
    for _ in 0..count {
        let (service, read) = (world.invoicing.service(), Arc::clone(&read));
        let request = Request::get(large).header("authorization", format!("Bearer {}", world.key));
        let request = request.body(Full::<Bytes>::default()).unwrap();
        all.spawn(async move {
            let answer = service.answer(request).await;
            // Some exceed the company's share of the memory.
            if answer.status() == StatusCode::OK {
                assert!(answer.into_body().collect().await.unwrap().to_bytes().len() > MIB);
                read.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    assert_eq!(answer(world, small, key).await.status(), StatusCode::OK);
    let elapsed = begun.elapsed();
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
    let served = read.load(Ordering::SeqCst);
    let took = begun.elapsed();
    let figures =
        format_args!("{elapsed:?} beside {served} of {count} details of 2 MiB, which took {took:?}");
    tell("another company's answer", &figures);
    elapsed
}

/// The median time of linking, of some in turn.
async fn linking(world: &World, ids: [QuoteId; 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..21 {
        for (id, times) in ids.into_iter().zip(&mut times) {
            let begun = Instant::now();
            let path = format!("{QUOTES}/{id}");
            let linked = world.send("PATCH", &path, &json!({"externalId": format!("deal-{round}")})).await;
            assert_eq!(linked.status, 200);
            times.push(begun.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

/// Lines that no parser reads stand for those that take long to read.
///
/// Rules: FAIR-8
#[on_each_database]
async fn lines_are_neither_read_nor_written_when_their_document_changes(db: Database) {
    let world = world(db).await;
    world.has_foreign_rows();
    let quote = draft(&world.company, text_of("a", 1)).await.summary.id;
    let invoice = issued(&world.company, text_of("a", 1)).await.summary.id;
    let unreadable = "[\"as they are\"]";
    for (table, id) in [("quote", quote.0), ("invoice", invoice.0)] {
        let update = format!("UPDATE {table} SET lines = $2 WHERE id = $1");
        assert_eq!(world.run(&update, &[id.into(), unreadable.into()]).await, 1);
    }
    let path = format!("{QUOTES}/{quote}");
    let linked = world.send("PATCH", &path, &json!({"externalId": "deal-1"})).await;
    assert_eq!(linked.status, 200, "{}", linked.json);
    world.advance(31 * DAY);
    assert_eq!(world.invoicing.sweep().await.unwrap().overdue_invoices, 1);
    for path in [path, format!("/api/v1/invoices/{invoice}")] {
        let answer = world.get(&path).await.bytes;
        assert!(str::from_utf8(&answer).unwrap().contains(unreadable), "{path}");
    }
}

/// Rules: FAIR-8
#[on_each_database]
async fn linking_a_2_mib_quote_takes_at_most_3_times_as_long_as_a_small_one(db: Database) {
    let world = world(db).await;
    let small = draft(&world.company, lines(1, 100)).await.summary.id;
    let large = draft(&world.company, longest()).await.summary.id;
    let [small, large] = linking(&world, [small, large]).await;
    tell("linking a quote", &format_args!("{small:?} with one line, {large:?} with 2 MiB of them"));
    assert!(large <= 3 * small, "{large:?} instead of {small:?}");
}

/// An issued invoice.
async fn issued(company: &CompanyHandle, lines: Vec<NewLine>) -> Invoice {
    let quote = draft(company, lines).await.summary.id;
    company.quotes().accept(quote).await.unwrap();
    let invoice = company.invoices().convert(quote).await.unwrap();
    company.invoices().issue(invoice.summary.id, None).await.unwrap()
}

/// Time of changes of one company while another one changes these documents.
async fn beside_changes(
    world: &World,
    company: &CompanyHandle,
    (quote, invoice): (QuoteId, InvoiceId),
) -> Duration {
    const CHANGES: usize = 15;
    let mut changes = JoinSet::new();
    for number in 0..CHANGES {
        let other = world.company.clone();
        changes.spawn(async move {
            let deal = format!("deal-{number}");
            other.quotes().link(quote, Some(&deal)).await.unwrap();
            if number % 5 == 0 {
                other.invoices().pay(invoice, &payment("0.01")).await.unwrap();
            }
        });
    }
    let begun = Instant::now();
    for number in 0..CHANGES {
        company.clients().create(&NewClient::named(format!("Client {number}"))).await.unwrap();
    }
    let elapsed = begun.elapsed();
    while let Some(done) = changes.join_next().await {
        done.unwrap();
    }
    elapsed
}

/// Rules: FAIR-8
#[on_each_database]
async fn changes_of_large_documents_do_not_hold_those_of_another_company(db: Database) {
    const ROUNDS: usize = 5;
    let world = world(db).await;
    let (company, (other, _)) = (&world.company, world.another("Other", Plan::Team).await);
    let mut documents = Vec::new();
    for is_large in [false, true] {
        let quote = draft(company, if is_large { longest() } else { lines(1, 100) }).await.summary.id;
        let invoice = issued(company, text_of("a", 6)).await;
        if is_large {
            enlarge(&world, "invoice", invoice.summary.id.0, &invoice.lines[0], 2 * MIB).await;
        }
        documents.push((quote, invoice.summary.id));
    }
    // The shortest of some in turn, as other tests run beside this one.
    let [mut small, mut large] = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (documents, shortest) in documents.iter().zip([&mut small, &mut large]) {
            *shortest = beside_changes(&world, &other, *documents).await.min(*shortest);
        }
    }
    tell(
        "another company's changes",
        &format_args!("{small:?} beside small documents, {large:?} beside large"),
    );
    // The lines of payments are parsed on the same cores.
    assert!(large <= 3 * small + Duration::from_millis(250), "{large:?} instead of {small:?}");
}
