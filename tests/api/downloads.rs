//! The document behind a signed URL as a download: parts, conditions, and what a browser makes of it.

use bytes::Bytes;
use invoicing_tests::{Answer, Database, World, on_each_database};

use crate::support::api::{QUOTES, read, text, world};

async fn link(world: &World) -> (String, String) {
    let quote = world.sent().await;
    let link = read(world, &format!("{QUOTES}/{}/document", quote.summary.id)).await;
    let path = text(&link, "url").strip_prefix("http://127.0.0.1:8080").expect("the base URL").to_owned();
    (path, format!("\"{}\"", text(&link, "sha256")))
}

async fn open(world: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    world.call(method, path, None, headers, Bytes::new()).await
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(|value| value.to_str().unwrap())
}

/// Rules: DOCUMENT-9, WIRE-21
#[on_each_database]
async fn the_file_says_what_it_is_and_that_it_is_nothing_else(db: Database) {
    let world = world(db).await;
    let (path, etag) = link(&world).await;
    for method in ["GET", "HEAD"] {
        let file = open(&world, method, &path, &[]).await;
        assert_eq!(header(&file, "etag"), Some(&*etag));
        assert_eq!(header(&file, "accept-ranges"), Some("bytes"));
        assert_eq!(header(&file, "content-type"), Some("application/pdf"));
        assert_eq!(header(&file, "x-content-type-options"), Some("nosniff"));
        assert_eq!(header(&file, "cache-control"), Some("no-store"));
        assert_eq!(header(&file, "content-range"), None);
    }
}

/// Rules: DOCUMENT-9
#[on_each_database]
async fn one_range_is_answered_with_that_part(db: Database) {
    let world = world(db).await;
    let (path, etag) = link(&world).await;
    let whole = open(&world, "GET", &path, &[]).await.bytes;
    let n = whole.len();
    for (range, from, to) in [
        ("bytes=0-0".to_owned(), 0, 1),
        ("bytes=10-19".to_owned(), 10, 20),
        ("bytes=100-".to_owned(), 100, n),
        ("bytes=-100".to_owned(), n - 100, n),
        (format!("bytes=0-{n}"), 0, n),
        (format!("bytes=-{}", n + 1), 0, n),
        (format!("bytes={}-", n - 1), n - 1, n),
    ] {
        let part = open(&world, "GET", &path, &[("range", &range)]).await;
        assert_eq!((part.status.as_u16(), &part.bytes), (206, &whole.slice(from..to)), "{range}");
        assert_eq!(header(&part, "content-range"), Some(&*format!("bytes {from}-{}/{n}", to - 1)));
        assert_eq!(header(&part, "content-length"), Some(&*(to - from).to_string()));
        assert_eq!(header(&part, "etag"), Some(&*etag));
        assert_eq!(header(&part, "content-type"), Some("application/pdf"));
        assert_eq!(header(&part, "x-content-type-options"), Some("nosniff"));
    }
}

/// Rules: DOCUMENT-9
#[on_each_database]
async fn a_range_beyond_the_end_is_416_and_says_how_long_the_file_is(db: Database) {
    let world = world(db).await;
    let (path, _) = link(&world).await;
    let n = open(&world, "GET", &path, &[]).await.bytes.len();
    for range in [format!("bytes={n}-"), format!("bytes={n}-{}", n + 5), "bytes=-0".to_owned()] {
        let answer = open(&world, "GET", &path, &[("range", &range)]).await;
        assert_eq!((answer.status.as_u16(), answer.bytes.len()), (416, 0), "{range}");
        assert_eq!(header(&answer, "content-range"), Some(&*format!("bytes */{n}")));
    }
}

/// Rules: DOCUMENT-9
#[on_each_database]
async fn anything_else_in_a_range_is_answered_with_the_whole(db: Database) {
    let world = world(db).await;
    let (path, _) = link(&world).await;
    let whole = open(&world, "GET", &path, &[]).await;
    for range in ["bytes=0-1,5-6", "bytes=5-1", "bytes=x", "lines=0-1", "", "bytes=0-1, -5"] {
        let answer = open(&world, "GET", &path, &[("range", range)]).await;
        assert_eq!((answer.status.as_u16(), &answer.bytes), (200, &whole.bytes), "{range}");
    }
    let twice = open(&world, "GET", &path, &[("range", "bytes=0-1"), ("range", "bytes=2-3")]).await;
    assert_eq!((twice.status.as_u16(), &twice.bytes), (200, &whole.bytes));
    let head = open(&world, "HEAD", &path, &[("range", "bytes=0-1")]).await;
    assert_eq!(
        (head.status.as_u16(), &head.headers["content-length"]),
        (200, &whole.headers["content-length"])
    );
}

/// Rules: DOCUMENT-9
#[on_each_database]
async fn a_download_goes_on_only_where_it_is_the_same_file(db: Database) {
    let world = world(db).await;
    let (path, etag) = link(&world).await;
    for (given, status) in [
        (&*etag, 206),
        ("\"other\"", 200),
        (&format!("W/{etag}"), 200),
        ("Mon, 14 Sep 2026 09:41:07 GMT", 200),
    ] {
        let answer = open(&world, "GET", &path, &[("range", "bytes=5-"), ("if-range", given)]).await;
        assert_eq!(answer.status, status, "{given}");
    }
}

/// Rules: DOCUMENT-9
#[on_each_database]
async fn what_the_client_has_is_not_sent_again(db: Database) {
    let world = world(db).await;
    let (path, etag) = link(&world).await;
    for method in ["GET", "HEAD"] {
        for given in [&*etag, &format!("W/{etag}"), "*", &format!("\"a\", {etag}")] {
            let answer =
                open(&world, method, &path, &[("if-none-match", given), ("range", "bytes=0-1")]).await;
            assert_eq!((answer.status.as_u16(), answer.bytes.len()), (304, 0), "{given}");
            assert_eq!(header(&answer, "etag"), Some(&*etag));
            assert_eq!(header(&answer, "content-length"), None, "not the length of what is not sent");
        }
    }
    assert_eq!(open(&world, "GET", &path, &[("if-none-match", "\"other\"")]).await.status, 200);
}

/// Rules: DOCUMENT-5, DOCUMENT-6
#[on_each_database]
async fn a_url_that_is_not_good_is_not_found_also_for_a_conditional_request(db: Database) {
    let world = world(db).await;
    let (path, etag) = link(&world).await;
    let tampered = path.replace("expires=", "expires=1");
    world.advance(std::time::Duration::from_millis(300_001));
    for path in [path, tampered] {
        for headers in [[("if-none-match", &*etag)], [("if-none-match", "*")], [("range", "bytes=0-1")]] {
            let answer = open(&world, "GET", &path, &headers).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (404, "not_found"), "{headers:?}");
        }
    }
}

/// Rules: DOCUMENT-8
#[on_each_database]
async fn no_byte_of_a_damaged_copy_leaves(db: Database) {
    let world = world(db).await;
    let (path, etag) = link(&world).await;
    world.documents.damage(etag.trim_matches('"').parse().unwrap());
    for headers in [&[][..], &[("range", "bytes=0-0")]] {
        let answer = open(&world, "GET", &path, headers).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "storage_unavailable"), "{headers:?}");
        assert!(answer.headers.contains_key("retry-after"));
    }
    // No byte is read for these.
    for (method, headers, status) in [("HEAD", &[][..], 200), ("GET", &[("range", "bytes=9999999-")], 416)] {
        let answer = open(&world, method, &path, headers).await;
        assert_eq!((answer.status.as_u16(), answer.bytes.len()), (status, 0), "{method}");
    }
}
