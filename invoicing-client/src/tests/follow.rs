//! Following: each version once, whatever becomes of the notices, the reads and the process.

mod stage;

use std::time::Duration;

use proptest::prelude::*;

use super::model::{Change, Habits};
use crate::{Notice, Timestamp};
use stage::{Act, Ending, Stage, play};

const MINUTE: Duration = Duration::from_mins(1);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Three quotes, of which the first pass tells.
fn stage() -> Stage {
    let stage = Stage::new(Habits::ours(2));
    stage.apply(&Change::Create(3));
    stage
}

#[test]
fn a_notice_brings_a_version_at_once_and_once() {
    let mut stage = stage();
    let update = Change::Update(vec![1]);
    play(&mut stage, &[Act::Idle, Act::Change(update), Act::Tell(1), Act::Idle]).unwrap();
    assert_eq!(stage.delivered(), 4);
    assert_eq!(stage.details(), 1);
    // The pass reads it as well, and it is known.
    play(&mut stage, &[Act::Wait(5 * MINUTE), Act::Idle]).unwrap();
    assert_eq!((stage.delivered(), stage.details()), (4, 1));
}

#[test]
fn what_no_notice_tells_comes_with_the_next_pass() {
    let mut stage = stage();
    let quiet = [Act::Idle, Act::Change(Change::Create(2)), Act::EndStream, Act::Wait(4 * MINUTE), Act::Idle];
    play(&mut stage, &quiet).unwrap();
    assert_eq!(stage.delivered(), 3);
    play(&mut stage, &[Act::Wait(6 * MINUTE), Act::Idle]).unwrap();
    assert_eq!((stage.delivered(), stage.details()), (5, 0));
}

#[test]
fn many_notices_about_one_record_are_one_read() {
    let mut stage = stage();
    let mut acts = vec![Act::Idle];
    for _ in 0..50 {
        acts.extend([Act::Change(Change::Update(vec![2])), Act::Tell(2), Act::Tell(2)]);
    }
    acts.push(Act::Idle);
    play(&mut stage, &acts).unwrap();
    assert_eq!((stage.delivered(), stage.details()), (4, 1));
}

#[test]
fn notices_about_many_records_are_one_pass() {
    let mut stage = Stage::new(Habits::ours(100));
    stage.apply(&Change::Create(60));
    play(&mut stage, &[Act::Idle]).unwrap();
    let requests = stage.requests();
    let mut acts = vec![Act::Change(Change::Update((0..60).collect()))];
    acts.extend((0..60).map(Act::Tell));
    acts.push(Act::Idle);
    play(&mut stage, &acts).unwrap();
    assert_eq!((stage.delivered(), stage.details()), (120, 0));
    // The pass that a run begins with, which takes in what has been told before it.
    assert_eq!(stage.requests() - requests, 1);
}

#[test]
fn notices_during_a_run_that_are_too_many_are_a_pass() {
    let mut stage = Stage::new(Habits::ours(100));
    stage.apply(&Change::Create(60));
    let mut acts = vec![Act::Idle, Act::Change(Change::Update((0..60).collect()))];
    acts.extend((0..60).map(Act::Tell));
    acts.push(Act::Idle);
    play(&mut stage, &acts).unwrap();
    assert_eq!((stage.delivered(), stage.details(), stage.requests()), (120, 0, 2));
}

#[test]
fn a_record_that_cannot_be_read_is_left_to_the_pass() {
    let mut stage = stage();
    let acts = [
        Act::Idle,
        Act::Change(Change::Update(vec![0])),
        Act::Refuse,
        Act::Tell(0),
        Act::TellOfNothing,
        Act::Idle,
    ];
    play(&mut stage, &acts).unwrap();
    assert_eq!(stage.delivered(), 3);
    play(&mut stage, &[Act::Wait(5 * MINUTE), Act::Idle]).unwrap();
    assert_eq!(stage.delivered(), 4);
}

#[test]
fn other_events_and_old_ones_are_not_read() {
    let mut stage = stage();
    let invoice = |stage: &Stage| Notice { event: "invoice.paid".into(), ..stage.notice(0) };
    let old = Notice { timestamp: Timestamp::from_millis(0), ..stage.notice(0) };
    let acts = [Act::Idle, Act::Notice(invoice(&stage)), Act::Notice(old), Act::Idle];
    play(&mut stage, &acts).unwrap();
    assert_eq!((stage.delivered(), stage.details()), (3, 0));
}

#[test]
fn a_refusal_for_good_ends_it_and_a_failing_handler_too() {
    let mut stage = stage();
    assert!(matches!(play(&mut stage, &[Act::Refuse, Act::Idle]), Err(Ending::Read)));
    assert!(matches!(play(&mut stage, &[Act::FailHandler, Act::Idle]), Err(Ending::Handler)));
    play(&mut stage, &[Act::Idle]).unwrap();
    assert_eq!(stage.delivered(), 3);
    stage.check().unwrap();
}

#[test]
fn a_failing_handler_keeps_its_notice() {
    let mut stage = stage();
    let update = Act::Change(Change::Update(vec![1]));
    let acts = [Act::Idle, update, Act::Tell(1), Act::FailHandler, Act::Idle];
    assert!(matches!(play(&mut stage, &acts), Err(Ending::Handler)));
    assert_eq!(stage.delivered(), 3);
    play(&mut stage, &[Act::Idle]).unwrap();
    assert_eq!(stage.delivered(), 4);
}

#[test]
fn a_service_that_is_down_is_asked_again() {
    let mut stage = stage();
    play(&mut stage, &[Act::Idle, Act::Restart]).unwrap();
    // The first pass of the new process fails; a notice tells of what the last process has stored.
    play(&mut stage, &[Act::Down(4), Act::Tell(0), Act::Idle]).unwrap();
    assert_eq!((stage.delivered(), stage.details()), (3, 1));
    stage.apply(&Change::Create(1));
    play(&mut stage, &[Act::Down(4), Act::Idle, Act::Wait(Duration::from_secs(29)), Act::Idle]).unwrap();
    assert_eq!(stage.delivered(), 3);
    let patient = [Act::Down(4), Act::Idle, Act::Wait(Duration::from_secs(30)), Act::Idle];
    play(&mut stage, &patient).unwrap();
    assert_eq!(stage.delivered(), 4);
    stage.check().unwrap();
}

/// A pass has read a version and cannot read on; a notice brings a later one; then the pass goes on.
#[test]
fn what_a_failed_pass_holds_does_not_come_after_what_a_notice_brought() {
    for (waits, number) in (0..12).flat_map(|waits| (0..3).map(move |number| (waits, number))) {
        let mut stage = stage();
        let change = Act::Change(Change::Update(vec![number]));
        let mut acts = vec![Act::Poll(waits), Act::Down(4), Act::Idle, change, Act::Tell(number), Act::Idle];
        acts.extend([Act::Wait(10 * MINUTE), Act::Idle]);
        play(&mut stage, &acts).unwrap();
        stage.check().unwrap();
    }
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..12_usize).prop_map(Act::Poll),
        2 => Just(Act::Idle),
        2 => (1..3_u8).prop_map(|count| Act::Change(Change::Create(count))),
        4 => proptest::collection::vec(any::<u8>(), 1..4).prop_map(|chosen| Act::Change(Change::Update(chosen))),
        1 => Just(Act::Change(Change::Elsewhere)),
        6 => any::<u8>().prop_map(Act::Tell),
        1 => Just(Act::TellOfNothing),
        2 => (0..400_u64).prop_map(|seconds| Act::Wait(Duration::from_secs(seconds))),
        1 => Just(Act::Refuse),
        1 => (1..9_u32).prop_map(Act::Down),
        1 => Just(Act::FailHandler),
        1 => Just(Act::FailSave),
        1 => Just(Act::EndStream),
        2 => Just(Act::Drop),
        1 => Just(Act::Restart),
    ]
}

/// Plays some acts, begins anew whenever something ended it, and in the end has a complete copy.
fn survives(stage: &mut Stage, acts: &[Act]) {
    let mut rest = acts;
    while !rest.is_empty() {
        let played = stage.played();
        // An ending is somewhere among the acts: the others come after it.
        let _ = play(stage, rest);
        rest = &rest[(stage.played() - played).min(rest.len())..];
    }
    // What an ending left behind may end it once more.
    while play(stage, &[Act::Down(0), Act::Idle, Act::Wait(10 * MINUTE), Act::Idle]).is_err() {}
    stage.check().unwrap();
}

#[test]
fn every_short_story_ends_with_a_complete_copy() {
    let alphabet = [
        Act::Poll(1),
        Act::Poll(4),
        Act::Change(Change::Update(vec![1])),
        Act::Tell(1),
        Act::Wait(6 * MINUTE),
        Act::Drop,
        Act::Restart,
    ];
    let mut stories = vec![vec![Act::Idle], vec![]];
    let mut begins = 0;
    for _ in 0..4 {
        let ends = stories.len();
        for shorter in begins..ends {
            for act in &alphabet {
                let mut longer = stories[shorter].clone();
                longer.push(act.clone());
                stories.push(longer);
            }
        }
        begins = ends;
    }
    block_on(async {
        for story in &stories {
            survives(&mut stage(), story);
        }
    });
    println!("{} stories of up to 4 acts: nothing lost, nothing twice", stories.len());
}

proptest! {
    #[test]
    fn any_story_ends_with_a_complete_copy(page in 1..4_usize, story in proptest::collection::vec(acts(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _inside = runtime.enter();
        let mut stage = Stage::new(Habits::ours(page));
        stage.apply(&Change::Create(2));
        survives(&mut stage, &story);
    }
}

#[test]
fn a_body_is_read_or_refused() {
    let body = br#"{"event":"ping","timestamp":"2026-09-14T09:41:07.123Z",
        "data":{"id":"019235a0-0000-7000-8000-000000000001","message":"m"},"later":1}"#;
    let notice = Notice::from_body(body).unwrap();
    assert_eq!(
        (notice.event.as_str(), notice.timestamp),
        ("ping", "2026-09-14T09:41:07.123Z".parse().unwrap())
    );
    for bad in ["", "{}", "[]", r#"{"event":"quote.signed","timestamp":"2026-09-14","data":{"id":"x"}}"#] {
        assert!(Notice::from_body(bad.as_bytes()).is_err(), "{bad}");
    }
}
