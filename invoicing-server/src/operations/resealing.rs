//! Sealing of stored secrets: takes keys into use, seals secrets again, and lists the keys that are
//! still needed.

use std::sync::Arc;

use uuid::Uuid;

use super::Services;
use crate::error::Error;
use crate::sealing::{Sealer, SealingError, SealingKeys};
use crate::store::{ServiceTables, ServiceTx, Store, settings};

/// Secrets that are sealed again in one transaction, a statement each. The bound limits how long
/// other writers wait.
const BATCH: u32 = 20;

/// The result of [`Invoicing::reseal`](crate::Invoicing::reseal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResealReport {
    /// Secrets that the call has sealed with the current key.
    pub resealed: u64,
    /// Secrets that could not be read and stayed as they are. Each was logged with its row. A
    /// rotation repairs a webhook's secret.
    pub unreadable: u64,
    /// True if the write-ahead log was cut, so that the database's files hold no earlier form of
    /// the secrets. If not, a long read prevented it; the next call tries again. Backups keep their
    /// contents. Never true on PostgreSQL, which removes earlier forms with `VACUUM` and with the
    /// retention of the server's own log.
    pub log_cut: bool,
}

/// Takes keys into use, if they are those that the database needs. Without keys: succeeds if it
/// needs none. `then` runs as soon as they are in use, even if the caller has gone away.
pub(crate) async fn adopt(
    store: &Store,
    sealer: &Arc<Sealer>,
    keys: Option<SealingKeys>,
    then: impl FnOnce() + Clone + Send + 'static,
) -> Result<(), SealingError> {
    if let Some(id) = keys.as_ref().and_then(SealingKeys::repeated_id) {
        return Err(SealingError::SameId(id.to_owned()));
    }
    if keys.is_none() {
        tracing::warn!(
            "no sealing key: secrets of webhooks and the key of document URLs are stored in clear"
        );
    }
    let (sealer, keys) = (Arc::clone(sealer), keys.map(Arc::new));
    // Secrets are sealed within transactions too, so none can be sealed with a key that is just
    // given up.
    let adopted = store.write_service(async move |tx| {
        if let Err(refused) = check_keys(tx, &sealer, keys.as_deref()).await? {
            return Ok(Err(refused));
        }
        if let Some(keys) = keys {
            // The keys are used only once the database has stored their check for good. Until then
            // the present key is used, which is one of them.
            tx.on_commit(move || {
                sealer.set_keys(keys);
                then();
            });
        }
        Ok(Ok(()))
    });
    adopted.await.map_err(SealingError::Store)?
}

impl Services {
    /// Seals all secrets with the current key: see [`Invoicing::reseal`](crate::Invoicing::reseal).
    pub(crate) async fn reseal(&self) -> Result<ResealReport, Error> {
        let mut report = ResealReport::default();
        let mut after = Some(Uuid::nil());
        while let Some(from) = after {
            let sealer = Arc::clone(&self.sealer);
            let batch = self.store.write_service(async move |tx| {
                tx.sealed_secrets().reseal_webhooks(&sealer, from, BATCH).await
            });
            let batch = batch.await?;
            report.resealed += batch.sealed;
            report.unreadable += batch.unreadable;
            after = batch.last;
        }
        match self.reseal_settings().await? {
            Some(resealed) => report.resealed += u64::from(resealed),
            None => report.unreadable += 1,
        }
        report.log_cut = self.store.cut_log().await?;
        Ok(report)
    }

    /// Seals the key of document URLs again if it is sealed with another key than the current one,
    /// and deletes the check values of keys that nothing is sealed with any more. `None` if the key
    /// of document URLs cannot be read.
    async fn reseal_settings(&self) -> Result<Option<bool>, Error> {
        let sealer = Arc::clone(&self.sealer);
        self.store
            .write_service(async move |tx| {
                tx.lock_service().await?;
                let resealed = tx.settings().reseal(&sealer, settings::DOCUMENT_URL_KEY).await?;
                let (used, current) = (tx.sealed_secrets().count().await?.keys, sealer.current_id()?);
                tx.settings().forget_keys(|id| id == current || used.contains_key(id)).await?;
                Ok(resealed)
            })
            .await
    }
}

async fn check_keys(
    tx: ServiceTx<'_>,
    sealer: &Sealer,
    keys: Option<&SealingKeys>,
) -> Result<Result<(), SealingError>, Error> {
    tx.lock_service().await?;
    let knows = |id: &str| keys.is_some_and(|keys| keys.find(id).is_some() || keys.is_lost(id));
    let mut missing = tx.sealed_secrets().count().await?.keys;
    // Secrets that other operations of the same commit have sealed with the present key may not be
    // on disk yet.
    missing.extend(sealer.keys().map(|now| (now.current().id().to_owned(), 0)));
    missing.retain(|id, _| !knows(id));
    if !missing.is_empty() {
        return Ok(Err(SealingError::Missing(missing.into_keys().collect())));
    }
    let Some(keys) = keys else { return Ok(Ok(())) };
    let trial = Sealer::new(tx.env().clone());
    trial.set_keys(Arc::new(keys.clone()));
    for key in keys.all() {
        let check = settings::key_check(key.id());
        match tx.settings().find(&trial, &check).await? {
            Some(Err(_)) => return Ok(Err(SealingError::WrongKey(key.id().to_owned()))),
            // Stores a check value, so that another key under this id is noticed.
            None if key.id() == keys.current().id() => tx.settings().set(&trial, &check, b"").await?,
            Some(Ok(_)) | None => {}
        }
    }
    Ok(Ok(()))
}
