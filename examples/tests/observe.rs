//! The example `observe`: the content of a scrape and of an export over OTLP, and the queries of the dashboard.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::example;

const OBSERVE: &str = include_str!("../../docs/operate-observe.md");
const DASHBOARD: &str = include_str!("../observe/dashboard.json");

/// Kind and labels of each metric that the book lists, by name.
fn documented() -> BTreeMap<&'static str, (&'static str, BTreeSet<&'static str>)> {
    let rows = OBSERVE
        .lines()
        .filter(|line| ["| `invoicing_", "| `http_server_"].iter().any(|begin| line.starts_with(begin)));
    let documented: BTreeMap<_, _> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let labels =
                cells[2].split(", ").map(|label| label.trim_matches('`')).filter(|label| !label.is_empty());
            (cells[0].trim_matches('`'), (cells[1], labels.collect()))
        })
        .collect();
    assert!(documented.len() > 10, "{documented:?}");
    documented
}

/// The metric of a series, as histograms have three.
fn metric_of(series: &str) -> Option<(&'static str, bool)> {
    let documented = documented();
    let find =
        |name: &str| documented.get_key_value(name).map(|(name, (kind, _))| (*name, *kind == "histogram"));
    ["_bucket", "_sum", "_count"]
        .iter()
        .filter_map(|suffix| series.strip_suffix(suffix))
        .find_map(|name| find(name).filter(|(_, is_histogram)| *is_histogram))
        .or_else(|| find(series).filter(|(_, is_histogram)| !*is_histogram))
}

/// Takes exports until it is dropped.
fn collector() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let exports = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&exports);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                while let Some((path, body)) = request(&mut reader) {
                    assert_eq!(path, "/v1/traces");
                    kept.lock().expect("no panic").push(serde_json::from_slice(&body).expect("JSON"));
                    let answer =
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    reader.get_mut().write_all(answer.as_bytes()).expect("the example reads");
                }
            });
        }
    });
    (url, exports)
}

/// Path and body of the next request on a connection.
fn request(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}

/// The output of the example, and its exports.
fn observed() -> (String, Vec<Value>) {
    let (url, exports) = collector();
    let output = Command::new(example("observe"))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .env_remove("RUST_LOG")
        .output()
        .expect("the example starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    let exports = exports.lock().expect("no panic").clone();
    (stdout.into_owned(), exports)
}

#[test]
fn a_scrape_has_the_listed_metrics_and_an_export_links_attempts_to_causes() {
    let (stdout, exports) = observed();
    let mut lines = stdout.lines();
    assert_eq!(lines.next(), Some("{\"live\":true}"));
    let ready: Value = serde_json::from_str(lines.next().expect("readiness")).expect("JSON");
    assert_eq!((&ready["ready"], &ready["dispatcher"]), (&true.into(), &"running".into()));
    check_scrape(lines);
    let spans: Vec<Value> = exports.iter().flat_map(spans_of).collect();
    let named = |name: &str| {
        let found = spans.iter().find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no span {name} in {spans:#?}"))
    };
    let (host, operation, attempt) =
        (named("POST /quotes/new"), named("quotes.create"), named("webhook attempt"));
    assert_eq!(operation["traceId"], host["traceId"]);
    assert_eq!(operation["parentSpanId"], host["spanId"]);
    assert_ne!(attempt["traceId"], host["traceId"]);
    let link = &attempt["links"][0];
    assert_eq!((&link["traceId"], &link["spanId"]), (&operation["traceId"], &operation["spanId"]));
    assert_eq!(attribute(attempt, "request_id"), "observe-1");
    let api = named("GET /api/v1/quotes");
    assert_eq!(attribute(api, "http.route"), "/api/v1/quotes");
    let transactions = spans.iter().filter(|span| span["name"] == "transaction");
    assert!(transactions.count() >= 3);
}

fn spans_of(export: &Value) -> Vec<Value> {
    let resources = export["resourceSpans"].as_array().expect("resources");
    let scopes = resources.iter().flat_map(|resource| resource["scopeSpans"].as_array().expect("scopes"));
    scopes.flat_map(|scope| scope["spans"].as_array().expect("spans").clone()).collect()
}

fn attribute<'s>(span: &'s Value, name: &str) -> &'s str {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    found.and_then(|attribute| attribute["value"]["stringValue"].as_str()).unwrap_or_default()
}

/// Reads the text format: each series is of a metric that is listed, with its kind, its labels, and a number.
fn check_scrape<'l>(lines: impl Iterator<Item = &'l str>) {
    let (documented, mut seen) = (documented(), BTreeSet::new());
    for line in lines.filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, name) = (words.next(), words.next().expect("a name"));
            let (kind, _) = documented.get(name).unwrap_or_else(|| panic!("{name} is not listed"));
            match what {
                Some("TYPE") => assert_eq!(words.next(), Some(*kind), "{name}"),
                Some("HELP") => assert!(words.next().is_some_and(|text| text.len() > 10), "{name}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let (metric, _) = metric_of(name).unwrap_or_else(|| panic!("{name} is not listed"));
        let pairs = labels.trim_end_matches('}').split("\",").filter(|pair| !pair.is_empty());
        for label in pairs.filter_map(|pair| pair.split('=').next()).filter(|label| *label != "le") {
            assert!(documented[metric].1.contains(label), "{line}");
        }
        seen.insert(metric);
    }
    // SQLite has no server whose clock could be asked, and no read replica.
    let unseen: Vec<_> = documented.keys().copied().filter(|name| !seen.contains(name)).collect();
    assert_eq!(unseen, ["invoicing_clock_offset_seconds", "invoicing_pages_total"]);
}

/// Names, as the query language has them.
fn words(expression: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | ':');
    expression.split(|character| !is_part(character)).filter(|word| !word.is_empty()).collect()
}

#[test]
fn every_expression_of_the_dashboard_asks_for_what_is_listed() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let expressions: Vec<&str> =
        targets.map(|target| target["expr"].as_str().expect("an expression")).collect();
    assert!(expressions.len() > 15);
    let (documented, mut asked) = (documented(), BTreeSet::new());
    for expression in expressions {
        // Only one metric stands in each, so that its labels are known.
        let series = words(expression).into_iter().filter(|word| word.contains('_') && word.len() > 12);
        let series = series.filter(|word| word.starts_with("invoicing_") || word.starts_with("http_server_"));
        let metrics: BTreeSet<&str> = series
            .map(|name| metric_of(name).unwrap_or_else(|| panic!("{name} is not listed: {expression}")).0)
            .collect();
        let metric = metrics.first().unwrap_or_else(|| panic!("no metric in {expression}"));
        assert_eq!(metrics.len(), 1, "{expression}");
        let grouped = expression.split(" by (").skip(1).filter_map(|rest| rest.split(')').next());
        let matched = expression.split('{').skip(1).filter_map(|rest| rest.split('=').next());
        for label in grouped.flat_map(|labels| labels.split(", ")).chain(matched) {
            let is_known = documented[metric].1.contains(label) || matches!(label, "le" | "instance");
            assert!(is_known, "{label} is no label of {metric}: {expression}");
        }
        asked.insert(*metric);
    }
    let unasked: Vec<_> = documented.keys().filter(|name| !asked.contains(*name)).collect();
    assert!(unasked.is_empty(), "no panel shows {unasked:?}");
}
