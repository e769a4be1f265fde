//! The keys that the stored secrets are sealed with, and the sealing of webhooks' secrets again.

use invoicing_core::{CompanyId, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::connection::{Connection, Sql};
use super::scope::Scope;
use super::settings::SettingTable;
use super::webhooks::WebhookTable;
use crate::error::Error;
use crate::records::SealingStats;
use crate::sealing::{AssociatedData, Sealer};

/// The sealed secrets of all companies.
pub(crate) struct SealedSecrets<'c>(pub(super) &'c mut Connection);

/// The result of sealing a batch of secrets again.
pub(crate) struct Resealed {
    pub(crate) sealed: u64,
    /// Secrets that cannot be opened; each was logged.
    pub(crate) unreadable: u64,
    /// The webhook after which the next batch begins; `None` after the last batch.
    pub(crate) last: Option<Uuid>,
}

impl Resealed {
    /// Opens a secret that is to be sealed again, and counts it.
    fn open(&mut self, sealer: &Sealer, place: &AssociatedData, stored: String) -> Option<Zeroizing<String>> {
        match sealer.open_text(place, &Zeroizing::new(stored)) {
            Ok(clear) => {
                self.sealed += 1;
                Some(clear)
            }
            Err(cause) => {
                let error = place.bad_row(cause);
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "webhook secret not sealed again: it cannot be read; rotate the secret"
                );
                self.unreadable += 1;
                None
            }
        }
    }
}

#[derive(FromRow)]
struct KeyCount {
    sealed_with: Option<String>,
    secrets: i64,
}

/// The secrets of a webhook that are sealed with another key than the current one.
#[derive(FromRow)]
struct StoredSecrets {
    company_id: Uuid,
    id: Uuid,
    secret: Option<String>,
    previous_secret: Option<String>,
}

impl SealedSecrets<'_> {
    /// Numbers of the secrets, by the key that they are sealed with.
    pub(crate) async fn count(&mut self) -> Result<SealingStats, Error> {
        const WEBHOOKS: &str = "
            SELECT sealed_with, count(*) AS secrets FROM (
                SELECT sealed_with FROM webhook WHERE removed_at IS NULL
                UNION ALL SELECT previous_sealed_with FROM webhook WHERE previous_secret IS NOT NULL
            ) secrets GROUP BY sealed_with";
        let mut all = SealingStats::default();
        let webhooks: Vec<KeyCount> = self.0.query(WEBHOOKS, &[]).fetch_all().await?;
        for KeyCount { sealed_with, secrets } in webhooks {
            all.add(sealed_with, u64::try_from(secrets).unwrap_or(0));
        }
        if let Some(key) = SettingTable(self.0).sealed_with().await? {
            all.add(key, 1);
        }
        Ok(all)
    }

    /// Seals the secrets of webhooks that are not sealed with the current key, in the order of the
    /// webhooks' ids.
    pub(crate) async fn reseal_webhooks(
        &mut self,
        sealer: &Sealer,
        after: Uuid,
        limit: u32,
    ) -> Result<Resealed, Error> {
        const NOT_SEALED_WITH: Sql = Sql {
            sqlite: "
                SELECT company_id, id, CASE WHEN sealed_with IS DISTINCT FROM $2 THEN secret END AS secret,
                    CASE WHEN previous_sealed_with IS DISTINCT FROM $2 THEN previous_secret END AS previous_secret
                FROM webhook
                WHERE id > $1 AND removed_at IS NULL AND (
                    sealed_with IS DISTINCT FROM $2
                    OR previous_secret IS NOT NULL AND previous_sealed_with IS DISTINCT FROM $2
                )
                ORDER BY id LIMIT $3",
            postgres: "
                SELECT company_id, id, CASE WHEN sealed_with IS DISTINCT FROM $2 THEN secret END AS secret,
                    CASE WHEN previous_sealed_with IS DISTINCT FROM $2 THEN previous_secret END AS previous_secret
                FROM webhook
                WHERE id > $1 AND removed_at IS NULL AND (
                    sealed_with IS DISTINCT FROM $2
                    OR previous_secret IS NOT NULL AND previous_sealed_with IS DISTINCT FROM $2
                )
                ORDER BY id LIMIT $3 FOR UPDATE",
        };
        let rows: Vec<StoredSecrets> =
            self.0.query(NOT_SEALED_WITH, &[&after, &sealer.current_id()?, &limit]).fetch_all().await?;
        let mut resealed = Resealed { sealed: 0, unreadable: 0, last: rows.last().map(|row| row.id) };
        for StoredSecrets { company_id, id, secret, previous_secret } in rows {
            let (company, id) = (CompanyId(company_id), WebhookId(id));
            let mut webhooks = WebhookTable(Scope { connection: self.0, company });
            if let Some(secret) = secret {
                let place = AssociatedData::webhook_secret(company, id);
                if let Some(clear) = resealed.open(sealer, &place, secret) {
                    webhooks.set_secret(sealer, id, &clear).await?;
                }
            }
            if let Some(secret) = previous_secret {
                let place = AssociatedData::previous_webhook_secret(company, id);
                if let Some(clear) = resealed.open(sealer, &place, secret) {
                    webhooks.set_previous_secret(sealer, id, &clear).await?;
                }
            }
        }
        Ok(resealed)
    }
}
