//! Checkpoints in files: atomic, and never replaced silently by a new start.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use uuid::Uuid;

use crate::{
    Checkpoint, CheckpointError, CheckpointStore, FileCheckpoint, MemoryCheckpoint, RecordVersion, Timestamp,
};

fn checkpoint(since: i64, ids: &[u128]) -> Checkpoint {
    let version =
        |id: &u128| RecordVersion { updated_at: Timestamp::from_millis(since), id: Uuid::from_u128(*id) };
    Checkpoint { since: Timestamp::from_millis(since), delivered: ids.iter().map(version).collect() }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[tokio::test]
async fn a_file_keeps_the_last_save() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.json");
    let store = FileCheckpoint::new(&path);
    assert_eq!(store.lock_and_load("quotes").await.unwrap(), None);
    for since in [5, 7] {
        store.save("quotes", &checkpoint(since, &[1])).await.unwrap();
        assert_eq!(store.lock_and_load("quotes").await.unwrap(), Some(checkpoint(since, &[1])));
    }
    drop(store);
    assert_eq!(FileCheckpoint::new(&path).lock_and_load("quotes").await.unwrap(), Some(checkpoint(7, &[1])));
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["quotes.json", "quotes.json.lock"], "no temporary file is left");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{"version":1,"resource":"quotes","since":"1970-01-01T00:00:00.007Z","delivered":[{"updatedAt":"1970-01-01T00:00:00.007Z","id":"00000000-0000-0000-0000-000000000001"}]}"#
    );
}

#[tokio::test]
async fn a_file_that_is_not_a_checkpoint_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.json");
    let store = FileCheckpoint::new(&path);
    for damaged in ["", "{", "null", r#"{"version":1,"resource":"quotes"}"#, "\0\0\0"] {
        fs::write(&path, damaged).unwrap();
        assert!(
            matches!(store.lock_and_load("quotes").await, Err(CheckpointError::Damaged { .. })),
            "{damaged}"
        );
    }
    fs::write(&path, r#"{"version":2,"since":"soon"}"#).unwrap();
    assert!(matches!(
        store.lock_and_load("quotes").await,
        Err(CheckpointError::UnsupportedVersion { version: 2, .. })
    ));

    store.save("invoices", &checkpoint(1, &[])).await.unwrap();
    let error = store.lock_and_load("quotes").await.unwrap_err();
    assert!(matches!(&error, CheckpointError::OtherResource { found, .. } if found == "invoices"), "{error}");
    assert!(error.to_string().contains("belongs to invoices, not to quotes"));
}

#[tokio::test]
async fn an_inaccessible_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = FileCheckpoint::new(folder.path().join("missing/quotes.json"));
    let error = missing.save("quotes", &checkpoint(1, &[])).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Io { action: "locked", .. }), "{error}");
    // `None` would be wrong: deliveries would start although the checkpoint cannot be saved.
    let error = missing.lock_and_load("quotes").await.unwrap_err();
    assert!(matches!(error, CheckpointError::Io { action: "locked", .. }), "{error}");
    // A folder is not a file.
    let path = folder.path().join("quotes.json");
    fs::create_dir(&path).unwrap();
    let error = FileCheckpoint::new(&path).lock_and_load("quotes").await.unwrap_err();
    assert!(matches!(error, CheckpointError::Io { action: "read", .. }), "{error}");
    let error = FileCheckpoint::new(&path).save("quotes", &checkpoint(1, &[])).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Io { action: "written", .. }), "{error}");
}

#[tokio::test]
async fn a_file_has_one_user_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.json");
    let first = FileCheckpoint::new(&path);
    // A `FileCheckpoint` takes the lock at its first use.
    FileCheckpoint::new(&path).save("quotes", &checkpoint(1, &[])).await.unwrap();
    first.lock_and_load("quotes").await.unwrap();

    let second = FileCheckpoint::new(&path);
    let error = second.lock_and_load("quotes").await.unwrap_err();
    assert!(matches!(error, CheckpointError::InUse { .. }), "{error}");
    let error = second.save("quotes", &checkpoint(2, &[])).await.unwrap_err();
    assert!(matches!(error, CheckpointError::InUse { .. }), "{error}");

    let clone = first.clone();
    drop(first);
    clone.save("quotes", &checkpoint(3, &[])).await.unwrap();
    assert!(second.lock_and_load("quotes").await.is_err(), "a clone still uses it");
    drop(clone);
    assert_eq!(second.lock_and_load("quotes").await.unwrap(), Some(checkpoint(3, &[])));
}

#[tokio::test]
async fn reading_a_checkpoint_neither_takes_nor_needs_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.json");
    let reader = FileCheckpoint::new(&path);
    assert_eq!(reader.read("quotes").await.unwrap(), None);
    let owner = FileCheckpoint::new(&path);
    assert_eq!(owner.lock_and_load("quotes").await.unwrap(), None);
    owner.save("quotes", &checkpoint(5, &[1])).await.unwrap();
    assert_eq!(reader.read("quotes").await.unwrap(), Some(checkpoint(5, &[1])));
    assert!(matches!(reader.read("invoices").await, Err(CheckpointError::OtherResource { .. })));
}

/// A catch-up may be aborted and restarted in the same process.
#[tokio::test]
async fn a_file_is_free_after_the_drop_of_an_abandoned_save() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.json");
    for since in 1..=50 {
        let store = FileCheckpoint::new(&path);
        let read = store.lock_and_load("quotes").await.unwrap();
        assert!(read.is_none_or(|read| read.since.as_millis() < since));
        // Each save is polled once: its task runs on another thread, in any state, when it is abandoned.
        let checkpoint = checkpoint(since, &[1]);
        for _ in 0..3 {
            tokio::select! {
                biased;
                saved = store.save("quotes", &checkpoint) => saved.unwrap(),
                () = std::future::ready(()) => {}
            }
        }
    }
}

#[tokio::test]
async fn an_abandoned_save_does_not_overwrite_a_later_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileCheckpoint::new(folder.path().join("quotes.json"));
    for round in 0..100 {
        let [abandoned, last] = [checkpoint(2 * round, &[]), checkpoint(2 * round + 1, &[])];
        for _ in 0..3 {
            tokio::select! {
                biased;
                saved = store.save("quotes", &abandoned) => saved.unwrap(),
                () = std::future::ready(()) => {}
            }
        }
        store.save("quotes", &last).await.unwrap();
        // An abandoned save has ended by now, or would be detected in the next round.
        assert_eq!(store.lock_and_load("quotes").await.unwrap(), Some(last));
    }
}

#[tokio::test]
async fn unknown_fields_of_a_file_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.json");
    let text = r#"{"version":1,"resource":"quotes","since":"1970-01-01T00:00:00.007Z","delivered":[],"new":{"a":1}}"#;
    fs::write(&path, text).unwrap();
    assert_eq!(FileCheckpoint::new(&path).lock_and_load("quotes").await.unwrap(), Some(checkpoint(7, &[])));
}

#[tokio::test]
async fn memory_keeps_resources_apart() {
    let store = MemoryCheckpoint::new();
    store.save("quotes", &checkpoint(1, &[])).await.unwrap();
    store.save("invoices", &checkpoint(2, &[])).await.unwrap();
    assert_eq!(store.lock_and_load("quotes").await.unwrap(), Some(checkpoint(1, &[])));
    assert_eq!(store.lock_and_load("clients").await.unwrap(), None);
}

fn truncated(path: &Path, keep: usize) -> bool {
    let whole = fs::read(path).unwrap();
    fs::write(path, &whole[..keep.min(whole.len())]).unwrap();
    keep < whole.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_file_is_read_unchanged_or_refused(
        since in 0..4_102_444_800_000_i64,
        ids in proptest::collection::vec(any::<u128>(), 0..5),
        keep in 0..600_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let store = FileCheckpoint::new(&path);
        let saved = checkpoint(since, &ids);
        block_on(store.save("clients", &saved)).unwrap();
        prop_assert_eq!(block_on(store.lock_and_load("clients")).unwrap(), Some(saved));
        if truncated(&path, keep) {
            let read = block_on(store.lock_and_load("clients"));
            prop_assert!(matches!(read, Err(CheckpointError::Damaged { .. })), "{:?}", read);
        }
    }
}
