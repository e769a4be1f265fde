//! Pages from a streaming standby that lags, stands still, is cut off, promoted or of another history: no caller sees a
//! difference, and the counts by source show the origin of each page.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use invoicing_core::{Client, ClientId, NewClient, Plan};
use invoicing_server::{CompanyHandle, Invoicing, PostgresSettings};
use invoicing_tests::postgres::{Cluster, Options};
use invoicing_tests::{Recorder, ask, new_company, tell};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;

use super::in_process::open_on;
use super::proxy::Proxy;
use super::{on_new_database, wait_until};
use crate::process::{PATIENCE, Site, count_at};

const DATABASE: &str = "invoicing";
const PAUSE: &str = "SELECT pg_wal_replay_pause()";
const RESUME: &str = "SELECT pg_wal_replay_resume()";
const IS_PAUSED: &str = "SELECT (pg_get_wal_replay_pause_state() = 'paused')::int::bigint";
const CLIENTS: &str = "SELECT count(*) FROM client";
/// Sessions of nodes.
const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'invoicing'";
/// Commits that wait for a synchronous standby.
const WAITING: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()";

/// Two nodes on a primary, which read pages from its standby too. The first one has a quota, whose statement returns the
/// state of the primary; the second one reads that state itself.
struct Replicated {
    primary: Cluster,
    standby: Cluster,
    /// Leads the nodes to the standby.
    proxy: Proxy,
    nodes: [Invoicing; 2],
    company: CompanyHandle,
    key: String,
    recorder: Recorder,
    site: Site,
}

fn durable(settings: &[&str]) -> Options {
    Options { durable: true, settings: settings.iter().map(ToString::to_string).collect() }
}

impl Replicated {
    async fn start() -> Option<Self> {
        let primary = Cluster::start(&durable(&[]))?;
        let site = on_new_database(&primary, Vec::new()).await;
        let standby = Cluster::on(primary.copy(), &durable(&[]));
        let proxy = Proxy::start(standby.port()).await;
        let recorder = Recorder::default();
        let open = async |quota: u32| {
            let replica_url = Some(proxy.url(DATABASE));
            let postgres = PostgresSettings { replica_url, ..PostgresSettings::new(primary.url(DATABASE)) };
            open_on(&site, postgres, json!({ "quota": quota }), recorder.clone()).await
        };
        // One after the other, as the first one makes the schema.
        let nodes = [open(100_000).await, open(0).await];
        let company =
            nodes[0].companies().create(&new_company("Martin", Plan::Team)).await.expect("a company");
        let company = nodes[0].company(company.id);
        let key = company.keys().issue("test").await.expect("a key").key.reveal().to_owned();
        let this = Self { primary, standby, proxy, nodes, company, key, recorder, site };
        this.wait_for_replica().await;
        Some(this)
    }

    async fn call(&self, node: usize, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(body.to_string()))).expect("a request");
        let answer = ask(&self.nodes[node], request).await;
        (answer.status, answer.json)
    }

    async fn page(&self, node: usize, path: &str) -> Value {
        let (status, page) = self.call(node, "GET", path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{path}: {page}");
        page
    }

    fn from(&self, source: &str) -> u64 {
        self.recorder.count(&format!("invoicing_pages_total{{source=\"{source}\"}}"))
    }

    /// Reads a page that must come from there. A replica that is late once, as by a new connection, is asked again.
    async fn page_from(&self, source: &str, node: usize, path: &str) -> Value {
        let begun = Instant::now();
        loop {
            let before = self.from(source);
            let page = self.page(node, path).await;
            if self.from(source) == before + 1 {
                return page;
            }
            let may_be_late = source == "replica" && begun.elapsed() < PATIENCE;
            assert!(may_be_late, "{path} did not come from the {source}");
        }
    }

    /// Waits until both nodes read from the replica, which shows all that the primary does by then.
    async fn wait_for_replica(&self) {
        for node in 0..self.nodes.len() {
            let gives = async || {
                let before = self.from("replica");
                self.page(node, "/clients?limit=1").await;
                self.from("replica") > before
            };
            wait_until("a page of the replica", gives).await;
        }
    }

    async fn pause(&self) {
        self.standby.execute(DATABASE, PAUSE).await;
        let url = self.standby.url(DATABASE);
        wait_until("a replay that is paused", async || count_at(&url, IS_PAUSED).await == 1).await;
    }

    async fn resume(&self) {
        self.standby.execute(DATABASE, RESUME).await;
        self.wait_for_replica().await;
    }

    async fn client(&self, name: &str) -> Client {
        self.company.clients().create(&NewClient::named(name)).await.expect("a client")
    }

    /// Reads this many pages in turn on both nodes, which must come from the primary and none of which may be late by
    /// much; how long they took together.
    async fn pages_of_primary(&self, pages: usize, expected: &Value) -> Duration {
        let (begun, before) = (Instant::now(), self.from("replica"));
        for number in 0..pages {
            let asked = Instant::now();
            assert_eq!(&self.page(number % 2, "/clients").await, expected);
            assert!(asked.elapsed() < Duration::from_secs(2), "a page took {:?}", asked.elapsed());
        }
        assert_eq!(self.from("replica"), before, "a page came from the replica");
        begun.elapsed()
    }

    /// A replica out of reach is no outage.
    async fn check_ready(&self) {
        let health = self.nodes[0].health().await;
        assert!(health.is_ready(), "{:?}", health.reasons());
    }

    async fn close(self) {
        for node in &self.nodes {
            node.close().await;
        }
        drop(self.site);
    }
}

fn ids(page: &Value) -> Vec<ClientId> {
    let id = |item: &Value| serde_json::from_value(item["id"].clone()).expect("an id");
    page["data"].as_array().expect("items").iter().map(id).collect()
}

fn as_of(page: &Value) -> String {
    page["asOf"].as_str().expect("a stamp").to_owned()
}

/// Rules: REPLICA-1, STAMP-2
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_finds_what_it_wrote_and_no_answer_is_older_than_one_before_it() {
    let Some(world) = Replicated::start().await else { return };
    let mut last = String::new();
    for round in 0..12 {
        match round {
            4 => world.pause().await,
            6 => world.resume().await,
            8 => world.standby.configure(&durable(&["recovery_min_apply_delay = '100ms'"])),
            _ => {}
        }
        let external_id = format!("crm-{round}");
        let new = json!({ "name": "Claire Lefèvre", "externalId": external_id });
        let (writer, reader) = (round % 2, (round + 1) % 2);
        assert_eq!(world.call(writer, "POST", "/clients", new).await.0, StatusCode::CREATED);
        for node in [reader, writer] {
            let found = world.page(node, &format!("/clients?externalId={external_id}")).await;
            assert_eq!(ids(&found).len(), 1, "{external_id} is not found");
            assert!(as_of(&found) >= last, "older than an answer before it");
            last = as_of(&found);
        }
        if !(4..6).contains(&round) {
            world.wait_for_replica().await;
            let page = world.page_from("replica", reader, "/clients").await;
            assert_eq!((ids(&page).len(), as_of(&page)), (round + 1, last.clone()));
        }
    }
    let (primary, replica) = (world.from("primary"), world.from("replica"));
    tell("pages", &format_args!("{primary} of the primary, {replica} of the replica"));
    assert!(primary > 0, "nothing lagged");
    world.close().await;
}

/// Rules: LIST-9, REPLICA-1
#[tokio::test(flavor = "multi_thread")]
async fn a_pass_whose_pages_come_from_both_in_turn_misses_nothing() {
    const RECORDS: usize = 12;
    const LIMIT: usize = 2;
    let Some(world) = Replicated::start().await else { return };
    let mut records: Vec<Client> = Vec::new();
    for number in 0..RECORDS {
        records.push(world.client(&format!("Client {number}")).await);
    }
    let mut newest: BTreeMap<ClientId, String> = BTreeMap::new();
    for record in &records {
        newest.insert(record.id, record.updated_at.to_string());
    }
    let (mut delivered, mut since, mut moved) =
        (BTreeMap::new(), "1970-01-01T00:00:00Z".to_owned(), Vec::new());
    for pass in 0..2 {
        world.wait_for_replica().await;
        let mut first_as_of = None;
        for turn in 0.. {
            // In the first pass the last record goes to the front before every third page. The replica learns of it two pages
            // later: a page of the state before would skip a record then.
            let is_behind = pass == 0 && turn % 3 > 0;
            if is_behind && turn % 3 == 1 {
                world.pause().await;
                let content = NewClient::named(format!("Moved {turn}"));
                let record = world.company.clients().change(records[moved.len()].id, &content).await.unwrap();
                newest.insert(record.id, record.updated_at.to_string());
                moved.push(record.id);
            }
            let source = if is_behind { "primary" } else { "replica" };
            let path = format!("/clients?limit={LIMIT}&offset={}&since={since}", turn * LIMIT);
            let page = world.page_from(source, turn % 2, &path).await;
            if is_behind && turn % 3 == 2 {
                world.resume().await;
            }
            for item in page["data"].as_array().unwrap() {
                let id: ClientId = serde_json::from_value(item["id"].clone()).unwrap();
                delivered.insert(id, item["updatedAt"].as_str().unwrap().to_owned());
            }
            first_as_of.get_or_insert_with(|| as_of(&page));
            if page["pagination"]["hasMore"] == false {
                break;
            }
        }
        since = first_as_of.unwrap();
        if pass == 0 {
            let seen = |record: &Client| delivered.contains_key(&record.id) || moved.contains(&record.id);
            assert!(moved.len() > 1 && records.iter().all(seen), "a record that did not move was skipped");
            world.standby.execute(DATABASE, RESUME).await;
        }
    }
    assert_eq!(delivered, newest, "a change was missed");
    world.close().await;
}

/// A standby shows a commit as soon as it has it, the primary only once its synchronous standby has it. Until then it may be
/// lost.
/// Rules: REPLICA-1
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_primary_hides_is_hidden_by_the_replica() {
    let Some(world) = Replicated::start().await else { return };
    world.client("Before").await;
    world.wait_for_replica().await;
    let before = world.page_from("replica", 0, "/clients").await;
    world.primary.configure(&durable(&["synchronous_standby_names = 'absent'"]));
    let commit = async || {
        let commit = world.primary.execute("postgres", "CREATE TABLE waits (); DROP TABLE waits");
        timeout(Duration::from_millis(200), commit).await
    };
    wait_until("a server that makes commits wait", async || commit().await.is_err()).await;
    let (primary, standby) = (world.primary.url(DATABASE), world.standby.url(DATABASE));
    let watching = async {
        wait_until("a commit that waits", async || count_at(&primary, WAITING).await > 0).await;
        wait_until("a standby that shows it", async || count_at(&standby, CLIENTS).await == 2).await;
        // With a quota its statement would wait as well.
        for _ in 0..3 {
            assert_eq!(world.page_from("primary", 1, "/clients").await, before);
        }
        world.primary.configure(&durable(&[]));
    };
    tokio::join!(world.client("Held"), watching);
    assert_eq!(ids(&world.page(1, "/clients").await).len(), 2);
    world.wait_for_replica().await;
    assert_eq!(ids(&world.page_from("replica", 0, "/clients").await).len(), 2);
    world.close().await;
}

/// Rules: REPLICA-2, REPLICA-3
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_or_stalled_replica_delays_nothing_and_is_used_again() {
    /// If each of them waited for the replica, it were more.
    const SOON: Duration = Duration::from_secs(6);
    const PAGES: usize = 30;
    let Some(world) = Replicated::start().await else { return };
    world.client("Claire Lefèvre").await;
    world.wait_for_replica().await;
    let shown = world.page_from("replica", 0, "/clients").await;

    world.proxy.go_away(Duration::from_mins(1));
    let away = world.pages_of_primary(PAGES, &shown).await;
    world.check_ready().await;
    world.proxy.come_back();
    world.wait_for_replica().await;

    // Connections are taken, and nothing is said on them.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    world.proxy.lead_to(silent.local_addr().unwrap().port());
    world.proxy.go_away(Duration::ZERO);
    let silence = world.pages_of_primary(PAGES, &shown).await;
    world.check_ready().await;
    world.proxy.lead_to(world.standby.port());
    world.proxy.go_away(Duration::ZERO);
    world.wait_for_replica().await;

    // The server stands still in the middle of its sessions.
    let stopped = Stopped::server(&world.standby).await;
    let still = world.pages_of_primary(PAGES, &shown).await;
    world.check_ready().await;
    drop(stopped);
    world.wait_for_replica().await;
    tell(
        "pages without the replica",
        &format_args!("{PAGES} in {away:.1?} cut off, {silence:.1?} silent, {still:.1?} stopped"),
    );
    assert!([away, silence, still].iter().all(|took| *took < SOON), "{away:?}, {silence:?}, {still:?}");
    assert_eq!(world.page_from("replica", 1, "/clients").await, shown);
    world.close().await;
}

/// A server that is stopped until this is dropped, and its sessions of nodes.
struct Stopped(Vec<String>);

impl Stopped {
    async fn server(cluster: &Cluster) -> Self {
        const PIDS: &str = "SELECT pid::text FROM pg_stat_activity WHERE application_name = 'invoicing'";
        let mut connection: PgConnection =
            PgConnection::connect(&cluster.url(DATABASE)).await.expect("a server");
        let mut pids: Vec<String> =
            sqlx::query_scalar(PIDS).fetch_all(&mut connection).await.expect("sessions");
        assert!(!pids.is_empty(), "no session to stop");
        let server = std::fs::read_to_string(cluster.data().join("postmaster.pid")).expect("a server");
        pids.push(server.lines().next().expect("a process").to_owned());
        let stopped = Self(pids);
        stopped.send("-STOP");
        stopped
    }

    fn send(&self, signal: &str) {
        // One of them may have ended.
        let _ = Command::new("kill").arg(signal).args(&self.0).status();
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.send("-CONT");
    }
}

/// Changes on a promoted standby may have the stamps of the primary.
/// Rules: REPLICA-1, REPLICA-2
#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_its_standby_an_old_schema_and_a_copy_give_no_page() {
    const OTHER: &str = "UPDATE client SET record = replace(record, 'Claire', 'Carole')";
    const OLDER: &str = "UPDATE invoicing_migration SET version = version - 1";
    const NEWER: &str = "UPDATE invoicing_migration SET version = version + 1";
    const PAGES: usize = 20;
    let Some(world) = Replicated::start().await else { return };
    world.client("Claire Lefèvre").await;
    world.wait_for_replica().await;
    let shown = world.page_from("replica", 0, "/clients").await;

    world.primary.execute(DATABASE, OLDER).await;
    let url = world.standby.url(DATABASE);
    let is_older = "SELECT max(version) FROM invoicing_migration";
    let primary = count_at(&world.primary.url(DATABASE), is_older).await;
    wait_until("an older schema", async || count_at(&url, is_older).await == primary).await;
    world.pages_of_primary(PAGES, &shown).await;
    world.primary.execute(DATABASE, NEWER).await;
    world.wait_for_replica().await;
    world.page_from("replica", 0, "/clients").await;

    // A copy stores companies with their last stamps before it stores their records.
    let is_copied = "SELECT count(*) FROM pg_class WHERE relname = 'invoicing_copy'";
    world.primary.execute(DATABASE, "CREATE TABLE invoicing_copy ()").await;
    wait_until("a copy", async || count_at(&url, is_copied).await == 1).await;
    world.pages_of_primary(PAGES, &shown).await;
    world.primary.execute(DATABASE, "DROP TABLE invoicing_copy").await;
    world.wait_for_replica().await;
    world.page_from("replica", 0, "/clients").await;

    world.standby.promote();
    world.standby.execute(DATABASE, OTHER).await;
    world.pages_of_primary(PAGES, &shown).await;
    world.check_ready().await;

    let descendant = Cluster::on(world.standby.copy(), &durable(&[]));
    world.proxy.lead_to(descendant.port());
    world.proxy.go_away(Duration::ZERO);
    let url = descendant.url(DATABASE);
    wait_until("sessions on a standby of the promoted one", async || {
        world.pages_of_primary(2, &shown).await;
        count_at(&url, SESSIONS).await >= 2
    })
    .await;
    world.pages_of_primary(PAGES, &shown).await;
    world.close().await;
}
