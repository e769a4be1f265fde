//! The fuzz targets on a stable toolchain: their seeds, changed at random, and arbitrary bytes.

use std::fs;
use std::path::Path;

use invoicing_tests::{
    Database,
    hostile::{ENTRIES, Entry},
    on_each_database,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::proptest_runner::for_all;

/// The fuzzer's seeds.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// A change of some bytes.
#[derive(Debug, Clone)]
enum Change {
    Replace(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Double(Index, usize),
}

/// Bytes and words that parsers stumble over.
const AWKWARD: &[&str] = &[
    "\0",
    "\r\n",
    "\n",
    "\"",
    "\\",
    "%",
    "%00",
    "%ff",
    "&",
    "=",
    "+",
    ",v1=",
    "t=",
    "-",
    "1e400",
    "-0",
    "{",
    "[",
    "null",
    "\u{feff}",
    "\\ud800",
    "é",
    "😀",
    "\u{202e}",
    "\u{200d}",
    "@",
    "://",
    "::",
    "[::1]",
    "127.1",
    "0x7f",
    "9223372036854775808",
    "T",
    "Z",
    "+02:00",
    "#",
    "?",
    "//",
    "..",
    ";",
];

fn awkward() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(AWKWARD).prop_map(|word| word.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (any::<Index>(), awkward()).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), 1..20_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<Index>(), 1..200_usize).prop_map(|(at, count)| Change::Double(at, count)),
    ]
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: &Index, len: usize| at.index(len + 1);
        match self {
            Self::Replace(at, byte) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Self::Replace(_, byte) => bytes.push(*byte),
            Self::Insert(at, new) => {
                let at = place(at, bytes.len());
                bytes.splice(at..at, new.iter().copied());
            }
            Self::Remove(at, count) => {
                let at = place(at, bytes.len());
                bytes.drain(at..bytes.len().min(at + count));
            }
            Self::Double(at, count) => {
                let at = place(at, bytes.len());
                let part = bytes[at..bytes.len().min(at + count)].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
}

fn input(name: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let changed = (prop::sample::select(seeds(name)), prop::collection::vec(change(), 0..6));
    let changed = changed.prop_map(|(mut bytes, changes)| {
        for change in changes {
            change.apply(&mut bytes);
        }
        bytes
    });
    prop_oneof![8 => changed, 1 => prop::collection::vec(any::<u8>(), 0..300), 1 => "\\PC{0,200}".prop_map(Into::into)]
}

fn smoke(db: Database, name: &str, cases: u32) {
    let (_, entry): (_, Entry) = *ENTRIES.iter().find(|(known, _)| *known == name).unwrap();
    for seed in seeds(name) {
        entry(db, &seed);
    }
    for_all(db, cases, &input(name), |bytes| {
        entry(db, &bytes);
        Ok(())
    });
}

#[test]
fn signature_headers() {
    smoke(Database::Sqlite, "signature_header", 2_000);
}

#[test]
fn since_values() {
    smoke(Database::Sqlite, "since", 5_000);
}

#[test]
fn target_urls() {
    smoke(Database::Sqlite, "target_url", 5_000);
}

#[on_each_database]
fn requests_for_anything(db: Database) {
    smoke(db, "router", 1_000);
}

#[on_each_database]
fn queries(db: Database) {
    smoke(db, "query", 1_000);
}

#[on_each_database]
fn bodies(db: Database) {
    smoke(db, "body", 1_000);
}

#[on_each_database]
fn documents(db: Database) {
    smoke(db, "document", 60);
}

#[test]
fn every_entry_has_a_fuzz_target_and_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (name, _) in ENTRIES {
        assert!(seeds(name).len() >= 5, "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        let target = fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("hostile::{name}")), "{name}");
    }
}
