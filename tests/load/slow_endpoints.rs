//! A webhook that answers at once beside hundreds that take 4.3 s and succeed, or hang, each with a backlog.
//! `SLOW_ENDPOINTS=1000` sets their number, 180 otherwise.

use std::time::{Duration, Instant};

use invoicing_core::{EventKind, NewClient, NewQuote, Plan};
use invoicing_server::{CompanyHandle, NewWebhook};
use invoicing_tests::{Database, Receiver, Reply, RunningDispatcher, World, on_each_database, tell};

use crate::process::{Broken, beside_others, check, kept};

/// Webhooks of each company of the crowd.
const WEBHOOKS: usize = 20;
/// Deliveries that wait for each webhook: all together more than the memory slots.
const BACKLOG: i64 = 200;
/// Companies of the crowd whose webhooks have no earlier attempts.
const NEW_COMPANIES: usize = 20;
/// Longest time until the first delivery beside these companies: three rounds of their first attempts.
const FIRST: Duration = Duration::from_secs(14);
const LATE: Duration = Duration::from_millis(4_300);
/// Deliveries that are measured, one after the other.
const DELIVERIES: usize = 100;
/// Longest time of half of the deliveries, and of all but one in a hundred, on a busy machine. A wait behind the
/// slow webhooks takes longer.
const MEDIAN: Duration = Duration::from_millis(250);
const SLOWEST: Duration = Duration::from_secs(1);
/// Longest wait for a delivery.
const PATIENCE: Duration = Duration::from_mins(1);

/// More than the attempts at once of slow webhooks.
fn slow_endpoints() -> usize {
    std::env::var("SLOW_ENDPOINTS").ok().and_then(|text| text.parse().ok()).unwrap_or(180)
}

/// Rules: ISOLATION-1, ISOLATION-3
#[on_each_database]
async fn a_prompt_endpoint_is_served_beside_180_slow_endpoints_with_a_backlog(db: Database) {
    let _beside = beside_others().await;
    kept(async || is_served_beside(db, "slow", Reply::Slow(LATE, 200)).await).await;
}

/// Deliveries to hanging webhooks are attempted three times, and a retry takes any slot that slow webhooks may have.
///
/// Rules: ISOLATION-1, ISOLATION-3, ATTEMPT-10
#[on_each_database]
async fn a_prompt_endpoint_is_served_beside_180_that_hang_with_a_backlog(db: Database) {
    let _beside = beside_others().await;
    kept(async || is_served_beside(db, "hanging", Reply::Hang).await).await;
}

async fn is_served_beside(db: Database, how: &str, reply: Reply) -> Result<(), Broken> {
    let world = World::on(db).system_clock().open().await;
    let receiver = Receiver::start().await;
    let (bystander, _) = world.another("Bystander", Plan::Pro).await;
    register(&bystander, &receiver.url).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    emit(&bystander).await;
    assert!(receiver.wait_for(1, PATIENCE).await, "it is never served");
    running.stop().await;

    let crowd = Receiver::start().await;
    crowd.reply_always(reply);
    let slow = slow_endpoints();
    pile_up(&world, &crowd, slow / WEBHOOKS, BACKLOG).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    // The first attempts in flight, and almost as many again: by then the whole crowd counts as slow.
    assert!(crowd.wait_for(250, PATIENCE).await, "{} came", crowd.received().len());
    let mut times = Vec::new();
    for n in 1..=DELIVERIES {
        let begun = Instant::now();
        emit(&bystander).await;
        assert!(receiver.wait_for(1 + n, PATIENCE).await, "delivery {n} after {times:?}");
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let (median, p99) = (times[DELIVERIES / 2], times[DELIVERIES * 99 / 100 - 1]);
    let what = format!("a prompt endpoint beside {slow} {how} ones, {db:?}");
    tell(&what, &format_args!("median {median:?}, p99 {p99:?} from call to arrival"));
    running.kill().await;
    check(median <= MEDIAN && p99 < SLOWEST, || format!("median {median:?}, p99 {p99:?}"))
}

/// The first delivery of the new webhook waits with the first ones of all others, and no other delivery
/// waits for them.
///
/// Rules: ISOLATION-1, ISOLATION-3
#[on_each_database]
async fn an_endpoint_that_is_new_is_served_beside_400_that_are_new_and_slow(db: Database) {
    let _beside = beside_others().await;
    for backlog in [2, 20] {
        kept(async || is_served_beside_new_ones(db, backlog).await).await;
    }
}

async fn is_served_beside_new_ones(db: Database, backlog: i64) -> Result<(), Broken> {
    let world = World::on(db).system_clock().open().await;
    let (receiver, crowd) = (Receiver::start().await, Receiver::start().await);
    let (bystander, _) = world.another("Bystander", Plan::Pro).await;
    register(&bystander, &receiver.url).await;
    crowd.reply_always(Reply::Slow(LATE, 200));
    pile_up(&world, &crowd, NEW_COMPANIES, backlog).await;
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    // Nearly all first attempts are in flight: the others wait before the new webhook.
    assert!(crowd.wait_for(128, PATIENCE).await, "{} came", crowd.received().len());
    let mut times = Vec::new();
    for n in 1..=DELIVERIES {
        let begun = Instant::now();
        emit(&bystander).await;
        assert!(receiver.wait_for(n, PATIENCE).await, "delivery {n} after {times:?}");
        times.push(begun.elapsed());
    }
    let first = times.remove(0);
    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    let what =
        format!("a new endpoint beside 400 new, slow ones with {backlog} each, {:?}", world.database());
    tell(&what, &format_args!("first {first:?}, then median {median:?}, slowest {slowest:?}"));
    running.kill().await;
    check(first <= FIRST && median <= MEDIAN && slowest < SLOWEST, || format!("{first:?}, {times:?}"))
}

async fn register(company: &CompanyHandle, url: &str) {
    let new = NewWebhook { url: url.to_owned(), events: vec![EventKind::QuoteCreated] };
    company.webhooks().register(&new).await.unwrap();
}

/// Emits one event.
async fn emit(company: &CompanyHandle) {
    let client = company.clients().create(&NewClient::named("Client")).await.unwrap();
    company.quotes().create(&NewQuote::empty(client.id)).await.unwrap();
}

/// Registers webhooks of other companies, each with a backlog.
async fn pile_up(world: &World, crowd: &Receiver, companies: usize, backlog: i64) {
    let (id, row) = match world.database() {
        Database::Sqlite => ("randomblob(16)", "row_number() OVER () + (1 << 50)"),
        Database::Postgres => ("gen_random_uuid()", "row_number() OVER () + (1::bigint << 50)"),
    };
    for _ in 0..companies {
        let (company, _) = world.another("Crowd", Plan::Team).await;
        // The event precedes the webhooks, so that it has no deliveries but those inserted below.
        emit(&company).await;
        for _ in 0..WEBHOOKS {
            register(&company, &crowd.url).await;
        }
        let events = format!(
            "INSERT INTO event (company_id, id, kind, timestamp, body)
             SELECT company_id, {id}, kind, timestamp, body FROM event CROSS JOIN (
                 WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n
             ) numbers WHERE company_id = $2"
        );
        world.run(&events, &[backlog.into(), company.id().0.into()]).await;
    }
    let deliveries = format!(
        "INSERT INTO delivery (id, company_id, event_id, webhook_id, status, due_at, claim, claims, attempts,
             claims_in_all, attempts_in_all)
         SELECT {row}, e.company_id, e.id, w.id, 'pending', 0, 0, 0, 0, 0, 0
         FROM event e JOIN webhook w ON w.company_id = e.company_id AND w.url = $1"
    );
    let piled = world.run(&deliveries, &[crowd.url.as_str().into()]).await;
    assert_eq!(piled, (companies * WEBHOOKS) as u64 * u64::try_from(backlog).unwrap());
}
