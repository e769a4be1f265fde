//! A webhook that accepts and never answers beside hundreds that are prompt: each gap between its attempts is as
//! promised, and it is disabled in time.
//!
//! `EVENTS_PER_SECOND` sets the rate of its events, 3 otherwise.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use invoicing_core::{ClientId, EventId, EventKind, NewClient, NewQuote, Plan, Timestamp, WebhookId};
use invoicing_server::{AttemptRecord, CompanyHandle, NewWebhook};
use invoicing_tests::{Database, Receiver, Reply, RunningDispatcher, World, on_each_database, tell};
use tokio::time::{interval, sleep};

use crate::process::beside_others;

/// Companies of the prompt webhooks, and the webhooks of each.
const COMPANIES: usize = 15;
const WEBHOOKS: usize = 20;
/// Pause between two events of the prompt webhooks.
const PAUSE: Duration = Duration::from_millis(333);
/// Shortest and longest gaps, by the rows of attempts: 1 s and 5 s, a tenth more, and the time of claims. A machine
/// that is busy with other tests takes longer for these, as the other deliveries and the pauses between them show.
const GAPS_MS: [(i64, i64); 2] = [(990, 1_200), (4_990, 5_600)];
/// Longest time from an event of the prompt webhooks to its last arrival, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_mins(1);

fn rate() -> f64 {
    std::env::var("EVENTS_PER_SECOND").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0)
}

/// The longest time from the first event until the webhook is disabled.
fn limit_ms(rate: f64) -> i64 {
    if rate >= 1.0 / 3.0 { 60_000 } else { 130_000 }
}

/// Rules: ATTEMPT-3, ATTEMPT-10, ISOLATION-1
#[on_each_database]
async fn a_hanging_endpoint_is_attempted_in_time_and_disabled_within_a_minute(db: Database) {
    let _beside = beside_others().await;
    let world = World::on(db).system_clock().open().await;
    let (hanging, prompt) = (Receiver::start().await, Receiver::start().await);
    hanging.reply_always(Reply::Hang);
    let hung = register(&world.company, &hanging.url).await;
    let mut companies = Vec::new();
    for n in 0..COMPANIES {
        let (company, _) = world.another(&format!("Prompte {n}"), Plan::Team).await;
        for _ in 0..WEBHOOKS {
            register(&company, &prompt.url).await;
        }
        let client = client(&company).await;
        companies.push((company, client));
    }
    let running = RunningDispatcher::start(world.invoicing.dispatcher());
    let (rate, begun) = (rate(), world.invoicing.env().now());
    let limit_ms = limit_ms(rate);
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    let emitting = async {
        let client = client(&world.company).await;
        loop {
            ticks.tick().await;
            emit(&world.company, client).await;
        }
    };
    let (mut times, mut busy) = (Vec::new(), Duration::ZERO);
    let others = async {
        let mut arrived = 0;
        for (company, client) in companies.iter().cycle() {
            let begun = Instant::now();
            emit(company, *client).await;
            arrived += WEBHOOKS;
            assert!(prompt.wait_for(arrived, PATIENCE).await, "event {} after {times:?}", times.len());
            times.push(begun.elapsed());
            sleep(PAUSE).await;
            // A machine that stands still during the pause delays retries too.
            busy = busy.max(begun.elapsed().saturating_sub(PAUSE));
        }
    };
    let disabled_at = tokio::select! {
        () = emitting => unreachable!("it goes on"),
        () = others => unreachable!("it goes on"),
        at = disabled(&world.company, hung, begun.plus_millis(limit_ms + 5_000)) => at,
    };
    running.stop().await;

    let attempts = world.company.webhooks().log(hung, 10_000).await.unwrap();
    let gaps = gaps(&attempts);
    let took = disabled_at.map(|at| at.as_millis() - begun.as_millis());
    times.sort_unstable();
    // Of fewer than 200, the slowest but one.
    let p99 = times[(times.len() * 99 / 100).min(times.len() - 2)];
    let worst = gaps.each_ref().map(|gaps| gaps.iter().max().copied());
    let counts = gaps.each_ref().map(Vec::len);
    let what = format!("an endpoint that hangs, {rate} events a second, {:?}", world.database());
    let figures = format!(
        "disabled after {took:?} ms, {} attempts, longest gaps {worst:?} of {counts:?}, p99 of {} others {p99:?}, slowest {:?}",
        attempts.len(),
        COMPANIES * WEBHOOKS,
        times.last().unwrap(),
    );
    tell(&what, &format_args!("{figures}"));
    let busy_ms = i64::try_from(busy.as_millis()).unwrap();
    for (gaps, (min, max)) in gaps.iter().zip(GAPS_MS) {
        let is_in_time = |gap: &i64| (min..=max + busy_ms).contains(gap);
        assert!(gaps.len() >= 10 && gaps.iter().all(is_in_time), "{gaps:?}, {busy_ms}");
    }
    assert!(took.is_some_and(|took| took <= limit_ms), "{figures}");
    assert!(p99 < SLOWEST, "{figures}");
}

async fn register(company: &CompanyHandle, url: &str) -> WebhookId {
    let new = NewWebhook { url: url.to_owned(), events: vec![EventKind::QuoteCreated] };
    company.webhooks().register(&new).await.unwrap().webhook.id
}

async fn client(company: &CompanyHandle) -> ClientId {
    company.clients().create(&NewClient::named("Client")).await.unwrap().id
}

/// Emits one event.
async fn emit(company: &CompanyHandle, client: ClientId) {
    company.quotes().create(&NewQuote::empty(client)).await.unwrap();
}

/// When the webhook was disabled; `None` if it still is enabled at `until`.
#[expect(clippy::disallowed_methods, reason = "the server under test has the clock of the system")]
async fn disabled(company: &CompanyHandle, webhook: WebhookId, until: Timestamp) -> Option<Timestamp> {
    loop {
        let webhook = company.webhooks().get(webhook).await.unwrap();
        if let Some((at, _)) = webhook.disabled {
            return Some(at);
        }
        if Timestamp::from_millis(chrono::Utc::now().timestamp_millis()) > until {
            return None;
        }
        sleep(Duration::from_millis(250)).await;
    }
}

/// The first and the second gaps of all deliveries, each from the end of an attempt to the beginning of the next.
fn gaps(attempts: &[AttemptRecord]) -> [Vec<i64>; 2] {
    let mut of_event = BTreeMap::<EventId, Vec<&AttemptRecord>>::new();
    for attempt in attempts {
        of_event.entry(attempt.event).or_default().push(attempt);
    }
    let mut gaps = [Vec::new(), Vec::new()];
    for attempts in of_event.values_mut() {
        attempts.sort_unstable_by_key(|attempt| attempt.number);
        for (pair, gaps) in attempts.windows(2).zip(&mut gaps) {
            gaps.push(pair[1].at.as_millis() - pair[0].at.as_millis() - i64::from(pair[0].duration_ms));
        }
    }
    gaps
}
