//! Servers that promise less than the contract: other orders, stamps that are late or shared, no `asOf`.
//!
//! With the look-back and the overlap that they need nothing is lost. Without them something is, which shows that
//! these tests would notice.

use proptest::prelude::*;

use super::super::model::{AsOf, Change, Habits, Order};
use super::ours::steps;
use super::schedules::{Schedule, is_long, run, schedules};
use super::world::{Means, Step, World};

/// How late a change may become visible, in milliseconds, which here are changes.
const LATE: i64 = 3;
const PAGE: usize = 4;

fn habits(order: Order, as_of: AsOf) -> Habits {
    Habits { page: PAGE, order, as_of, shuffles_ties: false }
}

fn all_habits() -> impl Iterator<Item = Habits> {
    Order::ALL.into_iter().flat_map(|order| AsOf::ALL.map(|as_of| habits(order, as_of)))
}

fn means() -> Means {
    Means { look_back: LATE, overlap: 2, unordered: false }
}

/// Seven records, some with one stamp, on two pages and more.
fn world(habits: Habits, means: Means) -> World {
    let world = World::new(habits, means);
    world.apply(&[Change::Create(2), Change::Create(1), Change::Create(3), Change::Create(1)]);
    world
}

fn changes() -> Vec<Change> {
    let updates = [0, 5].map(|n| Change::Update(vec![n]));
    let late = [Change::UpdateLate(0, LATE), Change::UpdateLate(6, LATE - 1), Change::CreateLate(LATE)];
    updates.into_iter().chain(late).chain([Change::Update(vec![1, 2]), Change::Create(2)]).collect()
}

/// Of how many schedules something was lost.
async fn losses(habits: Habits, means: Means, all: &[Schedule]) -> usize {
    let mut losses = 0;
    for schedule in all {
        losses += usize::from(run(&mut world(habits, means), schedule, &Step::default()).await.is_err());
    }
    losses
}

#[tokio::test]
async fn no_interleaving_loses_anything_whatever_the_order() {
    let all = schedules(&changes(), 2, if is_long() { 6 } else { 3 });
    let mut runs = 0;
    for habits in all_habits() {
        for schedule in &all {
            let means = Means { unordered: runs % 3 == 0, ..means() };
            let wrong = run(&mut world(habits, means), schedule, &Step::default()).await.err();
            assert_eq!(wrong, None, "{habits:?} {means:?} {schedule:?}");
            runs += 1;
        }
    }
    println!("{runs} interleavings of up to 2 changes with 12 kinds of server: nothing lost");
}

#[tokio::test]
async fn no_interleaving_of_three_changes_loses_anything_in_ascending_order() {
    // Those that move what the reader is about to read: more than the overlap bears, and deletions.
    let changes = [
        Change::Update(vec![0, 1, 2, 3]),
        Change::Update(vec![0]),
        Change::Update(vec![4, 5]),
        Change::UpdateLate(1, LATE),
        Change::Delete(0),
        Change::Create(1),
    ];
    let all = if is_long() { schedules(&changes, 3, 5) } else { schedules(&changes[..5], 3, 3) };
    let habits = habits(Order::ModifiedAscending, AsOf::Absent);
    for schedule in &all {
        let wrong = run(&mut world(habits, means()), schedule, &Step::default()).await.err();
        assert_eq!(wrong, None, "{schedule:?}");
    }
    println!("{} interleavings of up to 3 changes with an ascending list: nothing lost", all.len());
}

#[tokio::test]
async fn without_the_means_something_is_lost() {
    let all = schedules(&changes(), 2, 3);
    let ascending = habits(Order::ModifiedAscending, AsOf::LastStamp);
    let descending = habits(Order::ModifiedDescending, AsOf::LastStamp);
    let created = habits(Order::CreatedAscending, AsOf::Absent);
    let (look_back, overlap) = (means().look_back, means().overlap);
    let without = |habits, look_back, overlap| {
        let all = &all;
        async move { losses(habits, Means { look_back, overlap, unordered: false }, all).await }
    };
    let found = [
        without(ascending, look_back, 0).await,
        without(ascending, 0, overlap).await,
        without(descending, 0, 0).await,
        without(created, 0, 0).await,
    ];
    println!("without the means, of {} interleavings these lose something: {found:?}", all.len());
    assert!(found.iter().all(|losses| *losses > 0), "{found:?}");
    // With them, and with no more of them than each needs, none does.
    assert_eq!(without(ascending, look_back, overlap).await, 0);
    assert_eq!(without(descending, look_back, 0).await, 0);
    assert_eq!(without(created, look_back, 0).await, 0);
}

#[tokio::test]
async fn another_order_is_noticed() {
    for habits in all_habits() {
        let pass = world(habits, means()).pass(&Step::default()).await.unwrap();
        // What was created last was modified last here, and of ties nothing is known.
        let is_ours = habits.order == Order::ModifiedDescending;
        assert!(pass.in_order == is_ours || habits.order == Order::CreatedDescending, "{habits:?}");
    }
}

#[tokio::test]
async fn a_list_that_never_holds_still_is_given_up() {
    let mut world = world(habits(Order::ModifiedAscending, AsOf::Absent), means());
    // All that was read is always somewhere else before the next request.
    let before =
        super::super::model::Before { changes: vec![Change::Update((0..7).collect())], refuse: false };
    let restless = Step { requests: vec![before; 200], ..Step::default() };
    assert_eq!(world.pass(&restless).await, None);
    assert!(world.model.state().requests < 150, "it goes on for {}", world.model.state().requests);
    assert_eq!(world.settle().await, Ok(()));
}

fn random_changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0..3_u8).prop_map(Change::Create),
        proptest::collection::vec(any::<u8>(), 1..4).prop_map(Change::Update),
        (any::<u8>(), 0..=LATE).prop_map(|(n, late)| Change::UpdateLate(n, late)),
        (0..=LATE).prop_map(Change::CreateLate),
        any::<u8>().prop_map(Change::Delete),
        Just(Change::Elsewhere),
    ];
    proptest::collection::vec(change, 0..4)
}

proptest! {
    #[test]
    fn nothing_is_missed_whatever_the_server_does(
        first in proptest::collection::vec(random_changes(), 1..6),
        order in proptest::sample::select(&Order::ALL[..]),
        as_of in proptest::sample::select(&AsOf::ALL[..]),
        page in 3..7_usize,
        unordered in any::<bool>(),
        steps in proptest::collection::vec(steps(random_changes(), 0.02), 0..8),
    ) {
        super::block_on(async {
            let habits = Habits { page, order, as_of, shuffles_ties: false };
            let mut world = World::new(habits, Means { unordered, ..means() });
            for changes in &first {
                world.apply(changes);
            }
            for step in &steps {
                world.pass(step).await;
            }
            assert_eq!(world.settle().await, Ok(()));
        });
    }

    /// At most as many records have one stamp as pages overlap.
    #[test]
    fn ties_may_be_shuffled(
        stamps in proptest::collection::vec(1..=3_u8, 1..8),
        ascending in any::<bool>(),
        moves in proptest::collection::vec(proptest::option::of(any::<u8>()), 0..10),
    ) {
        super::block_on(async {
            let order = if ascending { Order::ModifiedAscending } else { Order::ModifiedDescending };
            let habits = Habits { page: 8, order, as_of: AsOf::LastStamp, shuffles_ties: true };
            let mut world = World::new(habits, Means { overlap: 4, ..means() });
            for count in &stamps {
                world.apply(&[Change::Create(*count)]);
            }
            let requests = moves.iter().map(|chosen| super::super::model::Before {
                changes: chosen.iter().map(|n| Change::Update(vec![*n])).collect(),
                refuse: false,
            });
            world.pass(&Step { requests: requests.collect(), ..Step::default() }).await;
            assert_eq!(world.settle().await, Ok(()));
        });
    }
}

#[test]
fn shuffled_ties_are_lost_without_an_overlap() {
    super::block_on(async {
        let habits = Habits { page: 8, shuffles_ties: true, ..Habits::ours(8) };
        let mut losses = [0, 0];
        for salt in 0..50 {
            for (overlap, losses) in [0, 4].into_iter().zip(&mut losses) {
                let mut world = World::new(habits, Means { overlap, ..means() });
                world.apply(&vec![Change::Elsewhere; 3]);
                world.apply(&vec![Change::Create(3); 6]);
                world.model.state().requests = salt;
                let pass = world.pass(&Step::default()).await.unwrap();
                *losses += usize::from(pass.delivered < 18);
            }
        }
        assert!(losses[0] > 0 && losses[1] == 0, "{losses:?}");
    });
}
