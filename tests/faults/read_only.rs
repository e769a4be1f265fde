//! A SQLite file that the process may read and not change.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::process::{NODE, Site};

/// A user that owns nothing. No permission holds against root.
const NOBODY: &str = "65534";

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_only_be_read_is_not_ready_and_says_why() {
    let site = Site::on_sqlite(Vec::new());
    site.start("rest").stop_when_started();
    std::fs::set_permissions(site.file(), Permissions::from_mode(0o444)).expect("its owner may change it");
    let node = if is_root() {
        let owned = Command::new("chown").args(["-R", NOBODY]).arg(site.folder()).status();
        assert!(owned.expect("the program chown").success());
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", NODE]);
        site.start_by(command, "serve")
    } else {
        site.start("serve")
    };
    let line = node.line_with("reasons").expect("it opens");
    assert_eq!(line["reasons"], serde_json::json!(["the database takes no changes"]));
    node.stop();
}
