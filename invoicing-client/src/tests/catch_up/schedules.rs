//! All interleavings of a few changes with requests.
//!
//! Each response shows one snapshot, so the only relevant property of a change is the pair of requests it falls between.

use super::super::service_model::{BeforeRequest, Change};
use super::scenario::{PassPlan, Scenario};

/// True if the exhaustive tests run at full length. `PROPTEST_CASES` selects it too.
pub(super) fn is_long() -> bool {
    std::env::var("PROPTEST_CASES").is_ok_and(|cases| cases.parse().is_ok_and(|cases: u32| cases >= 1_000))
}

/// Changes, each with the number of the request before which it becomes visible, in the order of the requests.
pub(super) type Schedule = Vec<(usize, Change)>;

/// All schedules of up to `max` of these changes before the first `requests` requests.
pub(super) fn schedules(changes: &[Change], max: usize, requests: usize) -> Vec<Schedule> {
    let mut all = vec![Schedule::new()];
    let mut begins = 0;
    for _ in 0..max {
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

/// Runs a schedule over as many passes as necessary. The first pass has the faults of `first`.
pub(super) async fn run(
    scenario: &mut Scenario,
    schedule: &Schedule,
    first: &PassPlan,
) -> Result<(), String> {
    let mut script = Vec::<BeforeRequest>::new();
    for (request, change) in schedule {
        script.resize_with(script.len().max(request + 1), BeforeRequest::default);
        script[*request].changes.push(change.clone());
    }
    let mut step = PassPlan { requests: script, ..first.clone() };
    loop {
        scenario.pass(&step).await;
        let rest: Vec<_> = scenario.model.state().script.drain(..).collect();
        if rest.is_empty() {
            return scenario.settle().await;
        }
        step = PassPlan { requests: rest, ..PassPlan::default() };
    }
}

#[test]
fn every_schedule_is_listed_once() {
    let [a, b] = [Change::OtherResource, Change::Create(1)];
    let all = schedules(&[a.clone(), b.clone()], 2, 2);
    // None; one of 2 changes before 2 requests; two of them before requests (0, 0), (0, 1), (1, 1).
    assert_eq!(all.len(), 1 + 4 + 3 * 4);
    assert!(all.contains(&vec![(0, b), (1, a)]));
    let mut sorted: Vec<_> = all.iter().map(|schedule| format!("{schedule:?}")).collect();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), all.len());
}
