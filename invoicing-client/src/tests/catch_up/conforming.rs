//! The guarantees with a server that conforms to the contract: all interleavings of a few changes, and random ones.

use proptest::prelude::*;

use super::super::service_model::{BeforeRequest, Change, ServerBehavior};
use super::scenario::{PassPlan, ReaderSettings, Saving, Scenario};
use super::schedules::{is_long, run, schedules};

/// Four records on two pages.
fn scenario(settings: ReaderSettings) -> Scenario {
    let scenario = Scenario::new(ServerBehavior::conforming(2), settings);
    scenario.apply(&[Change::Create(1), Change::Create(2), Change::Create(1)]);
    scenario
}

fn unordered(unordered: bool) -> ReaderSettings {
    ReaderSettings { unordered, ..ReaderSettings::default() }
}

/// Rules: CATCHUP-1, CATCHUP-2
#[tokio::test]
async fn no_interleaving_of_three_changes_loses_anything() {
    let changes: Vec<_> = (0..4)
        .map(|n| Change::Update(vec![n]))
        .chain([Change::Create(1), Change::Update(vec![0, 3]), Change::OtherResource])
        .collect();
    let all = if is_long() { schedules(&changes, 3, 6) } else { schedules(&changes[..5], 3, 4) };
    for (number, schedule) in all.iter().enumerate() {
        // Schedules of up to two changes run with both ways of delivery, longer ones with either in turn.
        let both = schedule.len() < 3;
        for is_unordered in [false, true].into_iter().filter(|way| both || *way == (number % 2 == 0)) {
            let violation =
                run(&mut scenario(unordered(is_unordered)), schedule, &PassPlan::default()).await.err();
            assert_eq!(violation, None, "unordered: {is_unordered}, {schedule:?}");
        }
    }
    println!("{} interleavings of up to 3 changes with the pages of 4 records: nothing lost", all.len());
}

/// Rules: CATCHUP-1, CATCHUP-2, CATCHUP-3
#[tokio::test]
async fn no_pass_that_ends_early_loses_anything() {
    let changes = [Change::Update(vec![0]), Change::Update(vec![3]), Change::Create(1)];
    let all = schedules(&changes, 2, if is_long() { 4 } else { 2 });
    let mut runs = 0;
    for schedule in &all {
        for restart in [false, true] {
            for fault in faults() {
                let mut scenario = scenario(unordered(runs % 2 == 0));
                let faulty = run_faulty(&mut scenario, schedule, &fault, restart).await;
                assert_eq!(faulty.err(), None, "{fault:?}, restart {restart}, {schedule:?}");
                runs += 1;
            }
        }
    }
    println!("{runs} runs with a pass that is dropped or fails: nothing lost");
}

/// The first pass ends early. The next one begins in the same process or in a new one.
async fn run_faulty(
    scenario: &mut Scenario,
    schedule: &[(usize, Change)],
    fault: &PassPlan,
    restart: bool,
) -> Result<(), String> {
    let (first, second): (Vec<_>, Vec<_>) = schedule.iter().cloned().partition(|(request, _)| *request < 2);
    let mut requests = fault.requests.clone();
    requests.resize_with(2, BeforeRequest::default);
    for (request, change) in first {
        requests[request].changes.push(change);
    }
    scenario.pass(&PassPlan { requests, ..fault.clone() }).await;
    let second = second.into_iter().map(|(_, change)| (1, change)).collect();
    run(scenario, &second, &PassPlan { restart, ..PassPlan::default() }).await
}

/// Passes dropped at every await point of two pages and some deliveries, failing handlers, stores and requests.
fn faults() -> Vec<PassPlan> {
    let dropped = (0..24).map(|at| PassPlan { dropped_at: Some(at), ..PassPlan::default() });
    let handler = (0..5).map(|at| PassPlan { handler_fails_at: Some(at), ..PassPlan::default() });
    let saving =
        [Saving::Fails, Saving::FailsAfterwards].map(|saving| PassPlan { saving, ..PassPlan::default() });
    let refused = (0..2).map(|at| {
        let mut requests = vec![BeforeRequest::default(); 2];
        requests[at].refuse = true;
        PassPlan { requests, ..PassPlan::default() }
    });
    dropped.chain(handler).chain(saving).chain(refused).collect()
}

/// The faults cover every await point: a pass of five deliveries has fewer.
#[tokio::test]
async fn the_faults_cover_every_await_point() {
    let mut scenario = scenario(ReaderSettings::default());
    scenario.apply(&[Change::Create(1)]);
    let quiet = PassPlan { dropped_at: Some(24), ..PassPlan::default() };
    assert_eq!(scenario.pass(&quiet).await.map(|pass| pass.delivered), Some(5));
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0..4_u8).prop_map(Change::Create),
        proptest::collection::vec(any::<u8>(), 1..6).prop_map(Change::Update),
        Just(Change::OtherResource),
    ];
    proptest::collection::vec(change, 0..4)
}

pub(super) fn pass_plans(
    changes: impl Strategy<Value = Vec<Change>>,
    refused: f64,
) -> impl Strategy<Value = PassPlan> {
    let before = (changes, proptest::bool::weighted(refused))
        .prop_map(|(changes, refuse)| BeforeRequest { changes, refuse });
    let saving = prop_oneof![
        8 => Just(Saving::Works), 1 => Just(Saving::Fails), 1 => Just(Saving::FailsAfterwards)
    ];
    (
        proptest::bool::weighted(0.2),
        proptest::collection::vec(before, 0..10),
        proptest::option::weighted(0.2, 0..12_usize),
        saving,
        proptest::option::weighted(0.2, 0..60_usize),
    )
        .prop_map(|(restart, requests, handler_fails_at, saving, dropped_at)| PassPlan {
            restart,
            requests,
            handler_fails_at,
            saving,
            dropped_at,
        })
}

proptest! {
    /// Rules: CATCHUP-1, CATCHUP-2, CATCHUP-3
    #[test]
    fn no_change_is_missed_or_delivered_twice(
        first in changes(),
        page in 1..5_usize,
        is_unordered in any::<bool>(),
        steps in proptest::collection::vec(pass_plans(changes(), 0.1), 0..8),
    ) {
        super::block_on(async {
            let mut scenario = Scenario::new(ServerBehavior::conforming(page), unordered(is_unordered));
            scenario.apply(&first);
            for step in &steps {
                if let Some(pass) = scenario.pass(step).await {
                    assert!(pass.in_order, "the order is that of the contract");
                }
            }
            assert_eq!(scenario.settle().await, Ok(()));
        });
    }
}

/// Rules: CATCHUP-4
#[tokio::test]
async fn the_first_pass_reads_ten_thousand_records_with_a_hundred_requests() {
    for is_unordered in [false, true] {
        let mut scenario = Scenario::new(ServerBehavior::conforming(100), unordered(is_unordered));
        scenario.apply(&vec![Change::Create(200); 50]);
        assert_eq!(scenario.pass(&PassPlan::default()).await.unwrap().delivered, 10_000);
        assert_eq!(scenario.model.state().requests, 100, "one per page");
        assert_eq!(scenario.pass(&PassPlan::default()).await.unwrap().delivered, 0);
    }
}

#[tokio::test]
async fn a_pass_continues_at_the_page_that_failed() {
    for is_unordered in [false, true] {
        let mut scenario = Scenario::new(ServerBehavior::conforming(100), unordered(is_unordered));
        scenario.apply(&vec![Change::Create(200); 50]);
        scenario.apply(&[Change::OtherResource]);
        let mut requests = vec![BeforeRequest::default(); 61];
        requests[60].refuse = true;
        assert_eq!(scenario.pass(&PassPlan { requests, ..PassPlan::default() }).await, None);
        // One of these records has been read, the other has not.
        scenario.apply(&[Change::Update(vec![255]), Change::Update(vec![0])]);
        scenario.pass(&PassPlan::default()).await.unwrap();
        // 60 pages, the refused one, the remaining 40, and one for the changes since.
        assert_eq!(scenario.model.state().requests, 60 + 1 + 40 + 1);
        assert_eq!(scenario.settle().await, Ok(()));
    }
}

#[tokio::test]
async fn a_failed_save_does_not_repeat_the_read() {
    let mut scenario = scenario(ReaderSettings::default());
    assert_eq!(scenario.pass(&PassPlan { saving: Saving::Fails, ..PassPlan::default() }).await, None);
    assert_eq!(scenario.pass(&PassPlan::default()).await.unwrap().delivered, 0);
    assert_eq!(scenario.model.state().requests, 2 + 1);
}
