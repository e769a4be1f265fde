//! A sandbox whose receiver is not there for a while.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use invoicing_tests::{Received, Receiver, Reply};
use serde_json::Value;

use crate::example;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(40);

/// Ends when it is dropped.
struct Sandbox(Child);

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The lines of a pipe, read as they come.
fn lines(pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // Without a receiver the test is over.
            let _ = sender.send(line);
        }
    });
    lines
}

/// Reads up to a line that has this text.
fn wait_for(text: &str, log: &mpsc::Receiver<String>) -> String {
    let mut before = Vec::new();
    loop {
        let Ok(line) = log.recv_timeout(LIMIT) else { panic!("{text:?} is missing after {before:#?}") };
        if line.contains(text) {
            return line;
        }
        before.push(line);
    }
}

/// What a delivery is recognised by.
fn key(event: &Value, id: &Value, timestamp: &Value) -> [String; 3] {
    [event, id, timestamp].map(|value| value.as_str().unwrap().to_owned())
}

fn delivered(received: &[Received]) -> BTreeSet<[String; 3]> {
    received.iter().map(|it| key(&it.json["event"], &it.json["data"]["id"], &it.json["timestamp"])).collect()
}

/// The events that the lines so far announce.
fn announced(operations: &mpsc::Receiver<String>) -> BTreeSet<[String; 3]> {
    let lines = operations.try_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let events = lines.flat_map(|line| line["events"].as_array().cloned().unwrap_or_default());
    events.map(|event| key(&event["event"], &event["id"], &event["timestamp"])).collect()
}

#[test]
fn sandbox_enables_a_webhook_again_and_replays_what_it_missed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let receiver = runtime.block_on(Receiver::start());
    // Another program answers in its place, so that no delivery is attempted twice.
    receiver.reply_always(Reply::status(404));
    let mut child = Command::new(example("sandbox"))
        .args(["--listen", "127.0.0.1:0", "--activity", "50", "--quota", "0", "--webhook", &receiver.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (operations, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let _sandbox = Sandbox(child);
    wait_for("webhook disabled after 10 failed deliveries", &log);
    let refused = wait_for("still disabled", &log);
    assert!(
        refused.contains("answer=\"404\"") && refused.contains("the last ping; there is one every 2 s"),
        "{refused}"
    );

    // It goes away, and is looked for all the same.
    receiver.reply_always(Reply::HangUp);
    let mut forgotten = receiver.take().len();
    assert!(runtime.block_on(receiver.wait_for(forgotten + 1, LIMIT)), "no ping");
    forgotten += receiver.take().len();

    receiver.reply_always(Reply::status(204));
    let enabled = wait_for("enabled again, as", &log);
    let missed = announced(&operations);
    assert!(missed.len() >= 10, "{missed:?}");
    loop {
        let came = receiver.received();
        let left = missed.difference(&delivered(&came)).count();
        if left == 0 {
            break;
        }
        let more = runtime.block_on(receiver.wait_for(forgotten + came.len() + 1, LIMIT));
        assert!(more, "{left} of {} events were not replayed after {enabled}", missed.len());
    }
}
