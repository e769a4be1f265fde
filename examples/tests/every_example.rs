//! Runs every example as a user would, the check of the sandbox in another language, and the console in a browser.

#[cfg(unix)]
mod browser;
#[cfg(unix)]
mod languages;
mod observe;
#[cfg(unix)]
mod postgres;
mod recovery;
mod reference;
mod sandbox;
mod verify_proof;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use invoicing_test_databases::tool;
use serde_json::Value;

/// An example that `cargo test` has built beside this test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("target/<profile>/deps").join("examples");
    let example = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(example.exists(), "{} is missing: cargo build --workspace --examples", example.display());
    example
}

/// As on a slim image: no CA is found. A proxy in the environment is not used.
fn without_ca_store(mut command: Command) -> Command {
    command.env("SSL_CERT_FILE", "/nonexistent").env("SSL_CERT_DIR", "/nonexistent");
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    command
}

fn run(name: &str, args: &[&str]) -> Output {
    without_ca_store(Command::new(example(name))).args(args).output().expect("the example starts")
}

fn succeeds(name: &str) -> String {
    let output = run(name, &[]);
    let stdout = String::from_utf8(output.stdout).expect("text");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{stdout}\n{stderr}", output.status);
    stdout
}

#[test]
fn quickstart_shows_every_step() {
    let timeline = succeeds("quickstart");
    let steps = [
        "drafts DEV-",
        "quote.created",
        "sends it",
        "signs through the public link",
        "converts it",
        "invoice.created",
        "issues FAC-",
        "invoice.issued",
        "factur-x.xml in it",
        "type 380",
        "credits an hour: AVO-",
        "credit_note.issued",
        "type 381",
        "VIR-0001",
        "VIR-0002",
        "invoice.paid",
        "completes the project",
        "project.completed",
        "each arrived exactly once",
        "stops: connections are refused",
        "is back",
        "catch-up after: 1 clients, 0 credit notes, 1 invoices, 1 quotes",
        "exactly the versions",
        "checks hold",
    ];
    let mut rest = &timeline[..];
    for step in steps {
        let Some(at) = rest.find(step) else {
            panic!("{step:?} is missing, or comes too early, in\n{timeline}")
        };
        rest = &rest[at + step.len()..];
    }
    // The order of deliveries is not guaranteed: these two happen at once.
    let (_, signed) = timeline.split_once("signs through the public link").unwrap();
    let (announced, _) = signed.split_once("converts it").unwrap();
    assert!(announced.contains("quote.signed") && announced.contains("quote.accepted"), "{announced}");
    let written: Vec<_> = rest.lines().filter_map(|line| line.trim().strip_prefix('/')).collect();
    assert!(!written.is_empty(), "no paths in\n{rest}");
    let mut paths = written.iter().map(|line| Path::new("/").join(line.split("  (").next().unwrap()));
    for path in paths.clone() {
        assert!(path.exists(), "{} was not written", path.display());
    }
    // The files of a test are of no further use.
    let folder = paths.next_back().unwrap().parent().unwrap().to_owned();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn embed_hyper_answers_itself() {
    assert!(succeeds("embed_hyper").contains("Claire Lefèvre"));
}

#[test]
fn embed_axum_answers_itself() {
    assert!(succeeds("embed_axum").contains("/invoicing/api/v1/clients"));
}

#[test]
fn receiver_axum_takes_what_is_genuine_once() {
    let told = succeeds("receiver_axum");
    assert!(told.contains("handled quote.created"), "{told}");
    assert!(told.contains("changed on the way: 400"), "{told}");
    assert!(told.contains("the same again: 204 No Content, and nothing new to do: true"), "{told}");
}

#[test]
fn catch_up_brings_what_changed() {
    assert!(succeeds("catch_up").contains("0 new or changed"));
}

#[test]
fn sync_to_csv_writes_what_changed() {
    let told = succeeds("sync_to_csv");
    assert!(told.contains("quotes: 2 new or changed, 3 in "), "{told}");
    assert!(told.contains("credit-notes: 1 new or changed, 1 in "), "{told}");
    assert!(told.contains("clients: 0 new or changed, 1 in "), "{told}");
}

#[test]
fn crm_connector_links_each_quote_once() {
    let told = succeeds("crm_connector");
    assert_eq!(told.matches(" is deal-").count(), 3, "{told}");
    assert!(told.contains("while it was away") && told.contains("told by a webhook"), "{told}");
}

#[test]
fn sandbox_refuses_a_wrong_flag_in_one_line() {
    let wrong: [&[&str]; 16] = [
        &["--lisen", "127.0.0.1:0"],
        &["--listen", "nowhere"],
        &["--activity", "-1"],
        &["--webhook", "http://127.0.0.1:9000/hook=quote.singed"],
        &["--webhook", "ftp://127.0.0.1/"],
        &["--quota"],
        &["--db", "mysql://127.0.0.1/invoicing"],
        &["--db", "postgres://127.0.0.1"],
        &["--db", "postgres://127.0.0.1/../etc"],
        &["--db", ""],
        &["--documents", "s3://bucket"],
        &["--base-url", "sandbox.example.com"],
        &["--output", "yaml"],
        &["--probes", "8081"],
        &["--health-check", "nowhere"],
        &["stray"],
    ];
    for args in wrong {
        let output = run("sandbox", args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(args[0]) && stderr.contains("--help"), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    let help = run("sandbox", &["--help"]);
    assert!(
        help.status.success() && String::from_utf8(help.stdout).unwrap().contains("Usage: invoicing-sandbox")
    );
}

/// The names in a value, at each depth.
fn names(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(members) => {
            let below = members.iter().flat_map(|(name, value)| {
                names(value).into_iter().map(move |below| format!("{name}.{below}"))
            });
            members.keys().cloned().chain(below).collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn sandbox_helps_with_the_names_in_its_first_line() {
    let help = String::from_utf8(run("sandbox", &["--help"]).stdout).unwrap();
    let shown: Value = serde_json::from_str(&help[help.find("\n{").expect("an example")..]).unwrap();
    let mut sandbox = Command::new(example("sandbox"))
        .args(["--listen", "127.0.0.1:0", "--activity", "0", "--webhook", "http://127.0.0.1:9000/hook"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(sandbox.stdout.take().unwrap()).read_line(&mut first).unwrap();
    sandbox.kill().unwrap();
    sandbox.wait().unwrap();
    assert_eq!(names(&shown), names(&serde_json::from_str(&first).unwrap()));
}

#[test]
fn sandbox_ends_when_its_output_has_no_reader() {
    let mut sandbox = Command::new(example("sandbox"))
        .args(["--listen", "127.0.0.1:0", "--activity", "50"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    sandbox.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"{");
    // The pipe is closed by now.
    let output = sandbox.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The sandbox from outside: plain HTTP, and an HMAC that is not ours.
#[test]
fn sandbox_keeps_its_promises_to_another_language() {
    check_sandbox(&[]);
}

/// Runs the check with further arguments.
fn check_sandbox(args: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/check_sandbox.py");
    let check = Command::new("python3").arg(script).arg(example("sandbox")).args(args).output();
    let output = match check {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return tool::PYTHON.is_missing(&error.to_string());
        }
        output => output.expect("the check starts"),
    };
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    println!("{stdout}");
}
