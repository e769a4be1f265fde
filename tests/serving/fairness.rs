//! Callers that read nothing, of a service in any server: what they may hold, and who gives way.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use invoicing_core::{NewClient, NewCompany, Plan};
use invoicing_server::{
    Body, CompanyHandle, DocumentFile, DocumentInput, DocumentKey, DocumentRenderer, DocumentStore,
    DocumentStoreError, MemoryStore, RenderError, Settings,
};
use invoicing_tests::{Database, Place, World, new_quote, on_each_database};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// A company may have a quarter of it: fewer than three pages.
const BUDGET: usize = 4 * 1024 * 1024;
/// Longer than an answer may stand still while its company needs room.
const STALLED: Duration = Duration::from_millis(3_100);
/// Downloads of one document at once.
const DOWNLOADS: usize = 8;

async fn world(db: Database) -> World {
    World::on(db)
        .settings(|settings| {
            settings.quota = 0;
            settings.requests.buffered_bytes = BUDGET;
        })
        .open()
        .await
}

/// Fills a page of 400 KiB.
async fn fill(company: &CompanyHandle) {
    for n in 0..100 {
        let client = NewClient { notes: Some("é".repeat(2_000)), ..NewClient::named(format!("Client {n}")) };
        company.clients().create(&client).await.unwrap();
    }
}

async fn page(world: &World, key: &str) -> Response<Body> {
    page_over(Version::HTTP_11, world, key).await
}

async fn page_over(version: Version, world: &World, key: &str) -> Response<Body> {
    let request = Request::get("/api/v1/clients?limit=100").version(version);
    let request = request.header("authorization", format!("Bearer {key}"));
    world.invoicing.service().answer(request.body(Full::<Bytes>::default()).unwrap()).await
}

/// Path and query of the URL of a document with more than one piece.
async fn document(world: &World) -> String {
    let sent = world.sent().await;
    let url = world.company.quotes().document(sent.summary.id).await.unwrap().url;
    url.strip_prefix("http://127.0.0.1:8080").expect("the base URL").to_owned()
}

async fn download(world: &World, url: &str) -> Response<Body> {
    world.invoicing.service().answer(Request::get(url).body(Full::<Bytes>::default()).unwrap()).await
}

/// Whether the whole body can be read.
fn is_complete(answer: Response<Body>) -> bool {
    answer.into_body().collect().now_or_never().expect("a body is always ready").is_ok()
}

/// Rules: FAIR-1, FAIR-2
#[on_each_database]
async fn unread_answers_of_a_company_give_way_to_its_next_one_and_to_no_other(db: Database) {
    let world = world(db).await;
    let (other, other_key) = world.another("Other", Plan::Team).await;
    fill(&world.company).await;
    fill(&other).await;
    let beside = page(&world, &other_key).await;
    let mut unread = Vec::new();
    for _ in 0..3 {
        unread.push(page(&world, &world.key).await);
    }
    sleep(STALLED).await;
    let next = page(&world, &world.key).await;
    assert_eq!(next.status(), 200);
    assert!(!is_complete(unread.remove(0)), "the oldest was kept");
    assert!(is_complete(beside), "it belongs to another company");
    assert!(is_complete(next));
    assert!(is_complete(page(&world, &other_key).await));
}

/// Rules: FAIR-1
#[on_each_database]
async fn a_company_that_uses_up_its_share_is_refused_and_no_other(db: Database) {
    let world = world(db).await;
    let (_, other_key) = world.another("Other", Plan::Team).await;
    fill(&world.company).await;
    let mut held: Vec<Vec<Bytes>> = Vec::new();
    for _ in 0..3 {
        let frames = page(&world, &world.key).await.into_body().into_data_stream();
        held.push(frames.map(Result::unwrap).collect().await);
    }
    let refused = page(&world, &world.key).await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    assert_eq!(page(&world, &other_key).await.status(), 200);
    drop(held);
    assert_eq!(page(&world, &world.key).await.status(), 200);
}

/// Rules: FAIR-9
#[on_each_database]
async fn unread_descriptions_take_no_memory_and_nobody_is_refused_for_them(db: Database) {
    let world = world(db).await;
    fill(&world.company).await;
    let before = page(&world, &world.key).await;
    let mut unread = Vec::new();
    // More than all of the budget.
    for _ in 0..60 {
        unread.push(download(&world, "/api/v1/openapi.json").await);
    }
    let after = page(&world, &world.key).await;
    assert_eq!((before.status(), after.status()), (StatusCode::OK, StatusCode::OK));
    assert!(is_complete(before) && is_complete(after));
    for answer in unread {
        assert_eq!(answer.status(), 200);
        assert!(is_complete(answer));
    }
}

/// Rules: FAIR-1
#[on_each_database]
async fn a_company_takes_half_of_the_slots_and_more_counts_in_no_quota(db: Database) {
    const QUOTA: u32 = 1_000;
    let world = World::on(db)
        .settings(|settings| {
            settings.requests.in_flight = 4;
            settings.quota = QUOTA;
        })
        .without_listener()
        .open()
        .await;
    let (_, other_key) = world.another("Other", Plan::Team).await;
    // Known keys are found without the database.
    for key in [&world.key, &other_key] {
        assert_eq!(page(&world, key).await.status(), 200);
    }
    let (mut waiting, mut counted) = (Vec::new(), 2);
    while waiting.len() < 2 {
        let mut request = Box::pin(page(&world, &world.key));
        counted += 1;
        match request.as_mut().now_or_never() {
            // It waits for the database.
            None => waiting.push(request),
            // A busy machine may let the database answer within the first poll.
            Some(answer) => assert_eq!(answer.status(), 200),
        }
    }
    for _ in 0..6 {
        assert_eq!(page(&world, &world.key).await.status(), 503);
    }
    assert_eq!(page(&world, &other_key).await.status(), 200);
    waiting.clear();
    let next = page(&world, &world.key).await;
    let left: u32 = next.headers()["ratelimit-remaining"].to_str().unwrap().parse().unwrap();
    assert!(left >= QUOTA - counted, "{left} after {counted}");
}

/// Rules: FAIR-4
#[on_each_database]
async fn downloads_of_one_document_are_limited_and_those_of_another_are_served(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let (url, other) = (document(&world).await, document(&world).await);
    let mut unread = Vec::new();
    for _ in 0..DOWNLOADS {
        unread.push(download(&world, &url).await);
    }
    assert!(unread.iter().all(|answer| answer.status() == 200));
    // Each answer that moves keeps its place.
    for answer in &mut unread {
        answer.body_mut().frame().now_or_never().expect("a body is always ready").unwrap().unwrap();
    }
    assert_eq!(download(&world, &url).await.status(), 503);
    assert!(is_complete(download(&world, &other).await));
    sleep(STALLED).await;
    assert!(is_complete(download(&world, &url).await), "one that is late gives way");
    assert_eq!(unread.into_iter().map(is_complete).filter(|complete| !complete).count(), 1);
}

/// Gives the bytes of a document once they are let go.
struct SlowStore {
    memory: Arc<MemoryStore>,
    let_go: Semaphore,
    /// The same wrong answer for every document at once, if not the truth.
    size: OnceLock<u64>,
}

impl DocumentStore for SlowStore {
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.memory.put(key, file)
    }

    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, DocumentStoreError>> {
        Box::pin(async move {
            let _permit = self.let_go.acquire().await.unwrap();
            self.memory.get(key).await
        })
    }

    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, DocumentStoreError>> {
        Box::pin(async move {
            let size = self.memory.size(key).await?;
            Ok(self.size.get().copied().or(size))
        })
    }

    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        self.memory.delete(key)
    }
}

/// Rules: FAIR-4
#[on_each_database]
async fn a_document_counts_before_it_is_read(db: Database) {
    let mut slow = None;
    let new = |memory| SlowStore { memory, let_go: Semaphore::new(0), size: OnceLock::new() };
    let world = World::on(db).store(|memory| Arc::clone(slow.insert(Arc::new(new(memory))))).open().await;
    let (slow, url) = (slow.unwrap(), document(&world).await);
    // A document may have 4 MiB, and at least two copies.
    slow.size.set(3 * 1024 * 1024).unwrap();
    let mut two = [(); 2].map(|()| Box::pin(download(&world, &url)));
    assert!(two.iter_mut().all(|one| one.now_or_never().is_none()));
    let third = download(&world, &url).now_or_never().expect("an answer without waiting for the store");
    assert_eq!((third.status().as_u16(), &third.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    slow.let_go.add_permits(2);
    for one in two {
        assert!(is_complete(one.await));
    }
}

/// Draws documents that are larger than the smallest budget.
struct Large;

impl DocumentRenderer for Large {
    fn render(&self, _: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        Ok(vec![b'%'; 400 * 1024])
    }
}

/// Rules: FAIR-1
#[on_each_database]
async fn a_document_larger_than_the_budget_is_served_beside_others(db: Database) {
    let place = Place::new(db).await;
    let mut settings = Settings { quota: 0, ..Settings::default() };
    settings.requests.buffered_bytes = 320 * 1024;
    let builder = place.builder().renderer(Arc::new(Large)).document_store(Arc::new(MemoryStore::new()));
    let invoicing = builder.settings(settings).open().await.unwrap();
    let mut urls = Vec::new();
    for name in ["Martin", "Lefèvre"] {
        let company = invoicing.companies().create(&NewCompany::named(name, Plan::Team)).await.unwrap();
        let company = invoicing.company(company.id);
        let client = company.clients().create(&NewClient::named("Durand")).await.unwrap();
        let quote = company.quotes().create(&new_quote(client.id)).await.unwrap();
        company.quotes().send(quote.summary.id, None).await.unwrap();
        urls.push(company.quotes().document(quote.summary.id).await.unwrap().url);
    }
    let download = async |url: &String, range| {
        let path = url.strip_prefix("http://127.0.0.1:8080").expect("the base URL");
        let request = Request::get(path).header("range", range).body(Full::<Bytes>::default()).unwrap();
        invoicing.service().answer(request).await
    };
    let beside = download(&urls[0], "bytes=0-99999").await;
    let whole = download(&urls[1], "bytes=0-").await;
    assert_eq!([beside.status(), whole.status()], [StatusCode::PARTIAL_CONTENT; 2]);
    assert_eq!(whole.into_body().collect().await.unwrap().to_bytes().len(), 400 * 1024);
    assert!(is_complete(beside));
}

/// Rules: FAIR-5
#[on_each_database]
async fn an_answer_leaves_in_pieces(db: Database) {
    let world = world(db).await;
    fill(&world.company).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let answer = page_over(version, &world, &world.key).await;
        let length: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
        let pieces: Vec<Bytes> = answer.into_body().into_data_stream().map(Result::unwrap).collect().await;
        assert_eq!(pieces.iter().map(Bytes::len).max(), Some(16 * 1024));
        assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), length);
    }
}
