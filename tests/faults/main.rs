//! Processes that are killed and started again on the same files: nothing that was answered is lost, nothing is half
//! done, nothing happens twice.
//!
//! `FAULTS_KILLS` says how often the first test kills.

mod checks;
mod http;
mod moods;
mod process;

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use http::{Answer, call, exceeds};
use moods::Moods;
use process::{Node, Site, Started};

/// The contract's quota and its window.
const QUOTA: usize = 30;
const WINDOW: Duration = Duration::from_mins(1);

/// A number below `limit`.
fn random(limit: u64) -> u64 {
    u64::from_le_bytes(invoicing_server::Env::system().bytes()) % limit
}

/// A look at the tables, beside the process that owns them.
async fn count(site: &Site, sql: &'static str) -> i64 {
    let options = SqliteConnectOptions::new().filename(site.database()).read_only(true);
    let mut connection: SqliteConnection = options.connect().await.expect("the database");
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("a count")
}

const PENDING: &str = "SELECT count(*) FROM delivery WHERE status = 'pending'";
const CLAIMED: &str = "SELECT count(*) FROM delivery WHERE claim <> 0";

/// What the callers of the API remember.
#[derive(Default)]
struct Callers {
    /// The keys of the first two starts.
    keys: Vec<String>,
    /// What each of them was accepted.
    accepted: [Vec<Answer>; 2],
    refused: usize,
    /// The answers to each creation with an `externalId`.
    clients: Vec<Vec<Value>>,
}

impl Callers {
    /// A few calls with the first key, so that it lasts for several kills, and as many as pass with the second.
    fn call(&mut self, Started { address, key, .. }: &Started) {
        self.keys.push(key.clone());
        for (place, most) in [(0, 4), (1, QUOTA + 4)] {
            let Some(key) = self.keys.get(place) else { continue };
            let answers = (0..most).filter_map(|_| call(address, key, "GET", "/clients?limit=1", ""));
            for answer in answers {
                match answer.status {
                    200 => self.accepted[place].push(answer),
                    429 => self.refused += 1,
                    other => panic!("answered {other}: {}", answer.json),
                }
            }
        }
    }

    /// Creates a client, or repeats what a killed process may have done.
    fn create(&mut self, Started { address, spare, .. }: &Started, place: usize) {
        let body = json!({ "name": "Lefèvre", "externalId": format!("crm-{place}") }).to_string();
        self.clients.resize(self.clients.len().max(place + 1), Vec::new());
        if let Some(answer) = call(address, spare, "POST", "/clients", &body) {
            assert!([200, 201].contains(&answer.status), "answered {}: {}", answer.status, answer.json);
            self.clients[place].push(answer.json);
        }
    }

    fn check(&self) {
        for accepted in &self.accepted {
            assert!(
                !exceeds(accepted, QUOTA, WINDOW),
                "more than {QUOTA} requests were accepted in a minute"
            );
        }
        for answers in &self.clients {
            assert!(!answers.is_empty(), "a creation was never answered");
            assert!(answers.iter().all(|answer| *answer == answers[0]), "created twice: {answers:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_nothing_is_lost_and_nothing_half_done() {
    let kills = std::env::var("FAULTS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let mut moods = Moods::start().await;
    let site = Site::new(moods.urls());
    let (mut said, mut callers) = (Vec::new(), Callers::default());
    for round in 0..kills {
        moods.worsen(round).await;
        let node = site.start("work");
        let started = node.started();
        callers.call(&started);
        if let Some(before) = round.checked_sub(1) {
            callers.create(&started, before);
        }
        tokio::time::sleep(Duration::from_millis(random(500))).await;
        let lines = std::thread::scope(|scope| {
            // Under way when the process is killed, now and then.
            let creating = scope.spawn(|| callers.create(&started, round));
            std::thread::sleep(Duration::from_micros(random(20_000)));
            let lines = node.kill();
            creating.join().expect("no panic");
            lines
        });
        said.push(lines);
    }
    moods.recover().await;
    let node = site.start("rest");
    let started = node.started();
    callers.call(&started);
    callers.create(&started, kills - 1);
    wait_until_all_ended(&site).await;
    let (status, lines) = node.stop();
    assert!(status.success(), "{lines:?}");
    let failed = said.iter().flatten().find(|line| line.get("failed").is_some());
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(count(&site, CLAIMED).await, 0);
    let figures = checks::check(&site, &said, &moods.take()).await;
    println!("{kills} kills\n{figures}");
    let accepted = callers.accepted.each_ref().map(Vec::len);
    println!("quota: {accepted:?} accepted, {} refused", callers.refused);
    assert_eq!(figures.lost, 0);
    assert!(figures.operations > kills && figures.delivered > 0, "too little happened to mean anything");
    callers.check();
}

/// Long enough for three attempts at each of many deliveries; then they are looked at one by one.
async fn wait_until_all_ended(site: &Site) {
    for _ in 0..400 {
        if count(site, PENDING).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(75)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_starts_it_starts_the_next_time() {
    for attempt in 0..8 {
        let site = Site::new(Vec::new());
        let kills = 1 + random(3);
        for _ in 0..kills {
            let node = site.start("rest");
            tokio::time::sleep(Duration::from_micros(random(4_000 * (1 + attempt)))).await;
            node.kill();
        }
        let node = site.start("rest");
        let Started { address, key, .. } = node.started();
        let answer = call(&address, &key, "GET", "/quotes", "").expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.json);
        let (status, lines) = node.stop();
        assert!(status.success(), "{lines:?}");
        let companies = checks::open(&site).await.companies().list().await.unwrap();
        assert_eq!(companies.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_refused_while_the_first_one_lives() {
    let site = Site::new(Vec::new());
    let first = site.start("work");
    let Started { address, key, .. } = first.started();
    let mut second = site.start("rest");
    let status = second.ended();
    assert!(!status.success());
    let why = second.line_with("failed").expect("a reason");
    let why = why["failed"].as_str().expect("a text");
    assert!(why.contains("another process") && why.contains("invoicing.db"), "{why}");
    let answer = call(&address, &key, "GET", "/quotes", "").expect("the first one lives");
    assert_eq!(answer.status, 200);
    drop::<Node>(second);
    first.kill();
    // Its lock died with it.
    let (status, _) = site.start("rest").stop_when_started();
    assert!(status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_in_good_order_nothing_stays_claimed() {
    let moods = Moods::start().await;
    let site = Site::new(moods.urls());
    for _ in 0..2 {
        let node = site.start("work");
        node.started();
        tokio::time::sleep(Duration::from_millis(200 + random(300))).await;
        let (status, lines) = node.stop();
        assert!(status.success(), "{:?}", lines.last());
        assert!(lines.iter().any(|line| line.get("closed").is_some()), "{:?}", lines.last());
        assert_eq!(count(&site, CLAIMED).await, 0);
    }
}
