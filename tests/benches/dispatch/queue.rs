//! The queue by itself, on PostgreSQL: deliveries whose webhook is off are claimed and ended by the same statements as
//! others, and no attempt is made between the two.

use std::time::{Duration, Instant};

use invoicing_core::{CompanyId, Timestamp};
use invoicing_server::Invoicing;
use invoicing_tests::bench::{Peer, aside, quantile, report};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

const FEW: u32 = 10_000;
const MANY: u32 = 1_000_000;
const ROUNDS: usize = 5;
/// How long the many are worked on in a round.
const TIME: Duration = Duration::from_secs(3);

/// `$1` company, `$2` the first event's number, `$3` how many events, `$4` body.
const EVENTS: &str = "INSERT INTO event (company_id, id, kind, timestamp, body) \
     SELECT $1, lpad(to_hex($2 + i), 32, '0')::uuid, 'quote.created', i, $4 FROM generate_series(0, $3 - 1) i";
/// `$4` when they fall due or fell due, `$5` status, `$6` attempts. A delivery per event and webhook of the company.
const DELIVERIES: &str = "INSERT INTO delivery \
     (company_id, event_id, webhook_id, id, status, due_at, claim, claims, attempts, claims_in_all, \
     attempts_in_all, ended_at) \
     SELECT $1, lpad(to_hex($2 + i), 32, '0')::uuid, w.id, (1::bigint << 50) + ($2 + i) * 20 + w.place, $5, $4, \
     0, $6, $6, $6, $6, CASE WHEN $6 > 0 THEN $4 END FROM generate_series(0, $3 - 1) i, \
     (SELECT id, row_number() OVER () - 1 AS place FROM webhook WHERE company_id = $1) w";
/// As another node does that has something to deliver and no dispatcher.
const WAKE: &str = "SELECT pg_notify('invoicing', json_build_object('from', gen_random_uuid(), \
     'notifications', (SELECT json_agg(json_build_object('due', id)) FROM webhook WHERE disabled_at = 1))::text)";
/// `$1` the first event's number, `$2` that after the last one.
const PENDING: &str = "SELECT count(*) FROM delivery \
     WHERE id >= (1::bigint << 50) + $1 * 20 AND id < (1::bigint << 50) + $2 * 20 AND status || '' = 'pending'";
const SWITCH_OFF: &str =
    "UPDATE webhook SET disabled_at = 1, disabled_reason = 'manual' WHERE company_id = $1";
/// An attempt on record that took a millisecond: as many deliveries are claimed for a webhook as for one that answers.
const PROMPT: &str = "INSERT INTO attempt \
     (company_id, at, event_id, webhook_id, number, duration_ms, status) \
     SELECT company_id, 1, id, id, 1, 1, 200 FROM webhook WHERE company_id = $1";

/// Deliveries claimed and ended per second, with few pending and with many.
pub(crate) async fn compare(peer: &mut Peer) {
    println!("queue: deliveries claimed and ended per second, no attempts between");
    // In each round: per second; microseconds of the processor each; those of the database alone.
    let mut few = [(); 3].map(|()| Vec::new());
    let mut many = few.clone();
    for round in 0..=ROUNDS {
        // The first round warms everything up.
        let figures = work(peer, FEW, None).await;
        if round > 0 {
            few.iter_mut().zip(figures).for_each(|(all, figure)| all.push(figure));
        }
    }
    for round in 0..=ROUNDS {
        let figures = work(peer, if round == 0 { MANY } else { 0 }, Some(TIME)).await;
        if round > 0 {
            many.iter_mut().zip(figures).for_each(|(all, figure)| all.push(figure));
        }
    }
    let thousands = |rates: &[f64]| rates.iter().map(|rate| rate / 30_000.0).collect::<Vec<_>>();
    report(&format!("{FEW} pending, part of 30,000/s"), &thousands(&few[0]), ">= 1");
    report(&format!("{MANY} pending, part of 30,000/s"), &thousands(&many[0]), ">= 1");
    let ratios = |values: &[f64], to: &[f64]| values.iter().zip(to).map(|(a, b)| a / b).collect::<Vec<_>>();
    report(&format!("{MANY} pending against {FEW}"), &ratios(&many[0], &few[0]), ">= 0.8");
    report("the same in processor time", &ratios(&few[1], &many[1]), ">= 0.8");
    for (what, [rates, costs, of_database]) in [(FEW, few), (MANY, many)] {
        aside(&format!("{what} pending"), &rates, "deliveries/s");
        aside("", &costs, "µs of processor each");
        println!("    {:<54} {:>8.1} of them the database's", "", quantile(&of_database, 0.5));
    }
}

async fn work(peer: &mut Peer, more: u32, time: Option<Duration>) -> [f64; 3] {
    peer.ask(&json!({"do": "queue", "pending": more, "tidiesUp": true})).await;
    let milliseconds = time.map(|time| time.as_millis());
    let (used, of_database) = (peer.processor_seconds(), peer.database_seconds());
    let done = peer.ask(&json!({"do": "drain", "milliseconds": milliseconds})).await;
    let (used, of_database) = (peer.processor_seconds() - used, peer.database_seconds() - of_database);
    let number = |name: &str| done[name].as_f64().expect("a number");
    let ended = number("ended");
    [ended / number("seconds"), used * 1e6 / ended, of_database * 1e6 / ended]
}

/// Delivered ones on record, and how often how many are claimed and ended beside them.
const ON_RECORD: u32 = 10_000_000;
const TIMES: usize = 300;
const SOME: u32 = 400;

/// Whether what was delivered long ago slows the queue.
pub(crate) async fn compare_history(peer: &mut Peer) {
    peer.ask(&json!({"do": "queue", "pending": SOME, "tidiesUp": true})).await;
    peer.ask(&json!({"do": "drain", "milliseconds": null})).await;
    println!("queue: milliseconds until {SOME} deliveries are claimed and ended, {TIMES} times");
    let before = latencies(peer).await;
    peer.ask(&json!({"do": "deliver", "deliveries": ON_RECORD})).await;
    let after = latencies(peer).await;
    for (what, part) in [("p50", 0.5), ("p99", 0.99)] {
        let ratio = quantile(&after, part) / quantile(&before, part);
        report(&format!("{what}, {ON_RECORD} delivered on record against none"), &[ratio], "<= 1.2");
    }
    aside("none on record", &before, "ms");
    aside(&format!("{ON_RECORD} on record"), &after, "ms");
}

async fn latencies(peer: &mut Peer) -> Vec<f64> {
    let mut latencies = Vec::new();
    for time in 0..=TIMES {
        peer.ask(&json!({"do": "queue", "pending": SOME, "tidiesUp": false})).await;
        let done = peer.ask(&json!({"do": "drain", "milliseconds": null})).await;
        assert_eq!(done["ended"], SOME);
        // The first time warms everything up.
        if time > 0 {
            latencies.push(done["seconds"].as_f64().expect("a number") * 1e3);
        }
    }
    latencies
}

/// Deliveries that fall due each second, of 500 events, while a session holds a snapshot: it keeps the server from removing
/// what is no longer there.
const DUE_A_SECOND: u32 = 10_000;
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM company";
/// Seconds for which it is held, unless `SNAPSHOT_SECONDS` is set, and the seconds before, for comparison.
const HELD: u64 = 300;
const NORMAL: u64 = 20;
/// Seconds of which the median counts, and how long they may take after the snapshot to be as before.
const WINDOW: usize = 5;
const BACK: u64 = 180;

/// The effect of a snapshot that is held for minutes on the queue, and its duration. The dispatcher runs all the time.
pub(crate) async fn hold_snapshot(peer: &mut Peer, url: &str) {
    let asked = std::env::var("SNAPSHOT_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let seconds = asked.unwrap_or(HELD).max(2 * WINDOW as u64);
    println!(
        "queue: {DUE_A_SECOND} deliveries fall due a second, and a session holds a snapshot for {seconds} s"
    );
    // Before the dispatcher is started, so that it reads from the record that the webhooks are prompt.
    peer.ask(&json!({"do": "queue", "pending": DUE_A_SECOND, "tidiesUp": true})).await;
    peer.ask(&json!({"do": "start"})).await;
    peer.ask(&json!({"do": "await the end"})).await;
    let normal = paced(peer, NORMAL, |_| false).await;
    let mut holder = PgConnection::connect(url).await.expect("the server answers");
    holder.execute(SNAPSHOT).await.expect("a snapshot");
    let held = paced(peer, seconds, |_| false).await;
    holder.close().await.expect("the server answers");
    let usual = quantile(&normal, 0.5);
    let is_back =
        |rates: &[f64]| rates.len() >= WINDOW && quantile(&rates[rates.len() - WINDOW..], 0.5) >= 0.9 * usual;
    let (released, after) = (Instant::now(), paced(peer, BACK, is_back).await);
    let took = released.elapsed().as_secs();
    peer.ask(&json!({"do": "stop"})).await;
    let worst: Vec<f64> = held.windows(WINDOW).map(|window| quantile(window, 0.5) / usual).collect();
    report("a snapshot held, against normal: at worst", &[quantile(&worst, 0.0)], ">= 0.7");
    report("the same, of all seconds", &[quantile(&held, 0.5) / usual], ">= 0.7");
    report("the same, at the end", &worst[worst.len() - 1..], ">= 0.7");
    let back = if is_back(&after) { format!("{took} s") } else { format!("not within {BACK} s") };
    println!("    0.9 of normal again after {back}   target <= 60 s");
    for (what, rates) in [("normal", normal), ("held", held), ("after it", after)] {
        aside(&format!("{what}: claimed and ended"), &rates, "deliveries/s");
    }
}

/// At how many a second what falls due in a second is claimed and ended, until that is enough or the time is over. A second's
/// worth that takes longer delays the next one.
async fn paced(peer: &mut Peer, seconds: u64, is_enough: impl Fn(&[f64]) -> bool) -> Vec<f64> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let mut rates = Vec::new();
    while Instant::now() < end {
        ticks.tick().await;
        peer.ask(&json!({"do": "queue", "pending": DUE_A_SECOND, "tidiesUp": false})).await;
        let took = peer.ask(&json!({"do": "await the end"})).await;
        rates.push(f64::from(DUE_A_SECOND) / took["seconds"].as_f64().expect("a number"));
        if is_enough(&rates) {
            break;
        }
    }
    rates
}

/// The queue of one company, whose webhooks are off.
pub(crate) struct Queue {
    company: CompanyId,
    first_event: i64,
    next_event: i64,
    body: String,
}

impl Queue {
    pub(crate) async fn new(url: &str, company: CompanyId, body: String) -> Self {
        let mut connection = PgConnection::connect(url).await.expect("the server answers");
        sqlx::query(SWITCH_OFF).bind(company.0).execute(&mut connection).await.expect("they are off");
        sqlx::query(PROMPT).bind(company.0).execute(&mut connection).await.expect("they were prompt");
        Self { company, first_event: 1, next_event: 1, body }
    }

    /// Inserts this many delivered deliveries.
    pub(crate) async fn deliver(&mut self, url: &str, deliveries: i64, now: Timestamp) {
        let mut connection = PgConnection::connect(url).await.expect("the server answers");
        self.insert(&mut connection, deliveries, now, "delivered", 1).await;
        tidy_up(&mut connection).await;
    }

    /// Puts `deliveries` pending ones into it, and vacuums the tables if `tidies_up`.
    pub(crate) async fn fill(&mut self, url: &str, deliveries: i64, now: Timestamp, tidies_up: bool) {
        let mut connection = PgConnection::connect(url).await.expect("the server answers");
        self.insert(&mut connection, deliveries, now, "pending", 0).await;
        connection.execute(WAKE).await.expect("the dispatcher is told");
        if tidies_up {
            tidy_up(&mut connection).await;
        }
    }

    async fn insert(
        &mut self,
        connection: &mut PgConnection,
        deliveries: i64,
        due: Timestamp,
        status: &str,
        attempts: i64,
    ) {
        let events = deliveries / 20;
        let insert =
            sqlx::query(EVENTS).bind(self.company.0).bind(self.next_event).bind(events).bind(&self.body);
        insert.execute(&mut *connection).await.expect("the events");
        let insert = sqlx::query(DELIVERIES).bind(self.company.0).bind(self.next_event).bind(events);
        let insert = insert.bind(due.as_millis()).bind(status).bind(attempts);
        insert.execute(connection).await.expect("the deliveries");
        (self.first_event, self.next_event) = (self.next_event, self.next_event + events);
    }
}

async fn tidy_up(connection: &mut PgConnection) {
    for statement in ["VACUUM (ANALYZE) delivery", "VACUUM (ANALYZE) event", "CHECKPOINT"] {
        connection.execute(AssertSqlSafe(statement)).await.expect("the server tidies up");
    }
}

/// Waits until all that was put in last have ended; in how many seconds.
pub(crate) async fn await_end(queue: &Queue, url: &str) -> Value {
    let begun = Instant::now();
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    loop {
        let pending = sqlx::query_scalar::<_, i64>(PENDING).bind(queue.first_event).bind(queue.next_event);
        if pending.fetch_one(&mut connection).await.expect("the server answers") == 0 {
            return json!({"seconds": begun.elapsed().as_secs_f64()});
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Works until nothing is pending, or for so long: how many deliveries were ended in how many seconds.
pub(crate) async fn drain(invoicing: &Invoicing, milliseconds: Option<u64>) -> Value {
    let dispatcher = invoicing.dispatcher();
    let begun = Instant::now();
    let report = match milliseconds {
        None => dispatcher.run_once().await,
        Some(time) => dispatcher.run(tokio::time::sleep(Duration::from_millis(time))).await,
    };
    let skipped = report.expect("the dispatcher runs").skipped;
    json!({"ended": skipped, "seconds": begun.elapsed().as_secs_f64()})
}
