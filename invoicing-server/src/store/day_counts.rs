//! Results of the recent deliveries to the webhooks of a company. They are read from the records,
//! as counters would cost every delivery; so the number of rows that are looked at is bounded.

use invoicing_core::{Timestamp, WebhookId};
use sqlx::FromRow;
use uuid::Uuid;

use super::deliveries::DeliveryTable;
use crate::error::Error;
use crate::records::{DayCounts, WebhookDayStats};

/// Number of attempts of the company that are looked at.
const MAX_ATTEMPTS_READ: i64 = 10_000;
/// Maximum number of failed deliveries of a webhook that are counted.
const MAX_COUNTED_FAILURES: u64 = 10_000;

#[derive(FromRow)]
struct DayRow {
    webhook_id: Uuid,
    delivered: i64,
    failed: i64,
    since: Option<i64>,
}

impl DeliveryTable<'_> {
    /// Numbers of the deliveries that ended since an instant.
    pub(crate) async fn day_counts(&mut self, since: Timestamp) -> Result<DayCounts, Error> {
        // An attempt that is answered with 2xx ends its delivery.
        const COUNT: &str = "
            WITH latest AS MATERIALIZED (
                SELECT webhook_id, at, status FROM attempt WHERE company_id = $1 AND at >= $2
                ORDER BY at DESC LIMIT $3
            )
            SELECT w.id AS webhook_id, coalesce(a.delivered, 0) AS delivered,
                (
                    SELECT count(*) FROM (
                        SELECT 1 FROM delivery
                        WHERE company_id = $1 AND webhook_id = w.id AND status = 'failed' AND ended_at >= $2
                        LIMIT $4
                    ) d
                ) AS failed,
                (SELECT CASE WHEN count(*) >= $3 THEN min(at) END FROM latest) AS since
            FROM webhook w
            LEFT JOIN (
                SELECT webhook_id, count(*) AS delivered FROM latest WHERE status >= 200 AND status <= 299
                GROUP BY webhook_id
            ) a ON a.webhook_id = w.id
            WHERE w.company_id = $1 AND w.removed_at IS NULL ORDER BY w.id";
        let one_more = i64::try_from(MAX_COUNTED_FAILURES).unwrap_or(i64::MAX).saturating_add(1);
        let rows: Vec<DayRow> =
            self.0.query(COUNT, &[&since, &MAX_ATTEMPTS_READ, &one_more]).fetch_all().await?;
        let counted_since = rows.first().and_then(|row| row.since).map_or(since, Timestamp::from_millis);
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let day = |row: DayRow| WebhookDayStats {
            webhook: WebhookId(row.webhook_id),
            delivered: count(row.delivered),
            failed: count(row.failed).min(MAX_COUNTED_FAILURES),
            has_more_failed: count(row.failed) > MAX_COUNTED_FAILURES,
        };
        Ok(DayCounts { since: counted_since, webhooks: rows.into_iter().map(day).collect() })
    }
}
