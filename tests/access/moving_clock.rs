//! The quota while the clock moves under requests that wait for the disk.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::{NewClient, QUOTA_WINDOW_MS};
use invoicing_tests::{Database, World, on_each_database};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokio::task::JoinSet;

use crate::support::proptest_runner::{for_all, runtime};

const LIMIT: usize = 30;
const PATH: &str = "/api/v1/quotes?limit=1";

/// Elapsed time, in milliseconds. The lock is held while the clock moves, so a request that is counted meanwhile has
/// begun before the move and ends after it.
type Passed = Arc<Mutex<i64>>;

/// The times at which an accepted request was sent and answered.
#[derive(Debug, Clone, Copy)]
struct Accepted {
    sent: i64,
    answered: i64,
}

/// The number of requests at once, and the moves of the clock meanwhile, in milliseconds. Time passes with each move
/// ahead; a clock that is set back takes no time.
type Step = (usize, Vec<i64>);

/// Rules: QUOTA-1, QUOTA-7
#[on_each_database]
fn no_60_s_have_more_than_the_quota_while_the_clock_moves(db: Database) {
    let ahead = prop_oneof![3 => 1_000..20_000_i64, 1 => 59_000..61_500_i64];
    let moves = proptest::collection::vec(prop_oneof![4 => ahead, 1 => -30_000..0_i64], 1..4);
    let steps = proptest::collection::vec((5..30_usize, moves), 3..8);
    let runtime = runtime();
    for_all(db, 9, &steps, |steps| runtime.block_on(run(db, steps)));
}

async fn run(db: Database, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let world = World::new(db).await;
    let (passed, mut accepted) = (Passed::default(), Vec::new());
    for (calls, moves) in steps {
        let mut requests = JoinSet::new();
        for _ in 0..calls {
            requests.spawn(call(&world, Arc::clone(&passed)));
        }
        for by in moves {
            move_clock(&world, &passed, by);
            // The writes of the requests wait for this write of another caller.
            world.company.clients().create(&NewClient::named("Client")).await.unwrap();
        }
        accepted.extend(requests.join_all().await.into_iter().flatten());
    }
    for first in &accepted {
        let end = first.sent + QUOTA_WINDOW_MS;
        let inside = accepted.iter().filter(|one| one.sent >= first.sent && one.answered <= end).count();
        prop_assert!(inside <= LIMIT, "{} in the 60 s from {}", inside, first.sent);
    }
    Ok(())
}

fn call(world: &World, passed: Passed) -> impl Future<Output = Option<Accepted>> + use<> {
    let (service, bearer) = (world.invoicing.service(), format!("Bearer {}", world.key));
    async move {
        let request =
            Request::get(PATH).header("authorization", bearer).body(Full::new(Bytes::new())).unwrap();
        let sent = *passed.lock().unwrap();
        let status = service.answer(request).await.status();
        let answered = *passed.lock().unwrap();
        assert!(matches!(status.as_u16(), 200 | 429), "{status}");
        (status == 200).then_some(Accepted { sent, answered })
    }
}

fn move_clock(world: &World, passed: &Passed, by: i64) {
    let mut passed = passed.lock().unwrap();
    *passed += by.max(0);
    world.clock.set(world.now().plus_millis(by));
}
