//! Which keys the stored secrets are sealed with, and sealing those of webhooks again.

use std::collections::BTreeMap;

use invoicing_core::{CompanyId, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::connection::Connection;
use super::query::Sql;
use super::settings::SettingTable;
use crate::Error;
use crate::sealing::{AssociatedData, Sealer, is_id};

/// How many stored secrets are sealed with which key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SealedWith {
    /// Stored in clear: written while no key was given.
    pub clear: u64,
    /// By the id of the key. A key that is not named here is not needed any more.
    pub keys: BTreeMap<String, u64>,
    /// So badly damaged that not even the key is known. Webhooks whose secret is damaged are repaired by rotating it.
    pub damaged: u64,
}

impl SealedWith {
    fn add(&mut self, key: Option<String>, count: u64) {
        match key {
            None => self.clear += count,
            Some(id) if is_id(&id) => *self.keys.entry(id).or_default() += count,
            Some(_) => self.damaged += count,
        }
    }
}

/// The sealed secrets of all companies.
pub(crate) struct SealedSecrets<'c>(pub(super) &'c mut Connection);

/// What sealing a batch of secrets again gave.
pub(crate) struct Resealed {
    pub(crate) sealed: u64,
    /// They do not open; each was logged.
    pub(crate) unreadable: u64,
    /// The webhook after which the next batch begins; `None` after the last batch.
    pub(crate) last: Option<Uuid>,
}

#[derive(FromRow)]
struct KeyCount {
    sealed_with: Option<String>,
    secrets: i64,
}

#[derive(FromRow)]
struct StoredSecret {
    company_id: Uuid,
    id: Uuid,
    secret: String,
}

impl SealedSecrets<'_> {
    /// How many secrets are sealed with which key.
    pub(crate) async fn count(&mut self) -> Result<SealedWith, Error> {
        const WEBHOOKS: &str = "
            SELECT sealed_with, count(*) AS secrets FROM webhook WHERE removed_at IS NULL GROUP BY sealed_with";
        let mut all = SealedWith::default();
        let webhooks: Vec<KeyCount> = self.0.query(WEBHOOKS, &[]).fetch_all().await?;
        for KeyCount { sealed_with, secrets } in webhooks {
            all.add(sealed_with, u64::try_from(secrets).unwrap_or(0));
        }
        if let Some(key) = SettingTable(self.0).sealed_with().await? {
            all.add(key, 1);
        }
        Ok(all)
    }

    /// Seals secrets of webhooks with the current key that are not, in the order of the webhooks' ids.
    pub(crate) async fn reseal_webhooks(
        &mut self,
        sealer: &Sealer,
        after: Uuid,
        limit: u32,
    ) -> Result<Resealed, Error> {
        const NOT_SEALED_WITH: Sql = Sql {
            sqlite:
                "
                SELECT company_id, id, secret FROM webhook
                WHERE id > $1 AND removed_at IS NULL AND sealed_with IS DISTINCT FROM $2 ORDER BY id LIMIT $3",
            postgres: "
                SELECT company_id, id, secret FROM webhook
                WHERE id > $1 AND removed_at IS NULL AND sealed_with IS DISTINCT FROM $2 ORDER BY id LIMIT $3
                FOR UPDATE",
        };
        let rows: Vec<StoredSecret> =
            self.0.query(NOT_SEALED_WITH, &[&after, &sealer.current_id()?, &limit]).fetch_all().await?;
        let (last, count) = (rows.last().map(|row| row.id), rows.len() as u64);
        let (mut companies, mut ids, mut secrets) = (Vec::new(), Vec::new(), Vec::new());
        for StoredSecret { company_id, id, secret } in rows {
            let place = AssociatedData::webhook_secret(CompanyId(company_id), WebhookId(id));
            if let Some(secret) = reseal(sealer, &place, &Zeroizing::new(secret)) {
                companies.push(company_id);
                ids.push(id);
                secrets.push(Some(secret));
            }
        }
        let resealed = secrets.len() as u64;
        self.set_secrets(companies, ids, secrets).await?;
        Ok(Resealed { sealed: resealed, unreadable: count - resealed, last })
    }

    async fn set_secrets(
        &mut self,
        companies: Vec<Uuid>,
        ids: Vec<Uuid>,
        secrets: Vec<Option<String>>,
    ) -> Result<(), Error> {
        const SET_SECRETS: Sql = Sql {
            sqlite: "
                UPDATE webhook SET secret = s.value
                FROM json_each($3) s
                JOIN json_each($1) c ON c.key = s.key
                JOIN json_each($2) w ON w.key = s.key
                WHERE webhook.company_id = unhex(c.value) AND webhook.id = unhex(w.value)",
            postgres: "
                UPDATE webhook SET secret = item.secret
                FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS item(company, id, secret)
                WHERE webhook.company_id = item.company AND webhook.id = item.id",
        };
        let expected = secrets.len() as u64;
        let done = self.0.query(SET_SECRETS, &[&companies, &ids, &secrets]).execute().await?;
        if done == expected {
            return Ok(());
        }
        Err(Error::internal("table webhook: sealing secrets changed another number of rows"))
    }
}

/// The same secret, sealed with the current key. `None` where it cannot be read, which is logged.
fn reseal(sealer: &Sealer, place: &AssociatedData, stored: &str) -> Option<String> {
    match sealer.open_text(place, stored) {
        Ok(clear) => sealer.seal(place, clear.as_bytes()),
        Err(cause) => {
            let error = place.bad_row(cause);
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a webhook's secret was not sealed again; rotate it"
            );
            None
        }
    }
}
