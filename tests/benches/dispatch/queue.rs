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
/// `$4` when they fall due. A delivery per event and webhook of the company.
const DELIVERIES: &str = "INSERT INTO delivery \
     (company_id, event_id, webhook_id, id, status, due_at, claim, claims, attempts, claims_in_all, \
     attempts_in_all) \
     SELECT $1, lpad(to_hex($2 + i), 32, '0')::uuid, w.id, (1::bigint << 50) + ($2 + i) * 20 + w.place, 'pending', $4, \
     0, 0, 0, 0, 0 FROM generate_series(0, $3 - 1) i, \
     (SELECT id, row_number() OVER () - 1 AS place FROM webhook WHERE company_id = $1) w";
const SWITCH_OFF: &str =
    "UPDATE webhook SET disabled_at = 1, disabled_reason = 'manual' WHERE company_id = $1";

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
    peer.ask(&json!({"do": "queue", "pending": more})).await;
    let milliseconds = time.map(|time| time.as_millis());
    let (used, of_database) = (peer.processor_seconds(), peer.database_seconds());
    let done = peer.ask(&json!({"do": "drain", "milliseconds": milliseconds})).await;
    let (used, of_database) = (peer.processor_seconds() - used, peer.database_seconds() - of_database);
    let number = |name: &str| done[name].as_f64().expect("a number");
    let ended = number("ended");
    [ended / number("seconds"), used * 1e6 / ended, of_database * 1e6 / ended]
}

/// The queue of one company, whose webhooks are off.
pub(crate) struct Queue {
    company: CompanyId,
    next_event: i64,
    body: String,
}

impl Queue {
    pub(crate) async fn new(url: &str, company: CompanyId, body: String) -> Self {
        let mut connection = PgConnection::connect(url).await.expect("the server answers");
        sqlx::query(SWITCH_OFF).bind(company.0).execute(&mut connection).await.expect("they are off");
        Self { company, next_event: 1, body }
    }

    /// Puts so many deliveries into it, and has the server tidy up.
    pub(crate) async fn fill(&mut self, url: &str, deliveries: i64, now: Timestamp) {
        let mut connection = PgConnection::connect(url).await.expect("the server answers");
        let events = deliveries / 20;
        let insert =
            sqlx::query(EVENTS).bind(self.company.0).bind(self.next_event).bind(events).bind(&self.body);
        insert.execute(&mut connection).await.expect("the events");
        let insert = sqlx::query(DELIVERIES).bind(self.company.0).bind(self.next_event).bind(events);
        insert.bind(now.as_millis()).execute(&mut connection).await.expect("the deliveries");
        self.next_event += events;
        for statement in ["VACUUM (ANALYZE) delivery", "VACUUM (ANALYZE) event", "CHECKPOINT"] {
            connection.execute(AssertSqlSafe(statement)).await.expect("the server tidies up");
        }
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
