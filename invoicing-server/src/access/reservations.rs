//! The quota window of a key with its reserved requests, and its stored form.

use invoicing_core::{QuotaDecision, QuotaWindow, Timestamp};

use super::UsedQuota;

/// Grain of the stored window in milliseconds. Instants are rounded up to it, so no request leaves
/// the window too early.
const LOG_GRAIN_MS: i64 = 100;
/// In a stored window, requests that are reserved but not accepted yet have this instant: the end
/// of time.
const RESERVED: i64 = i64::MAX;

/// The quota window of a key, and the requests that are reserved on disk and have not been accepted
/// yet.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    pub(super) window: QuotaWindow,
    /// Requests that are reserved and not accepted yet.
    pub(super) reserved: u32,
}

impl Reservations {
    /// The stored window, and the number of requests that were only reserved, which may never have
    /// been made.
    pub(super) fn read(log: &str, now: Timestamp) -> Result<(Self, u32), serde_json::Error> {
        let (mut window, mut reserved) = (QuotaWindow::default(), 0);
        for (at, count) in serde_json::from_str::<Vec<(i64, u32)>>(log)? {
            if at == RESERVED {
                reserved = count;
            } else {
                // An instant was rounded up to the grain, so it may be later than now.
                window.record(count as usize, Timestamp::from_millis(at).min(now));
            }
        }
        Ok((Self { window, reserved: 0 }, reserved))
    }

    /// The stored window. Requests that were only reserved count as used at the instant at which
    /// this process opened the database: the process that had reserved them accepted none later.
    pub(super) fn from_log(
        log: &str,
        opened_at: Timestamp,
        now: Timestamp,
    ) -> Result<Self, serde_json::Error> {
        let (mut stored, reserved) = Self::read(log, now)?;
        stored.window.record(reserved as usize, opened_at.min(now));
        Ok(stored)
    }

    /// A window whose whole quota was used at an instant.
    pub(super) fn used_up(quota: u32, at: Timestamp) -> Self {
        let mut window = QuotaWindow::default();
        window.record(quota as usize, at);
        Self { window, reserved: 0 }
    }

    /// Counts a request, reserved or not.
    pub(super) fn count(&mut self, quota: u32, now: Timestamp) -> QuotaDecision {
        if quota == 0 {
            return QuotaDecision::Accepted { remaining: u32::MAX, reset_ms: 0 };
        }
        let decision = self.window.try_acquire(quota, now);
        if let QuotaDecision::Accepted { .. } = decision {
            self.reserved = self.reserved.saturating_sub(1);
        }
        decision
    }

    /// Requests that count at an instant.
    pub(super) fn used(&mut self, quota: u32, now: Timestamp) -> UsedQuota {
        // Drops the requests that have left the window.
        self.window.peek(quota, now);
        let requests = u32::try_from(self.window.instants().count()).unwrap_or(u32::MAX);
        UsedQuota::since(requests, self.window.instants().next())
    }

    /// The stored form of the window: pairs of an instant and the number of requests accepted by
    /// then; last, at the end of time, the number of reserved ones.
    pub(super) fn to_log(&self, block: u32) -> String {
        let mut log: Vec<(i64, u32)> = Vec::new();
        for at in self.window.instants() {
            let at = (at.as_millis() + LOG_GRAIN_MS - 1).div_euclid(LOG_GRAIN_MS) * LOG_GRAIN_MS;
            match log.last_mut() {
                Some((last, count)) if *last == at => *count += 1,
                _ => log.push((at, 1)),
            }
        }
        let reserved = self.reserved + block;
        if reserved > 0 {
            log.push((RESERVED, reserved));
        }
        // Pairs of numbers always have a JSON form.
        serde_json::to_string(&log).unwrap_or_default()
    }
}
