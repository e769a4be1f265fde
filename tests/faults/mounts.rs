//! Databases below mounts that only the started process sees: a file without its folder, a folder at two places.

use std::fs;
use std::path::Path;
use std::process::Command;

use invoicing_test_databases::tool::MOUNTS;

use crate::process::{NODE, Site};

/// The programs and the rights that these tests need.
const PROBE: &str = "mount --bind \"$1\" \"$1\"";

/// A command that runs a script in mounts of its own, then a node: by root, or as root of a user namespace. `None` if the
/// system allows neither, which is printed.
fn behind_mounts(folder: &Path, script: &str) -> Option<Command> {
    let unshared = |rights: &str, script: &str| {
        let mut command = Command::new("unshare");
        let script = format!("set -e; {script}; shift; exec \"$@\"");
        command.args([rights, "--propagation", "private", "sh", "-c", &script, "sh"]).arg(folder);
        command
    };
    let allows = |rights: &str| {
        unshared(rights, PROBE).arg("true").output().is_ok_and(|output| output.status.success())
    };
    let Some(rights) = ["-m", "-rm"].into_iter().find(|rights| allows(rights)) else {
        MOUNTS.is_missing("unshare is not allowed");
        return None;
    };
    let mut command = unshared(rights, script);
    command.arg(NODE);
    Some(command)
}

/// A site with a database that was in use, and a folder `app` beside it.
fn site() -> Site {
    let site = Site::on_sqlite(Vec::new());
    let (status, _) = site.start("rest").stop_when_started();
    assert!(status.success());
    fs::create_dir(site.folder().join("app")).expect("a folder");
    site
}

/// Rules: OPEN-2
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_mounted_without_its_folder_is_refused_by_name() {
    let site = site();
    let app = site.folder().join("app");
    let bound = "touch \"$1/app/inv.db\"; mount --bind \"$1/invoicing.db\" \"$1/app/inv.db\"";
    let from_another_device = "touch \"$1/app/inv.db\"; mkdir -p \"$1/disk\"; mount -t tmpfs tmpfs \"$1/disk\"; \
         touch \"$1/disk/inv.db\"; mount --bind \"$1/disk/inv.db\" \"$1/app/inv.db\"";
    let by_a_link = "ln -sf app/inv.db \"$1/current.db\"; touch \"$1/app/inv.db\"; \
         mount --bind \"$1/invoicing.db\" \"$1/app/inv.db\"";
    for (script, path) in
        [(bound, "app/inv.db"), (from_another_device, "app/inv.db"), (by_a_link, "current.db")]
    {
        let Some(command) = behind_mounts(site.folder(), script) else { return };
        let mut node = site.start_on(site.folder().join(path), command, "rest");
        assert!(!node.ended().success(), "{script}: it has opened");
        let line = node.line_with("failed").expect("a reason");
        let why = line["failed"].as_str().expect("a text");
        assert!(why.contains("app/inv.db is mounted without its folder"), "{script}: {why}");
        assert!(why.contains(&format!("mount the folder {}", app.display())), "{script}: {why}");
    }
    let made: Vec<_> =
        fs::read_dir(&app).expect("the folder").map(|entry| entry.expect("one").file_name()).collect();
    assert_eq!(made, ["inv.db"], "something was made beside it");
    // With its folder it opens.
    let Some(command) = behind_mounts(site.folder(), "mount --bind \"$1\" \"$1/app\"") else { return };
    let (status, _) = site.start_on(app.join("invoicing.db"), command, "rest").stop_when_started();
    assert!(status.success());
}

/// Rules: OPEN-1
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_mounted_twice_has_one_process() {
    let site = site();
    let first = site.start("rest");
    first.started();
    let Some(command) = behind_mounts(site.folder(), "mount --bind \"$1\" \"$1/app\"") else { return };
    let mut second = site.start_on(site.folder().join("app/invoicing.db"), command, "rest");
    assert!(!second.ended().success());
    let line = second.line_with("failed").expect("a reason");
    assert!(line["failed"].as_str().is_some_and(|why| why.contains("is open already")), "{line}");
    first.kill();
    let Some(command) = behind_mounts(site.folder(), "mount --bind \"$1\" \"$1/app\"") else { return };
    site.start_on(site.folder().join("app/invoicing.db"), command, "rest").started();
}
