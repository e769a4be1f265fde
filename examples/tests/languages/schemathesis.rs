//! A fuzzer with the document alone, against a sandbox without a quota: its requests and its checks are in
//! `schemathesis.toml`. `SCHEMATHESIS_EXAMPLES` is the number of requests for each operation.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use super::tools::{self, Python, succeed};
use crate::postgres::database;
use crate::sandbox::Sandbox;

/// Requests for each operation, unless the environment has another number.
const EXAMPLES: usize = 50;

#[test]
fn a_fuzzer_finds_no_fault_on_sqlite() {
    let Some(python) = tools::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.db");
    fuzz(python, file.to_str().unwrap(), folder.path());
}

#[test]
fn a_fuzzer_finds_no_fault_on_postgresql() {
    let (Some(python), Some((_cluster, url))) = (tools::python(), database("fuzzed")) else { return };
    let folder = tempfile::tempdir().unwrap();
    fuzz(python, &url, folder.path());
}

fn fuzz(python: &Python, db: &str, folder: &Path) {
    let documents = folder.join("documents");
    let home = ["--db", db, "--documents", documents.to_str().unwrap(), "--activity"];
    let sandbox = Sandbox::start(&[&home[..], &["50", "--seed", "7"]].concat());
    sandbox.one_of_each_kind();
    drop(sandbox);
    // Quiet, so that a run does what the one before did.
    let sandbox = Sandbox::start(&[&home[..], &["0"]].concat());
    fs::copy(tools::file("schemathesis.toml"), folder.join("schemathesis.toml")).unwrap();
    let [draft, signed] = [
        id_of(&sandbox, "/quotes?status=DRAFT", |_| true),
        id_of(&sandbox, "/quotes?status=ACCEPTED&limit=100", |quote| !quote["signedAt"].is_null()),
    ];
    fs::write(folder.join("quotes.dict"), format!("\"{signed}\"\n\"{draft}\"\n")).unwrap();
    // Only an issued invoice has a credit note, so both have a document.
    let note = &sandbox.get("/credit-notes")["data"][0];
    for (file, id) in [("invoices", &note["invoiceId"]), ("credit-notes", &note["id"])] {
        fs::write(folder.join(format!("{file}.dict")), format!("{id}\n")).unwrap();
    }

    let mut fuzzer = python.program("st");
    let [base_url, key] = sandbox.api();
    fuzzer.current_dir(folder).env("API_KEY", key).envs(document_link(&sandbox, &signed));
    // From a file, as the fuzzer leaves out the operation that it has the document from.
    fs::write(folder.join("openapi.json"), sandbox.get("/openapi.json").to_string()).unwrap();
    let examples = std::env::var("SCHEMATHESIS_EXAMPLES").map_or(EXAMPLES, |number| number.parse().unwrap());
    fuzzer.args(["--no-color", "run", "openapi.json", "--url", base_url]);
    fuzzer.args(["--max-examples", &examples.to_string()]);
    fuzzer.args(["--report", "json,ndjson", "--report-json-path", "report.json"]);
    fuzzer.args(["--report-ndjson-path", "events.ndjson"]);
    let told = succeed(&mut fuzzer).unwrap_or_else(|told| panic!("{told}"));
    let report: Value = serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap();
    check(&report);
    let generated = generated(&folder.join("events.ndjson"));
    assert_eq!(report["operations"]["total"], generated.len());
    assert!(generated.values().all(|requests| *requests >= examples), "{generated:?}");
    println!("{told}");
}

/// That it tested all that it could, and found nothing.
fn check(report: &Value) {
    for phase in ["examples", "coverage", "fuzzing", "stateful"] {
        assert_eq!(report["phases"][phase]["status"], "success", "{phase}");
    }
    for found in ["failures", "errors"] {
        assert_eq!(report[found], json!([]), "{found}");
    }
    for (warning, operations) in report["warnings"].as_object().unwrap() {
        assert_eq!(*operations, json!([]), "{warning}");
    }
    let operations = &report["operations"];
    assert_eq!(operations["tested"], operations["total"]);
}

/// How many generated requests each operation got.
fn generated(events: &Path) -> BTreeMap<String, usize> {
    let mut requests = BTreeMap::new();
    for event in BufReader::new(File::open(events).unwrap()).lines() {
        let event: Value = serde_json::from_str(&event.unwrap()).unwrap();
        let scenario = &event["ScenarioFinished"];
        if scenario["phase"] == "fuzzing" {
            let operation = scenario["recorder"]["label"].as_str().unwrap().to_owned();
            let sent = scenario["recorder"]["interactions"].as_object().map_or(0, serde_json::Map::len);
            *requests.entry(operation).or_default() += sent;
        }
    }
    requests
}

/// The id of a listed record.
fn id_of(sandbox: &Sandbox, list: &str, is_wanted: impl Fn(&Value) -> bool) -> String {
    let page = sandbox.get(list);
    let record = page["data"].as_array().unwrap().iter().find(|record| is_wanted(record)).unwrap();
    record["id"].as_str().unwrap().to_owned()
}

/// The parts of a signed document URL, as the configuration names them.
fn document_link(sandbox: &Sandbox, quote: &str) -> Vec<(String, String)> {
    let link = sandbox.get(&format!("/quotes/{quote}/document"));
    let (path, query) = link["url"].as_str().unwrap().split_once('?').unwrap();
    let mut path = path.rsplit('/').map(str::to_owned);
    let (upload, company) = (path.next().unwrap(), path.next().unwrap());
    let mut parts = vec![("COMPANY".to_owned(), company), ("UPLOAD".to_owned(), upload)];
    parts.extend(query.split('&').map(|pair| {
        let (name, value) = pair.split_once('=').unwrap();
        (name.to_uppercase(), value.to_owned())
    }));
    parts.into_iter().map(|(name, value)| (format!("DOCUMENT_{name}"), value)).collect()
}
