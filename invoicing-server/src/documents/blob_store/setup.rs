//! The setup of a store from the settings of a host: a URL and options.

use std::sync::Arc;

use object_store::ObjectStoreScheme;
#[cfg(feature = "s3")]
use object_store::aws::AmazonS3Builder;
#[cfg(feature = "azure")]
use object_store::azure::MicrosoftAzureBuilder;
#[cfg(feature = "gcs")]
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::memory::InMemory;
use url::Url;

#[cfg(feature = "cloud")]
use super::cloud::configured;
use super::error::StorageSetupError;
use super::object::ObjectStorage;

impl ObjectStorage {
    /// The store at a URL: `file:///var/lib/invoicing/documents`, `s3://bucket/prefix`,
    /// `gs://bucket/prefix`, `az://container/prefix`, or `memory:///`, which keeps no document
    /// after the end of the process. The three URLs that name a cloud need the features `s3`, `gcs`
    /// and `azure`.
    ///
    /// The options are those of `object_store`'s builders by their names, such as `aws_region`,
    /// `aws_access_key_id`, `aws_endpoint`. No option is taken from the environment; a host that
    /// wants that passes a builder.
    pub fn from_url<K, V>(
        url: &str,
        options: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, StorageSetupError>
    where
        K: AsRef<str>,
        V: Into<String>,
    {
        let unknown = || StorageSetupError::Url(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| unknown())?;
        let (scheme, path) = ObjectStoreScheme::parse(&parsed).map_err(|_| unknown())?;
        let mut options = options.into_iter().map(|(name, value)| (name.as_ref().to_owned(), value.into()));
        if let ObjectStoreScheme::Local | ObjectStoreScheme::Memory = scheme
            && let Some((name, _)) = options.next()
        {
            return Err(StorageSetupError::Option(name));
        }
        let store = match scheme {
            ObjectStoreScheme::Local => return Self::folder(parsed.to_file_path().map_err(|()| unknown())?),
            ObjectStoreScheme::Memory => Self::new(Arc::new(InMemory::new())),
            #[cfg(feature = "s3")]
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::new().with_url(url);
                Self::s3(configured(builder, options, AmazonS3Builder::with_config)?)?
            }
            #[cfg(feature = "gcs")]
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::new().with_url(url);
                Self::gcs(configured(builder, options, GoogleCloudStorageBuilder::with_config)?)?
            }
            #[cfg(feature = "azure")]
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::new().with_url(url);
                Self::azure(configured(builder, options, MicrosoftAzureBuilder::with_config)?)?
            }
            _ => return Err(unknown()),
        };
        store.below(path.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [(&str, &str); 0] = [];

    #[test]
    fn a_folder_is_made_at_once_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let documents = folder.path().join("a/b/documents");
        let url = Url::from_file_path(&documents).unwrap();
        ObjectStorage::from_url(url.as_str(), NONE).unwrap();
        assert!(documents.is_dir());
        std::fs::write(folder.path().join("file"), b"").unwrap();
        let in_the_way = ObjectStorage::folder(folder.path().join("file/documents"));
        assert!(matches!(in_the_way, Err(StorageSetupError::Folder { .. })), "{in_the_way:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_made_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let documents = folder.path().join("documents");
        ObjectStorage::folder(&documents).unwrap();
        assert_eq!(std::fs::metadata(documents).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for url in ["", "documents", "ftp://host/documents", "https://example.com/documents"] {
            let refused = ObjectStorage::from_url(url, NONE);
            assert!(matches!(refused, Err(StorageSetupError::Url(_))), "{url}: {refused:?}");
        }
        let refused = ObjectStorage::from_url("memory:///", [("aws_region", "eu-west-3")]);
        assert!(matches!(refused, Err(StorageSetupError::Option(name)) if name == "aws_region"));
        assert!(ObjectStorage::from_url("memory:///below/this", NONE).is_ok());
    }

    #[cfg(feature = "s3")]
    #[test]
    fn the_names_of_s3_options_are_checked() {
        let refused = ObjectStorage::from_url("s3://bucket/below", [("aws_regoin", "eu-west-3")]);
        assert!(matches!(refused, Err(StorageSetupError::Option(name)) if name == "aws_regoin"));
        ObjectStorage::from_url("s3://bucket/below", [("aws_region", "eu-west-3")]).unwrap();
    }
}
