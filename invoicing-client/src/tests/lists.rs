//! Streams over the pages of a list.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};

use super::stub_server::{Reply, StubServer, json as reply};
use super::{client, client_json, error_json, page_json};

/// Pages of at most two items by offset: a, b | c | (empty) | d.
fn pages(offset: u64) -> Reply {
    let (names, has_more): (&[&str], bool) = match offset {
        0 => (&["a", "b"], true),
        2 => (&["c"], true),
        3 => (&[], true),
        5 => (&["d"], false),
        other => panic!("no page at {other}"),
    };
    let data: Vec<_> = names.iter().map(|name| client_json(name)).collect();
    reply(200, &page_json(&data, offset, has_more))
}

fn offset(query: Option<&str>) -> u64 {
    let query = query.unwrap_or_default();
    let pair = query.split('&').find_map(|pair| pair.strip_prefix("offset="));
    pair.map_or(0, |offset| offset.parse().unwrap())
}

#[tokio::test]
async fn a_stream_ends_without_has_more_and_not_at_an_empty_page() {
    let server = StubServer::start(|_, seen| pages(offset(seen.uri.query()))).await;
    let (client, _) = client(&server);
    let names: Vec<_> =
        client.clients().list().limit(2).stream().map_ok(|c| c.name).try_collect().await.unwrap();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let pages: Vec<_> = client.clients().list().limit(2).pages().try_collect().await.unwrap();
    assert_eq!(pages.len(), 4);
    assert!(server.requests().iter().all(|seen| seen.uri.query().unwrap().contains("limit=2")));
}

#[tokio::test]
async fn a_failed_attempt_loses_no_item() {
    let server = StubServer::start(|number, seen| match number {
        1 => Reply::Cut,
        2 => reply(503, &error_json("server_error", "again")),
        _ => pages(offset(seen.uri.query())),
    })
    .await;
    let (client, _) = client(&server);
    let names: Vec<_> = client.clients().list().stream().map_ok(|c| c.name).try_collect().await.unwrap();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn an_error_ends_the_stream() {
    let server = StubServer::start(|number, seen| match number {
        0 => pages(offset(seen.uri.query())),
        _ => reply(401, &error_json("unauthorized", "revoked")),
    })
    .await;
    let (client, _) = client(&server);
    let items: Vec<_> = client.clients().list().stream().collect().await;
    assert_eq!(items.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_dropped_next_future_loses_no_item() {
    let server = StubServer::start(|_, seen| pages(offset(seen.uri.query()))).await;
    let (client, _) = client(&server);
    let mut stream = client.clients().list().stream();
    let mut names = Vec::new();
    loop {
        // A zero timeout polls once and drops the future, usually during a request.
        match tokio::time::timeout(Duration::ZERO, stream.next()).await {
            Ok(Some(item)) => names.push(item.unwrap().name),
            Ok(None) => break,
            Err(_) => tokio::task::yield_now().await,
        }
    }
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(server.requests().len(), 4);
}

/// A list of seven clients, as a service limits it: a page that begins with one of the first `large` has at most two.
fn limited(query: &str, large: usize) -> Reply {
    let number = |name: &str, default| {
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name));
        pair.map_or(default, |value| value.parse::<usize>().unwrap())
    };
    let (limit, offset) = (number("limit=", 50), number("offset=", 0));
    if limit > 2 && offset < large {
        let rule = "limit: must be at most 2 at this offset, as a page with lines has at most 16 MiB";
        return reply(400, &error_json("validation_error", rule));
    }
    let data: Vec<_> = (offset..(offset + limit).min(7)).map(|n| client_json(&n.to_string())).collect();
    reply(200, &page_json(&data, offset as u64, offset + limit < 7))
}

/// Rules: RETRY-9
#[tokio::test]
async fn a_page_that_is_too_large_is_read_with_the_limit_that_works() {
    let server = StubServer::start(|_, seen| limited(seen.uri.query().unwrap_or_default(), 7)).await;
    let (client, _) = client(&server);
    let page = client.clients().list().offset(1).await.unwrap();
    assert_eq!(page.data.iter().map(|c| &*c.name).collect::<Vec<_>>(), ["1", "2"]);
    let names: Vec<_> = client.clients().list().stream().map_ok(|c| c.name).try_collect().await.unwrap();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5", "6"]);
    let mut catch_up = client.clients().catch_up(crate::MemoryCheckpoint::new());
    let mut delivered = Vec::new();
    let deliver = |client: crate::Client| {
        delivered.push(client.name);
        async { Ok::<(), ()>(()) }
    };
    catch_up.pass(deliver).await.unwrap();
    // All have the id of the stub's one record, so one version is delivered.
    assert_eq!(delivered.len(), 1);
    let queries: Vec<_> = server.requests().iter().map(|seen| seen.uri.query().unwrap().to_owned()).collect();
    assert_eq!(queries[..2], ["offset=1", "limit=2&offset=1"]);
    let pages = [
        "limit=100",
        "limit=2",
        "limit=2&offset=2",
        "limit=4&offset=4",
        "limit=2&offset=4",
        "limit=2&offset=6",
    ];
    assert_eq!(queries[2..8], pages);
    assert_eq!(queries.len(), 2 + 6 + 6);
}

/// Rules: RETRY-9
#[tokio::test]
async fn pages_grow_again_behind_large_records() {
    let server = StubServer::start(|_, seen| limited(seen.uri.query().unwrap_or_default(), 2)).await;
    let (client, _) = client(&server);
    let names: Vec<_> = client.clients().list().stream().map_ok(|c| c.name).try_collect().await.unwrap();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5", "6"]);
    let queries: Vec<_> = server.requests().iter().map(|seen| seen.uri.query().unwrap().to_owned()).collect();
    assert_eq!(queries, ["limit=100", "limit=2", "limit=2&offset=2", "limit=4&offset=4"]);
}

#[tokio::test]
async fn a_refusal_that_names_no_smaller_limit_is_an_error() {
    let rule = "limit: must be at most 100 at this offset, as a page with lines has at most 16 MiB";
    let refusal = reply(400, &error_json("validation_error", rule));
    let server = StubServer::script([refusal]).await;
    let (client, _) = client(&server);
    assert_eq!(client.clients().list().limit(100).await.unwrap_err().status(), Some(400));
    assert_eq!(server.requests().len(), 1);
}
