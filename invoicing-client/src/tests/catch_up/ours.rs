//! The guarantees against a server that keeps the contract: every interleaving of a few changes, and many random ones.

use proptest::prelude::*;

use super::super::model::{Before, Change, Habits};
use super::schedules::{is_long, run, schedules};
use super::world::{Means, Saving, Step, World};

/// Four records on two pages.
fn world(means: Means) -> World {
    let world = World::new(Habits::ours(2), means);
    world.apply(&[Change::Create(1), Change::Create(2), Change::Create(1)]);
    world
}

fn unordered(unordered: bool) -> Means {
    Means { unordered, ..Means::default() }
}

/// Rules: CATCHUP-1, CATCHUP-2
#[tokio::test]
async fn no_interleaving_of_three_changes_loses_anything() {
    let changes: Vec<_> = (0..4)
        .map(|n| Change::Update(vec![n]))
        .chain([Change::Create(1), Change::Update(vec![0, 3]), Change::Elsewhere])
        .collect();
    let all = if is_long() { schedules(&changes, 3, 6) } else { schedules(&changes[..5], 3, 4) };
    for (number, schedule) in all.iter().enumerate() {
        // Both ways of delivering, in turn over the schedules and all of them over two of the changes.
        let both = schedule.len() < 3;
        for way in [false, true].into_iter().filter(|way| both || *way == (number % 2 == 0)) {
            let wrong = run(&mut world(unordered(way)), schedule, &Step::default()).await.err();
            assert_eq!(wrong, None, "unordered: {way}, {schedule:?}");
        }
    }
    println!("{} interleavings of up to 3 changes with the pages of 4 records: nothing lost", all.len());
}

/// Rules: CATCHUP-1, CATCHUP-2, CATCHUP-3
#[tokio::test]
async fn no_pass_that_ends_anywhere_loses_anything() {
    let changes = [Change::Update(vec![0]), Change::Update(vec![3]), Change::Create(1)];
    let all = schedules(&changes, 2, if is_long() { 4 } else { 2 });
    let mut runs = 0;
    for schedule in &all {
        for restart in [false, true] {
            for fault in faults() {
                let mut world = world(unordered(runs % 2 == 0));
                let faulty = run_faulty(&mut world, schedule, &fault, restart).await;
                assert_eq!(faulty.err(), None, "{fault:?}, restart {restart}, {schedule:?}");
                runs += 1;
            }
        }
    }
    println!("{runs} runs with a pass that is dropped or fails somewhere: nothing lost");
}

/// The first pass ends early; the next one begins in the same process, or in another.
async fn run_faulty(
    world: &mut World,
    schedule: &[(usize, Change)],
    fault: &Step,
    restart: bool,
) -> Result<(), String> {
    let (first, second): (Vec<_>, Vec<_>) = schedule.iter().cloned().partition(|(request, _)| *request < 2);
    let mut requests = fault.requests.clone();
    requests.resize_with(2, Before::default);
    for (request, change) in first {
        requests[request].changes.push(change);
    }
    world.pass(&Step { requests, ..fault.clone() }).await;
    let second = second.into_iter().map(|(_, change)| (1, change)).collect();
    run(world, &second, &Step { restart, ..Step::default() }).await
}

/// Dropped at every place where a pass of two pages and some deliveries can wait; failing handlers and stores.
fn faults() -> Vec<Step> {
    let dropped = (0..24).map(|at| Step { dropped_at: Some(at), ..Step::default() });
    let handler = (0..5).map(|at| Step { handler_fails_at: Some(at), ..Step::default() });
    let saving = [Saving::Fails, Saving::FailsAfterwards].map(|saving| Step { saving, ..Step::default() });
    let refused = (0..2).map(|at| {
        let mut requests = vec![Before::default(); 2];
        requests[at].refuse = true;
        Step { requests, ..Step::default() }
    });
    dropped.chain(handler).chain(saving).chain(refused).collect()
}

/// The places above are all of them: a pass of five deliveries waits less often.
#[tokio::test]
async fn every_place_is_among_the_faults() {
    let mut world = world(Means::default());
    world.apply(&[Change::Create(1)]);
    let quiet = Step { dropped_at: Some(24), ..Step::default() };
    assert_eq!(world.pass(&quiet).await.map(|pass| pass.delivered), Some(5));
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0..4_u8).prop_map(Change::Create),
        proptest::collection::vec(any::<u8>(), 1..6).prop_map(Change::Update),
        Just(Change::Elsewhere),
    ];
    proptest::collection::vec(change, 0..4)
}

pub(super) fn steps(
    changes: impl Strategy<Value = Vec<Change>>,
    refused: f64,
) -> impl Strategy<Value = Step> {
    let before =
        (changes, proptest::bool::weighted(refused)).prop_map(|(changes, refuse)| Before { changes, refuse });
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
        .prop_map(|(restart, requests, handler_fails_at, saving, dropped_at)| Step {
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
    fn nothing_is_missed_and_nothing_comes_twice(
        first in changes(),
        page in 1..5_usize,
        way in any::<bool>(),
        steps in proptest::collection::vec(steps(changes(), 0.1), 0..8),
    ) {
        super::block_on(async {
            let mut world = World::new(Habits::ours(page), unordered(way));
            world.apply(&first);
            for step in &steps {
                if let Some(pass) = world.pass(step).await {
                    assert!(pass.in_order, "no false alarm");
                }
            }
            assert_eq!(world.settle().await, Ok(()));
        });
    }
}

/// Rules: CATCHUP-4
#[tokio::test]
async fn ten_thousand_records_are_read_at_first() {
    for way in [false, true] {
        let mut world = World::new(Habits::ours(100), unordered(way));
        world.apply(&vec![Change::Create(200); 50]);
        assert_eq!(world.pass(&Step::default()).await.unwrap().delivered, 10_000);
        assert_eq!(world.model.state().requests, 100, "no more than it takes");
        assert_eq!(world.pass(&Step::default()).await.unwrap().delivered, 0);
    }
}

#[tokio::test]
async fn a_pass_goes_on_where_it_could_not_read() {
    for way in [false, true] {
        let mut world = World::new(Habits::ours(100), unordered(way));
        world.apply(&vec![Change::Create(200); 50]);
        world.apply(&[Change::Elsewhere]);
        let mut requests = vec![Before::default(); 61];
        requests[60].refuse = true;
        assert_eq!(world.pass(&Step { requests, ..Step::default() }).await, None);
        // One that was read already, and one that was not.
        world.apply(&[Change::Update(vec![255]), Change::Update(vec![0])]);
        world.pass(&Step::default()).await.unwrap();
        // 60 pages, the one that was refused, the 40 that were left, and what changed meanwhile.
        assert_eq!(world.model.state().requests, 60 + 1 + 40 + 1);
        assert_eq!(world.settle().await, Ok(()));
    }
}

#[tokio::test]
async fn a_checkpoint_that_was_not_saved_is_not_read_for_again() {
    let mut world = world(Means::default());
    assert_eq!(world.pass(&Step { saving: Saving::Fails, ..Step::default() }).await, None);
    assert_eq!(world.pass(&Step::default()).await.unwrap().delivered, 0);
    assert_eq!(world.model.state().requests, 2 + 1);
}
