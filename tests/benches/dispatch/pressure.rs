//! A reader that holds a snapshot for minutes beside a steady stream of events, on PostgreSQL: the server then keeps every
//! version of each delivery, and claims read past them.

use std::time::{Duration, Instant};

use invoicing_tests::bench::{Peer, float, quantile, report};
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection};
use uuid::Uuid;

use super::sink::{Sink, nanoseconds};

/// Events for one webhook, 1,000 a second.
const GROUP: i64 = 100;
const PAUSE: Duration = Duration::from_millis(100);
const WINDOW: Duration = Duration::from_secs(30);
/// Seconds for which the snapshot is held, unless `PRESSURE_SECONDS` is set, and windows before it and after it.
const HELD: u64 = 600;
const NORMAL: u64 = 2;
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM company";
const WEBHOOK: &str = "SELECT company_id, id FROM webhook ORDER BY id DESC LIMIT 1";
/// `$1` company, `$2` the first event's number, `$3` how many events, `$4` when they were made, in nanoseconds.
const EVENTS: &str = "INSERT INTO event (company_id, id, kind, timestamp, body) \
     SELECT $1, lpad(to_hex($2 + i), 32, '0')::uuid, 'quote.created', $2 + i, format('{\"timestamp\":\"%s\"}', $4::bigint) \
     FROM generate_series(0, $3 - 1) i";
/// `$4` webhook, `$5` when they fall due.
const DELIVERIES: &str = "INSERT INTO delivery \
     (company_id, event_id, webhook_id, id, status, due_at, claim, claims, attempts, claims_in_all, attempts_in_all) \
     SELECT $1, lpad(to_hex($2 + i), 32, '0')::uuid, $4, (1::bigint << 51) + $2 + i, 'pending', $5, 0, 0, 0, 0, 0 \
     FROM generate_series(0, $3 - 1) i";
/// As another node does that has something to deliver and no dispatcher.
const WAKE: &str = "SELECT pg_notify('invoicing', json_build_object('from', gen_random_uuid(), \
     'notifications', json_build_array(json_build_object('due', $1::uuid)))::text)";
const PENDING: &str = "SELECT count(*) FROM delivery WHERE webhook_id = $1 AND status = 'pending'";
const DEAD: &str = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'delivery'";

/// The stream, and its place in it.
struct Stream<'s> {
    sink: &'s Sink,
    connection: PgConnection,
    company: Uuid,
    webhook: Uuid,
    next: i64,
}

/// First attempts, waiting rows and dead rows before the snapshot, beside it and after it.
pub(crate) async fn compare(peer: &mut Peer, sink: &Sink, url: &str) {
    let asked = std::env::var("PRESSURE_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let held = asked.unwrap_or(HELD).div_ceil(WINDOW.as_secs());
    println!("pressure: 1,000 events a second, and a session holds a snapshot for {held} windows of 30 s");
    peer.ask(&json!({"do": "bystander"})).await;
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let (company, webhook) = sqlx::query_as(WEBHOOK).fetch_one(&mut connection).await.expect("the webhook");
    let mut stream = Stream { sink, connection, company, webhook, next: 1 };
    peer.ask(&json!({"do": "start"})).await;
    let normal = stream.windows("before", NORMAL).await;
    let mut holder = PgConnection::connect(url).await.expect("the server answers");
    holder.execute(SNAPSHOT).await.expect("a snapshot");
    let beside = stream.windows("held", held).await;
    holder.close().await.expect("the server answers");
    let after = stream.windows("after", NORMAL).await;
    peer.ask(&json!({"do": "stop"})).await;
    let usual = normal[normal.len() - 1];
    let worst = quantile(&beside, 1.0);
    report("p99 of first attempts beside it, at worst, against before", &[worst / usual], "<= 2, or 50 ms");
    report("the same after it, in the last window", &[after[after.len() - 1] / usual], "<= 2, or 50 ms");
}

impl Stream<'_> {
    /// The p99 of the first attempts of each window, in milliseconds.
    async fn windows(&mut self, what: &str, count: u64) -> Vec<f64> {
        let mut tails = Vec::new();
        for number in 1..=count {
            self.sink.reset();
            let made = self.emit(WINDOW).await;
            let arrivals = self.sink.arrivals();
            let millis = |(made, at): &(String, i64)| {
                let made: i64 = made.parse().expect("nanoseconds");
                f64::from(i32::try_from((at - made) / 1_000).expect("less than half an hour")) / 1e3
            };
            let times: Vec<f64> = arrivals.iter().map(millis).collect();
            let pending = sqlx::query_scalar::<_, i64>(PENDING).bind(self.webhook);
            let pending = pending.fetch_one(&mut self.connection).await.expect("the server answers");
            let dead = sqlx::query_scalar::<_, i64>(DEAD).fetch_one(&mut self.connection).await;
            let dead = dead.expect("the server answers");
            let arrived = float(times.len()) / float(usize::try_from(made).expect("a moderate count"));
            let [p50, p99] =
                [0.5, 0.99].map(|part| if times.is_empty() { f64::INFINITY } else { quantile(&times, part) });
            println!(
                "    {what} {number:>2}: p50 {p50:>8.1} ms, p99 {p99:>8.1} ms, {arrived:.2} of the events arrived, {pending:>7} wait, {dead:>8} dead rows"
            );
            tails.push(p99);
        }
        tails
    }

    /// Events for so long. Returns their number.
    async fn emit(&mut self, time: Duration) -> i64 {
        let (begun, first) = (Instant::now(), self.next);
        let mut ticks = tokio::time::interval(PAUSE);
        while begun.elapsed() < time {
            ticks.tick().await;
            self.group().await;
        }
        self.next - first
    }

    async fn group(&mut self) {
        let (events, at) = (GROUP, nanoseconds());
        let mut tx = self.connection.begin().await.expect("the server answers");
        let insert = sqlx::query(EVENTS).bind(self.company).bind(self.next).bind(events).bind(at);
        insert.execute(&mut *tx).await.expect("the events");
        let insert = sqlx::query(DELIVERIES).bind(self.company).bind(self.next).bind(events);
        let insert = insert.bind(self.webhook).bind(at / 1_000_000);
        insert.execute(&mut *tx).await.expect("the deliveries");
        sqlx::query(WAKE).bind(self.webhook).execute(&mut *tx).await.expect("the dispatcher is told");
        tx.commit().await.expect("they are there");
        self.next += events;
    }
}
