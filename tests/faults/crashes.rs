//! One process that is killed and started again on the same database, at any moment: on SQLite here, on PostgreSQL in
//! [`crate::postgres::crashes`].

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Answer, call, exceeds};
use crate::process::{CLAIMED, Node, Site, Started};
use crate::receivers::UnreliableReceivers;
use crate::{QUOTA, WINDOW, checks, random, tell, times};

/// The results that the callers of the API have seen.
#[derive(Default)]
struct Callers {
    /// The keys of the first two starts.
    keys: Vec<String>,
    /// The number of accepted requests of each caller.
    accepted: [Vec<Answer>; 2],
    refused: usize,
    /// The answers to each creation with an `externalId`.
    clients: Vec<Vec<Value>>,
}

impl Callers {
    /// A few calls with the first key, so that it lasts for several kills, and as many as pass with the second.
    fn call(&mut self, Started { address, key, .. }: &Started) {
        self.keys.push(key.clone());
        for (place, max) in [(0, 4), (1, QUOTA + 4)] {
            let Some(key) = self.keys.get(place) else { continue };
            let answers = (0..max).filter_map(|_| call(address, key, "GET", "/clients?limit=1", ""));
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

/// Kills a process that works, again and again; in the end everything is there.
pub(crate) async fn killed_at_any_moment(
    test: &str,
    site: Site,
    mut receivers: UnreliableReceivers,
    kills: usize,
) {
    let (mut said, mut callers) = (Vec::new(), Callers::default());
    for round in 0..kills {
        receivers.worsen(round).await;
        let node = site.start("work");
        let started = node.started();
        callers.call(&started);
        if let Some(before) = round.checked_sub(1) {
            callers.create(&started, before);
        }
        if round == 0 {
            // The lives after this one may be too short for that.
            node.wait_for_credit_note();
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
    receivers.recover().await;
    let node = site.start("rest");
    let started = node.started();
    callers.call(&started);
    callers.create(&started, kills - 1);
    site.wait_until_all_ended().await;
    node.stop_well();
    assert_eq!(checks::said_wrong(&said, "unavailable"), None);
    assert_eq!(site.count(CLAIMED).await, 0);
    let figures = checks::check(&site, &said, &receivers.take()).await;
    tell(test, &format_args!("{kills} kills, {figures}"));
    assert_eq!((figures.lost, figures.doubled), (0, 0));
    assert!(figures.operations > kills && figures.delivered > 0, "too little happened to mean anything");
    assert!(figures.credit_notes > 0, "nothing was credited");
    callers.check();
}

/// Kills processes that have only just begun.
pub(crate) async fn killed_while_it_starts(site: Site, attempt: u64) {
    let kills = 1 + random(3);
    for _ in 0..kills {
        let node = site.start("rest");
        tokio::time::sleep(Duration::from_micros(random(4_000 * (1 + attempt)))).await;
        node.kill();
        site.wait_until_left_alone().await;
    }
    let node = site.start("rest");
    let Started { address, key, .. } = node.started();
    let answer = call(&address, &key, "GET", "/quotes", "").expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.json);
    node.stop_well();
    let companies = site.open().await.companies().list().await.expect("companies");
    assert_eq!(companies.len(), 2);
}

/// Stops a process that works in good order, and another one after it.
pub(crate) async fn stopped_in_good_order(site: Site) {
    for _ in 0..2 {
        let node = site.start("work");
        node.started();
        tokio::time::sleep(Duration::from_millis(200 + random(300))).await;
        let lines = node.stop_well();
        assert!(lines.iter().any(|line| line.get("closed").is_some()), "{:?}", lines.last());
        assert_eq!(site.count(CLAIMED).await, 0);
    }
}

/// Rules: DELIVERY-2, STATE-1
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_nothing_is_lost_and_nothing_half_done() {
    let receivers = UnreliableReceivers::start().await;
    let site = Site::on_sqlite(receivers.urls());
    killed_at_any_moment("one process killed, SQLite", site, receivers, times("FAULTS_KILLS", 10)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_starts_it_starts_the_next_time() {
    for attempt in 0..8 {
        killed_while_it_starts(Site::on_sqlite(Vec::new()), attempt).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_in_good_order_nothing_stays_claimed() {
    let receivers = UnreliableReceivers::start().await;
    stopped_in_good_order(Site::on_sqlite(receivers.urls())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_refused_while_the_first_one_lives() {
    let site = Site::on_sqlite(Vec::new());
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
