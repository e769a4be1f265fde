//! Every way in which a few changes can fall between requests.
//!
//! A request is answered from one snapshot, so that all that matters of a change is between which two it falls.

use super::super::model::{Before, Change};
use super::world::{Step, World};

/// Whether this run is to be long: `PROPTEST_CASES` raises more than random cases.
pub(super) fn is_long() -> bool {
    std::env::var("PROPTEST_CASES").is_ok_and(|cases| cases.parse().is_ok_and(|cases: u32| cases >= 1_000))
}

/// A change and the request before which it becomes visible, in the order of the requests.
pub(super) type Schedule = Vec<(usize, Change)>;

/// All schedules of up to `most` of these changes before the first so many requests.
pub(super) fn schedules(changes: &[Change], most: usize, requests: usize) -> Vec<Schedule> {
    let mut all = vec![Schedule::new()];
    let mut begins = 0;
    for _ in 0..most {
        let ends = all.len();
        for shorter in begins..ends {
            let first = all[shorter].last().map_or(0, |(request, _)| *request);
            for request in first..requests {
                for change in changes {
                    let mut longer = all[shorter].clone();
                    longer.push((request, change.clone()));
                    all.push(longer);
                }
            }
        }
        begins = ends;
    }
    all
}

/// Runs a schedule over as many passes as it takes; the first is this one, its requests apart.
pub(super) async fn run(world: &mut World, schedule: &Schedule, first: &Step) -> Result<(), String> {
    let mut script = Vec::<Before>::new();
    for (request, change) in schedule {
        script.resize_with(script.len().max(request + 1), Before::default);
        script[*request].changes.push(change.clone());
    }
    let mut step = Step { requests: script, ..first.clone() };
    loop {
        world.pass(&step).await;
        let rest: Vec<_> = world.model.state().script.drain(..).collect();
        if rest.is_empty() {
            return world.settle().await;
        }
        step = Step { requests: rest, ..Step::default() };
    }
}

#[test]
fn every_schedule_is_there_once() {
    let [a, b] = [Change::Elsewhere, Change::Create(1)];
    let all = schedules(&[a.clone(), b.clone()], 2, 2);
    // None; one of 2 changes before 2 requests; two of them before requests (0, 0), (0, 1), (1, 1).
    assert_eq!(all.len(), 1 + 4 + 3 * 4);
    assert!(all.contains(&vec![(0, b), (1, a)]));
    let mut sorted: Vec<_> = all.iter().map(|schedule| format!("{schedule:?}")).collect();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), all.len());
}
