//! Lists in pages, while records are added and changed.

use std::fmt::Debug;
use std::str::FromStr;

use http::StatusCode;
use invoicing_core::{ClientId, CreditNoteId, InvoiceId, InvoiceStatus, NewCreditNote, QuoteId, money};
use invoicing_server::{ConsoleRole, InvoiceQuery, PageWindow};
use invoicing_tests::{Database, World, on_each_database};
use uuid::Uuid;

use super::{Browser, PREFIX, Shown};
use crate::support::{issued_over, taxed_quote_at};

/// Items of a page.
const ITEMS: usize = 50;
/// Records at the beginning: three pages.
const RECORDS: usize = 2 * ITEMS + 10;

/// The pages of a list, each requested after something has happened since the one before.
async fn pages(browser: &Browser, path: &str, mut meanwhile: impl AsyncFnMut(usize)) -> Vec<Shown> {
    let mut pages = vec![browser.get(path).await];
    while let Some(next) = pages.last().and_then(Shown::next_page) {
        meanwhile(pages.len()).await;
        pages.push(browser.get(&next).await);
    }
    pages
}

/// The records in the table of a page, in its order.
fn on<T: FromStr<Err: Debug>>(page: &Shown, path: &str) -> Vec<T> {
    assert_eq!(page.status, StatusCode::OK, "{}", page.html);
    let (links, start) = (page.page().attrs("td a", "href"), format!("{PREFIX}{path}"));
    links.iter().filter_map(|link| link.strip_prefix(&start)).map(|id| id.parse().unwrap()).collect()
}

/// The ids of a list, page by page; no page is too long.
fn listed<T: FromStr<Err: Debug>>(pages: &[Shown], path: &str) -> Vec<T> {
    let bounded = |page: &Shown| {
        let ids = on(page, path);
        assert!(ids.len() <= ITEMS, "{} items", ids.len());
        ids
    };
    pages.iter().flat_map(bounded).collect()
}

async fn draft(world: &World, client: ClientId) -> InvoiceId {
    world.company.invoices().create_direct(&taxed_quote_at(client, "10")).await.unwrap().summary.id
}

async fn issue(world: &World, id: InvoiceId) {
    world.company.invoices().issue(id, None).await.unwrap();
}

/// Rules: SEARCH-3
#[on_each_database]
async fn each_invoice_is_on_one_page_while_others_are_made(db: Database) {
    let world = World::new(db).await;
    let client = world.client("Claire Lefèvre").await;
    let mut ids = Vec::new();
    for _ in 0..RECORDS {
        ids.insert(0, draft(&world, client).await);
    }
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let walked = pages(&browser, "/invoices", async |page| {
        for _ in 0..3 {
            draft(&world, client).await;
        }
        // One on the page that was read, the last of it, and one on the page that comes.
        for place in [0, ITEMS - 1, ITEMS + 2] {
            issue(&world, ids[(page - 1) * ITEMS + place]).await;
        }
    });
    let walked = walked.await;
    assert_eq!(walked.len(), 3);
    assert_eq!(listed::<InvoiceId>(&walked, "/invoices/"), ids);
    let newest = browser.get("/invoices").await;
    assert!(!newest.page().has("nav.actions a:not([rel=next])"), "{}", newest.html);
    let back = walked[1].page().attrs("nav.actions a:not([rel=next])", "href");
    assert_eq!(back, [format!("{PREFIX}/invoices")]);

    // By state, while some leave the state: the last one of a page, and some of the next page.
    let drafts = async || {
        let query = InvoiceQuery::default().status(InvoiceStatus::Draft);
        let window = PageWindow::default().limit(100);
        let (first, second) = (query.window(window), query.window(window.offset(100)));
        let invoices = world.company.invoices();
        let lists = [invoices.list(&first).await.unwrap().data, invoices.list(&second).await.unwrap().data];
        lists.into_iter().flatten().map(|invoice| invoice.summary.id).collect::<Vec<_>>()
    };
    let before = drafts().await;
    let gone = [before[ITEMS - 1], before[ITEMS], before[ITEMS + 3]];
    let walked = pages(&browser, "/invoices?status=DRAFT", async |page| {
        draft(&world, client).await;
        if page == 1 {
            for id in gone {
                issue(&world, id).await;
            }
        }
    });
    let walked = walked.await;
    let expected: Vec<_> =
        before.iter().copied().filter(|id| *id == before[ITEMS - 1] || !gone.contains(id)).collect();
    assert_eq!(listed::<InvoiceId>(&walked, "/invoices/"), expected);
    let back = walked[1].page().attrs("nav.actions a:not([rel=next])", "href");
    assert_eq!(back, [format!("{PREFIX}/invoices?status=DRAFT")]);
}

/// Rules: SEARCH-3
#[on_each_database]
async fn each_credit_note_is_on_one_page_while_others_are_made(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "1000").await.summary.id;
    let credit = async || {
        let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(1));
        world.company.invoices().credit(invoice, &part).await.unwrap().summary.id
    };
    let mut ids = Vec::new();
    for _ in 0..RECORDS {
        ids.insert(0, credit().await);
    }
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let walked = pages(&browser, "/credit-notes", async |_| {
        for _ in 0..3 {
            credit().await;
        }
    });
    let walked = walked.await;
    assert_eq!(walked.len(), 3);
    assert_eq!(listed::<CreditNoteId>(&walked, "/credit-notes/"), ids);
}

/// Rules: SEARCH-3
#[on_each_database]
async fn each_quote_is_on_one_page_while_others_are_made(db: Database) {
    let world = World::new(db).await;
    let (quotes, client) = (world.company.quotes(), world.client("Claire Lefèvre").await);
    let create = async || quotes.create(&taxed_quote_at(client, "10")).await.unwrap().summary.id;
    let mut ids = Vec::new();
    for _ in 0..RECORDS {
        ids.insert(0, create().await);
    }
    let browser = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    for (place, path) in ["/quotes", "/quotes?q=lefevre"].into_iter().enumerate() {
        let walked = pages(&browser, path, async |page| {
            create().await;
            quotes.send(ids[page * ITEMS + place], None).await.unwrap();
        });
        let listed: Vec<QuoteId> = listed(&walked.await, "/quotes/");
        assert_eq!(listed.into_iter().filter(|id| ids.contains(id)).collect::<Vec<_>>(), ids, "{path}");
    }
}

/// Rules: SEARCH-3
#[on_each_database]
async fn a_list_goes_on_only_behind_a_record_of_its_company(db: Database) {
    let world = World::new(db).await;
    let invoice = issued_over(&world.company, "100").await.summary.id;
    let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(1));
    let note = world.company.invoices().credit(invoice, &part).await.unwrap().summary.id;
    let quote = world.draft().await.summary.id;
    let (other, _) = world.another("Other", invoicing_core::Plan::Team).await;
    let own = Browser::of(&world.invoicing, world.company.id(), ConsoleRole::Full);
    let other = Browser::of(&world.invoicing, other.id(), ConsoleRole::Full);
    let records = [("/invoices", invoice.0), ("/credit-notes", note.0), ("/quotes", quote.0)];
    for (path, id) in records {
        let behind = format!("{path}?before={id}");
        assert_eq!(own.get(&behind).await.status, StatusCode::OK, "{behind}");
        assert_eq!(other.get(&behind).await.status, StatusCode::NOT_FOUND, "{behind}");
        let unknown = format!("{path}?before={}", Uuid::nil());
        assert_eq!(own.get(&unknown).await.status, StatusCode::NOT_FOUND, "{unknown}");
        for wrong in ["x", "-1", "50", "99999999999"] {
            let wrong = format!("{path}?before={wrong}");
            assert_eq!(own.get(&wrong).await.status, StatusCode::BAD_REQUEST, "{wrong}");
        }
    }
}
