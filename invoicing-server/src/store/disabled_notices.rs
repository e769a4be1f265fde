//! Notices for the host: webhooks that failures have disabled, until the host is notified.

use invoicing_core::{CompanyId, DisabledReason, Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::webhooks::{AllWebhooks, WebhookTable};
use crate::error::Error;

/// A notice for the host that a webhook was disabled, kept until the host is notified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DisabledNotice {
    pub(crate) company: CompanyId,
    pub(crate) webhook: WebhookId,
    pub(crate) disabled_at: Timestamp,
    pub(crate) reason: DisabledReason,
}

#[derive(FromRow)]
struct NoticeRow {
    company_id: Uuid,
    webhook_id: Uuid,
    disabled_at: i64,
    reason: String,
}

impl From<NoticeRow> for DisabledNotice {
    fn from(row: NoticeRow) -> Self {
        Self {
            company: CompanyId(row.company_id),
            webhook: WebhookId(row.webhook_id),
            disabled_at: Timestamp::from_millis(row.disabled_at),
            reason: row.reason.parse().unwrap_or(DisabledReason::Manual),
        }
    }
}

impl WebhookTable<'_> {
    /// Leaves a notice that a webhook was disabled.
    pub(crate) async fn leave_notice(
        &mut self,
        id: WebhookId,
        at: Timestamp,
        reason: DisabledReason,
    ) -> Result<(), Error> {
        const LEAVE: &str = "
            INSERT INTO disabled_notice (company_id, webhook_id, disabled_at, reason, held_until)
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT (company_id, webhook_id, disabled_at) DO NOTHING";
        self.0.query(LEAVE, &[&id, &at, &reason.as_str(), &0_i64]).execute().await?;
        Ok(())
    }
}

impl AllWebhooks<'_> {
    /// The notices that no node holds, at most `limit`. A notice that a clock far ahead holds is
    /// free.
    pub(crate) async fn free_notices(
        &mut self,
        now: Timestamp,
        latest: Timestamp,
        limit: u32,
    ) -> Result<Vec<DisabledNotice>, Error> {
        const FREE: &str = "
            SELECT company_id, webhook_id, disabled_at, reason FROM disabled_notice
            WHERE held_until <= $1 OR held_until > $2 ORDER BY disabled_at, webhook_id LIMIT $3";
        let rows: Vec<NoticeRow> = self.0.query(FREE, &[&now, &latest, &limit]).fetch_all().await?;
        Ok(rows.into_iter().map(DisabledNotice::from).collect())
    }

    /// Holds a notice for this node up to `latest`. Returns true if it was still free.
    pub(crate) async fn hold_notice(
        &mut self,
        notice: &DisabledNotice,
        now: Timestamp,
        latest: Timestamp,
    ) -> Result<bool, Error> {
        const HOLD: &str = "
            UPDATE disabled_notice SET held_until = $5
            WHERE company_id = $1 AND webhook_id = $2 AND disabled_at = $3 AND (held_until <= $4 OR held_until > $5)";
        let DisabledNotice { company, webhook, disabled_at, .. } = notice;
        let held = self.0.query(HOLD, &[company, webhook, disabled_at, &now, &latest]).execute().await?;
        Ok(held > 0)
    }

    /// Deletes a notice: the host was notified.
    pub(crate) async fn delete_notice(&mut self, notice: &DisabledNotice) -> Result<(), Error> {
        const DELETE: &str =
            "DELETE FROM disabled_notice WHERE company_id = $1 AND webhook_id = $2 AND disabled_at = $3";
        let DisabledNotice { company, webhook, disabled_at, .. } = notice;
        self.0.query(DELETE, &[company, webhook, disabled_at]).execute().await?;
        Ok(())
    }

    /// Deletes the notices of webhooks that were disabled before an instant: no host reads them.
    pub(crate) async fn prune_notices(&mut self, before: Timestamp) -> Result<(), Error> {
        const PRUNE: &str = "DELETE FROM disabled_notice WHERE disabled_at < $1";
        self.0.query(PRUNE, &[&before]).execute().await?;
        Ok(())
    }
}
