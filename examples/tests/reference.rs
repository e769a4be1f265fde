//! The snippets of the reference page in Rust, run as an integrator would run them. Snippets in other languages run with the
//! clients of the tests.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;
use webhook_verify::Signer;

use crate::example;

#[test]
fn every_request_is_answered() {
    let mut sandbox = Command::new(example("sandbox"))
        .args(["--listen", "127.0.0.1:0", "--activity", "50", "--quota", "0", "--seed", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the sandbox starts");
    let mut lines = BufReader::new(sandbox.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let hello: Value = serde_json::from_str(&lines.next().expect("a first line")).expect("JSON");
    // An invoice is made from an accepted quote, and issued before it is credited.
    let has_business = lines.by_ref().any(|line| line.contains("credit_note.issued"));
    // Unread output would stop the sandbox.
    let rest = std::thread::spawn(move || lines.for_each(drop));
    let output = Command::new(example("reference_requests"))
        .env("INVOICING_URL", hello["baseUrl"].as_str().expect("a URL"))
        .env("INVOICING_API_KEY", hello["companies"][0]["apiKey"].as_str().expect("a key"))
        .output();
    sandbox.kill().expect("the sandbox can be ended");
    sandbox.wait().expect("the sandbox ends");
    rest.join().expect("the pipe is read to its end");
    assert!(has_business, "the sandbox had no business");
    let output = output.expect("the example starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.ends_with("every request was answered\n"), "{stdout}");
}

fn verify(secret: &str, signature: &str, body: &[u8]) -> ExitStatus {
    let mut process = Command::new(example("reference_verify"))
        .env("INVOICING_WEBHOOK_SECRET", secret)
        .env("SIGNATURE", signature)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the example starts");
    process.stdin.take().expect("a pipe").write_all(body).expect("the body is read");
    process.wait().expect("the example ends")
}

#[test]
fn only_a_genuine_delivery_is_verified() {
    let (secret, body) = ("whsec_example", br#"{"event":"ping"}"#);
    let signature = Signer::new(secret).expect("a secret").sign_now(body);
    assert!(verify(secret, signature.as_str(), body).success());
    assert!(!verify(secret, signature.as_str(), br#"{"event": "ping"}"#).success());
    assert!(!verify("whsec_other", signature.as_str(), body).success());
    let stale = Signer::new(secret).expect("a secret").sign(1_789_378_867, body);
    assert!(!verify(secret, stale.as_str(), body).success());
}
