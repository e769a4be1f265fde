//! Servers that guarantee less than the contract: other orders, late or equal stamps, no `asOf`.
//!
//! With the necessary look-back and overlap nothing is lost. Without them records are lost, which proves that these tests
//! detect a loss.

use proptest::prelude::*;

use super::super::service_model::{AsOf, Change, Order, ServerBehavior};
use super::conforming::pass_plans;
use super::scenario::{PassPlan, ReaderSettings, Scenario};
use super::schedules::{Schedule, is_long, run, schedules};

/// How late a change may become visible, in milliseconds. The clock advances by one per change.
const LATE: i64 = 3;
const PAGE: usize = 4;

fn behavior(order: Order, as_of: AsOf) -> ServerBehavior {
    ServerBehavior { page: PAGE, order, as_of, shuffles_ties: false }
}

fn all_behaviors() -> impl Iterator<Item = ServerBehavior> {
    Order::ALL.into_iter().flat_map(|order| AsOf::ALL.map(|as_of| behavior(order, as_of)))
}

fn settings() -> ReaderSettings {
    ReaderSettings { look_back: LATE, overlap: 2, unordered: false }
}

/// Seven records, some with equal stamps, on at least two pages.
fn scenario(behavior: ServerBehavior, settings: ReaderSettings) -> Scenario {
    let scenario = Scenario::new(behavior, settings);
    scenario.apply(&[Change::Create(2), Change::Create(1), Change::Create(3), Change::Create(1)]);
    scenario
}

fn changes() -> Vec<Change> {
    let updates = [0, 5].map(|n| Change::Update(vec![n]));
    let late = [Change::UpdateLate(0, LATE), Change::UpdateLate(6, LATE - 1), Change::CreateLate(LATE)];
    updates.into_iter().chain(late).chain([Change::Update(vec![1, 2]), Change::Create(2)]).collect()
}

/// Number of schedules that lose records.
async fn losses(behavior: ServerBehavior, settings: ReaderSettings, all: &[Schedule]) -> usize {
    let mut losses = 0;
    for schedule in all {
        losses += usize::from(
            run(&mut scenario(behavior, settings), schedule, &PassPlan::default()).await.is_err(),
        );
    }
    losses
}

#[tokio::test]
async fn no_interleaving_loses_anything_in_any_order() {
    let all = schedules(&changes(), 2, if is_long() { 6 } else { 3 });
    let mut runs = 0;
    for behavior in all_behaviors() {
        for schedule in &all {
            let settings = ReaderSettings { unordered: runs % 3 == 0, ..settings() };
            let wrong = run(&mut scenario(behavior, settings), schedule, &PassPlan::default()).await.err();
            assert_eq!(wrong, None, "{behavior:?} {settings:?} {schedule:?}");
            runs += 1;
        }
    }
    println!("{runs} interleavings of up to 2 changes with 12 kinds of server: nothing lost");
}

#[tokio::test]
async fn no_interleaving_of_three_changes_loses_anything_in_ascending_order() {
    // Changes that move unread records, by more than the overlap too, and deletions.
    let changes = [
        Change::Update(vec![0, 1, 2, 3]),
        Change::Update(vec![0]),
        Change::Update(vec![4, 5]),
        Change::UpdateLate(1, LATE),
        Change::Delete(0),
        Change::Create(1),
    ];
    let all = if is_long() { schedules(&changes, 3, 5) } else { schedules(&changes[..5], 3, 3) };
    let behavior = behavior(Order::ModifiedAscending, AsOf::Absent);
    for schedule in &all {
        let wrong = run(&mut scenario(behavior, settings()), schedule, &PassPlan::default()).await.err();
        assert_eq!(wrong, None, "{schedule:?}");
    }
    println!("{} interleavings of up to 3 changes with an ascending list: nothing lost", all.len());
}

#[tokio::test]
async fn without_the_settings_records_are_lost() {
    let all = schedules(&changes(), 2, 3);
    let ascending = behavior(Order::ModifiedAscending, AsOf::LastStamp);
    let descending = behavior(Order::ModifiedDescending, AsOf::LastStamp);
    let created = behavior(Order::CreatedAscending, AsOf::Absent);
    let (look_back, overlap) = (settings().look_back, settings().overlap);
    let without = |behavior, look_back, overlap| {
        let all = &all;
        async move { losses(behavior, ReaderSettings { look_back, overlap, unordered: false }, all).await }
    };
    let found = [
        without(ascending, look_back, 0).await,
        without(ascending, 0, overlap).await,
        without(descending, 0, 0).await,
        without(created, 0, 0).await,
    ];
    println!("without the settings, of {} interleavings these lose records: {found:?}", all.len());
    assert!(found.iter().all(|losses| *losses > 0), "{found:?}");
    // With the minimal settings, none is lost.
    assert_eq!(without(ascending, look_back, overlap).await, 0);
    assert_eq!(without(descending, look_back, 0).await, 0);
    assert_eq!(without(created, look_back, 0).await, 0);
}

#[tokio::test]
async fn another_order_is_reported() {
    for behavior in all_behaviors() {
        let pass = scenario(behavior, settings()).pass(&PassPlan::default()).await.unwrap();
        // Here the order of creation is that of modification. The order of ties is undefined.
        let is_ours = behavior.order == Order::ModifiedDescending;
        assert!(pass.in_order == is_ours || behavior.order == Order::CreatedDescending, "{behavior:?}");
    }
}

#[tokio::test]
async fn a_list_that_changes_before_every_page_is_given_up() {
    let mut scenario = scenario(behavior(Order::ModifiedAscending, AsOf::Absent), settings());
    // All records move before each request.
    let before = super::super::service_model::BeforeRequest {
        changes: vec![Change::Update((0..7).collect())],
        refuse: false,
    };
    let restless = PassPlan { requests: vec![before; 200], ..PassPlan::default() };
    assert_eq!(scenario.pass(&restless).await, None);
    assert!(scenario.model.state().requests < 150, "{} requests", scenario.model.state().requests);
    assert_eq!(scenario.settle().await, Ok(()));
}

fn random_changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0..3_u8).prop_map(Change::Create),
        proptest::collection::vec(any::<u8>(), 1..4).prop_map(Change::Update),
        (any::<u8>(), 0..=LATE).prop_map(|(n, late)| Change::UpdateLate(n, late)),
        (0..=LATE).prop_map(Change::CreateLate),
        any::<u8>().prop_map(Change::Delete),
        Just(Change::OtherResource),
    ];
    proptest::collection::vec(change, 0..4)
}

proptest! {
    #[test]
    fn no_change_is_missed_with_any_server(
        first in proptest::collection::vec(random_changes(), 1..6),
        order in proptest::sample::select(&Order::ALL[..]),
        as_of in proptest::sample::select(&AsOf::ALL[..]),
        page in 3..7_usize,
        unordered in any::<bool>(),
        steps in proptest::collection::vec(pass_plans(random_changes(), 0.02), 0..8),
    ) {
        super::block_on(async {
            let behavior = ServerBehavior { page, order, as_of, shuffles_ties: false };
            let mut scenario = Scenario::new(behavior, ReaderSettings { unordered, ..settings() });
            for changes in &first {
                scenario.apply(changes);
            }
            for step in &steps {
                scenario.pass(step).await;
            }
            assert_eq!(scenario.settle().await, Ok(()));
        });
    }

    /// Groups with equal stamps are not larger than the overlap.
    #[test]
    fn ties_may_change_their_order(
        stamps in proptest::collection::vec(1..=3_u8, 1..8),
        ascending in any::<bool>(),
        moves in proptest::collection::vec(proptest::option::of(any::<u8>()), 0..10),
    ) {
        super::block_on(async {
            let order = if ascending { Order::ModifiedAscending } else { Order::ModifiedDescending };
            let behavior = ServerBehavior { page: 8, order, as_of: AsOf::LastStamp, shuffles_ties: true };
            let mut scenario = Scenario::new(behavior, ReaderSettings { overlap: 4, ..settings() });
            for count in &stamps {
                scenario.apply(&[Change::Create(*count)]);
            }
            let requests = moves.iter().map(|chosen| super::super::service_model::BeforeRequest {
                changes: chosen.iter().map(|n| Change::Update(vec![*n])).collect(),
                refuse: false,
            });
            scenario.pass(&PassPlan { requests: requests.collect(), ..PassPlan::default() }).await;
            assert_eq!(scenario.settle().await, Ok(()));
        });
    }
}

#[test]
fn ties_that_change_their_order_are_lost_without_an_overlap() {
    super::block_on(async {
        let behavior = ServerBehavior { page: 8, shuffles_ties: true, ..ServerBehavior::conforming(8) };
        let mut losses = [0, 0];
        for salt in 0..50 {
            for (overlap, losses) in [0, 4].into_iter().zip(&mut losses) {
                let mut scenario = Scenario::new(behavior, ReaderSettings { overlap, ..settings() });
                scenario.apply(&vec![Change::OtherResource; 3]);
                scenario.apply(&vec![Change::Create(3); 6]);
                scenario.model.state().requests = salt;
                let pass = scenario.pass(&PassPlan::default()).await.unwrap();
                *losses += usize::from(pass.delivered < 18);
            }
        }
        assert!(losses[0] > 0 && losses[1] == 0, "{losses:?}");
    });
}
