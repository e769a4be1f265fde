//! API keys: issued, listed, revoked.

use invoicing_core::internal::{SHORT_TEXT, required_text};
use invoicing_core::{ConflictReason, KeyId, Timestamp};

use super::CompanyHandle;
use crate::error::Error;
use crate::records::{HistoryAction, KeyRecord};
use crate::secret::{self, Secret};
use crate::store::Tables;

/// Maximum number of keys of a company that are not revoked.
const MAX_ACTIVE: i64 = 100;

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
/// let usage = &company.keys().usage().await?[0];
/// assert_eq!((usage.used, usage.limit), (0, Some(30)));
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
    /// The record of the key.
    pub record: KeyRecord,
    /// The key for the `Authorization` header: `isk_` and 43 characters. [`reveal`](Secret::reveal)
    /// gives the text.
    pub key: Secret,
}

/// A key, and the used part of its quota.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyUsage {
    /// The record of the key.
    pub record: KeyRecord,
    /// Requests that were accepted within the last 60 s; 0 for a revoked key.
    pub used: u32,
    /// Maximum number of requests that are accepted within 60 s; `None` if the host has set no
    /// quota, and for a revoked key.
    pub limit: Option<u32>,
    /// The instant at which the oldest of these requests stops counting, so that another is
    /// accepted; `None` if none counts.
    pub oldest_until: Option<Timestamp>,
}

impl CompanyHandle {
    /// The API keys of the company.
    pub fn keys(&self) -> Keys<'_> {
        Keys(self)
    }
}

impl Keys<'_> {
    /// Issues a key, whose text is [`issued.key.reveal()`](Secret::reveal). Any plan may have keys;
    /// only the team plan may use them.
    ///
    /// # Errors
    /// [`Error::Conflict`] beyond 100 keys that are not revoked.
    pub async fn issue(&self, label: &str) -> Result<IssuedKey, Error> {
        let label = required_text("label", label, SHORT_TEXT)?;
        let env = self.0.env();
        let key = Secret::generate(secret::API_KEY, env);
        let hash = key.sha256();
        let last4 = key.reveal().chars().skip(key.reveal().len() - 4).collect();
        let (id, created_at) = (KeyId(env.uuid()), env.now());
        let record = KeyRecord { id, last4, label, created_at, last_used_at: None, revoked_at: None };
        let stored = record.clone();
        let changed = self.0.write([], async move |mut tx| {
            if tx.keys().count_active().await? >= MAX_ACTIVE {
                return Err(ConflictReason::TooManyKeys { max: MAX_ACTIVE }.into());
            }
            tx.issue_key(&stored, &hash).await?;
            tx.note(HistoryAction::KeyIssued, id.0, &stored.label).await
        });
        let issued = self.0.operation("keys.issue", changed);
        issued.await?;
        Ok(IssuedKey { record, key })
    }

    /// All keys, oldest first, revoked ones included.
    pub async fn list(&self) -> Result<Vec<KeyRecord>, Error> {
        self.0.operation("keys.list", self.0.read(async |mut tx| tx.keys().list().await)).await
    }

    /// All keys as in [`list`](Self::list), with the part of their quota that is used now. The call
    /// itself counts in no quota. If one process owns the database, requests that an earlier
    /// process had reserved when it died do not count until the key is used again: then they count
    /// for a minute from the opening on.
    pub async fn usage(&self) -> Result<Vec<KeyUsage>, Error> {
        let access = &self.0.services.access;
        let read = async {
            let records = self.0.read(async |mut tx| tx.keys().list().await).await?;
            Ok((records, access.used(self.0.id).await?))
        };
        let (records, used) = self.0.operation("keys.usage", read).await?;
        let limit = Some(access.quota).filter(|quota| *quota > 0);
        let usage = |record: KeyRecord| {
            let is_active = record.revoked_at.is_none();
            let used = used.get(&record.id).copied().filter(|_| is_active).unwrap_or_default();
            let limit = limit.filter(|_| is_active);
            KeyUsage { record, used: used.requests, limit, oldest_until: used.oldest_until }
        };
        Ok(records.into_iter().map(usage).collect())
    }

    /// Revokes a key for good. Revoking it again changes nothing.
    pub async fn revoke(&self, id: KeyId) -> Result<(), Error> {
        let changed = self.0.write([], async move |mut tx| {
            tx.key_to_change(id).await?;
            let Some(label) = tx.revoke_key(id).await? else { return Ok(()) };
            tx.note(HistoryAction::KeyRevoked, id.0, &label).await
        });
        self.0.operation("keys.revoke", changed).await
    }
}
