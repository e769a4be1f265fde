//! The recent test deliveries of a webhook, for their bounds.

use invoicing_core::{EventId, Timestamp, WebhookId};

use super::webhooks::WebhookTable;
use crate::error::Error;

const MINUTE_MS: u64 = 60 * 1_000;

/// The test deliveries to a webhook within a minute, and the last one in any case: ids and
/// milliseconds, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct PingLog(Vec<(EventId, i64)>);

impl PingLog {
    pub(crate) fn last(&self) -> Option<EventId> {
        self.0.last().map(|(event, _)| *event)
    }

    /// The number of test deliveries within a minute. A delivery that a clock far ahead has dated
    /// does not count.
    pub(crate) fn count(&self, now: Timestamp) -> usize {
        self.0.iter().filter(|ping| is_recent(ping, now)).count()
    }

    /// The log with a further delivery.
    pub(crate) fn with(&self, event: EventId, now: Timestamp) -> Self {
        let recent = self.0.iter().copied().filter(|ping| is_recent(ping, now));
        Self(recent.chain([(event, now.as_millis())]).collect())
    }
}

fn is_recent((_, at): &(EventId, i64), now: Timestamp) -> bool {
    at.abs_diff(now.as_millis()) < MINUTE_MS
}

impl WebhookTable<'_> {
    pub(crate) async fn pings(&mut self, id: WebhookId) -> Result<PingLog, Error> {
        const PINGS: &str = "SELECT ping_log FROM webhook WHERE company_id = $1 AND id = $2";
        let log: Option<String> = self.0.query(PINGS, &[&id]).scalar().await?;
        let Some(log) = log else { return Ok(PingLog::default()) };
        let log = serde_json::from_str(&log);
        log.map(PingLog).map_err(|cause| Error::bad_row("webhook", "ping_log", id, cause))
    }

    pub(crate) async fn set_pings(&mut self, id: WebhookId, log: &PingLog) -> Result<(), Error> {
        const SET_PINGS: &str = "UPDATE webhook SET ping_log = $3 WHERE company_id = $1 AND id = $2";
        let log = serde_json::to_string(&log.0).map_err(Error::internal)?;
        self.0.query(SET_PINGS, &[&id, &log]).change_one("webhook").await
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Rules: WEBHOOK-27
    #[test]
    fn a_minute_ends_by_itself_also_where_the_clock_was_set_back() {
        let (at, id) = (Timestamp::from_millis, EventId(Uuid::nil()));
        let log = (0..3).fold(PingLog::default(), |log, n| log.with(id, at(n * 1_000)));
        assert_eq!(log.count(at(2_000)), 3);
        assert_eq!(log.count(at(59_999)), 3);
        assert_eq!(log.count(at(60_000)), 2);
        assert_eq!(log.count(at(62_000)), 0);
        assert_eq!(log.count(at(-1_000)), 3, "a second behind");
        assert_eq!(log.count(at(-3_600_000)), 0, "an hour behind");
        let later = log.with(id, at(61_000));
        assert_eq!(later.0, [(id, 2_000), (id, 61_000)]);
        assert_eq!(later.with(id, at(600_000)).0, [(id, 600_000)]);
    }
}
