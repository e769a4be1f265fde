//! The starting point of every change of a company.

use std::sync::Arc;

use chrono::{NaiveDate, NaiveTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use invoicing_core::{ChangeTime, Company, Timestamp};

use crate::error::Error;

/// The company that is being changed, and the instants of the change.
#[derive(Debug, Clone)]
pub(crate) struct ChangeContext {
    pub(crate) company: Arc<Company>,
    pub(crate) zone: Tz,
    /// The instant on the clock.
    pub(crate) now: Timestamp,
    /// The modification stamp: `max(now, last stamp + 1 ms)`.
    pub(crate) stamp: Timestamp,
}

impl ChangeContext {
    pub(crate) fn new(company: Company, last_stamp: Timestamp, now: Timestamp) -> Result<Self, Error> {
        let zone = company
            .time_zone
            .parse()
            .map_err(|cause| Error::bad_row("company", "record.timeZone", company.id, cause))?;
        Ok(Self { company: Arc::new(company), zone, now, stamp: Self::next_stamp(last_stamp, now) })
    }

    pub(super) fn next_stamp(last: Timestamp, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_millis(last.as_millis().saturating_add(1)))
    }

    /// The instants of the change.
    pub(crate) fn at(&self) -> ChangeTime {
        ChangeTime { now: self.now, stamp: self.stamp }
    }

    /// The date in the company's time zone. It follows the clock: a clock that once ran ahead has
    /// moved the stamps ahead for good.
    pub(crate) fn today(&self) -> NaiveDate {
        self.date_of(self.now)
    }

    /// The date of an instant in the company's time zone.
    pub(crate) fn date_of(&self, at: Timestamp) -> NaiveDate {
        at.to_chrono().with_timezone(&self.zone).date_naive()
    }
    /// The end of a day in the company's time zone, which is the beginning of the next.
    pub(crate) fn end_of(&self, day: NaiveDate) -> Timestamp {
        let midnight = day.succ_opt().unwrap_or(day).and_time(NaiveTime::MIN);
        // On a day that begins with daylight saving time, midnight is skipped and the day begins an
        // hour later.
        let begin = [midnight, midnight + TimeDelta::hours(1)]
            .into_iter()
            .find_map(|time| self.zone.from_local_datetime(&time).earliest())
            .map_or_else(|| midnight.and_utc().timestamp_millis(), |begin| begin.timestamp_millis());
        Timestamp::from_millis(begin)
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{CompanyId, NewCompany, Plan};
    use uuid::Uuid;

    use super::*;

    /// The end of a day in a time zone.
    fn end(zone: &str, day: &str) -> String {
        let new = NewCompany { time_zone: zone.into(), ..NewCompany::named("A", Plan::Team) };
        let company = new.create(CompanyId(Uuid::nil()), Timestamp::EARLIEST).unwrap();
        let change = ChangeContext::new(company, Timestamp::EARLIEST, Timestamp::EARLIEST).unwrap();
        change.end_of(day.parse().unwrap()).to_string()
    }

    #[test]
    fn a_day_ends_at_midnight_of_the_zone_or_where_the_clocks_skip_it() {
        assert_eq!(end("Europe/Paris", "2026-07-01"), "2026-07-01T22:00:00.000Z");
        assert_eq!(end("Europe/Paris", "2026-12-31"), "2026-12-31T23:00:00.000Z");
        // Daylight saving time begins in Egypt on the last Friday of April at midnight.
        assert_eq!(end("Africa/Cairo", "2026-04-23"), "2026-04-23T22:00:00.000Z");
        // Samoa had no 30 December 2011.
        assert_eq!(end("Pacific/Apia", "2011-12-29"), "2011-12-30T00:00:00.000Z");
    }
}
