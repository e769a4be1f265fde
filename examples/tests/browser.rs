//! The console and the signing page in a browser: the whole journey, every page in every window, the keyboard, no script.
//!
//! The scripts are beside this file; [`tools`] lists their requirements. Pictures of each page are left below the target folder.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

mod records;

use std::fs;
use std::path::{Path, PathBuf};

use http::request::Parts;
use invoicing_core::CompanyIdentity;
use invoicing_server::{ConsoleRole, ConsoleSession, ConsoleSettings, ServeLimits, SignInDecision, serve};
use invoicing_tests::{Database, RunningDispatcher, World};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::languages::tools::{self, succeed_with};
use records::Records;

/// A world whose API and console are served on loopback. Its server ends when it is dropped.
struct ServedApp {
    world: World,
    /// Where the console is.
    base: String,
    _stop: oneshot::Sender<()>,
    _tasks: JoinSet<()>,
}

impl ServedApp {
    /// `prefix` is empty or begins with a slash.
    async fn start(world: World, prefix: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}{prefix}", listener.local_addr().unwrap());
        let session = ConsoleSession::new(world.company.id(), "Anna", ConsoleRole::Full);
        let sign_in = move |_: &Parts| SignInDecision::Granted(session.clone());
        let console = world.invoicing.console(ConsoleSettings::at(&base), sign_in).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let mut tasks = JoinSet::new();
        let site = (world.invoicing.service(), console);
        tasks.spawn(async move {
            serve(listener, site, ServeLimits::default(), async { drop(stopped.await) }).await.unwrap();
        });
        Self { world, base, _stop: stop, _tasks: tasks }
    }

    /// Runs a script with its input, and prints its output. Does nothing without a browser.
    async fn run(&self, script: &'static str, mut given: Value) {
        given["base"] = json!(self.base);
        let told = tokio::task::spawn_blocking(move || run(script, &given)).await.unwrap();
        print!("{}", told.unwrap());
    }
}

/// The output of a script, if all holds.
fn run(script: &str, given: &Value) -> Result<String, String> {
    let Some((node, chromium)) = tools::browser() else { return Ok(String::new()) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser").join(script);
    let packages = node.packages().join("package.json");
    succeed_with(node.script(script).arg(packages).arg(chromium), given.to_string().as_bytes())
}

/// Where the pictures are.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console-pictures");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The way of a webhook from its first failure, and of a quote from its draft to a signature.
async fn journey(db: Database, script: bool) {
    let world = World::on(db).system_clock().open().await;
    let draft = world.draft().await.summary.id;
    let site = ServedApp::start(world, "").await;
    let _dispatcher = RunningDispatcher::start(site.world.invoicing.dispatcher());
    let given = json!({"script": script, "draft": format!("/quotes/{draft}"), "pictures": pictures().join("journey")});
    site.run("journey.mjs", given).await;
}

#[test]
fn the_whole_journey() {
    Database::Sqlite.run(Some(2), |db| journey(db, true));
}

#[test]
fn the_whole_journey_without_a_script() {
    Database::Sqlite.run(Some(2), |db| journey(db, false));
}

#[test]
fn every_page_fits_is_accessible_and_changes_nothing() {
    Database::Sqlite.run(Some(2), |db| async move {
        let world = World::new(db).await;
        let records = Records::create(&world).await;
        let site = ServedApp::start(world, "").await;
        let before = site.world.dump().await;
        let given = json!({
            "each": 2, "thorough": true, "refusals": true, "pictures": pictures(),
            "signing": records.signing, "expected": {"unknown": 404, "ended": 404},
            "kinds": [
                "home", "webhooks", "webhooks-new", "webhooks-one", "webhooks-one-rotate", "webhooks-one-remove",
                "webhooks-one-deliveries", "webhooks-one-deliveries-one", "events", "events-one", "history", "keys",
                "keys-new", "keys-one-revoke", "quotes", "quotes-one", "quotes-one-send",
            ],
        });
        site.run("every_page.mjs", given).await;
        assert_eq!(site.world.dump().await, before);
    });
}

#[test]
fn any_prefix_will_do() {
    Database::Sqlite.run(Some(2), |db| async move {
        for prefix in ["/", "/x", "/x/y/"] {
            let world = World::new(db).await;
            let records = Records::create(&world).await;
            let site = ServedApp::start(world, prefix).await;
            let signing = json!({"open": format!("{}{}", prefix.trim_end_matches('/'), records.signing["open"].as_str().unwrap())});
            site.run("every_page.mjs", json!({"each": 1, "quick": true, "signing": signing})).await;
        }
    });
}

#[test]
fn by_keyboard_alone() {
    Database::Sqlite.run(Some(2), |db| async move {
        let world = World::new(db).await;
        let records = Records::create(&world).await;
        let site = ServedApp::start(world, "").await;
        site.run("keyboard.mjs", json!({"signing": records.signing})).await;
    });
}

#[test]
fn a_form_is_carried_out_once_however_often_the_browser_sends_it() {
    Database::Sqlite.run(Some(2), |db| async move {
        for script in [true, false] {
            let site = ServedApp::start(World::new(db).await, "").await;
            site.run("twice.mjs", json!({"script": script})).await;
            let keys = site.world.company.keys().list().await.unwrap();
            let labels: Vec<_> = keys.iter().skip(1).map(|key| &*key.label).collect();
            assert!(labels == ["CRM", "Second"] || tools::browser().is_none(), "{labels:?}");
        }
    });
}

/// Rules: FORM-6, SIGN-11, SIGN-16
#[test]
fn back_asks_for_no_form_again_and_keeps_what_was_entered() {
    Database::Sqlite.run(Some(2), |db| async move {
        for script in [true, false] {
            let world = World::new(db).await;
            let records = Records::create(&world).await;
            let site = ServedApp::start(world, "/x").await;
            let open = format!("/x{}", records.signing["open"].as_str().unwrap());
            site.run("back.mjs", json!({"script": script, "signing": {"open": open}})).await;
        }
    });
}

/// Rules: INVOICE-27
#[test]
fn a_company_without_data_comes_to_an_issued_invoice() {
    Database::Sqlite.run(Some(2), |db| async move {
        for script in [true, false] {
            let world = World::new(db).await;
            world.company.set_identity(&CompanyIdentity::default()).await.unwrap();
            let site = ServedApp::start(world, "").await;
            let given = json!({"script": script, "pictures": pictures().join("lawful")});
            site.run("lawful.mjs", given).await;
            let issued = site.world.count("SELECT count(*) FROM invoice WHERE status = 'SENT'").await;
            assert!(issued == 1 || tools::browser().is_none(), "{issued} invoices");
        }
    });
}

#[test]
fn a_form_on_another_site_is_refused() {
    Database::Sqlite.run(Some(2), |db| async move {
        let world = World::new(db).await;
        let records = Records::create(&world).await;
        let site = ServedApp::start(world, "").await;
        let before = site.world.dump().await;
        let target = format!("{}/webhooks/{}/disable", site.base, records.webhook);
        site.run("foreign_form.mjs", json!({"target": target})).await;
        assert_eq!(site.world.dump().await, before);
    });
}
