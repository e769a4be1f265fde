//! A sandbox whose receiver is not there for a while.

use std::collections::BTreeSet;
use std::sync::mpsc;

use invoicing_tests::{Received, Receiver, Reply};
use serde_json::Value;

use crate::sandbox::{LIMIT, Sandbox, announced, key};

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

fn delivered(received: &[Received]) -> BTreeSet<[String; 3]> {
    received.iter().map(|it| key(&it.json["event"], &it.json["data"]["id"], &it.json["timestamp"])).collect()
}

/// The events that the lines so far announce.
fn all_announced(operations: &mpsc::Receiver<Value>) -> BTreeSet<[String; 3]> {
    operations.try_iter().flat_map(|line| announced(&line)).collect()
}

#[test]
fn sandbox_enables_a_webhook_again_and_replays_what_it_missed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let receiver = runtime.block_on(Receiver::start());
    // Another program answers in its place, so that no delivery is attempted twice.
    receiver.reply_always(Reply::status(404));
    let sandbox = Sandbox::start(&["--activity", "50", "--enable-again", "--webhook", &receiver.url]);
    let log = &sandbox.log;
    wait_for("webhook disabled after 10 failed deliveries", log);
    let refused = wait_for("still disabled", log);
    assert!(
        refused.contains("answer=\"404\"") && refused.contains("the last ping; there is one every 7 s"),
        "{refused}"
    );

    // It goes away, and is looked for all the same.
    receiver.reply_always(Reply::HangUp);
    let mut forgotten = receiver.take().len();
    assert!(runtime.block_on(receiver.wait_for(forgotten + 1, LIMIT)), "no ping");
    forgotten += receiver.take().len();

    receiver.reply_always(Reply::status(204));
    let enabled = wait_for("enabled again, as", log);
    let missed = all_announced(&sandbox.operations);
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

#[test]
fn sandbox_leaves_a_disabled_webhook_to_its_owner() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let receiver = runtime.block_on(Receiver::start());
    receiver.reply_always(Reply::status(404));
    let sandbox = Sandbox::start(&["--activity", "50", "--webhook", &receiver.url]);
    wait_for("webhook disabled after 10 failed deliveries", &sandbox.log);
    receiver.reply_always(Reply::status(204));
    // Deliveries that were under way arrive meanwhile.
    let mut operations = sandbox.operations.iter();
    assert!(operations.nth(100).is_some());
    receiver.take();
    // 10 s: five looks at the webhooks.
    assert!(operations.nth(500).is_some());
    let came = receiver.take();
    assert!(came.is_empty(), "{} deliveries", came.len());
}
