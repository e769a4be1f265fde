//! `Follow`: each version is delivered once, despite lost events, failed reads and restarts.

mod harness;

use std::future::ready;
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::service_model::{Change, ServerBehavior};
use crate::testing::FakeServer;
use crate::{ChangeEvent, MemoryCheckpoint, QuoteStatus, Timestamp, change_events};
use harness::{Action, Ending, FollowHarness, perform};

const MINUTE: Duration = Duration::from_mins(1);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// A service with three quotes.
fn harness() -> FollowHarness {
    let harness = FollowHarness::new(ServerBehavior::conforming(2));
    harness.apply(&Change::Create(3));
    harness
}

#[test]
fn an_event_delivers_a_version_at_once_and_once() {
    let mut harness = harness();
    let update = Change::Update(vec![1]);
    perform(&mut harness, &[Action::Idle, Action::Change(update), Action::Announce(1), Action::Idle])
        .unwrap();
    assert_eq!(harness.delivered(), 4);
    assert_eq!(harness.details(), 1);
    // The next pass reads it again, and does not repeat the delivery.
    perform(&mut harness, &[Action::Wait(5 * MINUTE), Action::Idle]).unwrap();
    assert_eq!((harness.delivered(), harness.details()), (4, 1));
}

#[test]
fn a_change_without_an_event_is_delivered_by_the_next_pass() {
    let mut harness = harness();
    let quiet = [
        Action::Idle,
        Action::Change(Change::Create(2)),
        Action::EndStream,
        Action::Wait(4 * MINUTE),
        Action::Idle,
    ];
    perform(&mut harness, &quiet).unwrap();
    assert_eq!(harness.delivered(), 3);
    perform(&mut harness, &[Action::Wait(6 * MINUTE), Action::Idle]).unwrap();
    assert_eq!((harness.delivered(), harness.details()), (5, 0));
}

#[test]
fn many_events_about_one_record_cause_one_read() {
    let mut harness = harness();
    let mut actions = vec![Action::Idle];
    for _ in 0..50 {
        actions.extend([Action::Change(Change::Update(vec![2])), Action::Announce(2), Action::Announce(2)]);
    }
    actions.push(Action::Idle);
    perform(&mut harness, &actions).unwrap();
    assert_eq!((harness.delivered(), harness.details()), (4, 1));
}

#[test]
fn events_about_many_records_cause_one_pass() {
    let mut harness = FollowHarness::new(ServerBehavior::conforming(100));
    harness.apply(&Change::Create(60));
    perform(&mut harness, &[Action::Idle]).unwrap();
    let requests = harness.requests();
    let mut actions = vec![Action::Change(Change::Update((0..60).collect()))];
    actions.extend((0..60).map(Action::Announce));
    actions.push(Action::Idle);
    perform(&mut harness, &actions).unwrap();
    assert_eq!((harness.delivered(), harness.details()), (120, 0));
    // The pass at the start of the run, which covers the earlier events.
    assert_eq!(harness.requests() - requests, 1);
}

#[test]
fn too_many_events_during_a_run_cause_a_pass() {
    let mut harness = FollowHarness::new(ServerBehavior::conforming(100));
    harness.apply(&Change::Create(60));
    let mut actions = vec![Action::Idle, Action::Change(Change::Update((0..60).collect()))];
    actions.extend((0..60).map(Action::Announce));
    actions.push(Action::Idle);
    perform(&mut harness, &actions).unwrap();
    assert_eq!((harness.delivered(), harness.details(), harness.requests()), (120, 0, 2));
}

#[test]
fn a_record_that_cannot_be_read_is_left_to_the_next_pass() {
    let mut harness = harness();
    let actions = [
        Action::Idle,
        Action::Change(Change::Update(vec![0])),
        Action::Refuse,
        Action::Announce(0),
        Action::AnnounceUnknown,
        Action::Idle,
    ];
    perform(&mut harness, &actions).unwrap();
    assert_eq!(harness.delivered(), 3);
    perform(&mut harness, &[Action::Wait(5 * MINUTE), Action::Idle]).unwrap();
    assert_eq!(harness.delivered(), 4);
}

#[test]
fn events_about_other_resources_and_old_events_are_ignored() {
    let mut harness = harness();
    let invoice = |harness: &FollowHarness| ChangeEvent { kind: "invoice.paid".into(), ..harness.event(0) };
    let old = ChangeEvent { timestamp: Timestamp::from_millis(0), ..harness.event(0) };
    let actions = [Action::Idle, Action::Deliver(invoice(&harness)), Action::Deliver(old), Action::Idle];
    perform(&mut harness, &actions).unwrap();
    assert_eq!((harness.delivered(), harness.details()), (3, 0));
}

#[test]
fn a_permanent_refusal_and_a_failing_handler_end_the_run() {
    let mut harness = harness();
    assert!(matches!(perform(&mut harness, &[Action::Refuse, Action::Idle]), Err(Ending::Read)));
    assert!(matches!(perform(&mut harness, &[Action::FailHandler, Action::Idle]), Err(Ending::Handler)));
    assert!(harness.failures().is_empty(), "these are returned");
    perform(&mut harness, &[Action::Idle]).unwrap();
    assert_eq!(harness.delivered(), 3);
    harness.check().unwrap();
}

#[test]
fn an_event_survives_a_failing_handler() {
    let mut harness = harness();
    let update = Action::Change(Change::Update(vec![1]));
    let actions = [Action::Idle, update, Action::Announce(1), Action::FailHandler, Action::Idle];
    assert!(matches!(perform(&mut harness, &actions), Err(Ending::Handler)));
    assert_eq!(harness.delivered(), 3);
    perform(&mut harness, &[Action::Idle]).unwrap();
    assert_eq!(harness.delivered(), 4);
}

#[test]
fn each_failed_pass_is_reported_once_with_cause_and_next_time() {
    let mut harness = harness();
    let down = [Action::Down(8), Action::Idle, Action::Wait(Duration::from_secs(30)), Action::Idle];
    perform(&mut harness, &down).unwrap();
    let [failed, _] = &harness.failures()[..] else { panic!("two passes failed") };
    for expected in ["cannot read a page: quotes.list: ", "503", "the next pass is made in 30s"] {
        assert!(failed.contains(expected), "{expected} is missing in {failed}");
    }
    perform(&mut harness, &[Action::Idle]).unwrap();
    assert!(harness.failures().is_empty() && harness.delivered() == 3);
}

#[test]
fn an_unavailable_service_is_retried() {
    let mut harness = harness();
    perform(&mut harness, &[Action::Idle, Action::Restart]).unwrap();
    // The first pass of the new process fails. An event reports a version that the previous process has delivered.
    perform(&mut harness, &[Action::Down(4), Action::Announce(0), Action::Idle]).unwrap();
    assert_eq!((harness.delivered(), harness.details()), (3, 1));
    harness.apply(&Change::Create(1));
    perform(
        &mut harness,
        &[Action::Down(4), Action::Idle, Action::Wait(Duration::from_secs(29)), Action::Idle],
    )
    .unwrap();
    assert_eq!(harness.delivered(), 3);
    let patient = [Action::Down(4), Action::Idle, Action::Wait(Duration::from_secs(30)), Action::Idle];
    perform(&mut harness, &patient).unwrap();
    assert_eq!(harness.delivered(), 4);
    harness.check().unwrap();
}

/// A pass reads a version and fails. An event delivers a later version. Then the pass continues.
#[test]
fn a_resumed_pass_does_not_deliver_an_older_version_than_an_event_did() {
    for (waits, number) in (0..12).flat_map(|waits| (0..3).map(move |number| (waits, number))) {
        let mut harness = harness();
        let change = Action::Change(Change::Update(vec![number]));
        let mut actions = vec![
            Action::Poll(waits),
            Action::Down(4),
            Action::Idle,
            change,
            Action::Announce(number),
            Action::Idle,
        ];
        actions.extend([Action::Wait(10 * MINUTE), Action::Idle]);
        perform(&mut harness, &actions).unwrap();
        harness.check().unwrap();
    }
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (0..12_usize).prop_map(Action::Poll),
        2 => Just(Action::Idle),
        2 => (1..3_u8).prop_map(|count| Action::Change(Change::Create(count))),
        4 => proptest::collection::vec(any::<u8>(), 1..4).prop_map(|chosen| Action::Change(Change::Update(chosen))),
        1 => Just(Action::Change(Change::OtherResource)),
        6 => any::<u8>().prop_map(Action::Announce),
        1 => Just(Action::AnnounceUnknown),
        2 => (0..400_u64).prop_map(|seconds| Action::Wait(Duration::from_secs(seconds))),
        1 => Just(Action::Refuse),
        1 => (1..9_u32).prop_map(Action::Down),
        1 => Just(Action::FailHandler),
        1 => Just(Action::FailSave),
        1 => Just(Action::EndStream),
        2 => Just(Action::Drop),
        1 => Just(Action::Restart),
    ]
}

/// Performs the actions, restarts after each error, and checks that the copy is complete.
fn check_completeness(harness: &mut FollowHarness, actions: &[Action]) {
    let mut rest = actions;
    while !rest.is_empty() {
        let performed = harness.performed();
        // An error may end the run early: the remaining actions follow.
        let _ = perform(harness, rest);
        rest = &rest[(harness.performed() - performed).min(rest.len())..];
    }
    // A pending fault may end the run once more.
    while perform(harness, &[Action::Down(0), Action::Idle, Action::Wait(10 * MINUTE), Action::Idle]).is_err()
    {
    }
    harness.check().unwrap();
}

#[test]
fn every_short_sequence_of_actions_ends_with_a_complete_copy() {
    let alphabet = [
        Action::Poll(1),
        Action::Poll(4),
        Action::Change(Change::Update(vec![1])),
        Action::Announce(1),
        Action::Wait(6 * MINUTE),
        Action::Drop,
        Action::Restart,
    ];
    let mut sequences = vec![vec![Action::Idle], vec![]];
    let mut begins = 0;
    for _ in 0..4 {
        let ends = sequences.len();
        for shorter in begins..ends {
            for action in &alphabet {
                let mut longer = sequences[shorter].clone();
                longer.push(action.clone());
                sequences.push(longer);
            }
        }
        begins = ends;
    }
    block_on(async {
        for sequence in &sequences {
            check_completeness(&mut harness(), sequence);
        }
    });
    println!("{} sequences of up to 4 actions: nothing lost, nothing repeated", sequences.len());
}

proptest! {
    #[test]
    fn any_sequence_of_actions_ends_with_a_complete_copy(page in 1..4_usize, sequence in proptest::collection::vec(actions(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _inside = runtime.enter();
        let mut harness = FollowHarness::new(ServerBehavior::conforming(page));
        harness.apply(&Change::Create(2));
        check_completeness(&mut harness, &sequence);
    }
}

#[test]
fn a_body_is_parsed_or_refused() {
    let body = br#"{"event":"ping","timestamp":"2026-09-14T09:41:07.123Z",
        "data":{"id":"019235a0-0000-7000-8000-000000000001","message":"m"},"later":1}"#;
    let event = ChangeEvent::from_body(body).unwrap();
    assert_eq!((event.kind.as_str(), event.timestamp), ("ping", "2026-09-14T09:41:07.123Z".parse().unwrap()));
    for bad in ["", "{}", "[]", r#"{"event":"quote.signed","timestamp":"2026-09-14","data":{"id":"x"}}"#] {
        assert!(ChangeEvent::from_body(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_notifier_brings_a_record_without_a_pass() {
    let server = FakeServer::start();
    let id = server.store(|store| store.add_quote(QuoteStatus::Sent));
    let client = server.client().build().unwrap();
    let (notifier, mut events) = change_events();
    let (delivered, mut seen) = mpsc::unbounded_channel();
    let mut follow = client.quotes().follow(MemoryCheckpoint::new()).interval(Duration::from_hours(1));
    let run = follow.run(&mut events, |quote| ready(delivered.send(quote.summary.external_id)));
    let notify = async {
        assert_eq!(seen.recv().await, Some(None));
        let stamp = server.store(|store| {
            store.change_quote(id, |quote| quote.summary.external_id = Some("deal-7".into()));
            store.last_stamp()
        });
        notifier.notify(b"not an event");
        let body = serde_json::json!({"event": "quote.signed", "timestamp": stamp, "data": {"id": id}});
        notifier.notify(body.to_string().as_bytes());
        assert_eq!(seen.recv().await, Some(Some("deal-7".to_owned())));
        let stamp = server.store(|store| {
            store.change_quote(id, |quote| quote.summary.external_id = None);
            store.last_stamp()
        });
        notifier.notify_event(&"not an event");
        notifier.notify_event(
            &serde_json::json!({"event": "quote.signed", "timestamp": stamp, "data": {"id": id}}),
        );
        assert_eq!(seen.recv().await, Some(None));
    };
    tokio::select! {
        ended = run => panic!("the follower ended: {ended:?}"),
        () = notify => {}
    }
}

#[test]
fn a_notifier_neither_waits_nor_fails_whatever_becomes_of_the_follower() {
    let (notifier, events) = change_events();
    let event = ChangeEvent { kind: "quote.signed".into(), id: Uuid::nil(), timestamp: Timestamp::EARLIEST };
    (0..2_000).for_each(|_| notifier.send(event.clone()));
    drop(events);
    notifier.send(event);
}
