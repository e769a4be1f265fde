//! The examples on PostgreSQL: a host that moves there, and two sandboxes on one database.
//!
//! Each test prints so if no PostgreSQL is found.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::path::Path;

use invoicing_tests::postgres::{Cluster, Options};
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::{check_sandbox, run};

/// An empty database on a server of this test's own.
pub(crate) fn database(name: &str) -> Option<(Cluster, String)> {
    let cluster = Cluster::start(&Options::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = runtime.block_on(cluster.create_database(name));
    Some((cluster, url))
}

#[test]
fn a_sandbox_moves_to_postgresql_with_all_it_has() {
    let Some((_cluster, url)) = database("moved") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.db");
    let (file, documents) = (file.to_str().unwrap(), folder.path().join("sandbox.db.documents"));
    let before = Sandbox::start(&["--db", file, "--activity", "200"]);
    let companies: Vec<_> = before.companies().into_iter().map(str::to_owned).collect();
    let told_before: Vec<_> = before.operations.iter().take(200).collect();
    // The data that a process in full work leaves behind.
    drop(before);

    let moved = run("move_to_postgres", &[file, &url]);
    let (told, log) = (String::from_utf8_lossy(&moved.stdout), String::from_utf8_lossy(&moved.stderr));
    assert!(moved.status.success(), "{told}\n{log}");
    assert!(told.contains(" rows/s") && told.contains("3  company"), "{told}");
    println!("{told}");
    let again = run("move_to_postgres", &[file, &url]);
    assert!(again.status.success() && String::from_utf8_lossy(&again.stdout).contains("nothing was changed"));

    let documents = documents.to_str().unwrap();
    let after = Sandbox::start(&["--db", &url, "--documents", documents, "--activity", "200"]);
    assert_eq!(after.companies(), companies);
    // The business goes on with the clients from before.
    let told_after: Vec<_> = after.operations.iter().take(100).collect();
    let clients = |lines: &[Value], made: bool| -> Vec<Value> {
        let of = |line: &&Value| (line["operation"] == "client.create") == made;
        lines.iter().filter(of).map(|line| line["ids"]["clientId"].clone()).collect()
    };
    let (made, used) = (clients(&told_before, true), clients(&told_after, false));
    assert!(used.iter().any(|client| client.is_string() && made.contains(client)), "{made:?} {used:?}");
}

#[test]
fn move_to_postgres_says_how_it_is_used_and_what_is_wrong() {
    for args in
        [&[][..], &["invoicing.db"], &["invoicing.db", "mysql://127.0.0.1/x"], &["a", "postgres://h/x", "c"]]
    {
        let output = run("move_to_postgres", args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: move_to_postgres"), "{args:?}");
    }
    let missing = Path::new(env!("CARGO_MANIFEST_DIR")).join("missing.db");
    let output = run("move_to_postgres", &[missing.to_str().unwrap(), "postgres://127.0.0.1:1/x"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("there is no database") && said.contains("missing.db"), "{said}");
}

/// Two processes on one database, from outside: plain HTTP, and an HMAC that is not ours.
#[test]
fn two_sandboxes_on_one_database_deliver_each_event_once() {
    let Some((_cluster, url)) = database("shared") else { return };
    check_sandbox(&[&url]);
}
