//! Work without a key: forms that are refused, signatures, long pages, files that nobody reads, and unknown tokens. Beside
//! each, another company's API is as fast as alone, and the same company is served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use invoicing_tests::tell;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::http2::UnreadGets;
use crate::measured::{Load, Measured, PATIENCE, ROUNDS, form, get, requests, served_beside, slack, sum};
use crate::process::{self, Broken, Page, Server, alone, answer, answer_within, check};

/// Connections that send forms.
const FORMS: usize = 48;
/// Connections that request long pages, or files that they do not read, and streams on each of the latter.
const CONNECTIONS: usize = 16;
const STREAMS: usize = 60;
/// Streams on which unknown tokens are presented, 60 on a connection.
const UNKNOWN: usize = 2_400;
/// Slowest page behind a good link beside unknown tokens.
const SLOWEST: Duration = Duration::from_secs(1);

/// Lines of the long quote: the most that a quote may have.
const LINES: usize = 5_000;
/// Quotes that are signed under load in each round.
const QUOTES: usize = 48;

fn server(quotes: usize) -> Arc<Server> {
    let pages = json!({ "quotes": quotes, "lines": LINES });
    let serve = json!({ "headerReadMs": 600_000 });
    Arc::new(Server::start(&json!({ "documentLines": 20, "pages": pages, "serve": serve })))
}

fn signature(path: &str, name: &str, email: &str, document: &str) -> Vec<u8> {
    form(path, &[("name", name), ("email", email), ("document", document), ("confirmed", "yes")])
}

/// The second form of a signature, which its first form leads to.
async fn second_form(server: &Server, page: &Page, name: &str, email: &str) -> Vec<u8> {
    let fields = [("name", name), ("email", email), ("document", &*page.document)];
    let answer = answer_within(PATIENCE, &mut server.connect().await, &form(&page.path, &fields)).await;
    let (_, address) = answer.split_once("location: ").expect("the address of the second form");
    let address = address.lines().next().unwrap().trim();
    // Links may be absolute; the path is what is asked for.
    let path = &address[address.find("/sign/").expect("a path of the link")..];
    let shown = answer_within(PATIENCE, &mut server.connect().await, &get(path)).await;
    let (_, rest) = shown.split_once("name=\"confirmed\" value=\"").expect("the second form");
    let [name, email, document] = fields;
    form(&page.path, &[name, email, document, ("confirmed", &rest[..64])])
}

/// Streams of HTTP/2 connections, each of which presents one unknown token after the other.
fn unknown_tokens(server: &Arc<Server>) -> Load {
    let mut load = Load::new();
    for connection in 0..UNKNOWN / STREAMS {
        let server = Arc::clone(server);
        load.spawn(async move |stop| {
            let io = TokioIo::new(server.connect().await);
            let (sender, connecting) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            let mut streams = JoinSet::new();
            for stream in 0..STREAMS {
                let (mut sender, stop) = (sender.clone(), Arc::clone(&stop));
                streams.spawn(async move {
                    let mut statuses = BTreeMap::new();
                    for n in 0.. {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        // Every other stream presents a token that others of its connection present, too.
                        let stream = if stream % 2 == 0 { stream } else { 1 };
                        let token = format!("{connection:05}{stream:05}{n:033}");
                        let request = Request::get(format!("http://x/sign/sgn_{token}"));
                        let request = request.body(Empty::<Bytes>::new()).unwrap();
                        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
                        body.collect().await.unwrap();
                        *statuses.entry(head.status.as_u16()).or_default() += 1;
                    }
                    statuses
                });
            }
            let all = async { sum(streams.join_all().await) };
            let statuses = tokio::select! {
                statuses = all => statuses,
                _ = connecting => panic!("the connection has ended"),
            };
            // The sender lives until here: a connection without one ends.
            drop(sender);
            statuses
        });
    }
    load
}

/// Measures on a new server with `quotes` quotes until the promise is kept.
async fn kept(quotes: usize, measure: impl AsyncFn(&Arc<Server>) -> Result<(), Broken>) {
    let _alone = alone().await;
    process::kept(async || measure(&server(quotes)).await).await;
}

/// Rules: SIGN-10, SIGN-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_forms_delay_no_other_company() {
    let old = "0".repeat(64);
    for (what, name, email, statuses) in [
        ("a private-use name", "\u{e000}", "a@b.fr", &[400][..]),
        ("no name", "", "a@b.fr", &[400]),
        ("a bad e-mail", "Léa", "a@b", &[400]),
        ("the hash of an older document", "Léa", "a@b.fr", &[409, 503]),
        ("a link that has ended", "Léa", "a@b.fr", &[404]),
    ] {
        let what = format!("forms with {what}");
        kept(1, async |server| {
            let long = &server.long_page;
            let (path, document) = match statuses {
                [404] => (&server.ended_page, &old),
                [409, ..] => (&long.path, &old),
                _ => (&long.path, &long.document),
            };
            let requests = Arc::new(vec![signature(path, name, email, document)]);
            served_beside(&what, server, statuses, |_| Load::connections(server, FORMS, &requests)).await
        })
        .await;
    }
}

/// Rules: SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_with_a_name_that_the_fonts_lack_delay_no_other_company() {
    // The first page is the measured one.
    kept(1 + ROUNDS * QUOTES, async |server| {
        let mut rounds = Vec::new();
        for pages in server.pages[1..].chunks(QUOTES) {
            let pages = pages.iter().chain([&server.long_page]);
            let forms = pages.map(|page| second_form(server, page, "王小明", "a@b.fr"));
            rounds.push(Arc::new(join_all(forms).await));
        }
        // The same form again gets the answer of the first time.
        let load = |round: usize| Load::connections(server, FORMS, &rounds[round]);
        served_beside("signatures", server, &[303], load).await
    })
    .await;
}

/// Rules: SIGN-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_5000_lines_delay_no_other_company() {
    kept(1, async |server| {
        let path = &server.long_page.path;
        let requests =
            Arc::new((1..=100).map(|part| get(&format!("{path}?part={part}"))).collect::<Vec<_>>());
        let load = |_| Load::connections(server, CONNECTIONS, &requests);
        served_beside("pages of 5,000 lines", server, &[200], load).await
    })
    .await;
}

/// Rules: FAIR-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_error_pages_that_nobody_reads_leave_those_of_others() {
    kept(1, files_that_nobody_reads).await;
}

async fn files_that_nobody_reads(server: &Arc<Server>) -> Result<(), Broken> {
    let page = answer(&mut server.connect().await, &get(&server.pages[0].path)).await;
    let asset = |extension: &str| {
        let (path, _) = page.split_once(extension).unwrap();
        format!("{}{extension}", &path[path.rfind("/assets/").unwrap()..])
    };
    let paths = [asset(".css"), asset(".js"), "/nothing".to_owned(), format!("/sign/sgn_{:043}", 1)];
    let mut measured = Measured::new("files that nobody reads", server).await;
    for _ in 0..ROUNDS {
        measured.ask_quietly().await;
        let mut unread = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = server.connect().await;
            let gets = UnreadGets::default().of((0..STREAMS).map(|stream| &*paths[stream % paths.len()]));
            stream.write_all(&gets).await.unwrap();
            while let Ok(Ok(1..)) = timeout(Duration::from_millis(20), stream.read_buf(&mut Vec::new())).await
            {
            }
            unread.push(stream);
        }
        measured.ask_as_both(requests()).await;
        let (mut stranger, mut answers) = (server.connect().await, BTreeMap::new());
        for path in &paths {
            let answer = answer(&mut stranger, &get(path)).await;
            *answers.entry(answer[9..12].parse().unwrap()).or_default() += 1;
        }
        assert_eq!(answers, BTreeMap::from([(200, 2), (404, 2)]));
        measured.answers.push(answers);
    }
    measured.end(&[200, 404]).await
}

/// Rules: SIGN-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_links_are_served_beside_unknown_tokens_on_2400_streams() {
    kept(1, good_links).await;
}

async fn good_links(server: &Arc<Server>) -> Result<(), Broken> {
    let what = "unknown tokens";
    let mut measured = Measured::new(what, server).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        measured.ask_quietly().await;
        let load = unknown_tokens(server);
        sleep(Duration::from_millis(200)).await;
        measured.ask_as_both(requests()).await;
        for _ in 0..5 {
            let begun = Instant::now();
            let answer = answer(&mut server.connect().await, &get(&server.pages[0].path)).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "a good link: {answer}");
            times.push(begun.elapsed());
        }
        measured.answers.push(load.end().await);
    }
    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    tell(what, &format_args!("good links: median {median:?}, slowest {slowest:?}"));
    check(slowest < slack() * SLOWEST, || format!("a good link took {slowest:?}"))?;
    measured.end(&[404]).await
}
