//! API keys: issued, listed, revoked.

use invoicing_core::{KeyId, SHORT_TEXT, required_text};

use super::CompanyHandle;
use crate::Error;
use crate::secret::{self, Secret};
use crate::store::Tables;
use crate::store::keys::KeyRecord;

/// The API keys of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewCompany, Plan};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// let issued = company.keys().issue("CRM").await?;
/// println!("Shown this once: {}", issued.key.reveal());
///
/// company.keys().revoke(issued.record.id).await?;
/// assert!(company.keys().list().await?[0].revoked_at.is_some());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a>(pub(super) &'a CompanyHandle);

/// A key with its text, which is shown this once: `issued.key.reveal()`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IssuedKey {
    /// Its record.
    pub record: KeyRecord,
    /// `isk_` and 43 characters: what goes into the `Authorization` header. [`reveal`](Secret::reveal) gives the text.
    pub key: Secret,
}

impl CompanyHandle {
    /// Its API keys.
    pub fn keys(&self) -> Keys<'_> {
        Keys(self)
    }
}

impl Keys<'_> {
    /// Issues a key, whose text is [`issued.key.reveal()`](Secret::reveal). Any plan may have keys; only the team plan may use
    /// them.
    pub async fn issue(&self, label: &str) -> Result<IssuedKey, Error> {
        let label = required_text("label", label, SHORT_TEXT)?;
        let env = self.0.env();
        let key = Secret::generate(secret::API_KEY, env);
        let hash = key.sha256();
        let last4 = key.reveal().chars().skip(key.reveal().len() - 4).collect();
        let (id, created_at) = (KeyId(env.uuid()), env.now());
        let record = KeyRecord { id, last4, label, created_at, last_used_at: None, revoked_at: None };
        let stored = record.clone();
        self.0.write(async move |mut tx| tx.issue_key(&stored, &hash).await).await?;
        Ok(IssuedKey { record, key })
    }

    /// All keys, oldest first, revoked ones included.
    pub async fn list(&self) -> Result<Vec<KeyRecord>, Error> {
        self.0.read(async |mut tx| tx.keys().list().await).await
    }

    /// Revokes a key for good.
    pub async fn revoke(&self, id: KeyId) -> Result<(), Error> {
        self.0.write(async move |mut tx| tx.revoke_key(id).await).await
    }
}
