//! Stores behind a network: S3 and stores with its protocol, Google Cloud Storage, Azure Blob
//! Storage.
//!
//! Each has a feature. All of them use the TLS of the rest of the crate, rustls with aws-lc.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
#[cfg(feature = "s3")]
use object_store::aws::AmazonS3Builder;
#[cfg(feature = "azure")]
use object_store::azure::MicrosoftAzureBuilder;
#[cfg(feature = "gcs")]
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{Error, ObjectStore, RetryConfig};

use super::{CONTENT_TYPE, DocumentKey, DocumentStoreError, ObjectStorage, StorageSetupError};
use crate::documents::content_disposition::content_disposition;

/// Retries that end within the time limit of every call.
fn retry() -> RetryConfig {
    RetryConfig { max_retries: 3, retry_timeout: Duration::from_secs(4), ..RetryConfig::default() }
}

impl ObjectStorage {
    /// Amazon S3, or a store with its protocol. The builder's own retries are replaced by ones that
    /// end within 4 s, and its bulk deletions, which not every such store has, by single ones.
    ///
    /// A presigned URL ends earlier than promised if the credentials that it was made with do.
    #[cfg(feature = "s3")]
    pub fn s3(builder: AmazonS3Builder) -> Result<Self, StorageSetupError> {
        Ok(Self::signing(builder.with_retry(retry()).with_disable_bulk_delete(true).build()?))
    }

    /// Google Cloud Storage. The builder's own retries are replaced by ones that end within 4 s.
    #[cfg(feature = "gcs")]
    pub fn gcs(builder: GoogleCloudStorageBuilder) -> Result<Self, StorageSetupError> {
        Ok(Self::signing(builder.with_retry(retry()).build()?))
    }

    /// Azure Blob Storage. The builder's own retries are replaced by ones that end within 4 s.
    #[cfg(feature = "azure")]
    pub fn azure(builder: MicrosoftAzureBuilder) -> Result<Self, StorageSetupError> {
        Ok(Self::signing(builder.with_retry(retry()).build()?))
    }

    /// Makes presigned URLs with this signer, usually the store itself.
    #[must_use]
    pub fn with_signer(mut self, signer: Arc<dyn Signer>) -> Self {
        self.signer = Some(signer);
        self
    }

    pub(super) async fn signed_url(
        &self,
        key: DocumentKey,
        file_name: String,
        valid: Duration,
    ) -> Result<Option<String>, DocumentStoreError> {
        let Some(signer) = &self.signer else { return Ok(None) };
        let location = self.location(key);
        // Sent even if the object has these attributes, as it may have been put under another name.
        let options = SignedUrlOptions::new().with_query([
            ("response-content-disposition", content_disposition(&file_name)),
            ("response-content-type", CONTENT_TYPE.to_owned()),
        ]);
        let url = match signer.signed_url_opts(Method::GET, &location, valid, &options).await {
            Err(Error::NotSupported { .. }) => signer.signed_url(Method::GET, &location, valid).await?,
            done => done?,
        };
        Ok(Some(url.into()))
    }

    fn signing(store: impl ObjectStore + Signer) -> Self {
        let store = Arc::new(store);
        Self::new(Arc::clone(&store) as Arc<dyn ObjectStore>).with_signer(store)
    }
}

/// A builder with every option, by `object_store`'s names.
pub(super) fn configured<B, K: FromStr>(
    builder: B,
    mut options: impl Iterator<Item = (String, String)>,
    set: impl Fn(B, K, String) -> B,
) -> Result<B, StorageSetupError> {
    options.try_fold(builder, |builder, (name, value)| match name.to_ascii_lowercase().parse() {
        Ok(key) => Ok(set(builder, key, value)),
        Err(_) => Err(StorageSetupError::Option(name)),
    })
}
