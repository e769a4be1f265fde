//! One database has one process, by whatever path that leads to its file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::http::call;
use crate::process::{NODE, Node, Site, Started};

/// Time in which a process opens a database that no other has. A lock that stays would take longer.
const AT_ONCE: Duration = Duration::from_secs(10);
const COMPANIES: &str = "SELECT count(*) FROM company";

/// A node that is started in the folder of the site.
fn node(site: &Site) -> Command {
    let mut command = Command::new(NODE);
    command.current_dir(site.folder());
    command
}

/// The text with which a node ends that does not open.
fn refusal(mut node: Node) -> String {
    let status = node.ended();
    assert!(!status.success(), "it has opened");
    let line = node.line_with("failed").expect("a reason");
    line["failed"].as_str().expect("a text").to_owned()
}

/// The paths that lead to the database of a site, with links that are made in its folder.
fn ways(site: &Site) -> Vec<PathBuf> {
    let (file, folder) = (site.file(), site.folder());
    fs::create_dir(folder.join("links")).expect("a folder");
    let link = |to: &Path, name: &str| symlink(to, folder.join(name)).expect("a link");
    link(Path::new("invoicing.db"), "current.db");
    link(&file, "links/whole.db");
    link(Path::new("../current.db"), "links/chain.db");
    link(folder, "links/folder");
    let mut ways: Vec<PathBuf> = [
        "current.db",
        "links/whole.db",
        "links/chain.db",
        "links/folder/invoicing.db",
        "links/../invoicing.db",
        "./links//..//current.db",
        "invoicing.db/",
    ]
    .map(|name| folder.join(name))
    .to_vec();
    // The folder above the target of the link, not above the link.
    let name = folder.file_name().expect("a name");
    ways.push(folder.join("links/folder/..").join(name).join("invoicing.db"));
    ways.extend(["invoicing.db", "./current.db", "links/chain.db"].map(PathBuf::from));
    ways
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("a text")
    };
    let mut names: Vec<String> = fs::read_dir(folder).expect("the folder").map(name).collect();
    names.sort();
    names
}

/// Rules: OPEN-1
#[tokio::test(flavor = "multi_thread")]
async fn each_path_to_a_database_leads_to_its_one_process() {
    let site = Site::on_sqlite(Vec::new());
    // The file is made through a link to nothing.
    symlink("invoicing.db", site.folder().join("first.db")).expect("a link");
    let first = site.start_on("first.db", node(&site), "rest");
    let Started { address, key, .. } = first.started();
    let ways = ways(&site);
    let seconds: Vec<Node> = ways.iter().map(|way| site.start_on(way, node(&site), "rest")).collect();
    for (second, way) in seconds.into_iter().zip(&ways) {
        let why = refusal(second);
        assert!(why.contains("is open already, in another process"), "{}: {why}", way.display());
    }
    // The lock comes before the connection.
    let why = refusal(Site::start_copy_of(site.folder().join("current.db"), "postgres://127.0.0.1:1/none"));
    assert!(why.contains("is open already, in another process"), "{why}");
    assert_eq!(call(&address, &key, "GET", "/quotes", "").expect("the first one lives").status, 200);
    first.kill();
    for way in &ways {
        let begun = Instant::now();
        let node = site.start_on(way, node(&site), "rest");
        node.started();
        assert!(begun.elapsed() < AT_ONCE, "{}: {:?}", way.display(), begun.elapsed());
        node.kill();
    }
    assert_eq!(site.count(COMPANIES).await, 2, "a path has led to another database");
    let names = names(site.folder());
    let beside: Vec<_> = names.iter().filter(|name| name.contains(".db")).collect();
    let expected = [
        "current.db",
        "first.db",
        "invoicing.db",
        "invoicing.db-shm",
        "invoicing.db-wal",
        "invoicing.db.lock",
        "invoicing.db.mark",
    ];
    assert_eq!(beside, expected);
    assert_eq!(self::names(&site.folder().join("links")), ["chain.db", "folder", "whole.db"]);
}

/// Rules: OPEN-2
#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_two_names_is_refused_by_each_of_them() {
    let site = Site::on_sqlite(Vec::new());
    let first = site.start("rest");
    let Started { address, key, .. } = first.started();
    let other = site.folder().join("other.db");
    fs::hard_link(site.file(), &other).expect("a second name");
    let why = refusal(site.start_on(&other, node(&site), "rest"));
    assert!(why.contains("other.db has 2 names") && why.contains("remove"), "{why}");
    assert_eq!(call(&address, &key, "GET", "/quotes", "").expect("the first one lives").status, 200);
    // The log of the one that was killed lies beside one of the names.
    first.kill();
    for name in [&other, &site.file()] {
        let why = refusal(site.start_on(name, node(&site), "rest"));
        assert!(why.contains("has 2 names"), "{why}");
    }
    assert!(!names(site.folder()).contains(&"other.db-wal".to_owned()));
    fs::remove_file(&other).expect("it is there");
    site.start("rest").started();
    assert_eq!(site.count(COMPANIES).await, 2);
}

/// Rules: OPEN-1, OPEN-3
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_moved_or_replaced_stays_with_its_process() {
    let site = Site::on_sqlite(Vec::new());
    let first = site.start("rest");
    let Started { address, key, spare, .. } = first.started();
    let asked = |method: &str, path: &str, body: &str| {
        call(&address, &key, method, path, body).expect("the first one lives").status
    };
    let client = |name: &str| format!(r#"{{"name":"{name}","externalId":"{name}"}}"#);
    assert_eq!(asked("POST", "/clients", &client("before")), 201);
    let moved = site.folder().join("moved.db");
    fs::rename(site.file(), &moved).expect("it moves");
    let why = refusal(site.start_on(&moved, node(&site), "rest"));
    assert!(why.contains("moved.db is open already"), "{why}");
    assert_eq!(asked("POST", "/clients", &client("moved")), 503, "the next process would not find it");
    assert_eq!(asked("GET", "/clients", ""), 503);
    fs::copy(&moved, site.file()).expect("another is put there");
    let why = refusal(site.start("rest"));
    assert!(why.contains("invoicing.db is open already"), "{why}");
    assert_eq!(asked("POST", "/clients", &client("replaced")), 503);
    assert_eq!(asked("GET", "/clients", ""), 503);
    fs::rename(&moved, site.file()).expect("it moves back");
    assert_eq!(asked("POST", "/clients", &client("after")), 201);
    let listed = call(&address, &spare, "GET", "/clients", "").expect("an answer").json;
    assert_eq!(listed["data"].as_array().expect("clients").len(), 2);
    first.stop_well();
}
