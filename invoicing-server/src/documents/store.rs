//! Where documents lie: the trait that a host can implement, and a folder.
//!
//! A store knows hashes and bytes. It deletes nothing, and has no limit of time of its own: the caller sets one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::ContentHash;

/// Keeps documents under the hash of their bytes.
pub trait DocumentStore: Send + Sync {
    /// Keeps the bytes for good: `Ok` means that they survive a loss of power.
    ///
    /// Putting the same bytes again changes nothing. Bytes that are stored are never replaced by others.
    fn put(&self, hash: ContentHash, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The bytes, whole and unchanged, or [`StoreError::Corrupt`].
    fn get(&self, hash: ContentHash) -> BoxFuture<'_, Result<Bytes, StoreError>>;

    /// How many bytes are stored, without reading them; `None` where there are none.
    fn size(&self, hash: ContentHash) -> BoxFuture<'_, Result<Option<u64>, StoreError>>;
}

/// Why a store cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no document under this hash.
    #[error("the document is not in the store")]
    NotFound,
    /// What lies under this hash is not what was frozen.
    #[error("the stored document is not the one that was frozen")]
    Corrupt,
    /// The store does not answer as it should.
    #[error("the document store is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store did not answer in time.
    #[error("the document store did not answer in time")]
    TimedOut,
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Unavailable(error.into()),
        }
    }
}

/// Documents as files below one folder: `ab/cd/abcd….pdf`.
///
/// A file is written under a temporary name, forced to disk and then renamed, so that a name always stands for whole
/// contents. Temporary files that a crash leaves behind (`*.tmp`) are never read and may be deleted while no program
/// uses the folder. Several processes may share it.
#[derive(Debug, Clone)]
pub struct FolderStore {
    root: PathBuf,
}

impl FolderStore {
    /// Uses this folder; it is made when the first document is put.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { root: path.into() }
    }

    /// The folders from the root to the document's own, and the document's file.
    fn place(&self, hash: ContentHash) -> ([PathBuf; 3], PathBuf) {
        let name = hash.to_string();
        let outer = self.root.join(&name[..2]);
        let inner = outer.join(&name[2..4]);
        let file = inner.join(format!("{name}.pdf"));
        ([self.root.clone(), outer, inner], file)
    }
}

impl DocumentStore for FolderStore {
    fn put(&self, hash: ContentHash, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        let (folders, file) = self.place(hash);
        Box::pin(blocking(move || put(hash, &bytes, &folders, &file)))
    }

    fn get(&self, hash: ContentHash) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        let (_, file) = self.place(hash);
        Box::pin(blocking(move || read(hash, &file)))
    }

    fn size(&self, hash: ContentHash) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        let (_, file) = self.place(hash);
        Box::pin(blocking(move || match fs::metadata(file) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.into())))
}

fn put(hash: ContentHash, bytes: &[u8], folders: &[PathBuf; 3], file: &Path) -> Result<(), StoreError> {
    if ContentHash::of(bytes) != hash {
        return Err(StoreError::Corrupt);
    }
    let unavailable = |error: io::Error| StoreError::Unavailable(error.into());
    match read(hash, file) {
        Ok(_) => {}
        Err(StoreError::NotFound) => write(bytes, file).map_err(unavailable)?,
        // Also where the file is damaged: evidence is not painted over.
        Err(error) => return Err(error),
    }
    // Also where the file was there: whoever renamed it may not have got this far.
    folders.iter().try_for_each(|folder| sync_folder(folder)).map_err(unavailable)
}

fn read(hash: ContentHash, file: &Path) -> Result<Bytes, StoreError> {
    let bytes = fs::read(file)?;
    if ContentHash::of(&bytes) == hash { Ok(bytes.into()) } else { Err(StoreError::Corrupt) }
}

fn write(bytes: &[u8], file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let (mut temporary, path) = create_temporary(file)?;
    let written = temporary.write_all(bytes).and_then(|()| temporary.sync_all());
    written.and_then(|()| fs::rename(&path, file)).inspect_err(|_| {
        // What stays behind is never read.
        let _ = fs::remove_file(&path);
    })
}

/// A new file beside `file`. Its name is free also of what crashed or neighbouring processes have left there.
fn create_temporary(file: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let path = file.with_extension(format!("{}.tmp", NEXT.fetch_add(1, Ordering::Relaxed)));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, path)),
        }
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened as a file, and renaming is durable by itself or not at all.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: &[u8] = b"%PDF-1.7 a document";

    fn stored() -> (tempfile::TempDir, FolderStore, ContentHash) {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::new(folder.path().join("documents"));
        (folder, store, ContentHash::of(BYTES))
    }

    fn file_of(store: &FolderStore, hash: ContentHash) -> PathBuf {
        store.place(hash).1
    }

    #[tokio::test]
    async fn what_is_put_can_be_read_again_and_again() {
        let (_folder, store, hash) = stored();
        assert_eq!(store.size(hash).await.unwrap(), None);
        assert!(matches!(store.get(hash).await, Err(StoreError::NotFound)));
        for _ in 0..2 {
            store.put(hash, Bytes::from_static(BYTES)).await.unwrap();
            assert_eq!(store.get(hash).await.unwrap(), BYTES);
            assert_eq!(store.size(hash).await.unwrap(), Some(BYTES.len() as u64));
        }
        let name = hash.to_string();
        let expected = store.root.join(&name[..2]).join(&name[2..4]).join(format!("{name}.pdf"));
        assert_eq!(fs::read(expected).unwrap(), BYTES);
    }

    #[tokio::test]
    async fn bytes_are_only_kept_under_their_own_hash() {
        let (_folder, store, hash) = stored();
        assert!(matches!(store.put(hash, Bytes::from_static(b"other")).await, Err(StoreError::Corrupt)));
        assert_eq!(store.size(hash).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_damaged_file_is_noticed_and_left_as_it_is() {
        let (_folder, store, hash) = stored();
        store.put(hash, Bytes::from_static(BYTES)).await.unwrap();
        let mut damaged = BYTES.to_vec();
        damaged[10] ^= 1;
        for damaged in [&damaged[..], b""] {
            fs::write(file_of(&store, hash), damaged).unwrap();
            assert!(matches!(store.get(hash).await, Err(StoreError::Corrupt)));
            assert!(matches!(store.put(hash, Bytes::from_static(BYTES)).await, Err(StoreError::Corrupt)));
            assert_eq!(fs::read(file_of(&store, hash)).unwrap(), damaged);
        }
    }

    #[tokio::test]
    async fn leftovers_of_a_crash_do_no_harm() {
        let (_folder, store, hash) = stored();
        let file = file_of(&store, hash);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        for n in 0..50 {
            fs::write(file.with_extension(format!("{n}.tmp")), &BYTES[..5]).unwrap();
        }
        assert!(matches!(store.get(hash).await, Err(StoreError::NotFound)));
        store.put(hash, Bytes::from_static(BYTES)).await.unwrap();
        assert_eq!(store.get(hash).await.unwrap(), BYTES);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn simultaneous_puts_agree_and_leave_one_file() {
        let (_folder, store, _) = stored();
        let bytes = Bytes::from(vec![7; 300_000]);
        let hash = ContentHash::of(&bytes);
        let puts = (0..32).map(|_| store.put(hash, bytes.clone()));
        futures_util::future::try_join_all(puts).await.unwrap();
        assert_eq!(store.get(hash).await.unwrap(), bytes);
        let file = file_of(&store, hash);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_used_is_an_error() {
        let (folder, _, hash) = stored();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, b"").unwrap();
        let store = FolderStore::new(in_the_way);
        let put = store.put(hash, Bytes::from_static(BYTES)).await;
        assert!(matches!(put, Err(StoreError::Unavailable(_))), "{put:?}");
        assert!(matches!(store.get(hash).await, Err(StoreError::Unavailable(_))));
        assert!(matches!(store.size(hash).await, Err(StoreError::Unavailable(_))));
    }
}
