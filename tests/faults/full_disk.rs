//! A full disk below SQLite: reads go on, and no quota is gained.
//!
//! The disk is a small file system of its own if the test may mount one. Otherwise the files of the process may not grow.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::QUOTA;
use crate::http::call;
use crate::process::{Node, Site};

/// Larger than the index of SQLite's log, smaller than a log with the schema.
const LARGEST_FILE: u64 = 64 * 1_024;
/// Maximum number of requests that a key loses by the death of a process: a block of reserved ones.
const BLOCK: usize = 3;
const UNMARKED: &str = "----------------";
const USED: &str = "SELECT count(*) FROM api_key WHERE last_used_at IS NOT NULL AND revoked_at IS NULL";
const REVOKED: &str = "SELECT count(*) FROM api_key WHERE revoked_at IS NOT NULL";

struct Disk {
    site: Site,
    is_mounted: bool,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let is_mounted = mount(&folder);
        Self { site: Site::in_folder(folder), is_mounted }
    }

    fn start(&self, mode: &str, is_full: bool) -> Node {
        let limit = (is_full && !self.is_mounted).then_some(LARGEST_FILE);
        self.site.start_with_file_limit(mode, limit)
    }

    fn fill(&self, node: &Node) {
        if !self.is_mounted {
            return limit(node, &LARGEST_FILE.to_string());
        }
        let mut file = File::create(self.site.folder().join("filler")).expect("a file");
        for size in [64 * 1_024, 1] {
            let bytes = vec![1; size];
            let full = loop {
                if let Err(error) = file.write_all(&bytes) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull);
        }
    }

    fn make_room(&self, node: &Node) {
        if self.is_mounted {
            std::fs::remove_file(self.site.folder().join("filler")).expect("the file");
        } else {
            limit(node, "unlimited");
        }
    }

    fn mark(&self) -> String {
        let file = self.site.file().with_added_extension("mark");
        std::fs::read_to_string(file).expect("the mark")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_mounted {
            let unmounted = Command::new("umount").arg(self.site.folder()).status();
            assert!(
                unmounted.is_ok_and(|status| status.success()) || std::thread::panicking(),
                "a mount is left"
            );
        }
    }
}

fn mount(folder: &TempDir) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(folder.path());
    mount.output().is_ok_and(|output| output.status.success())
}

fn limit(node: &Node, bytes: &str) {
    let arguments = [format!("--pid={}", node.pid()), format!("--fsize={bytes}:unlimited")];
    let status = Command::new("prlimit").args(arguments).status();
    assert!(status.expect("the program prlimit").success());
}

/// How many of these calls are answered with 200; the others are 429.
fn accepted(address: &str, key: &str, calls: usize) -> usize {
    let mut accepted = 0;
    for _ in 0..calls {
        let answer = call(address, key, "GET", "/clients?limit=1", "").expect("an answer");
        match answer.status {
            200 => accepted += 1,
            429 => assert!(answer.retry_after.is_some_and(|seconds| (1..=61).contains(&seconds))),
            other => panic!("answered {other}: {}", answer.json),
        }
    }
    accepted
}

fn create(address: &str, key: &str) -> u16 {
    call(address, key, "POST", "/clients", r#"{"name":"Durand"}"#).expect("an answer").status
}

/// Rules: QUOTA-1, QUOTA-7, QUOTA-9, KEY-4
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_ends_no_reads_and_a_death_gains_no_quota() {
    let disk = Disk::new();
    let node = disk.start("rest", false);
    let started = node.started();
    let (address, key, spare) = (started.address, started.key, started.spare);
    assert_eq!(accepted(&address, &key, 2), 2);
    assert_eq!(disk.mark(), UNMARKED);
    disk.fill(&node);
    assert_eq!(create(&address, &spare), 503);
    assert_eq!(accepted(&address, &key, QUOTA), QUOTA - 2, "exact within the process");
    assert_eq!(accepted(&address, &spare, QUOTA), QUOTA - 1);
    assert_ne!(disk.mark(), UNMARKED);
    node.kill();
    for is_full in [true, false, false] {
        let node = disk.start("serve", is_full);
        let address = node.started().address;
        assert_eq!(accepted(&address, &key, 3) + accepted(&address, &spare, 3), 0, "full: {is_full}");
        assert_eq!(disk.mark() == UNMARKED, !is_full, "noted when there is room");
        if is_full {
            disk.make_room(&node);
        }
        node.kill();
    }
    assert_eq!((disk.site.count(USED).await, disk.site.count(REVOKED).await), (2, 0));
}

/// Rules: QUOTA-1, QUOTA-7, QUOTA-9
#[tokio::test(flavor = "multi_thread")]
async fn what_a_full_disk_left_unnoted_is_noted_when_there_is_room() {
    let disk = Disk::new();
    let node = disk.start("rest", false);
    let started = node.started();
    let (address, key, spare) = (started.address, started.key, started.spare);
    disk.fill(&node);
    assert_eq!((accepted(&address, &key, 8), accepted(&address, &spare, 8)), (8, 8));
    assert_ne!(disk.mark(), UNMARKED);
    disk.make_room(&node);
    // The pause between two tries to write.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(accepted(&address, &key, 4), 4);
    assert_eq!(create(&address, &key), 201);
    assert_eq!(disk.mark(), UNMARKED, "those of the other key are noted too");
    node.kill();
    let node = disk.start("serve", false);
    let address = node.started().address;
    for (key, before) in [(&key, 13), (&spare, 8)] {
        let total = before + accepted(&address, key, QUOTA);
        assert!((QUOTA - BLOCK..=QUOTA).contains(&total), "{total}");
    }
    node.stop_well();
}
