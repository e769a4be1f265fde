//! Documents as objects: in a local folder, or in a store that `object_store` supports.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use object_store::path::Path;
use object_store::{Attribute, Attributes, Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use tokio::sync::Semaphore;

use super::error::StorageSetupError;
use super::{CONTENT_TYPE, DocumentFile, DocumentKey, DocumentStore, DocumentStoreError, folder};
use crate::documents::content_disposition::content_disposition;

/// Documents as objects named `<company>/<ab>/<upload>.pdf`, where `ab` are the last two digits of
/// the upload's id.
///
/// The store must support creating an object only if there is none (`If-None-Match: *` or its
/// like). Several processes may share it. Objects are never listed.
///
/// ```no_run
/// use invoicing_server::ObjectStorage;
///
/// # fn host() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = ObjectStorage::folder("/var/lib/invoicing/documents")?;
/// // With the feature `s3`; the options are those of `object_store`.
/// let bucket = ObjectStorage::from_url("s3://invoices/documents", [("aws_region", "eu-west-3")])?;
/// # Ok(()) }
/// ```
///
/// In a folder, a file is written under a temporary name (`….pdf#1`), forced to disk and then
/// linked to its final name, so that a name always stands for whole contents; the file system must
/// have hard links. Temporary files left by a crash are never read, and may be deleted while no
/// program uses the folder.
#[derive(Clone)]
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    #[cfg(feature = "cloud")]
    pub(super) signer: Option<Arc<dyn object_store::signer::Signer>>,
    /// The folder, if the store is a folder of this machine.
    folder: Option<PathBuf>,
    /// Held by a check of the folder until it ends, so that a folder that hangs takes one thread.
    looking: Arc<Semaphore>,
}

/// Leaves out the store itself, which may show its signing key.
impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStorage").field("prefix", &self.prefix.as_ref()).finish_non_exhaustive()
    }
}

impl ObjectStorage {
    /// Uses a store of the host's choice. That store then decides whether `Ok` means that bytes
    /// survive a loss of power.
    ///
    /// Its retries should end within 4 s: an operation gives up after 4.5 s.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            store,
            prefix: Path::default(),
            folder: None,
            looking: Arc::new(Semaphore::new(1)),
            #[cfg(feature = "cloud")]
            signer: None,
        }
    }

    /// A folder of this machine. It is made if it is missing, for its owner only.
    pub fn folder(path: impl Into<PathBuf>) -> Result<Self, StorageSetupError> {
        let (root, store) = folder::open(path.into())?;
        Ok(Self { folder: Some(root), ..Self::new(Arc::new(store)) })
    }

    /// Puts all objects below this path, `documents/2026`.
    pub fn below(self, prefix: &str) -> Result<Self, StorageSetupError> {
        let below = Path::parse(prefix).map_err(Error::from)?;
        Ok(Self { prefix: self.prefix.parts().chain(below.parts()).collect(), ..self })
    }

    pub(super) fn location(&self, key: DocumentKey) -> Path {
        // A UUIDv7 begins with the time and ends with random digits, which spread documents evenly
        // over 256 folders.
        let name = key.upload.to_string();
        let own = [key.company.to_string(), name[name.len() - 2..].to_owned(), format!("{name}.pdf")];
        self.prefix.parts().chain(own.iter().map(|part| part.as_str().into())).collect()
    }

    async fn put_new(&self, location: &Path, file: &DocumentFile) -> Result<(), Error> {
        let put = async |attributes| {
            let options = PutOptions { mode: PutMode::Create, attributes, ..PutOptions::default() };
            self.store.put_opts(location, file.bytes.clone().into(), options).await.map(drop)
        };
        let attributes = Attributes::from_iter([
            (Attribute::ContentType, CONTENT_TYPE.to_owned()),
            (Attribute::ContentDisposition, content_disposition(&file.file_name)),
        ]);
        match put(attributes).await {
            // A folder keeps no attributes, and a store of the host's choice may keep none. This
            // crate reads none of them again.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => put(Attributes::new()).await,
            done => done,
        }
    }

    async fn read(&self, location: &Path) -> Result<Bytes, DocumentStoreError> {
        Ok(self.store.get(location).await?.bytes().await?)
    }

    async fn make_parent(&self, location: &Path) -> Result<(), DocumentStoreError> {
        match &self.folder {
            Some(root) => folder::make_parent(root, location).await,
            None => Ok(()),
        }
    }

    async fn flush(&self, location: &Path) -> Result<(), DocumentStoreError> {
        match &self.folder {
            Some(root) => folder::flush(root, location).await,
            None => Ok(()),
        }
    }
}

impl DocumentStore for ObjectStorage {
    fn put(&self, key: DocumentKey, file: DocumentFile) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        Box::pin(async move {
            let location = self.location(key);
            self.make_parent(&location).await?;
            match self.put_new(&location, &file).await {
                Ok(()) => {}
                // A retry finds the bytes of the first try. Other bytes are left unchanged, as they
                // may be evidence.
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                    if self.read(&location).await? != file.bytes {
                        return Err(DocumentStoreError::Corrupt);
                    }
                }
                Err(error) => return Err(error.into()),
            }
            self.flush(&location).await
        })
    }

    fn get(&self, key: DocumentKey) -> BoxFuture<'_, Result<Bytes, DocumentStoreError>> {
        Box::pin(async move { self.read(&self.location(key)).await })
    }

    fn size(&self, key: DocumentKey) -> BoxFuture<'_, Result<Option<u64>, DocumentStoreError>> {
        Box::pin(async move {
            match self.store.head(&self.location(key)).await {
                Ok(found) => Ok(Some(found.size)),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn delete(&self, key: DocumentKey) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        Box::pin(async move {
            let location = self.location(key);
            match self.store.delete(&location).await {
                Ok(()) | Err(Error::NotFound { .. }) => self.flush(&location).await,
                Err(error) => Err(error.into()),
            }
        })
    }

    fn check(&self) -> BoxFuture<'_, Result<(), DocumentStoreError>> {
        Box::pin(async move {
            match &self.folder {
                Some(root) => folder::check(root, Arc::clone(&self.looking)).await,
                // Not checked, as each check of a store in a cloud is a request that costs money.
                None => Ok(()),
            }
        })
    }

    #[cfg(feature = "cloud")]
    fn presign(
        &self,
        key: DocumentKey,
        file_name: String,
        valid: std::time::Duration,
    ) -> BoxFuture<'_, Result<Option<String>, DocumentStoreError>> {
        Box::pin(self.signed_url(key, file_name, valid))
    }
}

impl From<Error> for DocumentStoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { .. } => Self::NotFound,
            Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. } => Self::Refused(error.into()),
            _ => Self::Unavailable(error.into()),
        }
    }
}
